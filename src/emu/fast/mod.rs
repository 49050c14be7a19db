//! The same steps, fast: packing, cache blocking, tiles over all cores, one kernel an instruction
//! set. Bit-identical to the exact engine, to which every tile goes whose preconditions fail.
//!
//! * [`plan`]: which models have a kernel, and its constants for one.
//! * [`pack`]: operands as floats and small exponents, with the range they span.
//! * [`kernel`]: the arithmetic; its header explains why it is exact.
//! * [`vector`]: the instructions.
//! * [`special`]: infinities and NaNs, which the kernel takes for zeros.

mod kernel;
mod pack;
mod plan;
mod platform;
mod selftest;
mod special;
mod vector;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use plan::Plan;
pub use platform::Platform;

use self::kernel::Tile;
use self::pack::{PackedA, PackedB, Panel, ROWS, pack_a, pack_b};
use super::exact::{self, Block};
use super::{Arithmetic, Problem, Progress};
use crate::num::{Format, Rounding, convert_exact, round_code};

/// The k of a panel: a strip of B of that depth stays in the first-level cache or close to it.
const DEPTH: usize = 128;

/// Rows of A that a task packs, and columns of B that are packed at a time.
const TASK_ROWS: usize = 64;
const BLOCK_COLUMNS: usize = 8192;

/// Below this many elements a matrix of D is not worth packing for.
const SMALL: usize = 16;

/// A product and the plan to compute it by.
pub struct Fast<'a> {
    problem: &'a Problem<'a>,
    arithmetic: &'a Arithmetic,
    plan: Plan,
    platform: Platform,
}

/// Rows and columns of one matrix that have an infinity or NaN.
struct Flags {
    rows: Vec<AtomicBool>,
    columns: Vec<AtomicBool>,
}

/// One matrix of the batch, some of its rows.
struct Slab<'a> {
    fast: &'a Fast<'a>,
    batch: usize,
    rows: Range<usize>,
    progress: Progress<'a>,
}

impl<'a> Fast<'a> {
    pub fn new(
        problem: &'a Problem<'a>,
        arithmetic: &'a Arithmetic,
        plan: Plan,
        platform: Platform,
    ) -> Fast<'a> {
        Fast {
            problem,
            arithmetic,
            plan,
            platform,
        }
    }

    /// As [`exact::fill`].
    pub fn fill(&self, first_row: usize, out: &mut [u64], progress: Progress) {
        let Problem { m, n, .. } = *self.problem;
        if m * n < SMALL {
            return exact::fill(self.problem, self.arithmetic, first_row, out, progress);
        }
        let mut slabs = Vec::new();
        let (mut next, mut rest) = (first_row, out);
        while !rest.is_empty() {
            let (batch, row) = (next / m, next % m);
            let count = (m - row).min(rest.len() / n);
            let (mine, others) = rest.split_at_mut(count * n);
            (next, rest) = (next + count, others);
            let slab = Slab {
                fast: self,
                batch,
                rows: row..row + count,
                progress,
            };
            slabs.push((slab, mine));
        }
        slabs.into_par_iter().for_each(|(slab, out)| slab.fill(out));
    }

    /// The bits of the f32 that means what an accumulator's code means.
    fn to_state(&self, code: u64) -> i32 {
        let state = convert_exact(self.arithmetic.accumulator, code, Format::Fp32);
        state.expect("an f32 holds every accumulator of a plan") as u32 as i32
    }

    fn from_state(&self, state: i32) -> u64 {
        let (to, nan) = (self.arithmetic.accumulator, self.plan.nan);
        let code = u64::from(state as u32);
        if to == Format::Fp32 && (state & i32::MAX) <= 0x7f80_0000 {
            return code;
        }
        round_code(Format::Fp32, code, to, Rounding::TowardZero, nan)
    }
}

