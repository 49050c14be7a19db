//! The plausible values of every constant: what a hypothesis is compared with before a constant
//! counts as determined.

use serde_json::{Value, json};

use crate::emu::step::{Code, Formats, Step};
use crate::probe::suite::{INTEGER_K, K};

/// A step with another value of one constant (and of what hangs on it).
pub fn with(step: &Step, name: &str, value: &Value) -> Option<Step> {
    let mut changed = serde_json::to_value(step).expect("a step is plain data");
    let mut path = name.split('.');
    *path.try_fold(&mut changed, |at, key| at.get_mut(key))? = value.clone();
    follow(&mut changed, name);
    serde_json::from_value(changed).ok()
}

/// Constants that are no freedom of their own once another is changed.
fn follow(step: &mut Value, changed: &str) {
    if step["kind"] == "sticky_rne" && changed == "lanes" {
        // As many products as fit: the ratio stays.
        let (lanes, group) = (step["lanes"].as_u64(), step["group"].as_u64());
        if let (Some(lanes), Some(group)) = (lanes, group) {
            let was = 12 - lanes;
            step["group"] = json!(group * lanes / was);
        }
    }
    if step["kind"] == "fused_halves" && changed == "period" {
        // A pattern of another length: the first half of it.
        let period = step["period"].as_u64().unwrap_or(1);
        step["first"] = json!((0..period / 2).collect::<Vec<_>>());
    }
}

/// The plausible values of a constant, those that make no sense beside the others included.
pub fn values(name: &str, step: &Step, formats: Formats, nans: &[u64]) -> Vec<Value> {
    let numbers = |all: &mut dyn Iterator<Item = i64>| all.map(|n| json!(n)).collect::<Vec<_>>();
    let full = i64::from(formats.accumulator.fraction_bits()) + 1;
    let longest = (K / 2) as i64;
    let bare = name.rsplit('.').next().unwrap_or(name);
    match (bare, step) {
        ("nan", _) => {
            let acc = formats.accumulator;
            let quiet = acc.infinity(false).unwrap_or(0) | 1 << (acc.fraction_bits() - 1);
            let ones = acc.sign_mask() - 1;
            let mut codes = vec![quiet, ones, quiet | acc.sign_mask(), ones | acc.sign_mask()];
            codes.extend(nans);
            codes.sort_unstable();
            codes.dedup();
            codes.into_iter().map(|c| json!(Code(c))).collect()
        }
        ("alignment", _)
        | ("rounding", Step::Fused(_) | Step::FusedHalves(_) | Step::BlockDot(_)) => {
            ["rz", "rne", "rna", "rd"].map(|r| json!(r)).into()
        }
        ("rounding" | "closing", _) => ["rz", "rne"].map(|r| json!(r)).into(),
        // Halves that are not full add a zero product: any size beyond is the same.
        ("group", Step::FusedHalves(_)) => numbers(&mut (1..=longest).chain([K as i64, 1024])),
        ("group", Step::IntegerSum(_)) => numbers(&mut (1..=(INTEGER_K / 2) as i64)),
        ("overflow", _) => ["wrap", "saturate"].map(|o| json!(o)).into(),
        ("group" | "span" | "sums", _) => numbers(&mut (1..=longest)),
        ("fraction_bits", _) => numbers(&mut (0..=64).chain([72, 80, 96])),
        ("sum_fraction_bits" | "result_fraction_bits" | "width", _) => {
            numbers(&mut (0..=64).chain([72, 80, 96]))
        }
        ("addend_window", _) => {
            let mut windows = numbers(&mut (0..=80).chain([4096]));
            windows.push(Value::Null);
            windows
        }
        ("zero_exponent", _) => numbers(&mut (-4096..=20)),
        ("precision", _) => numbers(&mut (1..=full)),
        ("part", _) => numbers(&mut (1..=32)),
        ("scaling", _) => ["lane_exponent", "mxfp4", "nvfp4"].map(|s| json!(s)).into(),
        ("lanes", _) => numbers(&mut [4, 8].into_iter()),
        ("addend", _) => ["value", "hidden_bit"].map(|a| json!(a)).into(),
        ("pair", _) => ["tfr", "tfr-565bd0f1", "drl"].map(|p| json!(p)).into(),
        ("sparse_mask" | "ieee_top" | "minus_zero", _) => vec![json!(false), json!(true)],
        ("period", _) => numbers(&mut [2, 4, 8, 16, 32, 64].into_iter()),
        ("first", Step::FusedHalves(halves)) => patterns(halves.period),
        _ => Vec::new(),
    }
}

/// Ways to deal a pattern to two halves.
fn patterns(period: usize) -> Vec<Value> {
    if period <= 8 {
        // Each half must get something.
        let subsets = 1..(1u32 << period) - 1;
        let members = |set: u32| (0..period).filter(move |&k| set >> k & 1 == 1);
        return subsets
            .map(|set| json!(members(set).collect::<Vec<_>>()))
            .collect();
    }
    let mut all = Vec::new();
    for run in (0..)
        .map(|i| 1usize << i)
        .take_while(|run| run * 2 <= period)
    {
        for half in 0..2 {
            let first = (0..period).filter(|k| k / run % 2 == half);
            all.push(json!(first.collect::<Vec<_>>()));
        }
    }
    all
}
