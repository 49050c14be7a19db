//! Operands in the order of a list of k indices: copied, padded with zeros, taken apart into high and low
//! terms.

use super::f32ops::{Natively, Ops};
use super::k_index::KIndex;
use super::{SplitTerms, Term, TermRounding};
use crate::Problem;
use crate::num::Format;
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
        let (of_a, of_b) = (problem.a.tensor().format(), problem.b.tensor().format());
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

/// An operand, or a term of it. What the high term leaves is exact in f32.
#[inline]
fn term_of(code: u32, term: Option<Term>, terms: Option<&SplitTerms>) -> u32 {
    let (Some(term), Some(terms)) = (term, terms) else {
        return code;
    };
    let hi = rounded(code, terms.hi);
    match term {
        Term::Hi => hi,
        Term::Lo => {
            let ops = Natively { nan: 0x7fff_ffff };
            rounded(ops.add(code, hi ^ 0x8000_0000), terms.lo)
        }
    }
}

/// [`crate::num::tf32_code`] in two operations: a carry out of the fraction belongs into the exponent, up to
/// infinity.
#[inline]
fn rounded(code: u32, how: TermRounding) -> u32 {
    const LOW: u32 = 0x1fff;
    if code << 1 >= 0xff00_0000 {
        return code;
    }
    match how {
        TermRounding::Rz => code & !LOW,
        TermRounding::Rna => (code + LOW.div_ceil(2)) & !LOW,
    }
}

#[cfg(test)]
#[test]
fn terms_are_rounded_as_tf32_is() {
    let mut random = tcverify_num::random::SplitMix64(3);
    let lower = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff];
    let uppers = 0..1u32 << 19;
    let edges = uppers.step_by(7).flat_map(|x| lower.map(|y| x << 13 | y));
    let any = (0..200_000).map(|_| random.word() as u32);
    for code in edges.chain(any) {
        for how in [TermRounding::Rz, TermRounding::Rna] {
            let want = crate::num::tf32_code(code.into(), how.rounding()) as u32;
            assert_eq!(rounded(code, how), want, "{code:x}");
        }
    }
}
