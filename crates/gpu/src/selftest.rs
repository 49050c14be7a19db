//! Products of awkward numbers by a device and by the exact engine, before the first use: a wrong driver must not become
//! a wrong verdict.

use tcverify_emu::engine::{ExactEngine, Specials, TestNumbers, TestProduct};
use tcverify_tensor::Block;

use super::device::{Device, FLAG};
use super::plan::ShaderPlan;

/// Rows, columns and k: parts of tiles, and of the k that a workgroup takes.
const ROWS: usize = 35;
const COLUMNS: usize = 37;
/// The first of them that a shader takes.
const K: [usize; 2] = [141, 143];

/// Compares a device with the exact engine.
///
/// # Errors
/// If they differ, or the device leaves too much to the exact engine, or fails.
pub fn run(device: &dyn Device, plan: &ShaderPlan, exact: &dyn ExactEngine) -> Result<(), String> {
    let [m, n] = [ROWS, COLUMNS];
    let k = K.into_iter().find(|&k| plan.takes(k));
    let k = k.expect("every shader takes one of them");
    let mut own = 0;
    for numbers in TestNumbers::ALL {
        let product = TestProduct::new(plan.formats, [m, n, k], numbers);
        let problem = product.problem();
        let have = device.compute(plan, &problem, &|_| {})?;
        let mut want = product.c_codes.clone();
        let block = Block {
            batch: 0,
            rows: 0..m,
            columns: 0..n,
        };
        exact.accumulate(&problem, &block, 0..k, Specials::Themselves, &mut want);
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
