//! Measured features agree with what papers state.

use half::f16;
use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::Format::{self, *};
use tcverify::probe::features::features;
use tcverify::probe::{Case, Tag, replay};

use super::machine::{arithmetic, suite};

#[track_caller]
fn cell(arch: &str, format: Format, accumulator: Format, key: &str) -> String {
    let (arch, instruction) = match arch.split_once('/') {
        Some((arch, instruction)) => (arch, Some(instruction)),
        None => (arch, None),
    };
    let arch = Catalogue::builtin().find(arch).unwrap();
    let choice = arch
        .select(instruction, [format; 2], Some(accumulator))
        .unwrap();
    let suite = suite(format, format, accumulator);
    let answers = replay::answers(&choice.arithmetic, &suite.cases);
    let all = features(&suite, &answers);
    all.into_iter().find(|f| f.key == key).unwrap().value
}

#[track_caller]
fn expect(arch: &str, format: Format, cells: &[(&str, &str)]) {
    for (key, expected) in cells {
        assert_eq!(
            cell(arch, format, Fp32, key),
            *expected,
            "{arch} {format} {key}"
        );
    }
}

/// MIMS EPrint 2020.10, section 4, conclusions 1 to 6, for the V100.
#[test]
fn volta_as_fasi_et_al_conclude() {
    expect(
        "v100",
        Fp16,
        &[
            ("products", "exact"),                      // 1
            ("rounding", "RZ to 24 bits"),              // 2
            ("alignment_rounding", "RZ"),               // 2
            ("subnormals_in", "kept"),                  // 3
            ("subnormals_c", "kept"),                   // 3
            ("order", "aligned to the largest"),        // 4
            ("group", "4"),                             // the five summands, C among them
            ("addend", "with the products"),            // 4
            ("sum_normalised", "no"),                   // 5
            ("carries", "enough for 4 products and C"), // 5: 1.875 + ... = 8 does not overflow
            ("monotonic", "no"),                        // 6
        ],
    );
    // 3.1.3: results of 16 bits are rounded to nearest.
    assert_eq!(cell("v100", Fp16, Fp16, "rounding"), "RNE to 11 bits");
    assert_eq!(cell("v100", Fp16, Fp16, "subnormals_out"), "kept");
    // 3.2: the T4 has one more bit at the bottom.
    assert_eq!(cell("v100", Fp16, Fp32, "alignment_bits"), "23");
    assert_eq!(cell("t4", Fp16, Fp32, "alignment_bits"), "24");
}

/// Table III of the Ten-Four paper: products of FP16, TF32 and FP8, the accumulator's width.
#[test]
fn widths_as_ten_four_tabulates() {
    for (arch, format, width, group) in [
        ("v100", Fp16, "28", "4"),
        ("a100", Fp16, "30", "8"),
        ("h100", Fp16, "32", "16"),
        ("b200", Bf16, "32", "16"),
        ("a100", Tf32, "29", "4"),
        ("h100", Tf32, "31", "8"),
        ("b200", Tf32, "31", "8"),
        ("h100", E4m3, "21", "32"),
        ("b200", E5m2, "33", "32"),
    ] {
        expect(arch, format, &[("adder_width", width), ("group", group)]);
    }
    expect(
        "vortex-tfr",
        Fp16,
        &[
            ("rounding", "RNE to 24 bits"),
            ("group", "8"),
            ("adder_width", "30"),
        ],
    );
}

