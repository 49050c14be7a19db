//! Operands in the order of a list of k indices: copied, padded with zeros, taken apart into terms.

use std::ops::Range;

use super::f32ops::{Natively, Ops, to_bf16};
use super::k_index::KIndex;
use super::{SplitTerms, Term, TermFormat, TermRounding};
use crate::Problem;
use crate::num::Format;
use crate::step::{Fused, Step};
use crate::tensor::{Plane, Planes, Tensor, parallel};

/// The operands of the products of some indices.
pub struct GatheredOperands {
    a: Tensor,
    b: Tensor,
}

impl GatheredOperands {
    /// Copies them out of a product of one matrix without scales, of formats of up to 32 bits.
    pub fn gather(
        problem: &Problem,
        indices: &[KIndex],
        terms: Option<&SplitTerms>,
    ) -> GatheredOperands {
        let side = |side: usize| move |index: &KIndex| index.terms.map(|terms| terms[side]);
        let a = problem.a.plane(0);
        let b = problem.b.plane(0);
        let [of_a, of_b] = [problem.a, problem.b].map(|operand| match terms {
            // TF32 is read from what XF32 is, too.
            Some(terms) if terms.format != TermFormat::Tf32 => terms.format.format(),
            _ => operand.tensor().format(),
        });
        GatheredOperands {
            a: Tensor::from_payload(
                of_a,
                vec![problem.m, indices.len()],
                rows(a, of_a, indices, terms, side(0)),
            ),
            b: Tensor::from_payload(
                of_b,
                vec![indices.len(), problem.n],
                columns(b, of_b, indices, terms, side(1)),
            ),
        }
    }

    /// Their product. C is of its size, but may be a part of a larger tensor.
    pub fn problem<'a>(&'a self, c: Option<Planes<'a>>) -> Problem<'a> {
        let product = Problem::with_any_k(self.a.planes(), self.b.planes(), None);
        let product = product.expect("parts of operands that fit");
        Problem { c, ..product }
    }
}

/// Rows of A, the indices of each.
fn rows(
    plane: Plane,
    format: Format,
    indices: &[KIndex],
    terms: Option<&SplitTerms>,
    term: impl Fn(&KIndex) -> Option<Term> + Sync,
) -> Vec<u8> {
    let ks = || indices.iter().filter_map(|index| index.k);
    let (Some(first), Some(last)) = (ks().min(), ks().max()) else {
        return vec![0; plane.rows * indices.len() * format.bytes()];
    };
    let width = format.bytes();
    let mut payload = vec![0; plane.rows * indices.len() * width];
    parallel::chunks_mut(&mut payload, indices.len() * width, &|row, mut out| {
        if last - first + 1 > 2 * indices.len() {
            // Stripes that are far apart.
            let mut codes = Vec::new();
            for run in indices.chunk_by(|x, y| x.k.is_some() && x.k.map(|k| k + 1) == y.k) {
                let (mine, rest) = std::mem::take(&mut out).split_at_mut(run.len() * width);
                out = rest;
                let Some(k) = run[0].k else { continue };
                codes.resize(run.len(), 0);
                plane.read_row(row, k, &mut codes);
                let codes = run.iter().zip(&codes);
                let codes = codes.map(|(index, &code)| term_of(code, term(index), terms));
                write_codes(width, mine, codes);
            }
            return;
        }
        let mut codes = vec![0; last - first + 1];
        plane.read_row(row, first, &mut codes);
        let codes = indices.iter().map(|index| match index.k {
            Some(k) => term_of(codes[k - first], term(index), terms),
            None => 0,
        });
        write_codes(width, out, codes);
    });
    payload
}

