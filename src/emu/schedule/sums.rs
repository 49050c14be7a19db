//! Sums of parts brought together: partial sums, those of threads, promoted accumulators.

use super::critical_chain::{CriticalChain, Operand};
use super::f32ops::{Observed, Ops};
use super::finish::Finish;
use super::k_index::KIndices;
use super::loops::Promoted;
use super::operands::GatheredOperands;
use super::run::Run;
use super::traversal::{Node, Role, Sum};
use super::{BoundSchedule, Merge, Multiply, Order, Per, Start};
use crate::Problem;
use crate::engine::{Merging, Promotion};
use crate::num::Format;
use crate::tensor::{Vectors, parallel};

/// Operands that are copied together at most, where a kernel needs all k of a part.
const GATHERED: usize = 128 << 20;

impl Run<'_, '_> {
    /// The sums of parts, brought together in f32.
    pub(super) fn sum(
        &mut self,
        ops: impl Ops,
        finish: &Finish<impl Ops>,
        problem: &Problem,
        sum: &Sum,
    ) -> Vec<u32> {
        let Sum { role, merge, parts } = sum;
        let Merge::Sum {
            order,
            start,
            partials,
            sums: rounded,
        } = merge
        else {
            unreachable!("only a split is added in place");
        };
        let n = problem.n;
        let kernel = finish.kernel;
        let stage = match role {
            Role::Split => "sum of partial sums",
            Role::Inner => "sum of threads",
            Role::Promotion { .. } => "promotion",
        };
        let of = |run: &mut Self, index: usize| {
            if *role == Role::Split {
                let count = parts.len();
                ops.observe(Observed::Partial { index, count });
            }
            // C is what the first accumulator starts from.
            let c = problem.c.filter(|_| index == 0);
            let problem = Problem { c, ..*problem };
            let mut sums = run.node(ops, finish, &problem, &parts[index]);
            if *role == Role::Split {
                run.scale_part(ops, kernel, &mut sums, n);
            }
            run.round(finish, partials.rounded_to(finish.result), &mut sums, n);
            sums
        };
        let rounded = rounded.rounded_to(finish.result);
        let add = |total: &u32, sum: u32| {
            let sum = ops.add(*total, sum);
            rounded.map_or(sum, |format| finish.through(sum, format))
        };
        let scaled = *role == (Role::Promotion { scaled: true });
        let scales_parts = *role == Role::Split && kernel.scales_parts();
        let in_f32 = merge.in_f32() && !scales_parts;
        if order.is_serial()
            && in_f32
            && let Some(sums) = {
                let parts: Vec<&Node> = parts.iter().collect();
                self.at_once(ops, kernel, problem, (*start, scaled), &parts)
            }
        {
            return sums;
        }
        if order.is_serial() {
            let mut total = match start {
                Start::Zero => vec![0u32; problem.m * n],
                Start::First => {
                    let mut first = of(self, 0);
                    self.round(finish, rounded, &mut first, n);
                    first
                }
            };
            let rest = usize::from(*start == Start::First);
            for (index, part) in parts.iter().enumerate().skip(rest) {
                let sums = match part {
                    // No kernel took all of them at once, so none takes this one.
                    Node::Chain(chain) if matches!(role, Role::Promotion { .. }) => {
                        let c = problem.c.filter(|_| index == 0);
                        self.chain_sums(ops, kernel, &Problem { c, ..*problem }, chain)
                    }
                    _ => of(self, index),
                };
                ops.observe(Observed::Stage(stage));
                if scaled {
                    self.promote(ops, kernel, problem, (part, &sums), &mut total)
                } else {
                    self.update(&mut total, &sums, n, add)
                }
            }
            return total;
        }
        let additions = order.additions(parts.len());
        // Sums that are rounded are added one by one.
        let early = in_f32 && self.adds_early();
        let chain = early
            .then(|| additions.critical_chain(parts.len()))
            .flatten();
        if let Some(chain) = chain {
            let mut total = self.critical_chain(ops, finish, problem, parts, &chain);
            self.from(*start, &mut total, n, add);
            return total;
        }
        let mut sums: Vec<Vec<u32>> = (0..parts.len()).map(|index| of(self, index)).collect();
        sums.resize_with(additions.width, || vec![0; problem.m * n]);
        ops.observe(Observed::Stage(stage));
        if *order == Order::Reverse {
            let last = sums.last_mut().expect("at least one part");
            self.from(*start, last, n, add);
            self.round(finish, rounded, last, n);
        }
        for [into, from] in additions.steps {
            let mut target = std::mem::take(&mut sums[into]);
            self.update(&mut target, &sums[from], n, add);
            sums[into] = target;
        }
        sums.swap_remove(additions.result)
    }

