//! Results captured on AMD's RDNA GPUs: every row of them, and how many rows wrong rules fail on.

use serde_json::{Value, json};
use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Engine, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::tensor::Tensor;

use crate::support::case::{Case, codes};
use crate::support::say;
use crate::support::vectors::{RDNA, rdna, replay_all};

#[test]
fn every_row_is_reproduced() {
    if let Some(cases) = rdna("captured results of RDNA") {
        assert_eq!(replay_all(RDNA, &cases), 4105);
    }
}

/// How many captured rows a rule gives otherwise. All rows of a case are one product's, so that vector kernels compute: the
/// captured results are its diagonal.
fn differing_on_the_diagonal(case: &Case, arithmetic: &Arithmetic, engine: Engine) -> usize {
    let (a, b, c, d) = (
        codes(&case.a),
        codes(&case.b),
        codes(&case.c),
        codes(&case.d),
    );
    let n = d.len();
    let k = a.len() / n;
    let turned: Vec<u64> = (0..k * n).map(|i| b[i % n * k + i / n]).collect();
    let of_c = |i: usize| if i % n == i / n { c[i / n] } else { 0 };
    let c: Vec<u64> = (0..n * n).map(of_c).collect();
    let a = Tensor::from_codes(arithmetic.a, vec![n, k], &a);
    let b = Tensor::from_codes(arithmetic.b, vec![k, n], &turned);
    let c = Tensor::from_codes(arithmetic.accumulator, vec![n, n], &c);
    let problem = Problem::new(a.planes(), b.planes(), Some(c.planes()));
    let replay = Replay {
        problem: problem.expect("the shapes fit"),
        arithmetic,
        convert_to: None,
        engine,
        kernel: None,
    };
    let found = codes(&replay.collect(&|_| {}));
    (0..n).filter(|i| found[i * n + i] != d[*i]).count()
}

#[test]
fn vector_kernels_reproduce_every_row() {
    let Some(cases) = rdna("captured results of RDNA by vector kernels") else {
        return;
    };
    for platform in Platform::available() {
        let (mut rows, mut wrong) = (0, 0);
        for case in &cases {
            let mut arithmetic = case.choice().arithmetic;
            assert!(
                tcverify::kernels::plan(&arithmetic).is_some(),
                "{}",
                case.name
            );
            let differ = differing_on_the_diagonal(case, &arithmetic, platform.engine());
            assert_eq!(differ, 0, "{} {}", case.name, platform.name());
            rows += case.d.len();
            arithmetic.step = with(&arithmetic.step, json!({"product_bits": 23}));
            wrong += differing_on_the_diagonal(case, &arithmetic, platform.engine());
        }
        assert_eq!(rows, 4105);
        assert!(wrong > 300, "{}: {wrong} with 23 bits", platform.name());
    }
}

/// A step with some constants changed.
pub fn with(step: &Step, changes: Value) -> Step {
    let mut all = serde_json::to_value(step).expect("plain data");
    for (name, value) in changes.as_object().expect("constants by name") {
        let (inside, name) = match name.split_once('.') {
            Some((group, name)) => (&mut all[group], name),
            None => (&mut all, name.as_str()),
        };
        assert!(inside.get(name).is_some(), "{name} is no constant");
        inside[name] = value.clone();
    }
    serde_json::from_value(all).expect("constants of the step")
}