/// Rows of B, one a index.
fn columns(
    plane: Plane,
    format: Format,
    indices: &[KIndex],
    terms: Option<&SplitTerms>,
    term: impl Fn(&KIndex) -> Option<Term> + Sync,
) -> Vec<u8> {
    let width = format.bytes();
    let n = plane.columns;
    let mut payload = vec![0; indices.len() * n * width];
    // Several rows at a time: of a transposed B they are neighbours in memory.
    const AT_ONCE: usize = 16;
    parallel::chunks_mut(&mut payload, AT_ONCE * n * width, &|group, out| {
        let first = group * AT_ONCE;
        let indices = &indices[first..indices.len().min(first + AT_ONCE)];
        let ks = || indices.iter().filter_map(|index| index.k);
        let (Some(first), Some(last)) = (ks().min(), ks().max()) else {
            return;
        };
        let dense = last - first < 4 * AT_ONCE;
        let mut codes = vec![0; if dense { (last - first + 1) * n } else { n }];
        if dense {
            plane.read_block(first, last - first + 1, 0, n, &mut codes);
        }
        for (index, out) in indices.iter().zip(out.chunks_mut(n * width)) {
            let Some(k) = index.k else { continue };
            let row = if dense {
                &codes[(k - first) * n..(k - first + 1) * n]
            } else {
                plane.read_row(k, 0, &mut codes);
                &codes
            };
            let term = term(index);
            write_codes(
                width,
                out,
                row.iter().map(|&code| term_of(code, term, terms)),
            );
        }
    });
    payload
}

/// Codes of so many bytes, one after another.
#[inline]
fn write_codes(width: usize, out: &mut [u8], codes: impl Iterator<Item = u32>) {
    // The loop over each width is worth compiling by itself.
    match width {
        1 => {
            for (out, code) in out.iter_mut().zip(codes) {
                *out = code as u8;
            }
        }
        2 => {
            for (out, code) in out.chunks_exact_mut(2).zip(codes) {
                out.copy_from_slice(&(code as u16).to_le_bytes());
            }
        }
        _ => {
            for (out, code) in out.chunks_exact_mut(4).zip(codes) {
                out.copy_from_slice(&code.to_le_bytes());
            }
        }
    }
}

/// An operand, or the code of a term of it.
#[inline]
fn term_of(code: u32, term: Option<Term>, terms: Option<&SplitTerms>) -> u32 {
    let (Some(term), Some(terms)) = (term, terms) else {
        return code;
    };
    let of_f32 = terms.in_f32(code, term);
    match terms.format {
        TermFormat::Tf32 => of_f32,
        TermFormat::Bf16 => of_f32 >> 16,
    }
}

impl SplitTerms {
    /// The term of an FP32 number, as an f32. What a term leaves is exact, but for infinities.
    #[inline]
    fn in_f32(&self, code: u32, term: Term) -> u32 {
        let ops = Natively { nan: 0x7fff_ffff };
        let left = |of: u32, taken: u32| {
            let left = ops.add(of, taken ^ 0x8000_0000);
            match self.scale {
                0 => left,
                scale => ops.mul(left, power_of_two(scale as i32)),
            }
        };
        let hi = rounded(code, self.hi);
        if term == Term::Hi {
            return hi;
        }
        let mut rest = left(code, hi);
        if let Some(how) = self.mid {
            let mid = rounded(rest, how);
            if term == Term::Mid {
                return mid;
            }
            rest = left(rest, mid);
        }
        rounded(rest, self.lo)
    }

    /// Terms with which one chain gives what accumulators that are scaled, and rid of NaNs, give for these k; none if
    /// it is not certain. Powers of two move exponents alone where nothing overflows and nothing is subnormal.
    pub(super) fn in_one_chain(
        &self,
        step: &Step,
        problem: &Problem,
        indices: &[KIndex],
    ) -> Option<SplitTerms> {
        let ks = || indices.iter().filter_map(|index| index.k);
        let k = ks().min()?..ks().max()? + 1;
        let a = exponents(problem.a.plane(0), 0..problem.m, k.clone())?;
        let b = exponents(problem.b.plane(0), k, 0..problem.n)?;
        let Range { start, end } = a.start + b.start..a.end + b.end;
        // A term is at most twice its operand, and a chain has at most 2^20 products of terms.
        let finite = a.end.max(b.end) < 127 && end + 22 < 127;
        // Every term, and every sum that is not zero, is a multiple of the last bit of the smallest.
        let scalable = |step: &Fused| {
            let lowest = start - 2 * 23;
            a.start.min(b.start) - 23 > -126
                && lowest > step.zero_exponent
                && lowest - step.fraction_bits as i32 > -126
        };
        let same = match step {
            _ if !finite || self.every * self.products.len() > 1 << 20 => false,
            _ if self.scale == 0 => true,
            Step::Fused(step) => scalable(step),
            _ => false,
        };
        same.then(|| SplitTerms {
            scale: 0,
            nan_before_last: None,
            ..self.clone()
        })
    }
}

