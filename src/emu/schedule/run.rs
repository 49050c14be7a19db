//! A part of D by a schedule: chains through whichever engine computes them, and the sums between them.

use rayon::prelude::*;

use super::f32ops::{Exactly, Natively, Ops, Told};
use super::finish::Finish;
use super::loops::{Finished, Promoted, Updated};
use super::pieces::Pieces;
use super::walk::{Chain, Partial, Slot, Slots, Walk};
use super::{Addend, Kernel, Partials, Per, Recipe, ScaledAt, Split};
use crate::emu::{Arithmetic, Element, Engine, Problem, Progress, Replay, Wide};
use crate::tensor::{Planes, Tensor};

/// Rows and columns of D that are computed together, and the products of a list that are copied
/// together: some tens of megabytes.
const ROWS: usize = 1024;
const COLUMNS: usize = 8192;

/// Columns where sums are promoted: both accumulators of a block then stay in a cache.
const PROMOTED_COLUMNS: usize = 256;
const PANEL: usize = 4096;

/// Computes one element by a replay's schedule with other operations, such as ones that take down what
/// they do.
///
/// # Panics
/// If the replay has no schedule.
pub(crate) fn element_with(replay: &Replay, at: Element, ops: impl Ops) -> u64 {
    let Element { batch, row, column } = at;
    let (rows, columns) = (row..row + 1, column..column + 1);
    let kernel = replay.kernel.expect("a schedule");
    let kernel = kernel.part(batch, &rows, &columns);
    let problem = replay.problem.matrix(batch).part(rows, columns);
    let walk = kernel.walk(problem.k, row, column);
    let bare = Replay {
        problem,
        engine: Engine::Exact,
        kernel: None,
        ..*replay
    };
    let mut run = Run::new(&bare, kernel, &|_| {});
    run.block_with(ops, &kernel, &problem, &walk)[0]
}

/// What is being computed.
pub(in crate::emu) struct Run<'a, 'r> {
    /// The bare product, and D's format.
    pub replay: &'r Replay<'a>,
    pub kernel: Kernel<'r>,
    pub progress: Progress<'r>,
    /// Multiply-adds that the exact engine has spent.
    pub exact: u64,
}

impl<'a, 'r> Run<'a, 'r> {
    pub fn new(replay: &'r Replay<'a>, kernel: Kernel<'r>, progress: Progress<'r>) -> Run<'a, 'r> {
        Run {
            replay,
            kernel,
            progress,
            exact: 0,
        }
    }

    /// Computes the rows of D from `first_row` on (matrices of a batch one after the other) that `out`
    /// has room for, as codes of D's format.
    pub fn fill(&mut self, first_row: usize, out: &mut [u64]) {
        let Problem { m, n, k, .. } = self.replay.problem;
        let (mut next, mut rest) = (first_row, out);
        while !rest.is_empty() {
            let (batch, row) = (next / m, next % m);
            let (rows, columns) = match self.kernel.tile(self.kernel.place.row + row, 0) {
                Some((_, [rows, columns])) => {
                    (rows.end - self.kernel.place.row - row, columns.len())
                }
                None if self.kernel.recipe.promote.is_some() => (ROWS, PROMOTED_COLUMNS),
                None => (ROWS, COLUMNS),
            };
            let count = rows.min(m - row).min(rest.len() / n);
            let (mine, others) = rest.split_at_mut(count * n);
            (next, rest) = (next + count, others);
            // Blocks end where tiles of D do, which need not be where this part starts.
            let offset = self.kernel.place.column % columns;
            let mut left = 0;
            while left < n {
                let right = ((left + offset) / columns * columns + columns - offset).min(n);
                let (rows, columns) = (row..row + count, left..right);
                let kernel = self.kernel.part(batch, &rows, &columns);
                let part = self
                    .replay
                    .problem
                    .matrix(batch)
                    .part(rows, columns.clone());
                let walk = kernel.walk(k, kernel.place.row, kernel.place.column);
                let codes = self.block(&kernel, &part, &walk);
                let rows = mine.chunks_mut(n).zip(codes.chunks(columns.len()));
                rows.for_each(|(out, codes)| out[columns.clone()].copy_from_slice(codes));
                left = right;
            }
        }
    }

