//! A product by a vector kernel: packing, cache blocking, tiles over all cores. Bit-identical to the
//! exact engine, to which every tile goes whose preconditions fail.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::context::{Context, Flags};
use super::promoted::{Chains, Promotion};
use super::special;
use super::tile::{Operand, Packed, SpecialRule, StepFallback, TileKernel};
use crate::emu::Problem;
use crate::emu::exact::{self, Block};
use crate::num::Format;

/// Rows of A that a task takes, and columns of B that are packed at a time.
const TASK_ROWS: usize = 64;
const BLOCK_COLUMNS: usize = 8192;

/// Below this many elements a matrix of D is not worth packing for.
const SMALL: usize = 16;

/// One matrix of the batch, some of its rows.
struct Slab<'a, K> {
    context: Context<'a>,
    kernel: &'a K,
    batch: usize,
    rows: Range<usize>,
}

/// As [`exact::fill`].
pub fn fill<K: TileKernel>(context: Context, kernel: &K, first_row: usize, out: &mut [u64]) {
    let Problem { m, n, .. } = *context.problem;
    if m * n < SMALL {
        context.count(out.len(), context.problem.k);
        let Context {
            problem,
            arithmetic,
            progress,
            ..
        } = context;
        return exact::fill(problem, arithmetic, first_row, out, progress);
    }
    let mut slabs = Vec::new();
    let (mut next, mut rest) = (first_row, out);
    while !rest.is_empty() {
        let (batch, row) = (next / m, next % m);
        let count = (m - row).min(rest.len() / n);
        let (mine, others) = rest.split_at_mut(count * n);
        (next, rest) = (next + count, others);
        let slab = Slab {
            context,
            kernel,
            batch,
            rows: row..row + count,
        };
        slabs.push((slab, mine));
    }
    slabs.into_par_iter().for_each(|(slab, out)| slab.fill(out));
}

/// Sums of chains of a product of one matrix with an FP32 accumulator, in C order; none if an accumulator
/// has no code, there are too few to be worth it, or an operand of more chains than one is no number.
pub fn promoted<K: TileKernel>(
    context: Context,
    kernel: &K,
    promotion: Promotion,
) -> Option<Vec<u32>> {
    let Problem { m, n, scales, .. } = *context.problem;
    let known = context.arithmetic.accumulator == Format::Fp32 && scales.is_none();
    let SpecialRule::Zeros { nan } = kernel.specials() else {
        return None;
    };
    if m * n < SMALL || !known || !kernel.knows_zeros() {
        return None;
    }
    let slab = Slab {
        context,
        kernel,
        batch: 0,
        rows: 0..m,
    };
    let flags = Flags::new(m, n);
    let unknown = AtomicBool::new(false);
    let mut sums = vec![0; m * n];
    for left in (0..n).step_by(BLOCK_COLUMNS) {
        let columns = left..n.min(left + BLOCK_COLUMNS);
        slab.promoted(columns, promotion, (&flags, &unknown), &mut sums);
    }
    if unknown.load(Ordering::Relaxed) {
        return None;
    }
    let special = flags.rows.iter().chain(&flags.columns);
    let any = special.into_iter().any(|flag| flag.load(Ordering::Relaxed));
    match promotion.ends {
        _ if !any => Some(sums),
        [_] if promotion.from_first => {
            let mut codes: Vec<u64> = sums.into_iter().map(u64::from).collect();
            special::resolve(&context, 0, 0..m, &flags, nan, &mut codes);
            Some(codes.into_iter().map(|code| code as u32).collect())
        }
        _ => None,
    }
}

/// Main accumulators in the layout of a kernel's, and what is added to them.
struct Main<'m, 'p> {
    sums: &'m mut [u32],
    chains: Chains<'p>,
}