impl Slab<'_> {
    fn fill(&self, out: &mut [u64]) {
        let Fast { problem, plan, .. } = self.fast;
        let n = problem.n;
        let flags = Flags {
            rows: (0..self.rows.len())
                .map(|_| AtomicBool::new(false))
                .collect(),
            columns: (0..n).map(|_| AtomicBool::new(false)).collect(),
        };
        let mut state = self.initial_state(&flags);

        let depth = DEPTH.next_multiple_of(plan.span());
        for left in (0..n).step_by(BLOCK_COLUMNS) {
            let columns = left..n.min(left + BLOCK_COLUMNS);
            for start in (0..problem.k).step_by(depth) {
                let panel = Panel {
                    start,
                    len: depth.min(problem.k - start),
                    plan,
                };
                self.multiply(&panel, columns.clone(), &mut state, &flags);
            }
        }

        out.par_chunks_mut(n)
            .zip(state.par_chunks(n))
            .for_each(|(out, state)| {
                for (out, &state) in out.iter_mut().zip(state) {
                    *out = self.fast.from_state(state);
                }
            });
        special::settle(self.fast, self.batch, self.rows.clone(), &flags, out);
    }

    /// C, with infinities and NaNs taken for zeros: those elements are settled at the end.
    fn initial_state(&self, flags: &Flags) -> Vec<i32> {
        let n = self.fast.problem.n;
        let mut state = vec![0i32; self.rows.len() * n];
        let Some(c) = self.fast.problem.c else {
            return state;
        };
        let c = c.plane(self.batch);
        let format = self.fast.arithmetic.accumulator;
        state
            .par_chunks_mut(n)
            .enumerate()
            .for_each(|(row, state)| {
                let mut codes = vec![0u32; n];
                c.read_row(self.rows.start + row, 0, &mut codes);
                for (state, code) in state.iter_mut().zip(codes) {
                    let number = format.unpack(code.into());
                    if number.is_nan() || number.is_infinite() {
                        flags.rows[row].store(true, Ordering::Relaxed);
                    } else if format == Format::Fp32 {
                        *state = code as i32;
                    } else {
                        *state = self.fast.to_state(code.into());
                    }
                }
            });
        state
    }

    /// Adds the products of a panel of k to the accumulators of a block of columns.
    fn multiply(&self, panel: &Panel, columns: Range<usize>, state: &mut [i32], flags: &Flags) {
        let wide = self.fast.platform.columns();
        let transposed = self.fast.problem.b.transposed().plane(self.batch);
        let starts: Vec<_> = columns.clone().step_by(wide).collect();
        let strips: Vec<PackedB> = starts
            .par_iter()
            .map(|&first| {
                let count = wide.min(columns.end - first);
                let strip = pack_b(transposed, first, count, wide, panel);
                flag(&flags.columns[first..first + count], &strip.special);
                strip
            })
            .collect();

        // Enough tasks for every core, also where there are few rows.
        let n = self.fast.problem.n;
        let row_tasks = self.rows.len().div_ceil(TASK_ROWS);
        let across = (4 * rayon::current_num_threads()).div_ceil(row_tasks);
        let strips_each = strips.len().div_ceil(across).max(1);
        let width = strips_each * wide;
        let mut tasks = Vec::new();
        for (task, block) in state.chunks_mut(TASK_ROWS * n).enumerate() {
            let first = tasks.len();
            for index in 0..strips.len().div_ceil(strips_each) {
                tasks.push((task * TASK_ROWS, index * strips_each, Vec::new()));
            }
            for row in block.chunks_mut(n) {
                let row = &mut row[columns.clone()];
                for (piece, (.., rows)) in row.chunks_mut(width).zip(&mut tasks[first..]) {
                    rows.push(piece);
                }
            }
        }
        let plane = self.fast.problem.a.plane(self.batch);
        tasks.into_par_iter().for_each(|(row, strip, mut pieces)| {
            let a = pack_a(plane, self.rows.start + row, pieces.len(), panel);
            flag(&flags.rows[row..row + pieces.len()], &a.special);
            for (i, b) in strips[strip..].iter().take(strips_each).enumerate() {
                let left = columns.start + (strip + i) * wide;
                self.strip(panel, &a, b, row, left, i * wide, &mut pieces);
            }
            let elements = pieces.iter().map(|piece| piece.len()).sum::<usize>();
            (self.progress)((elements * panel.len) as u64);
        });
    }

    /// All rows of a task times one strip of columns. `offset` is where the strip starts in the
    /// pieces.
    #[allow(clippy::too_many_arguments)]
    fn strip(
        &self,
        panel: &Panel,
        a: &PackedA,
        b: &PackedB,
        row: usize,
        left: usize,
        offset: usize,
        pieces: &mut [&mut [i32]],
    ) {
        let wide = self.fast.platform.columns();
        let padded = panel.padded();
        let mut state = vec![0i32; ROWS * wide];
        for (strip, rows) in pieces.chunks_mut(ROWS).enumerate() {
            let count = wide.min(rows[0].len() - offset);
            for (state, row) in state.chunks_mut(wide).zip(&*rows) {
                state[..count].copy_from_slice(&row[offset..offset + count]);
            }
            let span = padded * ROWS;
            let mut tile = Tile {
                plan: panel.plan,
                checked: a.heavy[strip],
                groups: padded / panel.plan.group,
                a: &a.values[strip * span..][..span],
                fields: &a.fields[strip * span..][..span],
                row_shifts: &a.shifts[strip * ROWS..][..ROWS],
                b: &b.values,
                gaps: &b.gaps,
                column_shifts: &b.shifts,
                state: &mut state,
            };
            let suits = a.ranges[strip].suits(b.ranges[0], panel.plan, padded);
            if suits && self.fast.platform.run(&mut tile) {
                for (state, row) in state.chunks(wide).zip(rows) {
                    row[offset..offset + count].copy_from_slice(&state[..count]);
                }
            } else {
                let block = Block {
                    batch: self.batch,
                    rows: self.rows.start + row + strip * ROWS
                        ..self.rows.start + row + strip * ROWS + rows.len(),
                    columns: left..left + count,
                };
                self.exactly(panel, &block, offset, rows);
            }
        }
    }

    /// A tile whose preconditions failed, by the exact engine; specials are zeros here as well.
    fn exactly(&self, panel: &Panel, block: &Block, offset: usize, rows: &mut [&mut [i32]]) {
        let fast = self.fast;
        let count = block.columns.len();
        let mut codes: Vec<u64> = rows
            .iter()
            .flat_map(|row| &row[offset..offset + count])
            .map(|&state| fast.from_state(state))
            .collect();
        exact::accumulate(
            fast.problem,
            fast.arithmetic,
            block,
            panel.start..panel.start + panel.len,
            &mut codes,
            special::zeroed,
        );
        for (row, codes) in rows.iter_mut().zip(codes.chunks(count)) {
            for (state, &code) in row[offset..].iter_mut().zip(codes) {
                *state = fast.to_state(code);
            }
        }
    }
}

fn flag(flags: &[AtomicBool], special: &[bool]) {
    for (flag, &special) in flags.iter().zip(special) {
        if special {
            flag.store(true, Ordering::Relaxed);
        }
    }
}
