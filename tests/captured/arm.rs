//! Results of a simulator of Arm processors: every case of them, wrong rules that fail as often as was counted, and
//! constants that no other value could replace.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tcverify::emu::step::{Direction, Step};
use tcverify::emu::{Arithmetic, Engine, Evidence};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::hardware::evidence::by_rule;
use crate::support::case::{Case, codes};
use crate::support::engines::engines;
use crate::support::exact::{Rounds, value};
use crate::support::say;
use crate::support::vectors::{ARM, arm};

fn changed(case: &Case, changes: &Value) -> Arithmetic {
    let right = case.choice().arithmetic;
    let mut step = serde_json::to_value(&right.step).expect("plain data");
    for (name, value) in changes.as_object().expect("constants") {
        match name.split_once('.') {
            Some((outer, inner)) => step[outer][inner] = value.clone(),
            None => step[name] = value.clone(),
        }
    }
    let step = serde_json::from_value(step).expect("constants of the step");
    Arithmetic { step, ..right }
}

/// The arithmetic of another unit for the same formats.
fn of(case: &Case, arch: &str, instruction: &str) -> Arithmetic {
    case.choice_on(arch, instruction).arithmetic
}

/// The same products in another order of k.
fn permuted(case: &Case, order: &[usize]) -> usize {
    let (n, a, b) = (case.a.planes().batches(), case.a.planes(), case.b.planes());
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for batch in 0..n {
        let (a, b) = (a.plane(batch), b.plane(batch));
        for row in 0..a.rows {
            rows.extend(order.iter().map(|&k| a.code(row, k)));
        }
        for &k in order {
            columns.extend((0..b.columns).map(|column| b.code(k, column)));
        }
    }
    let mut other = case.clone();
    other.a = Tensor::from_codes(case.a.format(), case.a.shape().to_vec(), &rows);
    other.b = Tensor::from_codes(case.b.format(), case.b.shape().to_vec(), &columns);
    other.mismatches(&case.choice().arithmetic)
}

/// How many elements differ from those of an arithmetic; all NaNs are one.
fn other_numbers(case: &Case, arithmetic: &Arithmetic) -> usize {
    let own = case.replay(arithmetic, Engine::Exact);
    let nan = |code: u64| case.d.format().unpack(code).is_nan();
    let differs = |(own, d): (u64, u64)| own != d && !(nan(own) && nan(d));
    own.into_iter()
        .zip(codes(&case.d))
        .filter(|&pair| differs(pair))
        .count()
}

/// How many elements differ from what this makes of the products of one and of C, one number each.
fn by_hand(case: &Case, dot: impl Fn(&[(f64, f64)], f64) -> u64) -> usize {
    let (a, b, c) = (case.a.planes(), case.b.planes(), case.c.planes());
    let mut own = Vec::new();
    for batch in 0..a.batches() {
        let (a, b, c) = (a.plane(batch), b.plane(batch), c.plane(batch));
        for row in 0..a.rows {
            for column in 0..b.columns {
                let pair = |k| {
                    let a = value(case.a.format(), a.code(row, k));
                    (a, value(case.b.format(), b.code(k, column)))
                };
                let pairs: Vec<(f64, f64)> = (0..a.columns).map(pair).collect();
                own.push(dot(&pairs, value(case.c.format(), c.code(row, column))));
            }
        }
    }
    let differing = own.iter().zip(codes(&case.d));
    differing.filter(|(own, d)| **own != *d).count()
}

fn fp32(code: u64) -> f64 {
    value(Format::Fp32, code)
}

const ODD: Rounds = Rounds {
    format: Format::Fp32,
    direction: Direction::Odd,
    flush: true,
    nan: 0x7fc0_0000,
    infinite: None,
};

/// Every product, their sum and that with C cut, and infinity where one is too large.
fn cut(pairs: &[(f64, f64)], c: f64) -> u64 {
    let rounds = Rounds {
        direction: Direction::TowardZero,
        infinite: Some(true),
        ..ODD
    };
    let product = |pair: &(f64, f64)| fp32(rounds.sum(&[*pair], 0, &[]));
    let products: Vec<f64> = pairs.iter().map(product).collect();
    let sum = fp32(rounds.sum(&[], 0, &products));
    rounds.sum(&[], 0, &[c, sum])
}

/// Two pairs of products, added to each other before C.
fn both_pairs(pairs: &[(f64, f64)], c: f64) -> u64 {
    let pair = |pair: &[(f64, f64)]| {
        let products = pair
            .iter()
            .map(|product| fp32(ODD.sum(&[*product], 0, &[])));
        fp32(ODD.sum(&[], 0, &products.collect::<Vec<_>>()))
    };
    let sums: Vec<f64> = pairs.chunks(2).map(pair).collect();
    ODD.sum(&[], 0, &[c, fp32(ODD.sum(&[], 0, &sums))])
}

/// A wrong rule, the cases that it concerns, how many of their elements were counted to differ in both halves of the rows,
/// and how many do in the even ones.
struct Wrong {
    what: &'static str,
    cases: fn(&str) -> bool,
    differing: fn(&Case) -> usize,
    both: usize,
    even: usize,
}

