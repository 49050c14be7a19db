//! The same steps, fast: packing, cache blocking, tiles over all cores, one kernel an instruction
//! set. Bit-identical to the exact engine, to which every tile goes whose preconditions fail.
//!
//! * [`plan`]: which models have a kernel, and its constants for one.
//! * [`pack`]: operands as floats and small exponents, with the range they span.
//! * [`kernel`]: the arithmetic; its header explains why it is exact.
//! * [`vector`]: the instructions.
//! * [`integers`]: products that need none of this.
//! * [`promoted`]: accumulators that are added to others on the way.
//! * [`special`]: infinities and NaNs, which the kernel takes for zeros.

pub mod integers;
mod kernel;
mod pack;
mod plan;
mod platform;
mod promoted;
mod selftest;
mod special;
#[cfg(test)]
mod tests;
mod vector;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

pub use plan::Plan;
pub use platform::Platform;
pub(in crate::emu) use platform::Wide;
pub(in crate::emu) use promoted::Promotion;

use self::kernel::Tile;
use self::pack::{Operand, PackedA, PackedB, Panel, ROWS, StripB, pack_a};
use self::promoted::AtEnd;
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
    /// Multiply-adds left to the exact engine.
    handed: AtomicU64,
}

/// Rows and columns of one matrix that have an infinity or NaN.
struct Flags {
    rows: Vec<AtomicBool>,
    columns: Vec<AtomicBool>,
}

impl Flags {
    fn new(rows: usize, columns: usize) -> Flags {
        let none = |count| (0..count).map(|_| AtomicBool::new(false)).collect();
        Flags {
            rows: none(rows),
            columns: none(columns),
        }
    }
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
            handed: AtomicU64::new(0),
        }
    }

    /// How many multiply-adds the exact engine has computed.
    pub fn handed(&self) -> u64 {
        self.handed.load(Ordering::Relaxed)
    }

    fn hand(&self, elements: usize, k: usize) {
        let work = elements as u64 * k as u64;
        self.handed.fetch_add(work, Ordering::Relaxed);
    }

    /// As [`exact::fill`].
    pub fn fill(&self, first_row: usize, out: &mut [u64], progress: Progress) {
        let Problem { m, n, .. } = *self.problem;
        if m * n < SMALL {
            self.hand(out.len(), self.problem.k);
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
        if self.arithmetic.accumulator == Format::Fp32 {
            return code as u32 as i32;
        }
        let state = convert_exact(self.arithmetic.accumulator, code, Format::Fp32);
        state.expect("an f32 holds every accumulator of a plan") as u32 as i32
    }

    fn to_code(&self, state: i32) -> u64 {
        let (to, nan) = (self.arithmetic.accumulator, self.plan.nan);
        let code = u64::from(state as u32);
        if to == Format::Fp32 && (state & i32::MAX) <= 0x7f80_0000 {
            return code;
        }
        if to == Format::Fp16 {
            return half_code(state).unwrap_or(nan);
        }
        round_code(Format::Fp32, code, to, Rounding::TowardZero, nan)
    }
}