    /// Rounds sums to a format, if there is one.
    fn round(&self, finish: &Finish<impl Ops>, format: Option<Format>, sums: &mut [u32], n: usize) {
        let Some(format) = format else { return };
        let zeros = vec![0; sums.len()];
        self.update(sums, &zeros, n, |&sum, _| finish.through(sum, format));
    }

    /// Multiplies the sum of a part by its scales, if the schedule has them there.
    pub(super) fn scale_part(
        &self,
        ops: impl Ops,
        kernel: &BoundSchedule,
        sums: &mut [u32],
        n: usize,
    ) {
        let Some(scaling) = kernel
            .spec
            .scales
            .as_ref()
            .filter(|_| kernel.scales_parts())
        else {
            return;
        };
        ops.observe(Observed::Stage("scales of a part"));
        let BoundSchedule { values, place, .. } = *kernel;
        parallel::chunks_mut(sums, n, &|row, sums: &mut [u32]| {
            let a = values.scale_a(scaling.per, place.batch, place.row_of(row), 0);
            for (column, sum) in sums.iter_mut().enumerate() {
                let b = values.scale_b(scaling.per, place.batch, place.column + column, 0);
                *sum = scaling.multiply.apply(ops, *sum, a, b);
            }
        });
    }

    /// Adds +0 to a total that starts from it.
    fn from(
        &self,
        start: Start,
        total: &mut [u32],
        n: usize,
        add: impl Fn(&u32, u32) -> u32 + Sync,
    ) {
        if start == Start::Zero {
            let zeros = vec![0; total.len()];
            self.update(total, &zeros, n, add);
        }
    }

    /// Sums in f32 of parts, a run of chains by a kernel while it has them at hand.
    fn critical_chain(
        &mut self,
        ops: impl Ops,
        finish: &Finish<impl Ops>,
        problem: &Problem,
        parts: &[Node],
        chain: &CriticalChain,
    ) -> Vec<u32> {
        let run: Vec<&Node> = chain.run().iter().map(|&part| &parts[part]).collect();
        // A run of one is a part as any other.
        let at_once = match run.len() {
            1 => None,
            _ => self.at_once(ops, finish.kernel, problem, (Start::First, false), &run),
        };
        let (mut total, done) = match at_once {
            Some(sums) => (sums, run.len() - 1),
            None => (self.node(ops, finish, problem, &parts[chain.first]), 0),
        };
        for operand in &chain.then[done..] {
            let sums = match operand {
                Operand::Sum(part) => self.node(ops, finish, problem, &parts[*part]),
                Operand::CriticalChain(chain) => {
                    self.critical_chain(ops, finish, problem, parts, chain)
                }
            };
            self.update(&mut total, &sums, problem.n, |&total, sum| {
                ops.add(total, sum)
            });
        }
        total
    }