impl<K: TileKernel> Slab<'_, K> {
    fn promoted(
        &self,
        columns: Range<usize>,
        promotion: Promotion,
        (flags, unknown): (&Flags, &AtomicBool),
        sums: &mut [u32],
    ) {
        let n = self.context.problem.n;
        let alone = promotion.ends.len() == 1 && promotion.from_first;
        let wide = self.wide();
        let strips = columns.len().div_ceil(wide);
        // Chains that start from zero and end with a panel need no accumulators between panels.
        let from_c = |chain: usize| chain == 0 && self.context.problem.c.is_some();
        let whole =
            |chain: usize, length: usize| !alone && !from_c(chain) && length <= self.kernel.depth();
        let firsts = [0].into_iter().chain(promotion.ends.iter().copied());
        let lengths = firsts.zip(promotion.ends).map(|(first, last)| last - first);
        let mut state = match lengths.enumerate().all(|(chain, k)| whole(chain, k)) {
            true => Vec::new(),
            false => self.initial_state(columns.clone(), flags),
        };
        let accumulators = strips * self.padded_rows() * wide;
        let mut main = vec![0u32; if alone { 0 } else { accumulators }];
        let mut b: Vec<K::B> = (0..strips).map(|_| self.kernel.room()).collect();
        let mut first = 0;
        for (chain, &last) in promotion.ends.iter().enumerate() {
            for start in (first..last).step_by(self.kernel.depth()) {
                let k = start..last.min(start + self.kernel.depth());
                let chains = Chains {
                    promotion,
                    chain,
                    whole: whole(chain, last - first),
                    unknown,
                };
                let main = (k.end == last && !alone).then_some(Main {
                    sums: &mut main,
                    chains,
                });
                self.multiply(k, columns.clone(), &mut b, &mut state, main, flags);
            }
            first = last;
        }
        let strip = self.padded_rows() * wide;
        let rows = sums.par_chunks_mut(n).enumerate();
        rows.for_each(|(row, out)| {
            let pieces = out[columns.clone()].chunks_mut(wide).enumerate();
            for (i, out) in pieces {
                let at = i * strip + row * wide;
                match alone {
                    false => out.copy_from_slice(&main[at..][..out.len()]),
                    true => {
                        for (out, &state) in out.iter_mut().zip(&state[at..]) {
                            match self.code_of(state) {
                                Some(code) => *out = code,
                                None => unknown.store(true, Ordering::Relaxed),
                            }
                        }
                    }
                }
            }
        });
    }

    /// An accumulator's code of FP32.
    #[inline(always)]
    fn code_of(&self, state: K::State) -> Option<u32> {
        K::as_f32(state).or_else(|| self.kernel.finish(state).map(|code| code as u32))
    }

    fn fill(&self, out: &mut [u64]) {
        let Problem { n, k, .. } = *self.context.problem;
        let flags = Flags::new(self.rows.len(), n);
        for left in (0..n).step_by(BLOCK_COLUMNS) {
            let columns = left..n.min(left + BLOCK_COLUMNS);
            let mut state = self.initial_state(columns.clone(), &flags);
            let strips = columns.len().div_ceil(self.wide());
            let mut b: Vec<K::B> = (0..strips).map(|_| self.kernel.room()).collect();
            for start in (0..k).step_by(self.kernel.depth()) {
                let k = start..k.min(start + self.kernel.depth());
                self.multiply(k, columns.clone(), &mut b, &mut state, None, &flags);
            }
            self.store(columns, &state, out);
        }
        match self.kernel.specials() {
            SpecialRule::Native => {}
            SpecialRule::Zeros { nan } => {
                special::resolve(
                    &self.context,
                    self.batch,
                    self.rows.clone(),
                    &flags,
                    nan,
                    out,
                );
            }
            SpecialRule::Exactly => self.exactly(&flags, out),
        }
    }

    /// Columns of a strip.
    fn wide(&self) -> usize {
        self.kernel.tile().1
    }

    /// Rows of a strip's state, those that fill the last strip of A included.
    fn padded_rows(&self) -> usize {
        self.rows.len().next_multiple_of(self.kernel.tile().0)
    }

    /// Accumulators of a block of columns as the kernel wants them: strip by strip, row by row. At
    /// first they are C.
    fn initial_state(&self, columns: Range<usize>, flags: &Flags) -> Vec<K::State> {
        let wide = self.wide();
        let strip = self.padded_rows() * wide;
        let count = columns.len().div_ceil(wide) * strip;
        let zero = self.kernel.start(0);
        let mut state = vec![K::State::default(); count];
        let c = self.context.problem.c.map(|c| c.plane(self.batch));
        let format = self.context.arithmetic.addend();
        let native = self.kernel.specials() == SpecialRule::Native;
        state
            .par_chunks_mut(strip)
            .zip(columns.clone().into_par_iter().step_by(wide))
            .for_each(|(state, left)| {
                // Written before it is read, and by all cores: pages come from the system here.
                state.fill(zero);
                let Some(c) = c else { return };
                let count = wide.min(columns.end - left);
                let mut codes = vec![0u32; count];
                for (row, state) in self.rows.clone().zip(state.chunks_mut(wide)) {
                    let narrow = format.bytes() <= 4;
                    if narrow {
                        c.read_row(row, left, &mut codes);
                    }
                    for (i, state) in state.iter_mut().enumerate().take(count) {
                        let code = match narrow {
                            true => codes[i].into(),
                            false => c.code(row, left + i),
                        };
                        let number = format.unpack(code);
                        if !native && (number.is_nan() || number.is_infinite()) {
                            flags.rows[row - self.rows.start].store(true, Ordering::Relaxed);
                        } else {
                            *state = self.kernel.start(code);
                        }
                    }
                }
            });
        state
    }

    /// Finished accumulators of a block of columns, as codes in their places.
    fn store(&self, columns: Range<usize>, state: &[K::State], out: &mut [u64]) {
        let wide = self.wide();
        let strip = self.padded_rows() * wide;
        let n = self.context.problem.n;
        let sign = self.context.arithmetic.accumulator.sign_mask();
        let knows_zeros = self.kernel.knows_zeros();
        let doubtful = |code: u64| !knows_zeros && code & !sign == 0;
        out.par_chunks_mut(n).enumerate().for_each(|(row, out)| {
            let pieces = out[columns.clone()].chunks_mut(wide);
            for (i, (out, state)) in pieces.zip(state.chunks(strip)).enumerate() {
                let left = columns.start + i * wide;
                for (j, (out, &state)) in out.iter_mut().zip(&state[row * wide..]).enumerate() {
                    let code = self.kernel.finish(state).filter(|code| !doubtful(*code));
                    *out = code.unwrap_or_else(|| {
                        self.context
                            .element(self.batch, self.rows.start + row, left + j)
                    });
                }
            }
        });
    }

    fn operands(&self) -> [Operand<'_>; 2] {
        let Problem { a, b, scales, .. } = *self.context.problem;
        let batch = self.batch;
        [
            Operand {
                codes: a.plane(batch),
                scales: scales.map(|s| (s.a.plane(batch), s.block)),
            },
            Operand {
                codes: b.plane(batch),
                scales: scales.map(|s| (s.b.plane(batch), s.block)),
            },
        ]
    }

    /// Adds the products of a panel of k to the accumulators of a block of columns, and those perhaps to
    /// main ones.
    fn multiply(
        &self,
        k: Range<usize>,
        columns: Range<usize>,
        b: &mut [K::B],
        state: &mut [K::State],
        main: Option<Main>,
        flags: &Flags,
    ) {
        let wide = self.wide();
        let kernel = self.kernel;
        let panel = kernel.panel(k.clone());
        let [of_a, of_b] = self.operands();
        b.par_iter_mut().enumerate().for_each(|(i, strip)| {
            let left = columns.start + i * wide;
            let mine = left..columns.end.min(left + wide);
            kernel.pack_b(&panel, of_b, mine.clone(), strip);
            Flags::set(&flags.columns[mine], strip.special());
        });
        let blocks = self.rows.len().div_ceil(TASK_ROWS);
        let pack = |block: usize| {
            let first = self.rows.start + block * TASK_ROWS;
            let rows = first..self.rows.end.min(first + TASK_ROWS);
            let a = kernel.pack_a(&panel, of_a, rows);
            Flags::set(&flags.rows[block * TASK_ROWS..], a.special());
            a
        };
        // Where a block of rows is several tasks, it is packed once for all of them.
        let tasks = self.tasks(b.len());
        let shared: Vec<K::A> = match tasks.len() > blocks {
            true => (0..blocks).into_par_iter().map(pack).collect(),
            false => Vec::new(),
        };
        let states = self.deal(&tasks, state);
        let (mains, chains) = match main {
            Some(main) => (self.deal(&tasks, main.sums), Some(main.chains)),
            None => (self.deal(&tasks, &mut []), None),
        };
        tasks
            .into_par_iter()
            .zip(states.into_par_iter().zip(mains))
            .for_each(|(task, (mut states, mut mains))| {
                let own;
                let a = match shared.get(task.block) {
                    Some(a) => a,
                    None => {
                        own = pack(task.block);
                        &own
                    }
                };
                let first = self.rows.start + task.block * TASK_ROWS;
                let rows = first..self.rows.end.min(first + TASK_ROWS);
                let mut scratch = match chains {
                    Some(chains) if chains.whole => vec![K::State::default(); TASK_ROWS * wide],
                    _ => Vec::new(),
                };
                let mut done = 0;
                for i in 0..task.run {
                    let left = columns.start + (task.strip + i) * wide;
                    let block = Block {
                        batch: self.batch,
                        rows: rows.clone(),
                        columns: left..columns.end.min(left + wide),
                    };
                    let state = match scratch.is_empty() {
                        true => &mut *states[i],
                        false => {
                            let size = rows.len().next_multiple_of(kernel.tile().0) * wide;
                            scratch[..size].fill(kernel.start(0));
                            &mut scratch[..size]
                        }
                    };
                    self.strip(&panel, &k, a, &b[task.strip + i], &block, state);
                    if let Some(chains) = chains {
                        let lines = mains[i].chunks_mut(wide);
                        let lines = rows.clone().zip(state.chunks_mut(wide).zip(lines));
                        for (row, (state, main)) in lines {
                            let main = &mut main[..block.columns.len()];
                            chains.end(kernel, [row, left], state, main);
                        }
                    }
                    done += rows.len() * block.columns.len();
                }
                (self.context.progress)((done * k.len()) as u64);
            });
    }

    /// Blocks of rows times runs of strips: enough for every core, also where rows are few.
    fn tasks(&self, strips: usize) -> Vec<Task> {
        let blocks = self.rows.len().div_ceil(TASK_ROWS);
        let across = (4 * rayon::current_num_threads()).div_ceil(blocks);
        let run = strips.div_ceil(across);
        let task = |strip: usize, block| Task {
            block,
            strip,
            run: run.min(strips - strip),
        };
        let firsts = (0..strips).step_by(run);
        firsts
            .flat_map(|strip| (0..blocks).map(move |block| task(strip, block)))
            .collect()
    }

    /// The accumulators of every task, strip by strip; none of an empty state.
    fn deal<'s, S>(&self, tasks: &[Task], state: &'s mut [S]) -> Vec<Vec<&'s mut [S]>> {
        let blocks = self.rows.len().div_ceil(TASK_ROWS);
        let run = tasks.first().map_or(1, |task| task.run);
        let mut dealt: Vec<Vec<&mut [S]>> = tasks
            .iter()
            .map(|task| Vec::with_capacity(task.run))
            .collect();
        let wide = self.wide();
        for (strip, state) in state.chunks_mut(self.padded_rows() * wide).enumerate() {
            for (block, state) in state.chunks_mut(TASK_ROWS * wide).enumerate() {
                dealt[strip / run * blocks + block].push(state);
            }
        }
        dealt
    }

    /// A block of rows times one strip of columns.
    fn strip(
        &self,
        panel: &K::Panel,
        k: &Range<usize>,
        a: &K::A,
        b: &K::B,
        block: &Block,
        state: &mut [K::State],
    ) {
        let (tall, wide) = self.kernel.tile();
        for (strip, state) in state.chunks_mut(tall * wide).enumerate() {
            let first = block.rows.start + strip * tall;
            let tile = TileFallback {
                context: &self.context,
                block: Block {
                    rows: first..block.rows.end.min(first + tall),
                    ..block.clone()
                },
                start: k.start,
            };
            if !self.kernel.run(panel, a, strip, b, state, &tile) {
                self.panel_exactly(k.clone(), &tile.block, state);
            }
        }
    }

    /// A tile whose preconditions failed, by the exact engine; where the kernel takes specials for zeros,
    /// they are zeros here as well.
    fn panel_exactly(&self, k: Range<usize>, block: &Block, state: &mut [K::State]) {
        let count = block.columns.len();
        let rows = state.chunks_mut(self.wide()).take(block.rows.len());
        let mut rows: Vec<_> = rows.map(|row| &mut row[..count]).collect();
        let states = rows.iter().flat_map(|row| row.iter());
        let code = |&state| {
            let code = self.kernel.finish(state);
            code.expect("kernels that give up tiles have codes for accumulators")
        };
        let mut codes: Vec<u64> = states.map(code).collect();
        self.context.count(codes.len(), k.len());
        let Context {
            problem,
            arithmetic,
            ..
        } = self.context;
        if self.kernel.specials() == SpecialRule::Native {
            exact::accumulate(problem, arithmetic, block, k, &mut codes, |x| x);
        } else {
            exact::accumulate(problem, arithmetic, block, k, &mut codes, special::zeroed);
        }
        for (row, codes) in rows.iter_mut().zip(codes.chunks(count)) {
            for (state, &code) in row.iter_mut().zip(codes) {
                *state = self.kernel.start(code);
            }
        }
    }

    /// Every element of a row or column with an infinity or NaN, by the exact engine.
    fn exactly(&self, flags: &Flags, out: &mut [u64]) {
        let n = self.context.problem.n;
        out.par_chunks_mut(n).enumerate().for_each(|(row, out)| {
            let all = flags.rows[row].load(Ordering::Relaxed);
            for (column, out) in out.iter_mut().enumerate() {
                if all || flags.columns[column].load(Ordering::Relaxed) {
                    let row = self.rows.start + row;
                    *out = self.context.element(self.batch, row, column);
                }
            }
        });
    }
}

/// Some rows times some strips.
struct Task {
    /// Of rows, counted from the slab's first.
    block: usize,
    strip: usize,
    /// How many strips.
    run: usize,
}

/// The exact engine for steps of one tile.
struct TileFallback<'a> {
    context: &'a Context<'a>,
    block: Block,
    /// The first k of the panel.
    start: usize,
}

impl StepFallback for TileFallback<'_> {
    #[cold]
    fn step(&self, row: usize, column: usize, k: Range<usize>, code: u64) -> u64 {
        let Context {
            problem,
            arithmetic,
            ..
        } = *self.context;
        let (row, column) = (
            self.block.rows.start + row,
            self.block.columns.start + column,
        );
        let end = (self.start + k.end).min(problem.k);
        if row >= self.block.rows.end || column >= self.block.columns.end {
            return code; // what only fills the tile up
        }
        let block = Block {
            batch: self.block.batch,
            rows: row..row + 1,
            columns: column..column + 1,
        };
        let mut codes = [code];
        let k = self.start + k.start..end;
        self.context.count(1, k.len());
        exact::accumulate(problem, arithmetic, &block, k, &mut codes, special::zeroed);
        codes[0]
    }
}