fn constant(step: &Step, name: &str) -> Value {
    let all = step.constants();
    let found = all.into_iter().find(|constant| constant.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value
}

fn order(step: &Step) -> Vec<u64> {
    let order = constant(step, "groups.order");
    serde_json::from_value(order).expect("numbers")
}

/// Values beside the right one, each of which captured rows have to refute.
pub fn neighbours(name: &str, step: &Step) -> Vec<(String, Step)> {
    let right = constant(step, name);
    let order = order(step);
    let all = match name {
        "groups.size" => {
            let groups: Vec<_> = (0..order.len() / 2).collect();
            let twice = right.as_u64().expect("a number") * 2;
            return vec![(
                "twice the group".to_owned(),
                with(step, json!({"groups.size": twice, "groups.order": groups})),
            )];
        }
        "groups.order" => {
            let mut all = vec![order.iter().rev().copied().collect::<Vec<_>>()];
            if order.len() == 4 {
                all.push(vec![order[0], order[2], order[1], order[3]]);
            }
            all.into_iter().map(|order| json!(order)).collect()
        }
        "nan.operand" => vec![constant(step, "nan.invalid")],
        "nan.invalid" => vec![constant(step, "nan.operand")],
        _ => match right {
            Value::Bool(right) => vec![json!(!right)],
            right => {
                let right = right.as_i64().expect("a number");
                vec![json!(right - 1), json!(right + 1)]
            }
        },
    };
    let named = all.into_iter();
    named
        .map(|value| {
            (
                format!("{name} = {value}"),
                with(step, json!({name: value})),
            )
        })
        .collect()
}

/// RDNA 4's rule with the constants of RDNA 3's, in its groups of four, or the other way round.
fn other_generation(step: &Step) -> Step {
    let mut all = serde_json::to_value(step).expect("plain data");
    let half = all["least_leading"] == -14;
    let dot2 = order(step).len() == 1;
    let (kind, groups, least) = match step {
        Step::ComplementDot(_) => (
            "floored_pairs",
            json!({"size": 4, "order": [0, 1, 2, 3]}),
            json!(if half { -14 } else { -126 }),
        ),
        _ => (
            "complement_dot",
            json!({"size": 2, "order": [0, 1, 2, 3, 4, 5, 6, 7]}),
            if half { json!(-14) } else { Value::Null },
        ),
    };
    let constants = all.as_object_mut().expect("constants");
    constants.insert("kind".into(), kind.into());
    constants.insert("least_leading".into(), least);
    constants.remove("vanishing_c");
    if !dot2 {
        constants.insert("groups".into(), groups);
    }
    let nan = constants["nan"]["operand"].clone();
    match kind {
        "floored_pairs" => {
            constants.insert("vanishing_c".into(), half.then_some(-14).into());
            constants.retain(|name, _| !name.starts_with("flush"));
        }
        _ => {
            constants.insert("flush_sums".into(), json!(!half));
            // BF16 is told from FP16 by the NaN of its results, or by its operands, which the caller knows.
            constants.insert("flush_operands".into(), json!(nan == "fffd"));
        }
    }
    serde_json::from_value(all).expect("constants of the other step")
}

/// A wrong rule: what it is, the rows it is tried on, the rule, and how many rows fail.
type Control = (
    &'static str,
    fn(&Case, &Step) -> bool,
    fn(&Case, &Step) -> Step,
    [usize; 2],
);

fn three(_: &Case, step: &Step) -> bool {
    matches!(step, Step::ComplementDot(_))
}

fn four(_: &Case, step: &Step) -> bool {
    matches!(step, Step::FlooredPairs(_))
}

fn wmma(_: &Case, step: &Step) -> bool {
    order(step).len() > 1
}

fn half(case: &Case, _: &Step) -> bool {
    case.accumulator == tcverify::num::Format::Fp16
}

const CONTROLS: [Control; 20] = [
    (
        "RDNA 3: 23 bits below exponents",
        three,
        |_, s| with(s, json!({"product_bits": 23})),
        [563, 2100],
    ),
    (
        "RDNA 3: 25 bits below exponents",
        three,
        |_, s| with(s, json!({"product_bits": 25})),
        [361, 2100],
    ),
    (
        "RDNA 3: 25 bits below the highest",
        three,
        |_, s| with(s, json!({"leading_bits": 25})),
        [326, 2100],
    ),
    (
        "RDNA 3: 27 bits below the highest",
        three,
        |_, s| with(s, json!({"leading_bits": 27})),
        [1, 2100],
    ),
    (
        "RDNA 3: subnormal operands the other way",
        three,
        |_, s| {
            let flush = constant(s, "flush_operands").as_bool();
            with(s, json!({"flush_operands": flush != Some(true)}))
        },
        [259, 2100],
    ),
    (
        "RDNA 3: subnormal sums kept",
        |case, s| three(case, s) && !half(case, s),
        |_, s| with(s, json!({"flush_sums": false})),
        [127, 1076],
    ),
    (
        "RDNA 3: no floor of C in FP16",
        |case, s| three(case, s) && half(case, s),
        |_, s| with(s, json!({"least_leading": null})),
        [1, 1024],
    ),
    (
        "RDNA 3: four products at a time",
        |case, s| three(case, s) && wmma(case, s),
        |_, s| with(s, json!({"groups.size": 4, "groups.order": [0, 1, 2, 3]})),
        [970, 2048],
    ),
    (
        "RDNA 3: k backwards",
        |case, s| three(case, s) && wmma(case, s),
        |_, s| with(s, json!({"groups.order": [7, 6, 5, 4, 3, 2, 1, 0]})),
        [722, 2048],
    ),
    (
        "RDNA 3: RDNA 4's rule",
        three,
        |_, s| other_generation(s),
        [802, 2100],
    ),
    (
        "RDNA 4: 23 bits below exponents",
        four,
        |_, s| with(s, json!({"product_bits": 23})),
        [33, 2005],
    ),
    (
        "RDNA 4: 25 bits below exponents",
        four,
        |_, s| with(s, json!({"product_bits": 25})),
        [38, 2005],
    ),
    (
        "RDNA 4: 25 bits below C's highest",
        four,
        |_, s| with(s, json!({"leading_bits": 25})),
        [2, 2005],
    ),
    (
        "RDNA 4: 27 bits below C's highest",
        four,
        |_, s| with(s, json!({"leading_bits": 27})),
        [1, 2005],
    ),
    (
        "RDNA 4: FP32's floor of C in FP16",
        |case, s| four(case, s) && half(case, s),
        |_, s| with(s, json!({"least_leading": -126})),
        [1, 1152],
    ),
    (
        "RDNA 4: the other wave's order",
        |case, s| four(case, s) && wmma(case, s),
        |_, s| {
            let order = order(s);
            with(
                s,
                json!({"groups.order": [order[0], order[2], order[1], order[3]]}),
            )
        },
        [238, 1944],
    ),
    (
        "RDNA 4: two products at a time",
        |case, s| four(case, s) && wmma(case, s),
        |_, s| {
            let halves: Vec<_> = order(s)
                .iter()
                .flat_map(|group| [2 * group, 2 * group + 1])
                .collect();
            with(s, json!({"groups.size": 2, "groups.order": halves}))
        },
        [823, 1944],
    ),
    (
        "RDNA 4: eight products at a time",
        |case, s| four(case, s) && wmma(case, s),
        |_, s| with(s, json!({"groups.size": 8, "groups.order": [0, 1]})),
        [588, 1944],
    ),
    (
        "RDNA 4: RDNA 3's rule",
        four,
        |case, s| {
            let flush = case.a.format() == tcverify::num::Format::Bf16;
            with(&other_generation(s), json!({"flush_operands": flush}))
        },
        [1011, 2005],
    ),
    (
        "one NaN for all",
        |_, _| true,
        |_, s| with(s, json!({"nan.operand": constant(s, "nan.invalid")})),
        [130, 4105],
    ),
];

#[test]
fn wrong_rules_fail_as_often_as_they_should() {
    let Some(cases) = rdna("wrong rules of RDNA") else {
        return;
    };
    for (what, concerns, wrong, expected) in CONTROLS {
        let mut found = [0; 2];
        for case in &cases {
            let right = case.choice().arithmetic;
            if concerns(case, &right.step) {
                let step = wrong(case, &right.step);
                found[0] += case.mismatches(&Arithmetic { step, ..right });
                found[1] += case.d.len();
            }
        }
        assert_eq!(found, expected, "{what}");
    }
    say(format_args!(
        "rdna-vectors: {} wrong rules fail as often as they should",
        CONTROLS.len()
    ));
}

/// RDNA 4 has two orders of k, which give other bits: neither is taken unless it is named.
#[test]
fn the_wave_is_asked_for() {
    use tcverify::emu::Catalogue;
    use tcverify::num::Format;
    let rdna4 = Catalogue::builtin()
        .find("RX 9070 XT")
        .expect("it is there");
    let select = |name| rdna4.select(name, [Format::Fp16; 2], None);
    let refused = select(None).expect_err("which wave?").to_string();
    for name in ["wmma-wave32", "wmma-wave64"] {
        assert!(refused.contains(name), "{refused}");
        assert!(select(Some(name)).is_ok());
    }
    // Integers are exact in any order.
    assert!(rdna4.select(None, [Format::Int8; 2], None).is_ok());
}