/// The exponents of the smallest and the largest number but zeros in a part of a matrix; none if one is no finite
/// number.
fn exponents(plane: Plane, rows: Range<usize>, columns: Range<usize>) -> Option<Range<i32>> {
    let (plane, rows, columns) = if plane.has_rows_together() {
        (plane, rows, columns)
    } else {
        (plane.transposed(), columns, rows)
    };
    const AT_ONCE: usize = 64;
    let found = parallel::map(rows.len().div_ceil(AT_ONCE), |group| {
        let first = rows.start + group * AT_ONCE;
        let mut codes = vec![0; columns.len()];
        let mut seen = (u32::MAX, 0);
        for row in first..rows.end.min(first + AT_ONCE) {
            plane.read_row(row, columns.start, &mut codes);
            for &code in &codes {
                let magnitude = code << 1;
                // Zeros are taken for the largest there is.
                seen.0 = seen.0.min(magnitude.wrapping_sub(1));
                seen.1 = seen.1.max(magnitude);
            }
        }
        seen
    });
    let least = found.iter().map(|seen| seen.0).min()?;
    let most = found.iter().map(|seen| seen.1).max()?;
    let exponent = |magnitude: u32| (magnitude >> 24) as i32 - 127;
    if most >= 0xff00_0000 {
        return None;
    }
    match most {
        0 => Some(0..0),
        _ => Some(exponent(least + 1)..exponent(most)),
    }
}

/// Two to this power as an f32.
pub(super) fn power_of_two(exponent: i32) -> u32 {
    ((127 + exponent) as u32) << 23
}

/// [`crate::num::tf32_code`] in two operations: a carry out of the fraction belongs into the exponent, up to
/// infinity. BF16 likewise.
#[inline]
fn rounded(code: u32, how: TermRounding) -> u32 {
    const LOW: u32 = 0x1fff;
    const LARGEST: u32 = 0x7f7f_0000;
    let special = code << 1 >= 0xff00_0000;
    match how {
        TermRounding::Rz | TermRounding::Rna if special => code,
        TermRounding::Rz => code & !LOW,
        TermRounding::Rna => (code + LOW.div_ceil(2)) & !LOW,
        TermRounding::Rne => u32::from(to_bf16(code)) << 16,
        TermRounding::RneSatfinite => match u32::from(to_bf16(code)) << 16 {
            infinite if infinite << 1 == 0xff00_0000 => infinite & 0x8000_0000 | LARGEST,
            code => code,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_rounded_as_their_formats_are() {
        use crate::num::Rounding;
        let mut random = tcverify_num::random::SplitMix64(3);
        let lower = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff];
        let uppers = 0..1u32 << 19;
        let edges = uppers.step_by(7).flat_map(|x| lower.map(|y| x << 13 | y));
        let any = (0..200_000).map(|_| random.word() as u32);
        for code in edges.chain(any) {
            for (how, rounding) in [
                (TermRounding::Rz, Rounding::TowardZero),
                (TermRounding::Rna, Rounding::NearestAway),
            ] {
                let want = crate::num::tf32_code(code.into(), rounding) as u32;
                assert_eq!(rounded(code, how), want, "{code:x}");
            }
            let (from, to) = (Format::Fp32, Format::Bf16);
            let want = crate::num::round_code(from, code.into(), to, Rounding::NearestEven, 0x7fff);
            assert_eq!(rounded(code, TermRounding::Rne), (want as u32) << 16);
        }
    }
}
