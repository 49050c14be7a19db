//! Products of awkward numbers by a device and by the exact engine, before the first use: a wrong driver must not become
//! a wrong verdict.

use tcverify_emu::engine::{ExactEngine, Promotion, TestNumbers, TestProduct};

use super::chains::by_exact_engine;
use super::device::{Chains, Device, FLAG};
use super::plan::ShaderPlan;

/// Rows, columns and k: parts of tiles, and of the k that a workgroup takes.
const ROWS: usize = 35;
const COLUMNS: usize = 37;
/// A step of groups of two ends in a product, not in zeros.
const K: usize = 143;
/// One step or two, where the next ones would hide what a rounding did.
const FEW_K: usize = 15;
/// Where chains end before, if they are added up.
const ENDS: [usize; 2] = [32, 96];

/// Compares a device with the exact engine; a plan that promotes needs what adds up chains.
///
/// # Errors
/// If they differ, or the device leaves too much to the exact engine, or fails.
pub fn run(
    device: &dyn Device,
    plan: &ShaderPlan,
    exact: &dyn ExactEngine,
    promotion: Option<Promotion>,
) -> Result<(), String> {
    let [m, n] = [ROWS, COLUMNS];
    let mut own = 0;
    for (i, numbers) in TestNumbers::ALL.into_iter().enumerate() {
        let k = match numbers {
            TestNumbers::Cancelling | TestNumbers::Opposite | TestNumbers::Low => FEW_K,
            _ => K,
        };
        let before = ENDS
            .into_iter()
            .filter(|&end| promotion.is_some() && end < k);
        let ends: Vec<usize> = before.chain([k]).collect();
        let chains = Chains {
            ends: &ends,
            from_first: i % 2 == 0,
        };
        let product = TestProduct::new(plan.formats, [m, n, k], numbers);
        let problem = product.problem();
        let have = device.compute(plan, &problem, chains, &|_| {})?;
        let promotion = promotion.map(|promotion| Promotion {
            ends: chains.ends,
            from_first: chains.from_first,
            ..promotion
        });
        let mut want = vec![0; m * n];
        by_exact_engine(&problem, exact, promotion, &mut want);
        for (i, (&have, &want)) in have.iter().zip(&want).enumerate() {
            if plan.flags() && have == FLAG {
                continue;
            }
            own += 1;
            if u64::from(have) != want {
                let name = plan.name();
                return Err(format!(
                    "it fails its self-test: {name}, {numbers:?}, element ({}, {}) is {have:#x}, not {want:#x}",
                    i / n,
                    i % n
                ));
            }
        }
    }
    // One that leaves everything to the exact engine is never wrong.
    if own < 2 * m * n {
        let name = plan.name();
        return Err(format!(
            "it fails its self-test: {name}, it leaves most elements"
        ));
    }
    Ok(())
}