fn bfdot(name: &str) -> bool {
    name == "bfdot"
}

fn ebf(name: &str) -> bool {
    name == "bfdot-ebf"
}

fn bfmmla(name: &str) -> bool {
    name == "bfmmla"
}

fn fdot4(name: &str) -> bool {
    name.starts_with("fdot4")
}

macro_rules! wrong {
    ($($what:literal, $both:literal, $even:literal: $cases:expr, |$case:ident| $differing:expr;)*) => {
        &[$(Wrong {
            what: $what,
            cases: $cases,
            differing: |$case| $differing,
            both: $both,
            even: $even,
        }),*]
    };
}

const WRONG: &[Wrong] = wrong! {
    "BFDOT with EBF 1's rule", 769, 387: bfdot, |case| case.mismatches(&of(case, "arm", "bfdot-ebf"));
    "BFDOT with EBF 1's rule and FZ 1", 677, 337: bfdot, |case| case.mismatches(&of(case, "arm", "bfdot-ebf-fz"));
    "BFDOT one product after the other", 382, 190: bfdot, |case| case.mismatches(&changed(case, &json!({"group": 1})));
    "BFDOT to nearest", 596, 291: bfdot, |case| case.mismatches(&changed(case, &json!({"rounding": "rne"})));
    "BFDOT to nearest, subnormals kept", 760, 384: bfdot,
        |case| case.mismatches(&changed(case, &json!({"rounding": "rne", "flush": false})));
    "BFDOT toward zero", 695, 334: bfdot, |case| case.mismatches(&changed(case, &json!({"rounding": "rz"})));
    "BFDOT toward zero, to infinity", 497, 242: bfdot, |case| by_hand(case, cut);
    "BFDOT as two fused multiply-adds", 1004, 505: bfdot, |case| case.mismatches(&of(case, "ieee-fma", ""));
    "BFDOT as x86's VDPBF16PS", 953, 472: bfdot, |case| other_numbers(case, &of(case, "avx512", "vdpbf16ps"));
    "BFDOT rounded once", 780, 391: bfdot,
        |case| case.mismatches(&changed(case, &json!({"rounding": "rne", "flush": false, "fused": 2, "with_c": true})));
    "BFDOT with the largest number for an overflow", 198, 92: bfdot,
        |case| case.mismatches(&changed(case, &json!({"fpmr": {"lscale": 0, "osm": true}})));
    "EBF 1 with EBF 0's rule", 769, 387: ebf, |case| case.mismatches(&of(case, "arm", "bfdot"));
    "EBF 1 with FZ 1", 101, 54: ebf, |case| case.mismatches(&of(case, "arm", "bfdot-ebf-fz"));
    "EBF 1 one product after the other", 975, 491: ebf,
        |case| case.mismatches(&changed(case, &json!({"rounding": "odd", "flush": true, "group": 1, "fused": 1})));
    "EBF 1 to nearest, product by product, flushed", 210, 110: ebf,
        |case| case.mismatches(&changed(case, &json!({"flush": true, "fused": 1})));
    "EBF 1 to nearest, product by product", 9, 3: ebf, |case| case.mismatches(&changed(case, &json!({"fused": 1})));
    "EBF 1 toward zero, product by product, flushed", 841, 428: ebf,
        |case| case.mismatches(&changed(case, &json!({"rounding": "rz", "flush": true, "fused": 1})));
    "EBF 1 toward zero, to infinity", 652, 339: ebf, |case| by_hand(case, cut);
    "EBF 1 as two fused multiply-adds", 308, 148: ebf, |case| case.mismatches(&of(case, "ieee-fma", ""));
    "EBF 1 as x86's VDPBF16PS", 359, 182: ebf, |case| other_numbers(case, &of(case, "avx512", "vdpbf16ps"));
    "EBF 1 rounded once", 53, 28: ebf, |case| case.mismatches(&changed(case, &json!({"with_c": true})));
    "EBF 1 with the largest number for an overflow", 958, 476: ebf, |case| case.mismatches(&changed(
        case, &json!({"rounding": "odd", "flush": true, "fused": 1, "fpmr": {"lscale": 0, "osm": true}})));
    "BFMMLA with the pair of 2 and 3 first", 213, 60: bfmmla, |case| permuted(case, &[2, 3, 0, 1]);
    "BFMMLA with pairs of 0 and 2, 1 and 3", 558, 332: bfmmla, |case| permuted(case, &[0, 2, 1, 3]);
    "BFMMLA with both pairs added before C", 185, 48: bfmmla, |case| by_hand(case, both_pairs);
    "FP8 dot products rounded before C", 34, 17: fdot4, |case| case.mismatches(&changed(case, &json!({"with_c": false})));
    "FP8 dot products two and two", 135, 64: fdot4,
        |case| case.mismatches(&changed(case, &json!({"group": 2, "fused": 2})));
    "FP8 dot products as four fused multiply-adds", 659, 326: fdot4,
        |case| case.mismatches(&changed(case, &json!({"group": 1, "fused": 1})));
    "FP8 dot products without LSCALE", 992, 496: fdot4,
        |case| case.mismatches(&changed(case, &json!({"fpmr.lscale": 0})));
    "FP8 dot products into FP16 without OSM", 74, 40: |name| name.starts_with("fdot2"),
        |case| case.mismatches(&changed(case, &json!({"fpmr.osm": false})));
    "FMMLA of FP32 as two fused multiply-adds", 473, 140: |name| name == "sve-fmmla-f32",
        |case| other_numbers(case, &changed(case, &json!({"group": 1, "with_c": true})));
};

