//! Machines that nobody has built are recognised too: nothing is looked up.

use super::machine::{answered, arithmetic, recognised};
use tcverify::num::Format::{self, *};
use tcverify::probe::infer::{Verdict, infer};
use tcverify::probe::suite::Tag;
use tcverify::probe::{Case, replay};

/// Constants that must be determined and equal.
#[track_caller]
fn pinned(formats: [Format; 3], step: &str, names: &[&str]) {
    let machine = arithmetic(formats, step);
    let found = recognised(step, &machine);
    for name in names {
        let finding = found.constants.iter().find(|f| f.name == *name).unwrap();
        assert!(
            finding.determined(),
            "{step}: {name} could be {}",
            finding.allowed()
        );
        // Every other value is.
        if *name == "group" && step.contains("exact_sum") {
            let refuted = |n: i64| finding.refuted.iter().any(|one| one.value == n);
            let own = |n: i64| finding.value == n;
            assert!((100..=128).all(|n| refuted(n) || own(n)), "{step}");
        }
    }
}

const FUSED: [&str; 6] = [
    "group",
    "fraction_bits",
    "alignment",
    "precision",
    "rounding",
    "nan",
];

#[test]
fn fused_with_odd_constants() {
    pinned(
        [Fp16, Fp16, Fp32],
        r#"{"kind":"fused","group":12,"fraction_bits":22,"alignment":"rne","zero_exponent":-100,
            "precision":24,"rounding":"rz","nan":"7fc00000"}"#,
        &FUSED,
    );
    pinned(
        [E5m2, E4m3, Fp32],
        r#"{"kind":"fused","group":24,"fraction_bits":17,"alignment":"rna","zero_exponent":-140,
            "precision":16,"rounding":"rne","nan":"7fffffff"}"#,
        &FUSED,
    );
    // Rounded twice to nearest, in two ways: no single constant brings a search here.
    pinned(
        [Bf16, Bf16, Fp32],
        r#"{"kind":"fused","group":14,"fraction_bits":23,"alignment":"rne","zero_exponent":-83,
            "precision":20,"rounding":"rna","nan":"7fc00000"}"#,
        &FUSED,
    );
    pinned(
        [Fp16, Fp16, Fp16],
        r#"{"kind":"fused","group":5,"fraction_bits":14,"alignment":"rz","zero_exponent":-19,
            "precision":11,"rounding":"rz","nan":"7e00"}"#,
        &["group", "fraction_bits", "rounding", "nan"],
    );
}

/// 3 * 2.25 + 1.25 + 5 * 2^-23 is a tie between two results and one bit more: a rounding that sees 26 bits of the sum
/// takes it for the tie.
#[test]
fn guard_bits_without_a_sticky_bit() {
    let step = |sum_bits: &str| {
        format!(
            r#"{{"kind":"fused","group":4,"fraction_bits":24,"alignment":"rz","zero_exponent":-132,
                "precision":24,"rounding":"rne","nan":"7fffffff"{sum_bits}}}"#
        )
    };
    let formats = [Fp16, Fp16, Fp32];
    let three_halves = [0x3e00, 0x3e00, 0x3e00, 0];
    let case = Case {
        family: "one",
        purpose: String::new(),
        tells: "",
        tag: Tag::default(),
        a: three_halves.to_vec(),
        b: three_halves.to_vec(),
        c: 0x3fa0_0005,
        scales: Default::default(),
    };
    for (sum_bits, code) in [
        ("", 0x4100_0001),
        (r#","sum_bits":26"#, 0x4100_0000),
        (r#","sum_bits":27"#, 0x4100_0001),
    ] {
        let step = step(sum_bits);
        let machine = arithmetic(formats, &step);
        let answer = replay::answers(&machine, std::slice::from_ref(&case));
        assert_eq!(answer, [code], "{step}");
        let found = recognised(&step, &machine);
        assert_eq!(found.arithmetic.step, machine.step);
    }
}

#[test]
fn other_kinds_with_odd_constants() {
    pinned(
        [E4m3, E5m2, Fp32],
        r#"{"kind":"fused_halves","span":16,"period":4,"first":[0,3],"closing":"rz","half":
            {"group":8,"fraction_bits":21,"alignment":"rz","zero_exponent":-133,"precision":24,
             "rounding":"rz","nan":"7fffffff"}}"#,
        &["span", "period", "first", "closing", "half.fraction_bits"],
    );
    pinned(
        [Fp16, Fp16, Fp32],
        r#"{"kind":"exact_sum","group":7,"rounding":"rz","nan":"7fc00000"}"#,
        &["group", "rounding", "nan"],
    );
    pinned(
        [Bf16, Bf16, Fp32],
        r#"{"kind":"pairwise_flush","span":16,"group":8,"rounding":"rz","nan":"7fc00000"}"#,
        &["group", "rounding", "nan"],
    );
    pinned(
        [Fp16, Fp16, Fp32],
        r#"{"kind":"sticky_rne","lanes":8,"group":8,"width":30,"fraction_bits":28,
            "zero_exponent":-300,"addend":"value","sparse_mask":true,"ieee_top":false,
            "nan":"7fc00000"}"#,
        &["fraction_bits", "addend", "sparse_mask", "lanes"],
    );
    pinned(
        [Fp32, Fp32, Fp32],
        r#"{"kind":"fma_chain","rounding":"rz","nan":"7fc00000"}"#,
        &["rounding", "nan"],
    );
}

/// Searches that change one constant at a time end beside these: several make up for one another.
#[test]
fn constants_that_make_up_for_one_another() {
    pinned(
        [Fp16, Fp16, Fp32],
        r#"{"kind":"fused","group":3,"fraction_bits":27,"alignment":"rd","zero_exponent":-18,
            "precision":22,"rounding":"rna","nan":"7fffffff"}"#,
        &FUSED,
    );
    pinned(
        [Bf16, Bf16, Fp32],
        r#"{"kind":"fused","group":6,"fraction_bits":30,"alignment":"rz","zero_exponent":-120,
            "precision":20,"rounding":"rz","nan":"ffc00000"}"#,
        &FUSED,
    );
    pinned(
        [Bf16, Bf16, Fp32],
        r#"{"kind":"fused_floor","group":16,"sums":4,"fraction_bits":26,"sum_fraction_bits":30,
            "addend_window":28,"zero_exponent":-126,"result_fraction_bits":29,"rounding":"rz",
            "nan":"7fffffff"}"#,
        &["group", "sums", "fraction_bits", "rounding"],
    );
}

#[test]
fn integers_with_odd_groups() {
    for (group, a, b) in [
        (1, Int8, Int8),
        (5, Int4, Uint4),
        (13, Uint8, Int8),
        (100, Int8, Int4),
        (256, Int4, Int4),
    ] {
        let step = format!(r#"{{"kind":"integer_sum","group":{group},"overflow":"saturate"}}"#);
        pinned([a, b, Int32], &step, &["group", "overflow"]);
    }
    // A group that takes all of K never shows its end.
    let whole = r#"{"kind":"integer_sum","group":512,"overflow":"saturate"}"#;
    let (suite, answers) = answered(&arithmetic([Int8, Int8, Int32], whole));
    assert!(matches!(
        infer(&suite, &answers).unwrap(),
        Verdict::Contradicted(_)
    ));
}
