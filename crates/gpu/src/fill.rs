//! Products by a device that passed its self-test; the exact engine computes the elements that a shader leaves.

use std::sync::Mutex;

use rayon::prelude::*;
use tcverify_emu::engine::{ExactEngine, Promotion, Specials, Work};
use tcverify_tensor::{Block, Problem};

use super::device::{Chains, Device, FLAG};
use super::plan::ShaderPlan;
use super::selftest;

/// Multiply-adds below which a product is not worth a GPU.
const SMALL_WORK: u64 = 1 << 15;

/// A device with the plans whose self-test it has passed.
pub struct Vetted {
    pub device: Box<dyn Device>,
    passed: Mutex<Vec<ShaderPlan>>,
}

impl Vetted {
    pub fn new(device: Box<dyn Device>) -> Vetted {
        Vetted {
            device,
            passed: Mutex::default(),
        }
    }

    /// Tests the device with a plan, once; of one that promotes, with what adds up chains.
    ///
    /// # Errors
    /// If it differs from the exact engine, or fails.
    pub(crate) fn vet(
        &self,
        plan: &ShaderPlan,
        exact: &dyn ExactEngine,
        promotion: Option<Promotion>,
    ) -> Result<(), String> {
        let passed = || self.passed.lock().expect("nothing panics with it");
        if passed().contains(plan) {
            return Ok(());
        }
        // Without the lock: two threads at once only do it twice.
        selftest::run(self.device.as_ref(), plan, exact, promotion)?;
        passed().push(plan.clone());
        Ok(())
    }
}

/// Whether a product of one matrix is not worth a GPU.
pub fn is_small(problem: &Problem) -> bool {
    (problem.m * problem.n) as u64 * (problem.k as u64) < SMALL_WORK
}

/// Computes the rows of D from `first_row` on, matrices of a batch one after the other, that `out` has room for: codes of
/// the accumulator's format, or the totals of chains. Returns how many multiply-adds fell to the exact engine.
///
/// # Errors
/// If the device fails, or its self-test.
pub fn fill(
    work: Work,
    plan: &ShaderPlan,
    vetted: &Vetted,
    promotion: Option<Promotion>,
    first_row: usize,
    out: &mut [u64],
) -> Result<u64, String> {
    vetted.vet(plan, work.exact, promotion)?;
    let Problem { n, k, .. } = *work.problem;
    let mut exact = 0;
    for (batch, rows, out) in work.problem.by_matrix(first_row, out) {
        let problem = work.problem.matrix(batch).part(rows, 0..n);
        let whole = [k];
        let chains = Chains {
            ends: promotion.map_or(&whole, |promotion| promotion.ends),
            from_first: promotion.is_none_or(|promotion| promotion.from_first),
        };
        let device = &vetted.device;
        let codes = device.compute(plan, &problem, chains, work.progress)?;
        for (out, code) in out.iter_mut().zip(codes) {
            *out = code.into();
        }
        if plan.flags() {
            exact += left_over(&problem, work.exact, promotion, out) * k as u64;
        }
    }
    Ok(exact)
}

/// Computes the elements that the shader left; returns how many they were.
fn left_over(
    problem: &Problem,
    exact: &dyn ExactEngine,
    promotion: Option<Promotion>,
    out: &mut [u64],
) -> u64 {
    let flagged = |code: &u64| *code == u64::from(FLAG);
    let rows = out.par_chunks_mut(problem.n).enumerate();
    let each = rows.map(|(row, out)| {
        let (mut count, mut next) = (0, 0);
        for run in out.chunk_by_mut(|x, y| flagged(x) == flagged(y)) {
            let columns = next..next + run.len();
            next = columns.end;
            if !flagged(&run[0]) {
                continue;
            }
            let part = problem.part(row..row + 1, columns);
            by_exact_engine(&part, exact, promotion, run);
            count += run.len() as u64;
        }
        count
    });
    each.sum()
}

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