/// Hawkeye (arXiv 2603.20421), 5.2 to 5.7, for Ampere and Hopper.
#[test]
fn ampere_and_hopper_as_hawkeye_finds() {
    for (arch, bits, group) in [("ampere", "24", "8"), ("hopper", "25", "16")] {
        expect(
            arch,
            Fp16,
            &[
                ("products", "exact"),           // 5.1
                ("group", group),                // 5.2
                ("addend", "with the products"), // 5.2
                ("alignment_bits", bits),        // 5.3
                ("alignment_rounding", "RZ"),    // 5.4
                ("product_normalised", "no"),    // 5.5
                ("subnormal_normalised", "no"),  // 5.6
                ("rounding", "RZ to 24 bits"),   // 5.7
            ],
        );
    }
    // 7.1: products beyond BF16's range are finite on the way.
    expect(
        "ampere",
        Bf16,
        &[("huge_products", "finite"), ("overflow", "Inf")],
    );
    // 7.2: -132, "for Hopper GPUs, the corresponding number is -133".
    for format in [Bf16, Tf32] {
        expect("ampere", format, &[("zero_exponent", "-132")]);
        expect("hopper", format, &[("zero_exponent", "-133")]);
    }
    // FP16 has no products so small; its sums of FP16 have.
    expect("ampere", Fp16, &[("zero_exponent", "-")]);
    assert_eq!(cell("ampere", Fp16, Fp16, "zero_exponent"), "-20");
    assert_eq!(cell("hopper", Fp16, Fp16, "zero_exponent"), "-21");
}

/// Hawkeye, 5.6: a unit that normalises subnormal operands has another row. TF32 has all numbers of FP16, none of
/// them subnormal.
#[test]
fn a_unit_that_normalises_subnormals_looks_different() {
    for arch in ["volta", "ampere", "hopper"] {
        let suite = suite(Fp16, Fp16, Fp32);
        let unit = Catalogue::builtin().find(arch).unwrap();
        let rule = unit.select(None, [Fp16; 2], Some(Fp32)).unwrap().arithmetic;
        let normalising = Arithmetic::plain([Tf32; 2], Fp32, rule.step.clone());
        let wide = |codes: &[u64]| -> Vec<u64> {
            let wide = |&code: &u64| u64::from(f32::from(f16::from_bits(code as u16)).to_bits());
            codes.iter().map(wide).collect()
        };
        let cases = suite.cases.iter().map(|case| Case {
            a: wide(&case.a),
            b: wide(&case.b),
            ..case.clone()
        });
        let cases: Vec<_> = cases.collect();
        let all = features(&suite, &replay::answers(&normalising, &cases));
        let cell = |key| &all.iter().find(|f| f.key == key).unwrap().value;
        assert_eq!(cell("subnormal_normalised"), "yes", "{arch}");
        assert_eq!(cell("product_normalised"), "no", "{arch}");
        assert_eq!(measured(&rule, "subnormal_normalised"), "no", "{arch}");
    }
}

/// Kinds that no tensor core has: the table tells them apart.
#[test]
fn other_kinds_look_different() {
    expect(
        "ieee-fma",
        Bf16,
        &[
            ("group", "1"),
            ("addend", "first"),
            ("rounding", "RNE to 24 bits"),
            ("negative_zero", "-0"),
            ("alignment_bits", "-"),
        ],
    );
    expect(
        "cdna1",
        Fp16,
        &[("group", "4"), ("order", "exact within the group")],
    );
    expect(
        "cdna1",
        Bf16,
        &[("group", "2"), ("negative_underflow", "-0")],
    );
    expect(
        "cdna2",
        Bf16,
        &[
            ("group", "4"),
            ("order", "neighbours first"),
            ("subnormals_in", "flushed"),
            ("subnormals_c", "flushed"),
            ("subnormals_out", "flushed"),
        ],
    );
    expect("hopper/mma", E4m3, &[("addend", "after the products")]);
    expect("hopper/wgmma", E4m3, &[("rounding", "RZ to 14 bits")]);
    expect(
        "vortex-tfr",
        Bf16,
        &[("carries", "wraps with 8 products and C")],
    );
}

