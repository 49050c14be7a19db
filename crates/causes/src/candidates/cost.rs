//! What a try costs, in multiply-adds of the exact engine. A search is bounded by them and not by time, so that a report is
//! the same on every machine.

use crate::emu::{Element, Problem};

/// What any search may spend, however small the product: about a tenth of a second.
pub const FLOOR: u64 = 1 << 22;

/// Multiply-adds that vector kernels do in the time of one of the exact engine, in all of a product.
const KERNELS: u64 = 256;

/// Neighbouring columns that are read together where elements are computed alone.
const TOGETHER: usize = 32;

/// Operands of more elements than this lie in no cache, and their lines take so many times as long to read.
const NEAR: usize = 1 << 22;
const FAR: u64 = 3;

/// A product of so many multiply-adds; `fast`: by vector kernels.
pub fn of_product(multiply_adds: u64, fast: bool) -> u64 {
    if fast {
        multiply_adds.div_ceil(KERNELS)
    } else {
        multiply_adds
    }
}

/// Elements of D alone. A kernel is worth its packing for many neighbours only.
pub fn of_elements(at: &[Element], problem: &Problem, fast: bool) -> u64 {
    let mut groups: Vec<_> = at
        .iter()
        .map(|at| (at.batch, at.column / TOGETHER))
        .collect();
    groups.sort_unstable();
    let groups = groups.chunk_by(|one, other| one == other);
    let lines: u64 = groups
        .map(|group| of_neighbours(group.len() as u64, fast))
        .sum();
    let far = problem.k.saturating_mul(problem.m + problem.n) > NEAR;
    lines
        .saturating_mul(problem.k as u64)
        .saturating_mul(if far { FAR } else { 1 })
}

fn of_neighbours(elements: u64, fast: bool) -> u64 {
    match elements {
        3 | 4 if fast => 2 * elements,
        5.. if fast => 8 + elements / 4,
        _ => elements,
    }
}
