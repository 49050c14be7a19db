//! The exact engine over blocks of D: unpack, step by step, nothing else.

use std::ops::Range;

use super::engine::work::{ExactEngine, Progress, Specials};
use super::{Arithmetic, Block, Problem};
use crate::common::deadline::{poll, unheard};
use crate::num::{Class, Format, Unpacked};
use crate::step::scaled;
use crate::tensor::{Plane, parallel};

/// Rows and columns of D that one task computes, and the k it unpacks at a time: buffers of a task
/// stay near 3 MB whatever K is.
const TILE: usize = 32;
const PANEL: usize = 2048;

/// Computes the rows of D from `first_row` on (matrices of a batch one after another) that `out`
/// has room for, as codes of the accumulator's format.
pub fn fill(
    problem: &Problem,
    arithmetic: &Arithmetic,
    first_row: usize,
    out: &mut [u64],
    progress: Progress,
) {
    parallel::each_of(tiles(problem, first_row, out), &|Tile { block, rows }| {
        let mut codes = initial(problem, &block);
        let (k, sums) = (0..problem.k, &mut codes);
        accumulate(problem, arithmetic, &block, k, sums, |x| x, progress);
        for (row, codes) in rows.into_iter().zip(codes.chunks(block.columns.len())) {
            row.copy_from_slice(codes);
        }
    });
}

/// C's codes in a block, row by row.
pub fn initial(problem: &Problem, block: &Block) -> Vec<u64> {
    let columns = block.columns.len();
    match problem.c {
        None => vec![0; block.rows.len() * columns],
        Some(c) => {
            let c = c.plane(block.batch);
            let rows = block.rows.clone();
            let at = |row| block.columns.clone().map(move |column| c.code(row, column));
            rows.flat_map(at).collect()
        }
    }
}

/// Runs the steps over `k` on the accumulators of a block. `k` starts where a step does. Operands
/// pass through `adjust` first. With a long K this takes seconds: `progress` may end it.
pub fn accumulate(
    problem: &Problem,
    arithmetic: &Arithmetic,
    block: &Block,
    k: Range<usize>,
    accumulators: &mut [u64],
    adjust: impl Fn(Unpacked) -> Unpacked,
    progress: Progress,
) {
    let formats = arithmetic.formats();
    let step = &arithmetic.step;
    let start = accumulators.iter().map(|&c| step.start(formats, c));
    let mut carried: Vec<_> = start.collect();
    let columns = block.columns.len();
    let span = step.span();
    let panel = PANEL.next_multiple_of(span);
    for start in k.clone().step_by(panel) {
        poll();
        let k = start..k.end.min(start + panel);
        let Gathered { a, b, scales } = gather(problem, arithmetic, block, k.clone(), &adjust);
        for (row, a) in a.chunks(k.len()).enumerate() {
            for (column, b) in b.chunks(k.len()).enumerate() {
                let carried = &mut carried[row * columns + column];
                let (row, column) = (row * k.len(), column * k.len());
                for (i, (a, b)) in a.chunks(span).zip(b.chunks(span)).enumerate() {
                    let scales = scales.as_ref().map(|[of_a, of_b]| {
                        let at = |start: usize| start + i * span..start + i * span + a.len();
                        [&of_a[at(row)], &of_b[at(column)]]
                    });
                    step.run_scaled(formats, a, b, scales, carried);
                }
            }
        }
        progress((carried.len() * k.len()) as u64);
    }
    for (accumulator, carried) in accumulators.iter_mut().zip(&carried) {
        *accumulator = step.finish(formats, carried);
    }
}

/// Operands as a step takes them.
pub struct Gathered {
    /// Row by row, the elements of each.
    pub a: Vec<Unpacked>,
    /// Column by column.
    pub b: Vec<Unpacked>,
    /// Codes, one an operand; none where scales have moved the operands' exponents already.
    pub scales: Option<[Vec<u8>; 2]>,
}

/// The operands of a block, the elements `k` of each row and column, passed through `adjust`.
pub fn gather(
    problem: &Problem,
    arithmetic: &Arithmetic,
    block: &Block,
    k: Range<usize>,
    adjust: impl Fn(Unpacked) -> Unpacked,
) -> Gathered {
    let a = problem.a.plane(block.batch);
    let b = problem.b.transposed().plane(block.batch);
    let mut a = unpack(arithmetic.a, a, block.rows.clone(), k.clone(), &adjust);
    let mut b = unpack(arithmetic.b, b, block.columns.clone(), k.clone(), &adjust);
    let scales = scales(problem, block, k);
    let scales = match (scales, arithmetic.scale) {
        (Some([of_a, of_b]), Some(scale)) if arithmetic.step.scales_operands() => {
            multiply(&mut a, &of_a, scale.format, &adjust);
            multiply(&mut b, &of_b, scale.format, &adjust);
            None
        }
        (scales, _) => scales,
    };
    Gathered { a, b, scales }
}

