//! Worked examples of publications, derived by hand. Each isolates one rule, so each rule has a
//! wrong model that an example catches.

use std::path::Path;

use crate::support::case::{Case, codes};
use crate::support::engines::{engines, name};
use crate::support::exact::{Exponents, Reference};
use crate::support::wrong::*;
use tcverify::emu::Engine;

type Wrong = (&'static str, Change);

const LESS: Wrong = ("a fraction bit less", one_bit_less);
const MORE: Wrong = ("a fraction bit more", one_bit_more);
const HALF: Wrong = ("half the products a step", half_group);
const DOUBLE: Wrong = ("twice the products a step", double_group);
const ALIGN_NEAREST: Wrong = ("terms aligned to nearest", align_to_nearest);
const ALIGN_DOWN: Wrong = ("terms aligned down", align_down);
const NEAREST: Wrong = ("rounded to nearest", round_to_nearest);
const AWAY: Wrong = ("rounded to nearest, ties away", round_away);
const DOWN: Wrong = ("rounded down", round_down);
const TO_ZERO: Wrong = ("rounded toward zero", round_to_zero);
const SHORT: Wrong = ("a bit less of result", one_bit_less_of_result);
const LONG: Wrong = ("a bit more of result", one_bit_more_of_result);
const ZEROS: Wrong = ("zeros at -126", zeros_at_minus_126);
const ZEROS_LOWER: Wrong = ("zeros one lower", |a| fused(a).zero_exponent -= 1);
const OTHER_NAN: Wrong = ("another NaN", |a| fused(a).nan.0 ^= 1);

/// Wrong models, each with an example that it fails.
type Catches = &'static [(Wrong, &'static str)];

