//! A part of D by a schedule: chains through whichever engine computes them, and the sums between them.

use std::borrow::Cow;

use super::f32ops::{Exactly, Natively, Observed, Ops};
use super::finish::Finish;
use super::k_index::{KIndex, KIndices};
use super::loops::{Finished, Updated};
use super::operands::{GatheredOperands, power_of_two};
use super::traversal::{Chain, KTraversal, Node, Role, Sum};
use super::{
    AddendAt, BoundSchedule, Merge, Place, ScheduleSpec, SplitTerms, Start, Term, WithoutProducts,
};
use crate::common::deadline;
use crate::exact::{Gathered, gather};
use crate::num::Format;
use crate::step::{Products, Step};
use crate::tensor::{Tensor, Wide, parallel};
use crate::{Arithmetic, Block, Element, Engine, Problem, Progress, Replay, initial};

/// Rows and columns of D that are computed together, and the products of a list that are copied
/// together: some tens of megabytes.
const ROWS: usize = 1024;
const COLUMNS: usize = 8192;

/// Columns where sums come together inside of a part: both accumulators of a block then stay in a cache
/// of the last level, and operands are packed and copied for many columns.
const SUMMED_COLUMNS: usize = 1024;

/// Bytes of the slices of a block's rows, and of its columns.
const SLICED: usize = 128 << 20;

/// Sums of a block that are kept at once, of all parts together.
const KEPT: usize = 32 << 20;
const PANEL: usize = 4096;

/// Computes one element by a replay's schedule with other operations, such as ones that record what
/// they do.
///
/// # Panics
/// If the replay has no schedule.
pub fn element_with(replay: &Replay, at: Element, ops: impl Ops) -> u64 {
    let Element { batch, row, column } = at;
    let alone = replay.rectangle(batch, row..row + 1, column..column + 1);
    let (kernel, problem) = (alone.kernel.expect("a schedule"), alone.problem);
    let span = replay.arithmetic.step.span();
    let traversal = kernel.traversal(problem.k, span, row, column);
    let bare = Replay {
        engine: Engine::Exact,
        kernel: None,
        ..alone
    };
    let mut run = Run::new(&bare, kernel, &deadline::unheard);
    run.block_with(ops, &kernel, &problem, &traversal)[0]
}

/// Whether a number divided by two to this power is none that an f32 holds.
fn is_coarse(code: u32, power: u32) -> bool {
    let exponent = code << 1 >> 24;
    code << 1 != 0 && exponent <= power
}

/// A schedule at work on a product: what it needs, and what it has spent.
pub(crate) struct Run<'a, 'r> {
    /// The bare product, and D's format.
    pub replay: &'r Replay<'a>,
    pub kernel: BoundSchedule<'r>,
    pub progress: Progress<'r>,
    /// Multiply-adds that the exact engine has spent.
    pub exact: u64,
    /// Whether a kernel could not add up chains at once, because of an infinity or a NaN: another try would be in
    /// vain.
    pub(super) special: bool,
}

impl<'a, 'r> Run<'a, 'r> {
    pub fn new(
        replay: &'r Replay<'a>,
        kernel: BoundSchedule<'r>,
        progress: Progress<'r>,
    ) -> Run<'a, 'r> {
        Run {
            replay,
            kernel,
            progress,
            exact: 0,
            special: false,
        }
    }

    /// Whether sums may be added as soon as there are two. The exact engine takes every step in the schedule's order,
    /// and C belongs to the first part.
    pub(super) fn adds_early(&self) -> bool {
        !self.replay.engine.is_exact() && self.replay.problem.c.is_none()
    }

