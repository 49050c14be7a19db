//! The worked examples of docs/literature.md: what a model gives, and a wrong constant that does not where the example decides
//! one.

use serde_json::{Value, json};
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::Format::{self, Bf16, Fp16};
use tcverify::probe::{Case, Prepared};

/// The code of a number that the format has.
fn code(format: Format, x: f64) -> u64 {
    let bits = u64::from((x as f32).to_bits());
    tcverify::num::result_code(
        Format::Fp32,
        bits,
        format,
        tcverify::num::Rounding::NearestEven,
    )
}

fn model(arch: &str, format: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).expect("in the catalogue");
    arch.select(None, [format; 2], None)
        .expect("a rule")
        .arithmetic
}

fn with_sums_of(arch: &str, format: Format, accumulator: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).expect("in the catalogue");
    let choice = arch.select(None, [format; 2], Some(accumulator));
    choice.expect("a rule").arithmetic
}

fn dot(model: &Arithmetic, a: &[f64], b: &[f64], c: f64) -> u64 {
    let formats = model.formats();
    let codes = |format, x: &[f64]| x.iter().map(|&x| code(format, x)).collect();
    let case = Case {
        a: codes(model.a, a),
        b: codes(model.b, b),
        c: code(model.accumulator, c),
        ..Case::default()
    };
    Prepared::new(formats, &case).answer(formats, &model.step)
}

fn p(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// Architecture, D, and a constant that would give another D, if the example decides one.
type Row = (&'static str, u64, Option<(&'static str, i64)>);

/// Format, A, B, C, and the rows.
type Example = (Format, Vec<f64>, Vec<f64>, f64, Vec<Row>);

fn examples() -> Vec<Example> {
    vec![
        (
            Fp16,
            vec![65504.0, 1.0, -65504.0, 1.0],
            vec![1.0, 0.001, 1.0, 0.001],
            0.0,
            vec![
                ("ada", 0, Some(("fraction_bits", 25))),
                ("ampere", 0, Some(("fraction_bits", 25))),
                ("hopper", 0x3b00_0000, Some(("fraction_bits", 24))),
                ("exact", 0x3b03_2000, None),
            ],
        ),
        (
            Fp16,
            vec![2047.0],
            vec![2047.0],
            0.0,
            vec![("ampere", 0x4a7f_c004, Some(("precision", 21)))],
        ),
        (
            Fp16,
            vec![p(-15), p(-24)],
            vec![p(14), 1.0],
            0.0,
            vec![
                ("ampere", 0x3f00_0001, Some(("fraction_bits", 23))),
                ("volta", 0x3f00_0000, Some(("fraction_bits", 24))),
            ],
        ),
        (
            Fp16,
            vec![6144.0, 3.0],
            vec![6144.0, 1.0],
            0.0,
            vec![("ampere", 0x4c10_0000, None)],
        ),
        (
            Fp16,
            vec![6144.0, 1.0],
            vec![6144.0, -1.0],
            0.0,
            vec![("ampere", 0x4c0f_ffff, Some(("precision", 23)))],
        ),
        (
            Bf16,
            vec![p(-74); 2],
            vec![p(-74), -p(-82)],
            0.0,
            vec![("ampere", 1, Some(("zero_exponent", -131)))],
        ),
        (
            Bf16,
            vec![p(-74); 2],
            vec![p(-74), -p(-83)],
            0.0,
            vec![
                ("ampere", 2, Some(("zero_exponent", -133))),
                ("hopper", 1, None),
            ],
        ),
        (
            Bf16,
            vec![p(-74); 2],
            vec![p(-74), -p(-84)],
            0.0,
            vec![("hopper", 1, Some(("zero_exponent", -132)))],
        ),
        (
            Bf16,
            vec![p(-74); 2],
            vec![p(-74), -p(-85)],
            0.0,
            vec![("hopper", 2, Some(("zero_exponent", -134)))],
        ),
        (
            Fp16,
            vec![1.0],
            vec![1.0],
            -1.0 + p(-24),
            vec![
                ("volta", 0x3400_0000, Some(("fraction_bits", 24))),
                ("turing", 0x3380_0000, Some(("fraction_bits", 23))),
            ],
        ),
        (
            Fp16,
            vec![p(-24); 2],
            vec![1.0; 2],
            1.0,
            vec![
                ("volta", 0x3f80_0000, Some(("fraction_bits", 24))),
                ("turing", 0x3f80_0001, Some(("fraction_bits", 23))),
            ],
        ),
        (
            Fp16,
            vec![1.0, 1.0, 1.0, p(-23)],
            vec![1.0; 4],
            1.0 + p(-22) + p(-23),
            vec![("volta", 0x4080_0001, Some(("group", 1)))],
        ),
        (
            Fp16,
            vec![1.0; 4],
            vec![1.0, 1.5, 1.75, 1.875],
            1.875,
            vec![("volta", 0x4100_0000, None)],
        ),
    ]
}

