//! Machines with any constants of the kinds that are known: the search must come to each.

use rayon::prelude::*;
use serde_json::{Value, json};
use tcverify::num::Format::{self, *};
use tcverify::probe::infer::{Verdict, infer};

use super::machine::{answered, arithmetic};
use crate::support::hidden::number::Dice;

const ROUNDINGS: [&str; 4] = ["rz", "rne", "rna", "rd"];
const NANS: [&str; 3] = ["7fffffff", "7fc00000", "ffc00000"];

fn between(dice: &mut Dice, from: i64, to: i64) -> i64 {
    from + dice.below((to - from + 1) as usize) as i64
}

fn fused(dice: &mut Dice) -> Value {
    json!({
        "kind": "fused",
        "group": between(dice, 3, 40),
        "fraction_bits": between(dice, 12, 34),
        "alignment": dice.pick(&ROUNDINGS),
        "zero_exponent": -between(dice, 10, 200),
        "precision": if dice.chance(2) { 24 } else { between(dice, 12, 24) },
        "rounding": dice.pick(&ROUNDINGS),
        "nan": dice.pick(&NANS),
        "minus_zero": dice.chance(3),
    })
}

fn floor(dice: &mut Dice) -> Value {
    let fraction_bits = between(dice, 20, 30);
    json!({
        "kind": "fused_floor",
        "group": dice.pick(&[4, 8, 16, 32]),
        "sums": dice.pick(&[1, 2, 4]),
        "fraction_bits": fraction_bits,
        "sum_fraction_bits": fraction_bits + between(dice, 0, 10),
        "addend_window": if dice.chance(3) { Value::Null } else { json!(fraction_bits + between(dice, 0, 4)) },
        "zero_exponent": -126,
        "result_fraction_bits": between(dice, 24, 34),
        "rounding": dice.pick(&["rz", "rne"]),
        "nan": dice.pick(&NANS),
    })
}

/// As FP8 is added where no hardware of its own is behind it.
fn halves(dice: &mut Dice) -> Value {
    let period = dice.pick(&[2, 4, 8]);
    let mut places: Vec<usize> = (0..period).collect();
    while places.len() > period / 2 {
        places.remove(dice.below(places.len()));
    }
    let span = dice.pick(&[8, 16, 32, 64]);
    let mut half = fused(dice);
    half.as_object_mut().unwrap().remove("kind");
    half["group"] = json!(span / 2);
    half["minus_zero"] = json!(false);
    json!({
        "kind": "fused_halves",
        "span": span,
        "period": period,
        "first": places,
        "half": half,
        "closing": dice.pick(&["rz", "rne"]),
    })
}

/// Machine `i`: its formats and step.
fn machine(i: usize) -> ([Format; 3], Value) {
    let mut dice = Dice(0x70ca_b000 + i as u64);
    let format = dice.pick(&[Fp16, Bf16, Tf32, E4m3, E5m2]);
    let step = match i % 3 {
        _ if i >= 24 => halves(&mut dice),
        2 => floor(&mut dice),
        _ => fused(&mut dice),
    };
    ([format, format, Fp32], step)
}

#[test]
fn any_constants_are_found() {
    let missed: Vec<String> = (0..30)
        .into_par_iter()
        .filter_map(|i| {
            let (formats, step) = machine(i);
            let machine = arithmetic(formats, &step.to_string());
            let (suite, answers) = answered(&machine);
            let start = std::time::Instant::now();
            let verdict = infer(&suite, &answers).unwrap();
            eprintln!(
                "{i} {:?} {}",
                start.elapsed(),
                matches!(verdict, Verdict::Explained(_))
            );
            match verdict {
                // Every answer is the machine's: constants that differ are those that show in none.
                Verdict::Explained(_) => None,
                Verdict::Contradicted(best) => Some(format!(
                    "{i}: {} {step}\n  ended {} cases beside, at {}",
                    formats[0],
                    best.cases.len(),
                    serde_json::to_string(&best.arithmetic.step).unwrap()
                )),
            }
        })
        .collect();
    assert!(missed.is_empty(), "{}: {}", missed.len(), missed.join("\n"));
}