    /// All of a small part that one walk computes.
    pub fn block(&mut self, kernel: &Kernel, problem: &Problem, walk: &Walk) -> Vec<u64> {
        let nan = kernel.recipe.nan.0 as u32;
        match self.replay.engine {
            Engine::Exact => self.block_with(Exactly { nan }, kernel, problem, walk),
            Engine::Fast(_) => self.block_with(Natively { nan }, kernel, problem, walk),
        }
    }

    fn block_with(
        &mut self,
        ops: impl Ops,
        kernel: &Kernel,
        problem: &Problem,
        walk: &Walk,
    ) -> Vec<u64> {
        let recipe = kernel.recipe;
        let finish = Finish {
            ops,
            kernel,
            accumulator: self.replay.arithmetic.accumulator,
            result: self.replay.format(),
            c: problem.c.filter(|_| recipe.addend == Addend::Epilogue),
        };
        let n = problem.n;
        let mut partials = walk.partials.iter().enumerate();
        let mut next = |run: &mut Self| {
            let (i, partial) = partials.next()?;
            let count = walk.partials.len();
            ops.told(Told::Partial { index: i, count });
            let c = problem
                .c
                .filter(|_| i == 0 && recipe.addend == Addend::Start);
            let bare = Problem { c, ..*problem };
            Some(run.partial(ops, kernel, &bare, partial))
        };
        let first = next(self).expect("a walk has a partial sum");
        match &recipe.split {
            Split::Serial { .. } => {
                let mut d = self.finished(&finish, &first, n);
                while let Some(sums) = next(self) {
                    self.update(&mut d, &sums, n, |d, sum| finish.serial(*d, sum));
                }
                d
            }
            Split::Workspace { partials, .. } => {
                let kept = |sum: u32| match partials {
                    Partials::F32 => sum,
                    Partials::Result => finish.widen(finish.round(sum)),
                };
                let added = |total: &u32, sum: u32| {
                    let kept = kept(sum);
                    ops.told(Told::Stage("sum of partial sums"));
                    ops.add(*total, kept)
                };
                let mut total = vec![0; first.len()];
                self.update(&mut total, &first, n, added);
                while let Some(sums) = next(self) {
                    self.update(&mut total, &sums, n, added);
                }
                self.finished(&finish, &total, n)
            }
            _ => {
                let mut total = first;
                while let Some(sums) = next(self) {
                    self.update(&mut total, &sums, n, |total, sum| {
                        ops.told(Told::Stage("sum of partial sums"));
                        ops.add(*total, sum)
                    });
                }
                self.finished(&finish, &total, n)
            }
        }
    }

    /// `each` for every element.
    fn update<T: Copy + Send + Sync>(
        &self,
        totals: &mut [T],
        sums: &[u32],
        n: usize,
        each: impl Fn(&T, u32) -> T + Sync,
    ) {
        let rows = totals.par_chunks_mut(n).zip(sums.par_chunks(n));
        rows.for_each(|(totals, sums)| {
            self.wide(Updated {
                totals,
                sums,
                each: &each,
            });
        });
    }

    fn finished<O: Ops>(&self, finish: &Finish<O>, sums: &[u32], n: usize) -> Vec<u64> {
        let mut d = vec![0; sums.len()];
        let rows = d.par_chunks_mut(n).zip(sums.par_chunks(n)).enumerate();
        rows.for_each(|(row, (out, sums))| {
            self.wide(Finished {
                finish,
                row,
                sums,
                out,
            });
        });
        d
    }

    /// Compiled for the vectors of the platform.
    fn wide<W: Wide>(&self, work: W) -> W::Output {
        match self.replay.engine {
            Engine::Exact => work.run(),
            Engine::Fast(platform) => platform.wide(work),
        }
    }

