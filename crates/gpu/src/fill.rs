//! Products by a device that passed its self-test; the exact engine computes the elements that a shader leaves.

use std::sync::Mutex;

use rayon::prelude::*;
use tcverify_emu::engine::{ExactEngine, Promotion, Work};
use tcverify_tensor::Problem;

use super::chains::by_exact_engine;
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
