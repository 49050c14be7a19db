//! A product by its chains on the CPU: what a device's totals are compared with, and what takes their place.

use tcverify_emu::engine::{ExactEngine, Promotion, Specials};
use tcverify_tensor::{Block, Problem};

/// All of a product of one matrix, or the totals of its chains.
pub fn by_exact_engine(
    problem: &Problem,
    exact: &dyn ExactEngine,
    promotion: Option<Promotion>,
    out: &mut [u64],
) {
    by_chains(problem, promotion, out, |problem, out| {
        let Problem { m, n, k, .. } = *problem;
        let c = problem.c.map(|c| c.plane(0));
        for (at, out) in out.iter_mut().enumerate() {
            *out = c.map_or(0, |c| c.code(at / n, at % n));
        }
        let block = Block {
            batch: 0,
            rows: 0..m,
            columns: 0..n,
        };
        exact.accumulate(problem, &block, 0..k, Specials::Themselves, out);
    });
}

/// A product of one matrix by somebody, one chain after another.
pub fn by_chains(
    problem: &Problem,
    promotion: Option<Promotion>,
    out: &mut [u64],
    fill: impl Fn(&Problem, &mut [u64]),
) {
    let Some(Promotion {
        ends,
        from_first,
        merge,
    }) = promotion
    else {
        return fill(problem, out);
    };
    let narrow = |codes: &[u64]| codes.iter().map(|&code| code as u32).collect::<Vec<_>>();
    let mut totals = vec![0; out.len()];
    let mut first = 0;
    for (chain, &end) in ends.iter().enumerate() {
        let c = problem.c.filter(|_| chain == 0);
        let part = Problem {
            c,
            ..problem.part_k(first..end)
        };
        fill(&part, out);
        let sums = narrow(out);
        match (chain, from_first) {
            (0, true) => totals = sums,
            // No scales: all elements are merged alike.
            _ => merge.merge(chain, [0, 0], &mut totals, &sums),
        }
        first = end;
    }
    for (out, total) in out.iter_mut().zip(totals) {
        *out = total.into();
    }
}