impl Slab<'_> {
    fn fill(&self, out: &mut [u64]) {
        let Fast { problem, plan, .. } = self.fast;
        let n = problem.n;
        let flags = Flags::new(self.rows.len(), n);
        let depth = DEPTH.next_multiple_of(plan.span());
        for left in (0..n).step_by(BLOCK_COLUMNS) {
            let columns = left..n.min(left + BLOCK_COLUMNS);
            let mut state = self.initial_state(columns.clone(), &flags);
            let mut b = PackedB::new(columns.len(), self.fast.platform.columns());
            for start in (0..problem.k).step_by(depth) {
                let panel = Panel::new(plan, start, depth.min(problem.k - start));
                self.multiply(&panel, columns.clone(), &mut b, &mut state, None, &flags);
            }
            self.store(columns, &state, out);
        }
        special::settle(self.fast, self.batch, self.rows.clone(), &flags, out);
    }

    /// Rows of a strip's state, those that fill the last strip of A included.
    fn padded_rows(&self) -> usize {
        self.rows.len().next_multiple_of(ROWS)
    }

    /// Accumulators of a block of columns as the kernel wants them: strip by strip, row by row, as
    /// the bits of an f32. At first they are C, with infinities and NaNs taken for zeros: those
    /// elements are settled at the end.
    fn initial_state(&self, columns: Range<usize>, flags: &Flags) -> Vec<i32> {
        let wide = self.fast.platform.columns();
        let strip = self.padded_rows() * wide;
        let mut state = vec![0i32; columns.len().div_ceil(wide) * strip];
        let Some(c) = self.fast.problem.c else {
            return state;
        };
        let c = c.plane(self.batch);
        let format = self.fast.arithmetic.accumulator;
        state
            .par_chunks_mut(strip)
            .zip(columns.clone().into_par_iter().step_by(wide))
            .for_each(|(state, left)| {
                let count = wide.min(columns.end - left);
                let mut codes = vec![0u32; count];
                for (row, state) in self.rows.clone().zip(state.chunks_mut(wide)) {
                    c.read_row(row, left, &mut codes);
                    for (state, &code) in state.iter_mut().zip(&codes) {
                        let number = format.unpack(code.into());
                        if number.is_nan() || number.is_infinite() {
                            flags.rows[row - self.rows.start].store(true, Ordering::Relaxed);
                        } else {
                            *state = self.fast.to_state(code.into());
                        }
                    }
                }
            });
        state
    }

    /// Finished accumulators of a block of columns, as codes in their places.
    fn store(&self, columns: Range<usize>, state: &[i32], out: &mut [u64]) {
        let wide = self.fast.platform.columns();
        let strip = self.padded_rows() * wide;
        let n = self.fast.problem.n;
        out.par_chunks_mut(n).enumerate().for_each(|(row, out)| {
            let pieces = out[columns.clone()].chunks_mut(wide);
            for (out, state) in pieces.zip(state.chunks(strip)) {
                for (out, &state) in out.iter_mut().zip(&state[row * wide..]) {
                    *out = self.fast.to_code(state);
                }
            }
        });
    }

    /// Adds the products of a panel of k to the accumulators of a block of columns, and those perhaps to
    /// main ones of the same layout.
    fn multiply(
        &self,
        panel: &Panel,
        columns: Range<usize>,
        b: &mut PackedB,
        state: &mut [i32],
        promoted: Option<(&mut [i32], AtEnd)>,
        flags: &Flags,
    ) {
        let wide = self.fast.platform.columns();
        let platform = self.fast.platform;
        let scales = self.fast.problem.scales;
        let operand = Operand {
            codes: self.fast.problem.b.plane(self.batch),
            scales: scales.map(|s| (s.b.plane(self.batch), s.block)),
        };
        b.fill(platform, operand, columns.clone(), panel);
        for (strip, left) in b.strips.iter().zip(columns.clone().step_by(wide)) {
            let count = wide.min(columns.end - left);
            flag(&flags.columns[left..left + count], &strip.special);
        }

        let operand = Operand {
            codes: self.fast.problem.a.plane(self.batch),
            scales: scales.map(|s| (s.a.plane(self.batch), s.block)),
        };
        let tasks = self.tasks(b.strips.len(), state);
        let (mains, at_end) = match promoted {
            None => (Vec::new(), AtEnd::Keep),
            Some((_, AtEnd::Keep)) => (Vec::new(), AtEnd::Keep),
            Some((main, at_end)) => (self.tasks(b.strips.len(), main), at_end),
        };
        let mains = mains.into_iter().map(Some);
        let mains: Vec<_> = mains.chain((0..tasks.len()).map(|_| None)).collect();
        tasks
            .into_par_iter()
            .zip(mains)
            .for_each(|(mut task, mut main)| {
                let rows = self.rows.start + task.row..self.rows.end;
                let rows = rows.start..rows.end.min(rows.start + TASK_ROWS);
                let a = pack_a(platform, operand, rows.start, rows.len(), panel);
                flag(&flags.rows[task.row..], &a.special);
                let mut done = 0;
                for (i, state) in task.states.iter_mut().enumerate() {
                    let left = columns.start + (task.strip + i) * wide;
                    let block = Block {
                        batch: self.batch,
                        rows: rows.clone(),
                        columns: left..columns.end.min(left + wide),
                    };
                    self.strip(panel, &a, &b.strips[task.strip + i], &block, state);
                    if let Some(main) = &mut main {
                        at_end.apply(state, main.states[i]);
                    }
                    done += rows.len() * block.columns.len();
                }
                (self.progress)((done * panel.len) as u64);
            });
    }

    /// Blocks of rows times runs of strips: enough for every core, also where rows are few.
    fn tasks<'s>(&self, strips: usize, state: &'s mut [i32]) -> Vec<Task<'s>> {
        let wide = self.fast.platform.columns();
        let across =
            (4 * rayon::current_num_threads()).div_ceil(self.rows.len().div_ceil(TASK_ROWS));
        let run = strips.div_ceil(across);
        let mut tasks: Vec<Task> = Vec::new();
        for (strip, state) in state.chunks_mut(self.padded_rows() * wide).enumerate() {
            for (index, state) in state.chunks_mut(TASK_ROWS * wide).enumerate() {
                if strip % run == 0 {
                    let row = index * TASK_ROWS;
                    let states = Vec::with_capacity(run);
                    tasks.push(Task { row, strip, states });
                }
                let blocks = self.rows.len().div_ceil(TASK_ROWS);
                let mine = tasks.len() - if strip % run == 0 { 1 } else { blocks - index };
                tasks[mine].states.push(state);
            }
        }
        tasks
    }

    /// A block of rows times one strip of columns.
    fn strip(&self, panel: &Panel, a: &PackedA, b: &StripB, block: &Block, state: &mut [i32]) {
        let wide = self.fast.platform.columns();
        let span = panel.padded() * ROWS;
        for (strip, state) in state.chunks_mut(ROWS * wide).enumerate() {
            let mut tile = Tile {
                plan: panel.plan,
                checked: a.heavy[strip],
                groups: panel.padded() / panel.plan.group,
                a: &a.values[strip * span..][..span],
                fields: &a.fields[strip * span..][..span],
                row_shifts: &a.shifts[strip * ROWS..][..ROWS],
                b: &b.values,
                gaps: &b.gaps,
                column_shifts: &b.shifts,
                state,
            };
            let suits = a.ranges[strip].suits(b.range, panel.plan, panel.padded());
            if !suits || !self.fast.platform.run(&mut tile) {
                let first = block.rows.start + strip * ROWS;
                let block = Block {
                    rows: first..block.rows.end.min(first + ROWS),
                    ..block.clone()
                };
                self.exactly(panel, &block, state);
            }
        }
    }

    /// A tile whose preconditions failed, by the exact engine; specials are zeros here as well.
    fn exactly(&self, panel: &Panel, block: &Block, state: &mut [i32]) {
        let fast = self.fast;
        let count = block.columns.len();
        let rows = state
            .chunks_mut(fast.platform.columns())
            .take(block.rows.len());
        let mut rows: Vec<_> = rows.map(|row| &mut row[..count]).collect();
        let states = rows.iter().flat_map(|row| row.iter());
        let mut codes: Vec<u64> = states.map(|&state| fast.to_code(state)).collect();
        fast.hand(codes.len(), panel.len);
        exact::accumulate(
            fast.problem,
            fast.arithmetic,
            block,
            panel.start..panel.start + panel.len,
            &mut codes,
            special::zeroed,
        );
        for (row, codes) in rows.iter_mut().zip(codes.chunks(count)) {
            for (state, &code) in row.iter_mut().zip(codes) {
                *state = fast.to_state(code);
            }
        }
    }
}