/// Every set with the number of its cases, and by which of them which wrong model is caught.
const SETS: [(&str, usize, Catches); 18] = [
    (
        "ada-mma-bf16-f32",
        17,
        &[
            (LESS, "alg5-c24-kept"),
            (MORE, "alg5-c25-gone"),
            (HALF, "same-group-is-lost"),
            (DOUBLE, "next-group-survives"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (NEAREST, "final-rz-plus-3"),
            (SHORT, "final-rz-minus-1"),
            (ZEROS, "least-exponent-kept"),
            (ZEROS_LOWER, "least-exponent-gone"),
        ],
    ),
    (
        "ada-mma-e4m3-f32",
        12,
        &[
            (LESS, "alg5-c13-kept"),
            (MORE, "alg5-c14-gone"),
            (HALF, "small-at-k16"),
            (DOUBLE, "small-at-k17"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (AWAY, "rz-to-14-bits"),
            (DOWN, "rz-to-14-bits-negative"),
            (LONG, "rz-to-14-bits"),
        ],
    ),
    (
        "ada-mma-fp16-f32",
        13,
        &[
            (LESS, "alg5-c24-kept"),
            (MORE, "alg5-c25-gone"),
            (HALF, "same-group-is-lost"),
            (DOUBLE, "next-group-survives"),
            (ALIGN_NEAREST, "alg6-test4"),
            (ALIGN_DOWN, "alg6-test2"),
            (NEAREST, "final-rz-minus-1"),
            (SHORT, "final-rz-minus-1"),
        ],
    ),
    (
        "ampere-mma-bf16-f32",
        44,
        &[
            (LESS, "one-and-seven-1e-7"),
            (MORE, "one-and-seven-1e-7"),
            (HALF, "same-group-is-lost"),
            (DOUBLE, "infinity-between-steps"),
            (ALIGN_NEAREST, "one-and-seven-1e-7"),
            (ALIGN_DOWN, "rz-negative"),
            (NEAREST, "final-rz-positive"),
            (DOWN, "final-rz-negative"),
            (SHORT, "two-carry-bits-k1"),
            (ZEROS, "least-exponent-kept"),
            (ZEROS_LOWER, "least-exponent-gone"),
        ],
    ),
    (
        "ampere-mma-fp16-f16",
        5,
        &[(TO_ZERO, "rne"), (DOWN, "rne"), (SHORT, "products-exact")],
    ),
    (
        "ampere-mma-fp16-f32",
        42,
        &[
            (LESS, "extra-bit-cancels"),
            (MORE, "subnormal-unnormalised"),
            (HALF, "same-group-is-lost"),
            (DOUBLE, "next-group-survives"),
            (ALIGN_NEAREST, "rz-positive"),
            (ALIGN_DOWN, "rz-negative"),
            (NEAREST, "no-partial-normalisation"),
            (DOWN, "final-rz-negative"),
            (SHORT, "subnormal-c"),
            (OTHER_NAN, "nan-operand"),
        ],
    ),
    (
        "blackwell-mma-fp16-f32",
        11,
        &[
            (LESS, "alg5-c25-kept"),
            (MORE, "alg5-c26-gone"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (NEAREST, "final-rz-plus-3"),
            (SHORT, "final-rz-minus-1"),
        ],
    ),
    (
        "blackwell-tcgen05-e4m3-f32",
        7,
        &[
            (LESS, "288-exponent-7"),
            (MORE, "288-exponent-8"),
            (ALIGN_NEAREST, "288-exponent-8"),
            (AWAY, "large-c"),
            (SHORT, "288-exponent-7"),
            (OTHER_NAN, "nan-in"),
        ],
    ),
    (
        "blackwell-tcgen05-e5m2-f32",
        4,
        &[(OTHER_NAN, "infinity-times-zero")],
    ),
    (
        "hopper-mma-bf16-f32",
        18,
        &[
            (LESS, "alg5-c25-kept"),
            (MORE, "alg5-c26-gone"),
            (HALF, "one-step-of-16"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (NEAREST, "final-rz-plus-3"),
            (SHORT, "final-rz-minus-1"),
            (ZEROS, "sixteen-below-subnormal"),
            (ZEROS_LOWER, "least-exponent-gone"),
        ],
    ),
    (
        "hopper-mma-fp16-f32",
        17,
        &[
            (LESS, "alg5-c25-kept"),
            (MORE, "subnormal-unnormalised"),
            (HALF, "one-step-of-16"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (NEAREST, "final-rz-plus-3"),
            (SHORT, "final-rz-minus-1"),
            (OTHER_NAN, "nan-operand"),
        ],
    ),
    (
        "hopper-wgmma-e4m3-f32",
        13,
        &[
            (LESS, "least-subnormal-c"),
            (MORE, "alg5-c14-gone"),
            (HALF, "small-at-k32"),
            (DOUBLE, "small-at-k33"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (AWAY, "rz-to-14-bits-negative"),
            (DOWN, "rz-to-14-bits-negative"),
            (SHORT, "least-subnormal-c"),
            (LONG, "rz-to-14-bits"),
        ],
    ),
    (
        "rtx-blackwell-mma-e4m3-f32",
        7,
        &[
            (LESS, "288-exponent-7"),
            (MORE, "288-exponent-8"),
            (ALIGN_NEAREST, "288-exponent-8"),
            (AWAY, "large-c"),
            (SHORT, "288-exponent-7"),
            (OTHER_NAN, "nan-in"),
        ],
    ),
    (
        "rtx-blackwell-mma-fp16-f32",
        17,
        &[
            (LESS, "alg5-c25-kept"),
            (MORE, "alg5-c26-gone"),
            (ALIGN_NEAREST, "alg6-test3"),
            (ALIGN_DOWN, "alg6-test2"),
            (NEAREST, "sum-of-small"),
            (SHORT, "sum-of-small"),
            (OTHER_NAN, "zero-times-infinity"),
        ],
    ),
    (
        "turing-mma-fp16-f16",
        5,
        &[(TO_ZERO, "rne"), (DOWN, "rne"), (SHORT, "products-exact")],
    ),
    (
        "turing-mma-fp16-f32",
        30,
        &[
            (LESS, "extra-bit-sum"),
            (MORE, "one-at-k1"),
            (ALIGN_NEAREST, "rz-positive"),
            (ALIGN_DOWN, "rz-negative"),
            (NEAREST, "final-rz-positive"),
            (DOWN, "final-rz-negative"),
            (SHORT, "subnormal-c"),
        ],
    ),
    (
        "volta-mma-fp16-f16",
        5,
        &[(TO_ZERO, "rne"), (DOWN, "rne"), (SHORT, "products-exact")],
    ),
    (
        "volta-mma-fp16-f32",
        33,
        &[
            (LESS, "no-guard-bit"),
            (MORE, "2.25-exponent-1"),
            (HALF, "small-at-k4"),
            (DOUBLE, "small-at-k5"),
            (ALIGN_NEAREST, "no-guard-bit"),
            (ALIGN_DOWN, "no-guard-bit"),
            (NEAREST, "final-rz-positive"),
            (DOWN, "final-rz-negative"),
            (SHORT, "subnormal-c"),
        ],
    ),
];

/// The sets where an example catches products that are normalised before their exponents compete.
const UNNORMALISED: [(&str, &str); 12] = [
    ("ada-mma-bf16-f32", "alg7-unnormalised"),
    ("ada-mma-e4m3-f32", "alg7-unnormalised"),
    ("ada-mma-fp16-f32", "alg7-unnormalised"),
    ("ampere-mma-bf16-f32", "alg7-unnormalised"),
    ("ampere-mma-fp16-f32", "subnormal-unnormalised"),
    ("blackwell-mma-fp16-f32", "alg7-unnormalised"),
    ("blackwell-tcgen05-e4m3-f32", "288-exponent-7"),
    ("hopper-mma-bf16-f32", "alg7-unnormalised"),
    ("hopper-mma-fp16-f32", "subnormal-unnormalised"),
    ("hopper-wgmma-e4m3-f32", "alg7-unnormalised"),
    ("rtx-blackwell-mma-e4m3-f32", "288-exponent-7"),
    ("volta-mma-fp16-f32", "2.25-exponent-0"),
];

fn sets() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/papers");
    let sets = Case::read_all(&root, |_| true);
    let found: Vec<_> = sets.iter().map(|set| (&*set.name, set.d.len())).collect();
    assert_eq!(found, SETS.map(|(name, cases, _)| (name, cases)));
    sets
}

fn set<'a>(sets: &'a [Case], name: &str) -> &'a Case {
    let found = sets.iter().find(|set| set.name == name);
    found.unwrap_or_else(|| panic!("no set is called {name}"))
}

/// What the set's provenance says of one of its cases.
fn field<'a>(set: &'a Case, case: usize, key: &str) -> &'a str {
    let text = set.about["cases"][case][key].as_str();
    text.unwrap_or_else(|| panic!("{}, case {case}: no {key}", set.name))
}

/// The names of cases.
fn names(set: &Case, cases: impl IntoIterator<Item = usize>) -> Vec<&str> {
    let cases = cases.into_iter();
    cases.map(|case| field(set, case, "name")).collect()
}

#[test]
fn every_example_is_reproduced() {
    let mut failures = String::new();
    for (set, engine) in sets()
        .iter()
        .flat_map(|set| engines().into_iter().map(move |e| (set, e)))
    {
        let right = set.choice().arithmetic;
        let (ours, theirs) = (set.replay(&right, engine), codes(&set.d));
        for case in set.differing(&right, engine) {
            let say = |key| field(set, case, key);
            failures += &format!(
                "{}, {} ({} engine): {:x}, not {:x}\n  {}\n  {} ({})\n",
                set.name,
                say("name"),
                name(engine),
                ours[case],
                theirs[case],
                say("operands"),
                say("rule"),
                say("source"),
            );
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// D as written beside each example, for people, is D as stored.
#[test]
fn results_are_what_their_provenance_says() {
    for set in &sets() {
        for (case, d) in codes(&set.d).into_iter().enumerate() {
            let written = field(set, case, "d").trim_start_matches("0x");
            let written = u64::from_str_radix(written, 16);
            assert_eq!(written, Ok(d), "{} {:?}", set.name, names(set, [case]));
        }
    }
}

#[test]
fn wrong_models_are_caught() {
    let sets = sets();
    for (name, _, caught) in SETS {
        let set = set(&sets, name);
        for &((what, change), by) in caught {
            let wrong = changed(&set.choice().arithmetic, change);
            let differing = names(set, set.differing(&wrong, Engine::Exact));
            assert!(differing.contains(&by), "{name}: {what}: {differing:?}");
        }
    }
}

/// Products keep the sum of their operands' exponents. The slow model has a switch for that.
#[test]
fn normalised_products_are_caught() {
    let sets = sets();
    for (name, by) in UNNORMALISED {
        let set = set(&sets, name);
        assert_eq!(differing_slowly(set, Exponents::Summed), [""; 0], "{name}");
        let differing = differing_slowly(set, Exponents::Normalised);
        assert!(differing.contains(&by), "{name}: {differing:?}");
    }
}

/// Names of the cases that the slow model does not reproduce.
fn differing_slowly(set: &Case, exponents: Exponents) -> Vec<&str> {
    let arithmetic = &set.choice().arithmetic;
    let slow = Reference {
        arithmetic,
        exponents,
    };
    let [a, b, c, d] = [&set.a, &set.b, &set.c, &set.d].map(codes);
    let k = a.len() / d.len();
    let dot = |case: usize| slow.dot(&a[case * k..][..k], &b[case * k..][..k], c[case]);
    names(set, (0..d.len()).filter(|&case| dot(case) != d[case]))
}