/// Exact groups are as large as the suite can show.
#[test]
fn large_exact_groups() {
    let suite = suite(Fp16, Fp16, Fp32);
    for (group, text) in [
        (64, "64"),
        (128, "128"),
        (200, "200"),
        (256, "all (of 256)"),
    ] {
        let step =
            format!(r#"{{"kind":"exact_sum","group":{group},"rounding":"rne","nan":"7fc00000"}}"#);
        let machine = arithmetic([Fp16, Fp16, Fp32], &step);
        let all = features(&suite, &replay::answers(&machine, &suite.cases));
        let cell = all.into_iter().find(|f| f.key == "group").unwrap();
        assert_eq!(cell.value, text);
    }
}

/// PTX: without .satfinite sums of integers wrap around, with it they are clamped.
#[test]
fn integers_end_where_ptx_says() {
    let cell = |arch, key| cell(arch, Int8, Int32, key);
    for arch in ["turing/mma", "ampere/mma", "hopper/wgmma"] {
        assert_eq!(cell(arch, "overflow"), "wrap", "{arch}");
        assert_eq!(cell(arch, "group"), "-", "{arch}");
    }
    for (arch, group) in [("turing/mma-satfinite", "16"), ("ada/mma-satfinite", "32")] {
        assert_eq!(cell(arch, "overflow"), "saturate", "{arch}");
        assert_eq!(cell(arch, "group"), group, "{arch}");
        assert_eq!(cell(arch, "order"), "ascending", "{arch}");
        assert_eq!(cell(arch, "range"), "-2147483648 to 2147483647", "{arch}");
        assert_eq!(cell(arch, "products"), "exact", "{arch}");
    }
}

fn measured(machine: &Arithmetic, key: &str) -> String {
    let suite = suite(machine.a, machine.b, machine.accumulator);
    let all = features(&suite, &replay::answers(machine, &suite.cases));
    all.into_iter().find(|f| f.key == key).unwrap().value
}

/// Products of a step, the bits below the exponent of a product, and the exponent of zeros: a lane of two FP8 products
/// has the exponent of the larger plus 1. Nothing of other kinds of arithmetic.
fn constants(step: &Step, format: Format) -> Option<[i32; 3]> {
    match step {
        Step::Fused(step) => Some([
            step.group as i32,
            step.fraction_bits as i32,
            step.zero_exponent,
        ]),
        Step::StickyRne(step) => {
            let lane = i32::from(matches!(format, E4m3 | E5m2) && step.pair.is_some());
            Some([
                step.group as i32,
                step.fraction_bits as i32 - lane,
                step.zero_exponent,
            ])
        }
        _ => None,
    }
}

/// The table agrees with each model file's constants, or shows nothing; with other constants it has another row.
#[test]
fn the_table_has_the_constants_of_the_models() {
    let (mut shown, mut zeros, mut wrong) = (0, 0, Vec::new());
    let mut seen = Vec::new();
    for (architecture, instruction, rule) in Catalogue::builtin().rules() {
        if rule.scale.is_some() || rule.addend.is_some() {
            continue;
        }
        for &[a, b] in rule.operands.iter().filter(|[a, b]| a == b) {
            let machine = Arithmetic::plain([a, b], rule.accumulator, rule.step.clone());
            let Some([group, bits, zero]) = constants(&machine.step, a) else {
                continue;
            };
            if seen.contains(&machine) {
                continue;
            }
            for (key, constant) in [
                ("group", group),
                ("alignment_bits", bits),
                ("zero_exponent", zero),
            ] {
                let cell = measured(&machine, key);
                shown += u32::from(cell != "-");
                zeros += u32::from(cell != "-" && key == "zero_exponent");
                if cell != "-" && cell != constant.to_string() {
                    wrong.push(format!(
                        "{} {} {a} -> {}: {key} {cell}, the model has {constant}",
                        architecture.name, instruction.name, rule.accumulator
                    ));
                }
            }
            seen.push(machine);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        shown > 120 && zeros > 6,
        "only {shown} cells, {zeros} of zeros"
    );
}

/// Vortex adds FP8 products in pairs; GPGPU-Sim cuts to FP16; Arm rounds each pair.
#[test]
fn what_cancels_in_a_lane_hides_nothing() {
    for format in [E4m3, E5m2] {
        expect(
            "vortex-tfr",
            format,
            &[
                ("group", "16"),
                ("order", "neighbours first, then aligned"),
                ("addend", "with the products"),
                ("alignment_bits", "23"),
                ("alignment_rounding", "RZ"),
                ("adder_width", "30"),
            ],
        );
    }
    // Its E4M3 has infinities where others have 256 to 448, and the suite's largest products are made of those.
    expect("vortex-drl", E4m3, &[("alignment_rounding", "-")]);
    expect("gpgpu-sim", Fp16, &[("rounding", "RZ to 11 bits, then C")]);
    for instruction in ["arm/bfdot", "arm/bfmmla", "arm/bfdot-ebf-rz"] {
        let cells = [
            ("group", "2"),
            ("order", "neighbours first"),
            ("addend", "after the products"),
        ];
        expect(instruction, Bf16, &cells);
    }
    // Pairs of CDNA 2 are not aligned: what it flushes is no width.
    expect(
        "cdna2",
        Fp16,
        &[("order", "neighbours first"), ("alignment_bits", "-")],
    );
}

/// Another constant changes its row.
#[test]
fn a_wrong_model_has_another_row() {
    let wrong = [
        ("vortex-tfr", E4m3, Fp32, "alignment_bits", "23", "24"),
        ("vortex-tfr", E4m3, Fp32, "adder_width", "30", "31"),
        ("vortex-tfr", Tf32, Fp32, "alignment_bits", "24", "25"),
        ("ampere", Fp16, Fp32, "alignment_bits", "24", "25"),
        ("ampere", Bf16, Fp32, "zero_exponent", "-132", "-131"),
        ("hopper", Bf16, Fp32, "zero_exponent", "-133", "-132"),
        ("hopper", Fp16, Fp16, "zero_exponent", "-21", "-20"),
    ];
    for (arch, format, accumulator, key, right, other) in wrong {
        let arch = Catalogue::builtin().find(arch).unwrap();
        let choice = arch.select(None, [format; 2], Some(accumulator)).unwrap();
        let mut machine = choice.arithmetic.clone();
        assert_eq!(measured(&machine, key), right);
        match &mut machine.step {
            Step::Fused(step) if key == "zero_exponent" => step.zero_exponent += 1,
            Step::Fused(step) => step.fraction_bits += 1,
            Step::StickyRne(step) => step.fraction_bits += 1,
            step => panic!("{step:?}"),
        }
        assert_eq!(measured(&machine, key), other, "{format} {key}");
    }
}

/// A lane rounded to nearest: three quarters of the last bit leave all of it.
#[test]
fn a_lane_that_is_rounded_has_another_row() {
    let arch = Catalogue::builtin().find("vortex-tfr").unwrap();
    let machine = arch.select(None, [E4m3; 2], Some(Fp32)).unwrap().arithmetic;
    let suite = suite(E4m3, E4m3, Fp32);
    let mut answers = replay::answers(&machine, &suite.cases);
    let answer = |tag: Tag| answers[suite.find(tag).unwrap()];
    let last = ["apart", "apart-negative"].map(|name| answer(Tag(name, 1, 23)));
    assert_eq!(last.map(|code| code & 0x7f_ffff), [0; 2]);
    let rounding = |answers: &[u64]| {
        let mut all = features(&suite, answers).into_iter();
        let row = all.find(|f| f.key == "alignment_rounding");
        row.unwrap().value
    };
    assert_eq!(rounding(&answers), "RZ");
    for (name, code) in ["apart", "apart-negative"].into_iter().zip(last) {
        answers[suite.find(Tag(name, 3, 24)).unwrap()] = code;
    }
    assert_eq!(rounding(&answers), "RNE");
}