    /// Computes the rows of D from `first_row` on (matrices of a batch one after another) that `out`
    /// has room for, as codes of D's format.
    pub fn fill(&mut self, first_row: usize, out: &mut [u64]) {
        let Problem { m, n, k, .. } = self.replay.problem;
        let span = self.replay.arithmetic.step.span();
        let uniform = match self.kernel.tile(0, 0) {
            None => Some(self.kernel.traversal(k, span, 0, 0)),
            Some(_) => None,
        };
        let early = self.adds_early();
        let (mut next, mut rest) = (first_row, out);
        while !rest.is_empty() {
            let (batch, row) = (next / m, next % m);
            let (rows, columns) = match self.kernel.tile(self.kernel.place.row + row, 0) {
                Some((_, [rows, columns])) => {
                    (rows.end - self.kernel.place.row - row, columns.len())
                }
                None => {
                    let kept = |uniform: &KTraversal| uniform.root.kept(early);
                    let kept = uniform.as_ref().map_or(1, kept);
                    let spec = self.kernel.spec;
                    let columns = match spec.fixed_point.and_then(|fixed| fixed.slices) {
                        // All slices of a block's operands are kept.
                        Some(slices) => (SLICED / (slices * k).max(1)).clamp(1, SUMMED_COLUMNS),
                        None if spec.inner.is_empty() => COLUMNS,
                        None => SUMMED_COLUMNS,
                    };
                    let most = ROWS.min(columns);
                    ((KEPT / kept / columns.min(n)).clamp(1, most), columns)
                }
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
                let kernel = self.kernel.part(batch, [row, left]);
                let part = self
                    .replay
                    .problem
                    .matrix(batch)
                    .part(rows, columns.clone());
                let codes = match &uniform {
                    Some(traversal) => self.block(&kernel, &part, traversal),
                    None => {
                        let Place { row, column, .. } = kernel.place;
                        let traversal = kernel.traversal(k, span, row, column);
                        self.block(&kernel, &part, &traversal)
                    }
                };
                let rows = mine.chunks_mut(n).zip(codes.chunks(columns.len()));
                rows.for_each(|(out, codes)| out[columns.clone()].copy_from_slice(codes));
                left = right;
            }
        }
    }

    /// All of a small part that one traversal computes.
    pub fn block(
        &mut self,
        kernel: &BoundSchedule,
        problem: &Problem,
        traversal: &KTraversal,
    ) -> Vec<u64> {
        if let Some(slices) = kernel.spec.fixed_point.and_then(|fixed| fixed.slices) {
            return self.fixed_point(kernel, problem, slices);
        }
        let nan = kernel.spec.nan.0 as u32;
        match self.replay.engine {
            Engine::Exact => self.block_with(Exactly { nan }, kernel, problem, traversal),
            Engine::With(_) => self.block_with(Natively { nan }, kernel, problem, traversal),
        }
    }