#[test]
fn examples_of_the_page() {
    let page = include_str!("../../docs/literature.md");
    let mut decided = 0;
    for (format, a, b, c, rows) in examples() {
        for (arch, expected, other) in rows {
            let right = model(arch, format);
            let place = format!("{arch} {a:?} {b:?} {c}");
            assert_eq!(dot(&right, &a, &b, c), expected, "{place}");
            assert!(
                page.contains(&format!("`{arch}` | `{expected:08x}`")),
                "{place}"
            );
            if let Some((constant, value)) = other {
                let mut step: Value = serde_json::to_value(&right.step).expect("plain data");
                step[constant] = json!(value);
                let step = serde_json::from_value(step).expect("constants of the step");
                let wrong = Arithmetic { step, ..right };
                assert_ne!(
                    dot(&wrong, &a, &b, c),
                    expected,
                    "{place}: {constant} {value}"
                );
                decided += 1;
            }
        }
    }
    assert_eq!(decided, 16);
}

/// A row of ten-four's replay: its rule is not Ada's.
#[test]
fn ten_four_is_not_ada() {
    let [ada, vortex] = ["ada", "vortex-tfr"].map(|arch| model(arch, Fp16));
    // 1 + 2^-24 + 2^-25: more than half of the last bit, which one unit cuts and the other rounds up.
    let (a, b) = ([p(-12), p(-13), 1.0], [p(-12), p(-12), 1.0]);
    assert_eq!(dot(&ada, &a, &b, 0.0), 0x3f80_0000);
    assert_eq!(dot(&vortex, &a, &b, 0.0), 0x3f80_0001);
}

/// Hawkeye, 3.1: sums of FP16 are not associative.
#[test]
fn sums_of_fp16_depend_on_the_order() {
    let page = include_str!("../../docs/literature.md");
    let orders = [[65504.0, -65504.0, 1.0], [1.0, -65504.0, 65504.0]];
    for row in [
        "`ieee-fma` | `3c00`",
        "`ieee-fma` | `0000`",
        "`gpgpu-sim` | `5000`",
    ] {
        assert!(page.contains(row), "{row}");
    }
    for (arch, accumulator, expected) in [
        ("ieee-fma", Fp16, [0x3c00, 0]),
        ("gpgpu-sim", Fp16, [0x3c00, 0x5000]),
        // FP32 holds every sum: a wrong format of the accumulator.
        ("ieee-fma", Format::Fp32, [0x3f80_0000; 2]),
    ] {
        let model = with_sums_of(arch, Fp16, accumulator);
        let found = orders.map(|a| dot(&model, &a, &[1.0; 3], 0.0));
        assert_eq!(found, expected, "{arch} {accumulator}");
    }
    // The unit's other rounding, and a tensor core, which adds the three at once.
    let mut step = serde_json::to_value(&with_sums_of("ieee-fma", Fp16, Fp16).step).expect("data");
    step["rounding"] = json!("rz");
    let wrong = Arithmetic {
        step: serde_json::from_value(step).expect("constants of the step"),
        ..with_sums_of("ieee-fma", Fp16, Fp16)
    };
    assert_eq!(dot(&wrong, &orders[1], &[1.0; 3], 0.0), 0x5000);
    let volta = with_sums_of("volta", Fp16, Fp16);
    assert_eq!(dot(&volta, &orders[1], &[1.0; 3], 0.0), 0x3c00);
}