/// The FP16 code of an f32 that is one, or none for a NaN.
fn half_code(state: i32) -> Option<u64> {
    let magnitude = state & i32::MAX;
    let code = match magnitude >> 23 {
        // Multiples of the smallest subnormal.
        ..113 => (f32::from_bits(magnitude as u32) * 16_777_216.0) as u64,
        113..143 => (magnitude >> 13) as u64 - (112 << 10),
        _ if magnitude == 0x7f80_0000 => 0x7c00,
        _ => return None,
    };
    Some(code | if state < 0 { 0x8000 } else { 0 })
}

#[cfg(test)]
#[test]
fn half_codes_mean_what_they_meant() {
    for code in (0..=0x7c00).chain(0x8000..=0xfc00) {
        let state = convert_exact(Format::Fp16, code, Format::Fp32).expect("an f32 holds it");
        assert_eq!(half_code(state as u32 as i32), Some(code));
    }
    assert_eq!(half_code(0x7fc0_0000), None);
}

/// Some rows times some strips, and where their accumulators are.
struct Task<'s> {
    /// Counted from the slab's first.
    row: usize,
    strip: usize,
    states: Vec<&'s mut [i32]>,
}

fn flag(flags: &[AtomicBool], special: &[bool]) {
    for (flag, &special) in flags.iter().zip(special) {
        if special {
            flag.store(true, Ordering::Relaxed);
        }
    }
}