/// Rows of a matrix, the elements `k` of each, taken apart.
fn unpack(
    format: Format,
    matrix: Plane,
    rows: Range<usize>,
    k: Range<usize>,
    adjust: impl Fn(Unpacked) -> Unpacked,
) -> Vec<Unpacked> {
    let mut out = Vec::with_capacity(rows.len() * k.len());
    let mut codes = Vec::with_capacity(k.len());
    for row in rows {
        matrix.read_codes(row, k.clone(), &mut codes);
        out.extend(codes.iter().map(|&code| adjust(format.unpack(code))));
    }
    out
}

/// The codes of the scales of rows of A and of columns of B, one for every element of `k`.
pub fn scales(problem: &Problem, block: &Block, k: Range<usize>) -> Option<[Vec<u8>; 2]> {
    let scales = problem.scales?;
    let codes = |plane: Plane, rows: Range<usize>| -> Vec<u8> {
        let of_row = |row| {
            let code = move |k| plane.code(row, k / scales.block) as u8;
            k.clone().map(code)
        };
        rows.flat_map(of_row).collect()
    };
    let a = scales.a.plane(block.batch);
    let b = scales.b.transposed().plane(block.batch);
    Some([
        codes(a, block.rows.clone()),
        codes(b, block.columns.clone()),
    ])
}

fn multiply(
    operands: &mut [Unpacked],
    scales: &[u8],
    format: Format,
    adjust: impl Fn(Unpacked) -> Unpacked,
) {
    for (x, &scale) in operands.iter_mut().zip(scales) {
        *x = adjust(scaled(*x, format.unpack(scale.into())));
    }
}

impl ExactEngine for Arithmetic {
    fn accumulate(
        &self,
        problem: &Problem,
        block: &Block,
        k: Range<usize>,
        specials: Specials,
        accumulators: &mut [u64],
    ) {
        match specials {
            Specials::Themselves => {
                accumulate(problem, self, block, k, accumulators, |x| x, &unheard)
            }
            Specials::Zeros => accumulate(problem, self, block, k, accumulators, zeroed, &unheard),
        }
    }
}

/// The operand as a kernel sees it that takes specials for zeros.
fn zeroed(x: Unpacked) -> Unpacked {
    match x.class {
        Class::Finite => x,
        Class::Infinite | Class::Nan => Unpacked {
            class: Class::Finite,
            negative: x.negative,
            significand: 0,
            exponent: 0,
        },
    }
}

/// A block of one matrix of D, and the pieces of the output that hold its rows.
struct Tile<'a> {
    block: Block,
    rows: Vec<&'a mut [u64]>,
}

fn tiles<'a>(problem: &Problem, first_row: usize, out: &'a mut [u64]) -> Vec<Tile<'a>> {
    let n = problem.n;
    let blocks = blocks(problem, first_row, out.len() / n, TILE).into_iter();
    let tiles = blocks.map(|(_, block)| Tile {
        rows: Vec::with_capacity(block.rows.len()),
        block,
    });
    let mut tiles: Vec<Tile> = tiles.collect();
    let mut pieces = out.chunks_mut(n).flat_map(|row| row.chunks_mut(TILE));
    for side_by_side in tiles.chunks_mut(n.div_ceil(TILE)) {
        for _ in side_by_side[0].block.rows.clone() {
            for tile in &mut *side_by_side {
                tile.rows.extend(pieces.next());
            }
        }
    }
    tiles
}

/// The `count` rows of D from `first_row` on (matrices of a batch one after another) in blocks of at most `size` rows and
/// columns, row by row; each with the number of its first row, counted from `first_row`.
pub fn blocks(
    problem: &Problem,
    first_row: usize,
    count: usize,
    size: usize,
) -> Vec<(usize, Block)> {
    let Problem { m, n, .. } = *problem;
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < count {
        let (batch, row) = ((first_row + at) / m, (first_row + at) % m);
        let rows = row..row + size.min(m - row).min(count - at);
        blocks.extend((0..n).step_by(size).map(|left| {
            let block = Block {
                batch,
                rows: rows.clone(),
                columns: left..n.min(left + size),
            };
            (at, block)
        }));
        at += rows.len();
    }
    blocks
}