    /// One chain, or chains that are added up one after another, by a kernel while it has them at hand.
    pub(super) fn at_once(
        &mut self,
        ops: impl Ops,
        kernel: &BoundSchedule,
        problem: &Problem,
        (start, scaled): (Start, bool),
        parts: &[&Node],
    ) -> Option<Vec<u32>> {
        // Chain by chain: some may be known.
        if kernel.shared.is_some() {
            return None;
        }
        if parts.len() > 1 && self.special || !self.bare(*problem).may_promote() {
            return None;
        }
        let chain = |node: &&Node| match node {
            Node::Chain(chain) => Some(chain.indices.clone()),
            Node::Sum(_) => None,
        };
        let chains: Option<Vec<KIndices>> = parts.iter().map(chain).collect();
        let chains = chains?;
        if chains.iter().any(KIndices::is_empty) {
            return None;
        }
        let gathered;
        let product = match joined(&chains) {
            KIndices::Range(k) => problem.part_k(k),
            KIndices::List(indices) => {
                if (problem.m + problem.n) * indices.len() > GATHERED {
                    return None;
                }
                let terms = self.terms_of_chain(kernel.spec, problem, &indices).ok()?;
                gathered = GatheredOperands::gather(problem, &indices, terms.as_deref());
                gathered.problem(problem.c)
            }
        };
        let scaling = kernel.spec.scales.as_ref().filter(|_| scaled);
        let scales = scaling.map(|scaling| {
            let of = |chain: &KIndices| {
                let k = chain.first_k().unwrap_or(0);
                Scales::of(kernel, scaling.per, problem, k)
            };
            (scaling.multiply, chains.iter().map(of).collect())
        });
        let ends = chains.iter().scan(0, |end, chain| {
            *end += chain.len();
            Some(*end)
        });
        let promotion = Promotion {
            ends: &ends.collect::<Vec<_>>(),
            from_first: start == Start::First,
            merge: &Merger {
                ops,
                vectors: self.replay.engine.vectors(),
                scales,
            },
        };
        let found = self.bare(product).promoted(promotion, self.progress);
        self.special |= found.is_none();
        let (sums, exact) = found?;
        self.exact += exact;
        Some(sums)
    }

    /// `main = main + sum`, times the scales of its k.
    fn promote(
        &self,
        ops: impl Ops,
        kernel: &BoundSchedule,
        problem: &Problem,
        (part, sums): (&Node, &[u32]),
        main: &mut [u32],
    ) {
        let scaling = kernel.spec.scales.as_ref().expect("what is scaled");
        let chains = part.chains().into_iter();
        let k = chains.filter_map(|chain| chain.indices.first_k()).min();
        let scales = Scales::of(kernel, scaling.per, problem, k.unwrap_or(0));
        let n = problem.n;
        parallel::chunks_mut(main, n, &|row, main| {
            self.wide(Promoted {
                ops,
                scaled: Some((scaling.multiply, scales.rows[row], &scales.columns[..])),
                sums: &sums[row * n..][..main.len()],
                main,
            });
        });
    }
}

/// Chains as one, a range if they are.
fn joined(chains: &[KIndices]) -> KIndices {
    let ranges = chains.windows(2).all(|pair| {
        matches!(pair, [KIndices::Range(one), KIndices::Range(next)] if one.end == next.start)
    });
    match (&chains[0], &chains[chains.len() - 1]) {
        (KIndices::Range(first), KIndices::Range(last)) if ranges => {
            KIndices::Range(first.start..last.end)
        }
        _ => {
            let all = |chain: &KIndices| (0..chain.len()).map(|i| chain.get(i)).collect::<Vec<_>>();
            KIndices::List(chains.iter().flat_map(all).collect())
        }
    }
}

/// Adds the accumulators of chains to main ones.
struct Merger<O> {
    ops: O,
    vectors: Vectors,
    /// How, and the scales of each chain.
    scales: Option<(Multiply, Vec<Scales>)>,
}

impl<O: Ops> Merging for Merger<O> {
    fn merge(&self, chain: usize, [row, column]: [usize; 2], main: &mut [u32], sums: &[u32]) {
        let scaled = self.scales.as_ref().map(|(multiply, scales)| {
            let Scales { rows, columns } = &scales[chain];
            (*multiply, rows[row], &columns[column..][..main.len()])
        });
        self.vectors.run(Promoted {
            ops: self.ops,
            scaled,
            main,
            sums,
        });
    }

    fn is_sum(&self) -> bool {
        self.scales.is_none()
    }
}

/// The scales of a block of D at one k.
struct Scales {
    rows: Vec<u32>,
    columns: Vec<u32>,
}

impl Scales {
    fn of(kernel: &BoundSchedule, per: Per, problem: &Problem, k: usize) -> Scales {
        let BoundSchedule { values, place, .. } = kernel;
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