    fn block_with(
        &mut self,
        ops: impl Ops,
        kernel: &BoundSchedule,
        problem: &Problem,
        traversal: &KTraversal,
    ) -> Vec<u64> {
        let spec = kernel.spec;
        if problem.k == 0 {
            // All that a schedule can say of it.
            debug_assert_eq!(spec.without_products, Some(WithoutProducts::Zero));
            return vec![0; problem.m * problem.n];
        }
        let finish = Finish {
            ops,
            kernel,
            accumulator: self.replay.arithmetic.accumulator,
            result: self.replay.format(),
            c: problem.c.filter(|_| spec.addend == AddendAt::Epilogue),
            columns: None,
        };
        let columns = finish.scales_of_columns(problem.n);
        let finish = Finish {
            columns: columns.as_deref(),
            ..finish
        };
        let n = problem.n;
        let c = problem.c.filter(|_| spec.addend == AddendAt::Start);
        let problem = Problem { c, ..*problem };
        let Node::Sum(
            sum @ Sum {
                role: Role::Split,
                merge,
                parts,
            },
        ) = &traversal.root
        else {
            let mut sums = self.node(ops, &finish, &problem, &traversal.root);
            self.scale_part(ops, kernel, &mut sums, n);
            return self.finished(&finish, &sums, n);
        };
        let Merge::InPlace {} = merge else {
            let sums = self.sum(ops, &finish, &problem, sum);
            return self.finished(&finish, &sums, n);
        };
        let mut d = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let count = parts.len();
            ops.observe(Observed::Partial { index, count });
            let c = problem.c.filter(|_| index == 0);
            let sums = self.node(ops, &finish, &Problem { c, ..problem }, part);
            match index {
                0 => d = self.finished(&finish, &sums, n),
                _ => self.update(&mut d, &sums, n, |d, sum| finish.serial(*d, sum)),
            }
        }
        d
    }

    /// Sums of a block: f32 codes, or s32.
    pub(super) fn node(
        &mut self,
        ops: impl Ops,
        finish: &Finish<impl Ops>,
        problem: &Problem,
        node: &Node,
    ) -> Vec<u32> {
        match node {
            Node::Chain(chain) => {
                let one = (Start::First, false);
                self.at_once(ops, finish.kernel, problem, one, &[node])
                    .unwrap_or_else(|| self.chain_sums(ops, finish.kernel, problem, chain))
            }
            Node::Sum(sum) => self.sum(ops, finish, problem, sum),
        }
    }

    /// A chain's codes, of 32 bits.
    pub(super) fn chain_sums(
        &mut self,
        ops: impl Ops,
        kernel: &BoundSchedule,
        problem: &Problem,
        chain: &Chain,
    ) -> Vec<u32> {
        let spec = kernel.spec;
        if let Some(shared) = kernel.shared.filter(|_| problem.m * problem.n == 1) {
            let terms = spec.split_terms.as_ref();
            let Place { batch, column, .. } = kernel.place;
            let element = [batch, kernel.place.row_of(0), column];
            let own = (&chain.indices, problem.c.is_some());
            let code = shared.sum(element, own, terms, || {
                self.chain(ops, spec, problem, chain)[0]
            });
            return vec![code as u32];
        }
        let codes = self.chain(ops, spec, problem, chain);
        codes.into_iter().map(|code| code as u32).collect()
    }

    /// `each` for every element.
    pub(super) fn update<T: Copy + Send + Sync>(
        &self,
        totals: &mut [T],
        sums: &[u32],
        n: usize,
        each: impl Fn(&T, u32) -> T + Sync,
    ) {
        parallel::chunks_mut(totals, n, &|row, totals| {
            self.wide(Updated {
                sums: &sums[row * n..][..totals.len()],
                totals,
                each: &each,
            });
        });
    }

    fn finished<O: Ops>(&self, finish: &Finish<O>, sums: &[u32], n: usize) -> Vec<u64> {
        let mut d = vec![0; sums.len()];
        parallel::chunks_mut(&mut d, n, &|row, out| {
            self.wide(Finished {
                finish,
                row,
                sums: &sums[row * n..][..out.len()],
                out,
            });
        });
        d
    }

    /// Compiled for the vectors of the engine.
    pub(super) fn wide<W: Wide>(&self, work: W) -> W::Output {
        self.replay.engine.vectors().run(work)
    }

    /// One accumulator of the tensor core, from C or +0 on.
    fn chain(
        &mut self,
        ops: impl Ops,
        spec: &ScheduleSpec,
        problem: &Problem,
        chain: &Chain,
    ) -> Vec<u64> {
        let whole = Block {
            batch: 0,
            rows: 0..problem.m,
            columns: 0..problem.n,
        };
        let codes = match &chain.indices {
            KIndices::Range(k) if !k.is_empty() => self.codes(&problem.part_k(k.clone())),
            KIndices::List(indices) if !indices.is_empty() => {
                match self.terms_of_chain(spec, problem, indices) {
                    Ok(terms) => self.list(terms.as_deref(), problem, indices),
                    Err(terms) => return self.interrupted(ops, terms, problem, indices),
                }
            }
            _ => initial(problem, &whole),
        };
        ops.observe(Observed::Chain {
            chain,
            problem,
            result: codes[0],
            lowered: 0,
        });
        codes
    }

    /// The terms of a list that one chain adds up; those that need something in between are an error.
    pub(super) fn terms_of_chain<'s>(
        &self,
        spec: &'s ScheduleSpec,
        problem: &Problem,
        indices: &[KIndex],
    ) -> Result<Option<Cow<'s, SplitTerms>>, &'s SplitTerms> {
        let Some(terms) = &spec.split_terms else {
            return Ok(None);
        };
        if !terms.interrupts() {
            return Ok(Some(Cow::Borrowed(terms)));
        }
        // The exact engine does what the schedule says.
        let in_one = match self.replay.engine {
            Engine::Exact => None,
            Engine::With(_) => terms.in_one_chain(&self.replay.arithmetic.step, problem, indices),
        };
        in_one.map(|terms| Some(Cow::Owned(terms))).ok_or(terms)
    }

    /// A chain whose accumulator is scaled, or rid of NaNs, between products of terms.
    fn interrupted(
        &mut self,
        ops: impl Ops,
        terms: &SplitTerms,
        problem: &Problem,
        indices: &[KIndex],
    ) -> Vec<u64> {
        let last = terms.products.last().copied();
        let shape = vec![problem.m, problem.n];
        let mut before: Option<(Tensor, Option<[Term; 2]>)> = None;
        let mut codes = Vec::new();
        for run in indices.chunk_by(|x, y| x.terms == y.terms) {
            let pair = run[0].terms;
            let mut lowered = 0;
            if let Some((sums, previous)) = &mut before {
                let band = |pair: Option<[Term; 2]>| pair.map_or(0, |pair| terms.band(pair));
                let down = terms.scale * band(*previous).saturating_sub(band(pair));
                let clear = terms.nan_before_last.is_some() && pair == last;
                ops.observe(Observed::Stage("the accumulator's factor"));
                if codes.iter().any(|&code| is_coarse(code as u32, down)) {
                    lowered = down;
                }
                for code in &mut codes {
                    if down > lowered {
                        *code = ops.mul(*code as u32, power_of_two(-(down as i32))).into();
                    }
                    if clear && (*code as u32) << 1 > 0xff00_0000 {
                        *code = 0;
                    }
                }
                *sums = Tensor::from_codes(Format::Fp32, shape.clone(), &codes);
            }
            let c = before.as_ref().map(|(sums, _)| sums.planes());
            let problem = Problem {
                c: c.or(problem.c),
                ..*problem
            };
            codes = match lowered {
                0 => self.list(Some(terms), &problem, run),
                _ => self.lowered(terms, &problem, run, lowered),
            };
            let indices = KIndices::List(run.to_vec());
            ops.observe(Observed::Chain {
                chain: &Chain { indices },
                problem: &problem,
                result: codes[0],
                lowered,
            });
            before = Some((
                Tensor::from_codes(Format::Fp32, shape.clone(), &codes),
                pair,
            ));
        }
        codes
    }

    /// A chain whose first step lowers the exponent of C.
    fn lowered(
        &mut self,
        terms: &SplitTerms,
        problem: &Problem,
        indices: &[KIndex],
        lowered: u32,
    ) -> Vec<u64> {
        let arithmetic = self.replay.arithmetic;
        let Step::Fused(step) = &arithmetic.step else {
            unreachable!("other units have no such factor");
        };
        let (first, rest) = indices.split_at(arithmetic.step.span().min(indices.len()));
        let operands = GatheredOperands::gather(problem, first, Some(terms));
        let gathered = operands.problem(problem.c);
        let whole = Block {
            batch: 0,
            rows: 0..problem.m,
            columns: 0..problem.n,
        };
        let Gathered { a, b, .. } = gather(&gathered, arithmetic, &whole, 0..first.len(), |x| x);
        let mut sums = initial(problem, &whole);
        for (i, sum) in sums.iter_mut().enumerate() {
            let [row, column] = [i / problem.n, i % problem.n].map(|at| at * first.len());
            let products = Products {
                formats: arithmetic.formats(),
                a: &a[row..][..first.len()],
                b: &b[column..][..first.len()],
                scales: None,
            };
            *sum = step.add_lowered(products, (*sum, lowered), &mut ());
        }
        self.exact += (sums.len() * first.len()) as u64;
        if rest.is_empty() {
            return sums;
        }
        let sums = Tensor::from_codes(Format::Fp32, vec![problem.m, problem.n], &sums);
        let c = Some(sums.planes());
        self.list(Some(terms), &Problem { c, ..*problem }, rest)
    }

    fn list(
        &mut self,
        terms: Option<&SplitTerms>,
        problem: &Problem,
        indices: &[KIndex],
    ) -> Vec<u64> {
        let Arithmetic {
            step,
            accumulator,
            instruction_k,
            ..
        } = self.replay.arithmetic;
        // A sum that nothing rounds on the way must not be read on the way.
        let panel = if step.rounds() {
            let whole = instruction_k.unwrap_or(1).next_multiple_of(step.span());
            PANEL.next_multiple_of(whole)
        } else {
            indices.len()
        };
        let mut before: Option<Tensor> = None;
        let mut codes = Vec::new();
        for indices in indices.chunks(panel) {
            let operands = GatheredOperands::gather(problem, indices, terms);
            let c = before.as_ref().map(Tensor::planes).or(problem.c);
            codes = self.codes(&operands.problem(c));
            let shape = vec![problem.m, problem.n];
            before = Some(Tensor::from_codes(*accumulator, shape, &codes));
        }
        codes
    }

    /// A product without a kernel around it.
    pub(super) fn bare<'p>(&self, problem: Problem<'p>) -> Replay<'p>
    where
        'r: 'p,
    {
        Replay {
            problem,
            arithmetic: self.replay.arithmetic,
            convert_to: None,
            engine: self.replay.engine,
            kernel: None,
        }
    }

    /// The bare product of a part.
    pub(super) fn codes(&mut self, problem: &Problem) -> Vec<u64> {
        let bare = self.bare(*problem);
        let mut codes = vec![0; problem.m * problem.n];
        self.exact += bare.codes(0, &mut codes, self.progress);
        codes
    }
}
