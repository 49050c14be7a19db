//! The plausible values of every constant: what a hypothesis is compared with before a constant
//! counts as determined.

use serde_json::{Value, json};

use crate::emu::step::{Code, Formats, Step, StepKind};
use crate::probe::suite::{INTEGER_K, K};

/// A step with another value of one constant (and of what hangs on it).
pub fn with(step: &Step, name: &str, value: &Value) -> Option<Step> {
    let mut changed = serde_json::to_value(step).expect("a step is plain data");
    let mut path = name.split('.');
    *path.try_fold(&mut changed, |at, key| at.get_mut(key))? = value.clone();
    let mut step: Step = serde_json::from_value(changed).ok()?;
    step.follow(name);
    Some(step)
}

/// The plausible values of a constant, those that make no sense beside the others included.
pub fn values(name: &str, step: &Step, formats: Formats, nans: &[u64]) -> Vec<Value> {
    let numbers = |all: &mut dyn Iterator<Item = i64>| all.map(|n| json!(n)).collect::<Vec<_>>();
    let full = i64::from(formats.accumulator.fraction_bits()) + 1;
    let longest = (K / 2) as i64;
    let bare = name.rsplit('.').next().unwrap_or(name);
    let k = if formats.accumulator.is_integer() {
        INTEGER_K
    } else {
        K
    };
    if let Some(values) = step.values(bare, k) {
        return values;
    }
    match bare {
        "nan" | "operand" | "invalid" => {
            let acc = formats.accumulator;
            let quiet = acc.infinity(false).unwrap_or(0) | 1 << (acc.fraction_bits() - 1);
            let ones = acc.sign_mask() - 1;
            let mut codes = vec![quiet, ones, quiet | acc.sign_mask(), ones | acc.sign_mask()];
            codes.extend(nans);
            codes.sort_unstable();
            codes.dedup();
            codes.into_iter().map(|c| json!(Code(c))).collect()
        }
        "alignment" => ["rz", "rne", "rna", "rd"].map(|r| json!(r)).into(),
        "rounding" | "closing" => ["rz", "rne"].map(|r| json!(r)).into(),
        "overflow" => ["wrap", "saturate"].map(|o| json!(o)).into(),
        "group" | "span" | "sums" => numbers(&mut (1..=longest)),
        "fraction_bits" => numbers(&mut (0..=64).chain([72, 80, 96])),
        "sum_fraction_bits" | "result_fraction_bits" | "width" => {
            numbers(&mut (0..=64).chain([72, 80, 96]))
        }
        "addend_window" => {
            let mut windows = numbers(&mut (0..=80).chain([4096]));
            windows.push(Value::Null);
            windows
        }
        "sum_bits" => {
            let mut bits = numbers(&mut (1..=80));
            bits.push(Value::Null);
            bits
        }
        "zero_exponent" => numbers(&mut (-4096..=20)),
        "precision" => numbers(&mut (1..=full)),
        "part" => numbers(&mut (1..=32)),
        "scaling" => ["lane_exponent", "mxfp4", "nvfp4"].map(|s| json!(s)).into(),
        "lanes" => numbers(&mut [4, 8].into_iter()),
        "addend" => ["value", "hidden_bit"].map(|a| json!(a)).into(),
        "pair" => ["tfr", "tfr-565bd0f1", "drl"].map(|p| json!(p)).into(),
        "sparse_mask" | "ieee_top" | "minus_zero" | "plus_zero" => vec![json!(false), json!(true)],
        "period" => numbers(&mut [2, 4, 8, 16, 32, 64].into_iter()),
        _ => Vec::new(),
    }
}
