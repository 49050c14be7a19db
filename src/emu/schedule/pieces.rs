//! Operands in the order of a list of slots: copied, filled up with zeros, taken apart into big and small.

use rayon::prelude::*;

use super::f32ops::{Natively, Ops};
use super::walk::Slot;
use super::{PartRounding, Passes, Piece};
use crate::emu::Problem;
use crate::num::Format;
use crate::tensor::{Plane, Planes, Tensor};

/// The operands of the products of some slots.
pub struct Pieces {
    a: Tensor,
    b: Tensor,
}

impl Pieces {
    /// Copies them out of a product of one matrix without scales, of formats of up to 32 bits.
    pub fn gather(problem: &Problem, slots: &[Slot], passes: Option<&Passes>) -> Pieces {
        let side = |side: usize| move |slot: &Slot| slot.parts.map(|parts| parts[side]);
        let a = problem.a.plane(0);
        let b = problem.b.plane(0);
        let (of_a, of_b) = (problem.a.tensor().format(), problem.b.tensor().format());
        Pieces {
            a: Tensor::from_payload(
                of_a,
                vec![problem.m, slots.len()],
                rows(a, of_a, slots, passes, side(0)),
            ),
            b: Tensor::from_payload(
                of_b,
                vec![slots.len(), problem.n],
                columns(b, of_b, slots, passes, side(1)),
            ),
        }
    }

    /// Their product. C is of its size, but may be a part of a larger tensor.
    pub fn problem<'a>(&'a self, c: Option<Planes<'a>>) -> Problem<'a> {
        let product = Problem::new(self.a.planes(), self.b.planes(), None);
        let product = product.expect("parts of operands that fit");
        Problem { c, ..product }
    }
}

/// Rows of A, the slots of each.
fn rows(
    plane: Plane,
    format: Format,
    slots: &[Slot],
    passes: Option<&Passes>,
    piece: impl Fn(&Slot) -> Option<Piece> + Sync,
) -> Vec<u8> {
    let ks = || slots.iter().filter_map(|slot| slot.k);
    let (Some(first), Some(last)) = (ks().min(), ks().max()) else {
        return vec![0; plane.rows * slots.len() * format.bytes()];
    };
    let width = format.bytes();
    let mut payload = vec![0; plane.rows * slots.len() * width];
    payload
        .par_chunks_mut(slots.len() * width)
        .enumerate()
        .for_each(|(row, out)| {
            let mut codes = vec![0; last - first + 1];
            plane.read_row(row, first, &mut codes);
            for (slot, out) in slots.iter().zip(out.chunks_mut(width)) {
                let Some(k) = slot.k else { continue };
                let code = part(codes[k - first], piece(slot), passes);
                out.copy_from_slice(&code.to_le_bytes()[..width]);
            }
        });
    payload
}

/// Rows of B, one a slot.
fn columns(
    plane: Plane,
    format: Format,
    slots: &[Slot],
    passes: Option<&Passes>,
    piece: impl Fn(&Slot) -> Option<Piece> + Sync,
) -> Vec<u8> {
    let width = format.bytes();
    let n = plane.columns;
    let mut payload = vec![0; slots.len() * n * width];
    // Several rows at a time: of a transposed B they are neighbours in memory.
    const AT_ONCE: usize = 16;
    let groups = payload
        .par_chunks_mut(AT_ONCE * n * width)
        .zip(slots.par_chunks(AT_ONCE));
    groups.for_each(|(out, slots)| {
        let ks = || slots.iter().filter_map(|slot| slot.k);
        let (Some(first), Some(last)) = (ks().min(), ks().max()) else {
            return;
        };
        let dense = last - first < 4 * AT_ONCE;
        let mut codes = vec![0; if dense { (last - first + 1) * n } else { n }];
        if dense {
            plane.read_block(first, last - first + 1, 0, n, &mut codes);
        }
        for (slot, out) in slots.iter().zip(out.chunks_mut(n * width)) {
            let Some(k) = slot.k else { continue };
            let row = match dense {
                true => &codes[(k - first) * n..(k - first + 1) * n],
                false => {
                    plane.read_row(k, 0, &mut codes);
                    &codes
                }
            };
            for (&code, out) in row.iter().zip(out.chunks_mut(width)) {
                let code = part(code, piece(slot), passes);
                out.copy_from_slice(&code.to_le_bytes()[..width]);
            }
        }
    });
    payload
}

/// An operand, or a part of it. What the big part leaves is exact in f32.
#[inline]
fn part(code: u32, piece: Option<Piece>, passes: Option<&Passes>) -> u32 {
    let (Some(piece), Some(passes)) = (piece, passes) else {
        return code;
    };
    let big = rounded(code, passes.big);
    match piece {
        Piece::Big => big,
        Piece::Small => {
            let ops = Natively { nan: 0x7fff_ffff };
            rounded(ops.add(code, big ^ 0x8000_0000), passes.small)
        }
    }
}

/// [`crate::num::tf32_code`] in two operations: a carry out of the fraction belongs into the exponent, up to
/// infinity.
#[inline]
fn rounded(code: u32, how: PartRounding) -> u32 {
    const LOW: u32 = 0x1fff;
    if code << 1 >= 0xff00_0000 {
        return code;
    }
    match how {
        PartRounding::Rz => code & !LOW,
        PartRounding::Rna => (code + LOW.div_ceil(2)) & !LOW,
    }
}

#[cfg(test)]
#[test]
fn parts_are_rounded_as_tf32_is() {
    let mut random = crate::random::SplitMix64(3);
    let lower = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff];
    let uppers = 0..1u32 << 19;
    let edges = uppers.step_by(7).flat_map(|x| lower.map(|y| x << 13 | y));
    let any = (0..200_000).map(|_| random.word() as u32);
    for code in edges.chain(any) {
        for how in [PartRounding::Rz, PartRounding::Rna] {
            let want = crate::num::tf32_code(code.into(), how.rounding()) as u32;
            assert_eq!(rounded(code, how), want, "{code:x}");
        }
    }
}
