//! A whole (batched) product through the exact engine, on all cores, a band of rows at a time.

use std::ops::Range;

use rayon::prelude::*;

use super::{Arithmetic, Problem};
use crate::emu::step::Formats;
use crate::num::{Format, Rounding, Unpacked, round_code};
use crate::tensor::{Plane, Tensor};

/// Called now and then with the number of multiply-adds finished since the last call.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Rows and columns of D that one task computes, and the k it unpacks at a time: buffers of a task
/// stay near 3 MB whatever K is.
const TILE: usize = 32;
const PANEL: usize = 2048;

/// Bytes of D that are in memory at a time (one row at the least).
const BAND: usize = 32 << 20;

/// A product to compute and the arithmetic to compute it with.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    pub problem: Problem<'a>,
    pub arithmetic: &'a Arithmetic,
    /// Round every element of the finished product once, to nearest even, to this format.
    pub convert_to: Option<Format>,
}

/// Some consecutive rows of D; the matrices of a batch count on one after the other.
#[derive(Debug)]
pub struct Band<'a> {
    pub first_row: usize,
    /// Their canonical payload.
    pub payload: &'a [u8],
}

impl Replay<'_> {
    /// D's format.
    pub fn format(&self) -> Format {
        self.convert_to.unwrap_or(self.arithmetic.accumulator)
    }

    pub fn shape(&self) -> Vec<usize> {
        self.problem.d_shape()
    }

    /// Computes D and hands it to `sink` from the first row to the last. Memory stays bounded by
    /// the size of a band, whatever the size of D.
    ///
    /// # Errors
    /// The first error of `sink`, which ends the replay.
    pub fn run<E>(
        &self,
        progress: Progress,
        mut sink: impl FnMut(Band) -> Result<(), E>,
    ) -> Result<(), E> {
        let row_bytes = self.problem.n * self.format().bytes();
        let rows = self.problem.batches() * self.problem.m;
        let band_rows = (BAND / row_bytes).max(TILE).min(rows);
        let mut payload = vec![0u8; band_rows * row_bytes];
        for first_row in (0..rows).step_by(band_rows) {
            let count = band_rows.min(rows - first_row);
            let payload = &mut payload[..count * row_bytes];
            self.fill(first_row, payload, progress);
            sink(Band { first_row, payload })?;
        }
        Ok(())
    }

    /// Computes D and keeps it.
    pub fn collect(&self, progress: Progress) -> Tensor {
        let mut all = Vec::new();
        let done = self.run(progress, |band| {
            all.extend_from_slice(band.payload);
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = done;
        Tensor::from_payload(self.format(), self.shape(), all)
    }

    fn fill(&self, first_row: usize, payload: &mut [u8], progress: Progress) {
        let width = self.format().bytes();
        tiles(&self.problem, first_row, payload, width)
            .into_par_iter()
            .for_each(|tile| {
                let codes = self.compute(&tile);
                for (row, codes) in tile.rows.into_iter().zip(codes.chunks(tile.columns)) {
                    for (bytes, &code) in row.chunks_mut(width).zip(codes) {
                        bytes.copy_from_slice(&self.convert(code).to_le_bytes()[..width]);
                    }
                }
                progress((codes.len() * self.problem.k) as u64);
            });
    }

    fn convert(&self, code: u64) -> u64 {
        let from = self.arithmetic.accumulator;
        match self.convert_to {
            Some(to) if to != from => {
                // All bits ones but the sign: what NVIDIA's conversions return (PTX ISA, `cvt`).
                let nan = to.sign_mask() - 1;
                round_code(from, code, to, Rounding::NearestEven, nan)
            }
            _ => code,
        }
    }

    /// The accumulators of a tile after the whole of K, row by row.
    fn compute(&self, tile: &Tile) -> Vec<u64> {
        let Replay {
            problem,
            arithmetic,
            ..
        } = self;
        let formats = Formats {
            a: arithmetic.a,
            b: arithmetic.b,
            accumulator: arithmetic.accumulator,
        };
        let (rows, columns) = (tile.rows.len(), tile.columns);
        let mut accumulators = match problem.c {
            None => vec![0; rows * columns],
            Some(c) => {
                let c = c.plane(tile.batch);
                let at = |i| c.code(tile.row + i / columns, tile.column + i % columns);
                (0..rows * columns).map(at).collect()
            }
        };

        let a = problem.a.plane(tile.batch);
        let b = problem.b.transposed().plane(tile.batch);
        let span = arithmetic.step.span();
        let panel = PANEL.next_multiple_of(span);
        for start in (0..problem.k).step_by(panel) {
            let k = start..problem.k.min(start + panel);
            let a = unpack(arithmetic.a, a, tile.row, rows, k.clone());
            let b = unpack(arithmetic.b, b, tile.column, columns, k.clone());
            for (row, a) in a.chunks(k.len()).enumerate() {
                for (column, b) in b.chunks(k.len()).enumerate() {
                    let accumulator = &mut accumulators[row * columns + column];
                    for (a, b) in a.chunks(span).zip(b.chunks(span)) {
                        *accumulator = arithmetic.step.run(formats, a, b, *accumulator);
                    }
                }
            }
        }
        accumulators
    }
}

/// A block of one matrix of D, and the pieces of the payload that hold its rows.
struct Tile<'a> {
    batch: usize,
    row: usize,
    column: usize,
    columns: usize,
    rows: Vec<&'a mut [u8]>,
}

fn tiles<'a>(
    problem: &Problem,
    first_row: usize,
    mut payload: &'a mut [u8],
    width: usize,
) -> Vec<Tile<'a>> {
    let Problem { m, n, .. } = *problem;
    let mut tiles: Vec<Tile> = Vec::new();
    let mut next = first_row;
    while !payload.is_empty() {
        let (batch, row) = (next / m, next % m);
        let left = payload.len() / (n * width);
        let count = TILE.min(m - row).min(left);
        let (block, rest) = payload.split_at_mut(count * n * width);
        (payload, next) = (rest, next + count);

        let start = tiles.len();
        tiles.extend((0..n).step_by(TILE).map(|column| Tile {
            batch,
            row,
            column,
            columns: TILE.min(n - column),
            rows: Vec::with_capacity(count),
        }));
        for row in block.chunks_mut(n * width) {
            for (tile, piece) in tiles[start..].iter_mut().zip(row.chunks_mut(TILE * width)) {
                tile.rows.push(piece);
            }
        }
    }
    tiles
}

/// `count` rows of a matrix from `first` on, the elements `k` of each, taken apart.
fn unpack(
    format: Format,
    matrix: Plane,
    first: usize,
    count: usize,
    k: Range<usize>,
) -> Vec<Unpacked> {
    let mut out = Vec::with_capacity(count * k.len());
    for row in first..first + count {
        out.extend(k.clone().map(|k| format.unpack(matrix.code(row, k))));
    }
    out
}