#[test]
fn every_case_is_reproduced_and_wrong_rules_are_not() {
    let Some(cases) = arm("results of Arm processors") else {
        return;
    };
    let mut identical = 0;
    for case in &cases {
        let arithmetic = case.choice().arithmetic;
        let differing = |engine| case.differing(&arithmetic, engine).len();
        let differing: usize = engines().into_iter().map(differing).sum();
        assert_eq!(differing, 0, "{}", case.name);
        identical += 1;
    }
    let mut faults = Vec::new();
    for wrong in WRONG {
        let concerned: Vec<&Case> = cases
            .iter()
            .filter(|case| (wrong.cases)(&case.name))
            .collect();
        let differ: usize = concerned.iter().map(|case| (wrong.differing)(case)).sum();
        let Wrong {
            what, both, even, ..
        } = wrong;
        say(format_args!(
            "{ARM}: {what}: {differ} elements differ, of {both} in both halves"
        ));
        // Of the half that was counted the number is known.
        let rows = |case: &&Case| {
            let rows = case.about["rows"].as_str();
            rows.is_some_and(|rows| rows.starts_with("even"))
        };
        let counted = concerned.iter().all(rows);
        if differ == 0 || differ > *both || counted && differ != *even {
            faults.push((what, differ));
        }
    }
    assert!(faults.is_empty(), "{faults:?}");
    say(format_args!(
        "{ARM}: {identical} of {} cases identical, {} wrong rules differ as stated",
        cases.len(),
        WRONG.len()
    ));
}

/// Other values of a constant.
fn alternatives(constant: &str, step: &Step) -> Vec<Value> {
    let now = serde_json::to_value(step).expect("plain data");
    let number = |name: &str| now[name].as_u64().expect("a number");
    match constant {
        // Every group that the others allow.
        "group" if number("fused") == number("group") && number("group") > 1 => {
            vec![json!({"group": number("group") / 2, "fused": number("group") / 2})]
        }
        "group" if number("group") > 1 => vec![json!({"group": number("group") / 2, "fused": 1})],
        "group" => vec![json!({"group": 2, "fused": 2, "payloads": false})],
        "fused" if number("fused") == 1 && number("group") > 1 => {
            vec![json!({"fused": 2, "payloads": false})]
        }
        "fused" if now["with_c"] == true => {
            vec![json!({"fused": 1, "with_c": false, "payloads": false})]
        }
        "fused" => vec![json!({"fused": 1})],
        "rounding" => ["rne", "rz"]
            .iter()
            .filter(|word| now["rounding"] != **word)
            .map(|word| json!({"rounding": word}))
            .collect(),
        "flush" => vec![json!({"flush": now["flush"] != true})],
        "with_c" => vec![json!({"with_c": now["with_c"] != true})],
        "payloads" => vec![json!({"payloads": now["payloads"] != true})],
        "nan" => {
            let code = now["nan"].as_str().expect("a code");
            let code = u64::from_str_radix(code, 16).expect("hexadecimal");
            vec![json!({"nan": format!("{:x}", code | 1)})]
        }
        "fpmr.lscale" => vec![json!({"fpmr.lscale": 1}), json!({"fpmr.lscale": 0})],
        "fpmr.osm" => vec![json!({"fpmr.osm": true}), json!({"fpmr.osm": false})],
        "overflow" => vec![json!({"overflow": "saturate"})],
        other => panic!("no alternative to {other}"),
    }
}

/// What is said to be compared would fail with another value.
#[test]
fn compared_constants_are_pinned_by_results() {
    let Some(cases) = arm("evidence of Arm's constants") else {
        return;
    };
    let (mut refuted, mut loose) = (0, BTreeMap::new());
    for (place, cases) in by_rule(&cases) {
        let choice = cases[0].choice();
        for constant in choice.arithmetic.constants() {
            let known = choice.architecture.known_by(choice.rule, &constant.name);
            let known = known.unwrap_or_else(|| panic!("{place}: {} has no source", constant.name));
            if known.evidence != Evidence::Compared {
                continue;
            }
            for changes in alternatives(&constant.name, &choice.arithmetic.step) {
                let wrong = |case: &&Case| case.mismatches(&changed(case, &changes));
                let wrong: usize = cases.iter().map(wrong).sum();
                if wrong == 0 {
                    loose.insert((place.clone(), constant.name.clone()), changes);
                }
                refuted += 1;
            }
        }
    }
    assert!(loose.is_empty(), "no result refutes: {loose:#?}");
    assert!(refuted > 100, "only {refuted} wrong constants were tried");
}
