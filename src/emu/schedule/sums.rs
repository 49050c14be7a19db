//! Sums of parts brought together: partial sums, those of threads, promoted accumulators.

use rayon::prelude::*;

use super::f32ops::{Observed, Ops};
use super::finish::Finish;
use super::k_index::KIndices;
use super::loops::Promoted;
use super::operands::GatheredOperands;
use super::run::Run;
use super::traversal::{Chain, Node, Role, Sum};
use super::{Kernel, Merge, Partials, Per, ScheduleSpec, Start};
use crate::emu::fast::Promotion;
use crate::emu::{Engine, Problem};

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
        } = merge
        else {
            unreachable!("only a split is added up in place");
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
            if *partials == Partials::Result {
                let zeros = vec![0; sums.len()];
                run.update(&mut sums, &zeros, n, |&sum, _| {
                    finish.widen(finish.round(sum))
                });
            }
            sums
        };
        let add = |total: &u32, sum: u32| ops.add(*total, sum);
        if *role == (Role::Promotion { scaled: false })
            && order.is_serial()
            && let Some(sums) = self.promoted(kernel.spec, problem, *start, parts)
        {
            return sums;
        }
        if order.is_serial() {
            let mut total = match start {
                Start::Zero => vec![0u32; problem.m * n],
                Start::First => of(self, 0),
            };
            let rest = usize::from(*start == Start::First);
            for (index, part) in parts.iter().enumerate().skip(rest) {
                if let (Role::Promotion { scaled }, Node::Chain(chain)) = (role, part) {
                    let c = problem.c.filter(|_| index == 0);
                    let problem = Problem { c, ..*problem };
                    self.promote(ops, kernel, &problem, chain, *scaled, &mut total);
                    continue;
                }
                let sums = of(self, index);
                ops.observe(Observed::Stage(stage));
                self.update(&mut total, &sums, n, add);
            }
            return total;
        }
        let additions = order.additions(parts.len());
        let mut sums: Vec<Vec<u32>> = (0..parts.len()).map(|index| of(self, index)).collect();
        sums.resize_with(additions.width, || vec![0; problem.m * n]);
        ops.observe(Observed::Stage(stage));
        for [into, from] in additions.steps {
            let mut target = std::mem::take(&mut sums[into]);
            self.update(&mut target, &sums[from], n, add);
            sums[into] = target;
        }
        let mut total = sums.swap_remove(additions.result);
        if *start == Start::Zero {
            let zeros = vec![0; total.len()];
            self.update(&mut total, &zeros, n, add);
        }
        total
    }

    /// Chains of one length, the last one perhaps shorter, promoted by a kernel while it has them at hand.
    fn promoted(
        &mut self,
        spec: &ScheduleSpec,
        problem: &Problem,
        start: Start,
        parts: &[Node],
    ) -> Option<Vec<u32>> {
        let Engine::Fast(_) = self.replay.engine else {
            return None;
        };
        let chain = |node: &Node| match node {
            Node::Chain(chain) => Some(chain.indices.clone()),
            Node::Sum(_) => None,
        };
        let chains: Option<Vec<KIndices>> = parts.iter().map(chain).collect();
        let chains = chains?;
        let every = chains.first()?.len();
        let span = self.replay.arithmetic.step.span();
        let (last, others) = chains.split_last()?;
        let alike = others.iter().all(|chain| chain.len() == every) && last.len() <= every;
        if !alike || last.is_empty() || !others.is_empty() && !every.is_multiple_of(span) {
            return None;
        }
        let gathered;
        let product = match joined(&chains) {
            KIndices::Range(k) => problem.part_k(k),
            KIndices::List(indices) => {
                if (problem.m + problem.n) * indices.len() > GATHERED {
                    return None;
                }
                let terms = spec.split_terms.as_ref();
                gathered = GatheredOperands::gather(problem, &indices, terms);
                gathered.problem(problem.c)
            }
        };
        let promotion = Promotion {
            every,
            from_first: start == Start::First,
            nan: spec.nan.0 as u32,
        };
        let (sums, exact) = self.bare(product).promoted(promotion, self.progress)?;
        self.exact += exact;
        Some(sums)
    }

    /// `main = main + accumulator`, or times its scales.
    fn promote(
        &mut self,
        ops: impl Ops,
        kernel: &Kernel,
        problem: &Problem,
        chain: &Chain,
        scaled: bool,
        main: &mut [u32],
    ) {
        let n = problem.n;
        let sums = self.chain(ops, kernel.spec, problem, chain);
        let k = chain.indices.first_k().unwrap_or(0);
        let scaling = kernel.spec.scales.as_ref().filter(|_| scaled);
        let scales = scaling.map(|scaling| Scales::of(kernel, scaling.per, problem, k));
        let rows = main.par_chunks_mut(n).zip(sums.par_chunks(n)).enumerate();
        ops.observe(Observed::Stage("promotion"));
        rows.for_each(|(row, (main, sums))| {
            let scales = scaling.zip(scales.as_ref());
            let scaled = scales
                .map(|(scaling, scales)| (scaling.multiply, scales.rows[row], &scales.columns[..]));
            self.wide(Promoted {
                ops,
                scaled,
                main,
                sums,
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