    /// One chain, or the sum of several that are promoted: f32 codes, or s32.
    fn partial(
        &mut self,
        ops: impl Ops,
        kernel: &Kernel,
        problem: &Problem,
        partial: &Partial,
    ) -> Vec<u32> {
        let narrow = |codes: Vec<u64>| codes.into_iter().map(|code| code as u32).collect();
        if !partial.promoted {
            return narrow(self.chain(ops, kernel.recipe, problem, &partial.chains[0]));
        }
        let n = problem.n;
        let mut main = vec![0u32; problem.m * n];
        for (i, chain) in partial.chains.iter().enumerate() {
            let c = problem.c.filter(|_| i == 0);
            let sums = self.chain(ops, kernel.recipe, &Problem { c, ..*problem }, chain);
            let k = chain.slots.first_k().unwrap_or(0);
            let scaling = kernel.recipe.scales.as_ref();
            let scaling = scaling.filter(|scaling| scaling.at == ScaledAt::Promotion);
            let scales = scaling.map(|scaling| Scales::of(kernel, scaling.per, problem, k));
            let rows = main.par_chunks_mut(n).zip(sums.par_chunks(n)).enumerate();
            ops.told(Told::Stage("promotion"));
            rows.for_each(|(row, (main, sums))| {
                let scales = scaling.zip(scales.as_ref());
                let scaled = scales.map(|(scaling, scales)| {
                    (scaling.multiply, scales.rows[row], &scales.columns[..])
                });
                self.wide(Promoted {
                    ops,
                    scaled,
                    main,
                    sums,
                });
            });
        }
        main
    }

    /// One accumulator of the tensor core, from C or +0 on.
    fn chain(
        &mut self,
        ops: impl Ops,
        recipe: &Recipe,
        problem: &Problem,
        chain: &Chain,
    ) -> Vec<u64> {
        let codes = match &chain.slots {
            Slots::Range(k) if !k.is_empty() => self.codes(&problem.part_k(k.clone())),
            Slots::List(slots) if !slots.is_empty() => self.list(recipe, problem, slots),
            _ => match problem.c {
                None => vec![0; problem.m * problem.n],
                Some(c) => all_codes(c),
            },
        };
        ops.told(Told::Chain {
            chain,
            problem,
            result: codes[0],
        });
        codes
    }

    fn list(&mut self, recipe: &Recipe, problem: &Problem, slots: &[Slot]) -> Vec<u64> {
        let Arithmetic {
            step, accumulator, ..
        } = self.replay.arithmetic;
        // A sum that nothing rounds on the way must not be read on the way.
        let panel = match step.rounds() {
            true => PANEL.next_multiple_of(step.span()),
            false => slots.len(),
        };
        let mut before: Option<Tensor> = None;
        let mut codes = Vec::new();
        for slots in slots.chunks(panel) {
            let pieces = Pieces::gather(problem, slots, recipe.passes.as_ref());
            let c = before.as_ref().map(Tensor::planes).or(problem.c);
            codes = self.codes(&pieces.problem(c));
            let shape = vec![problem.m, problem.n];
            before = Some(Tensor::from_codes(*accumulator, shape, &codes));
        }
        codes
    }

    /// The bare product of a part.
    fn codes(&mut self, problem: &Problem) -> Vec<u64> {
        let bare = Replay {
            problem: *problem,
            arithmetic: self.replay.arithmetic,
            convert_to: None,
            engine: self.replay.engine,
            kernel: None,
        };
        let mut codes = vec![0; problem.m * problem.n];
        self.exact += bare.codes(0, &mut codes, self.progress);
        codes
    }
}

fn all_codes(c: Planes) -> Vec<u64> {
    let plane = c.plane(0);
    let row = |row| (0..plane.columns).map(move |column| plane.code(row, column));
    (0..plane.rows).flat_map(row).collect()
}

/// The scales of a block of D at one k.
struct Scales {
    rows: Vec<u32>,
    columns: Vec<u32>,
}

impl Scales {
    fn of(kernel: &Kernel, per: Per, problem: &Problem, k: usize) -> Scales {
        let Kernel { values, place, .. } = kernel;
        let rows = (0..problem.m).map(|row| values.scale_a(per, place.batch, place.row_of(row), k));
        let columns = place.column..place.column + problem.n;
        Scales {
            rows: rows.collect(),
            columns: columns
                .map(|column| values.scale_b(per, place.batch, column, k))
                .collect(),
        }
    }
}
