//! Integer products: exact in 32 bits within a group, so that the plain loops of a matrix product do.

use std::ops::Range;

use rayon::prelude::*;

use super::platform::Platform;
use crate::emu::step::{IntegerOverflow, IntegerSum};
use crate::emu::{Arithmetic, Problem, Progress};
use crate::num::Format;
use crate::tensor::Plane;

/// Rows of A and columns of B that a tile has.
pub const ROWS: usize = 4;
pub const COLUMNS: usize = 16;

/// The k of a panel, at least; columns of B that are packed at a time.
const DEPTH: usize = 4096;
const BLOCK_COLUMNS: usize = 1024;

/// As [`crate::emu::exact::fill`], for integer operands.
pub fn fill(
    problem: &Problem,
    arithmetic: &Arithmetic,
    step: &IntegerSum,
    platform: Platform,
    first_row: usize,
    out: &mut [u64],
    progress: Progress,
) {
    let Problem { m, n, k, .. } = *problem;
    // Whole groups, so that a clamped sum is clamped where it should be.
    let depth = DEPTH.next_multiple_of(step.group);
    let (mut next, mut rest) = (first_row, out);
    while !rest.is_empty() {
        let (batch, row) = (next / m, next % m);
        let count = (m - row).min(rest.len() / n);
        let (mine, others) = rest.split_at_mut(count * n);
        (next, rest) = (next + count, others);

        let a = problem.a.plane(batch);
        let b = problem.b.plane(batch);
        let c = problem.c.map(|c| c.plane(batch));
        mine.par_chunks_mut(n).enumerate().for_each(|(i, out)| {
            for (column, out) in out.iter_mut().enumerate() {
                *out = c.map_or(0, |c| c.code(row + i, column));
            }
        });
        for start in (0..k).step_by(depth) {
            let ks = start..k.min(start + depth);
            for left in (0..n).step_by(BLOCK_COLUMNS) {
                let width = BLOCK_COLUMNS.min(n - left);
                let strips: Vec<_> = (left..left + width)
                    .into_par_iter()
                    .step_by(COLUMNS)
                    .map(|left| pack_b(arithmetic.b, b, &ks, left, COLUMNS.min(n - left)))
                    .collect();
                let rows = mine.par_chunks_mut(ROWS * n).enumerate();
                rows.for_each(|(i, out)| {
                    let rows = out.len() / n;
                    let a = pack_a(arithmetic.a, a, &ks, row + i * ROWS, rows);
                    for (i, b) in strips.iter().enumerate() {
                        let left = left + i * COLUMNS;
                        let columns = left..n.min(left + COLUMNS);
                        let mut d = [[0; COLUMNS]; ROWS];
                        for (d, out) in d.iter_mut().zip(out.chunks(n)) {
                            for (d, &out) in d.iter_mut().zip(&out[columns.clone()]) {
                                *d = out as u32 as i32;
                            }
                        }
                        platform.integers(step, &a, b, &mut d);
                        for (d, out) in d.into_iter().zip(out.chunks_mut(n)) {
                            for (d, out) in d.into_iter().zip(&mut out[columns.clone()]) {
                                *out = u64::from(d as u32);
                            }
                        }
                    }
                    progress((rows * width * ks.len()) as u64);
                });
            }
        }
    }
}

fn pack_a(
    format: Format,
    plane: Plane,
    ks: &Range<usize>,
    first: usize,
    rows: usize,
) -> Vec<[i32; ROWS]> {
    let mut packed = vec![[0; ROWS]; ks.len()];
    let mut codes = vec![0; ks.len()];
    for r in 0..rows {
        plane.read_row(first + r, ks.start, &mut codes);
        for (packed, &code) in packed.iter_mut().zip(&codes) {
            packed[r] = format.integer(code.into()) as i32;
        }
    }
    packed
}

fn pack_b(
    format: Format,
    plane: Plane,
    ks: &Range<usize>,
    left: usize,
    columns: usize,
) -> Vec<[i32; COLUMNS]> {
    let mut codes = vec![0; ks.len() * columns];
    plane.read_block(ks.start, ks.len(), left, columns, &mut codes);
    let mut packed = vec![[0; COLUMNS]; ks.len()];
    for (packed, codes) in packed.iter_mut().zip(codes.chunks(columns)) {
        for (packed, &code) in packed.iter_mut().zip(codes) {
            *packed = format.integer(code.into()) as i32;
        }
    }
    packed
}

/// Adds the products to a tile of accumulators. Compiled for several instruction sets.
#[inline(always)]
pub fn tile(
    step: &IntegerSum,
    a: &[[i32; ROWS]],
    b: &[[i32; COLUMNS]],
    d: &mut [[i32; COLUMNS]; ROWS],
) {
    // Modulo 2^32 all groups are one.
    let group = match step.overflow {
        IntegerOverflow::Wrap => a.len(),
        IntegerOverflow::Saturate => step.group,
    };
    for (a, b) in a.chunks(group).zip(b.chunks(group)) {
        let mut sum = [[0i32; COLUMNS]; ROWS];
        for (a, b) in a.iter().zip(b) {
            for (sum, &a) in sum.iter_mut().zip(a) {
                for (sum, &b) in sum.iter_mut().zip(b) {
                    *sum = sum.wrapping_add(a.wrapping_mul(b));
                }
            }
        }
        for (d, sum) in d.iter_mut().flatten().zip(sum.into_iter().flatten()) {
            *d = match step.overflow {
                IntegerOverflow::Wrap => d.wrapping_add(sum),
                // A group's sum stays far inside 32 bits: at most 1024 products of 2^16.
                IntegerOverflow::Saturate => d.saturating_add(sum),
            };
        }
    }
}
