//! Suites for any formats: nothing panics, every code is one, and the questions are asked.

use std::collections::BTreeSet;

use tcverify::num::Format;
use tcverify::probe::Suite;
use tcverify::probe::features::features;

#[test]
#[ignore = "long"]
fn every_format_has_probes() {
    for a in Format::FLOATS {
        for accumulator in Format::FLOATS {
            let b = match a {
                Format::E4m3 => Format::E5m2,
                Format::Fp16 => Format::Fp64,
                other => other,
            };
            let suite = match Suite::new(a, b, accumulator) {
                Ok(suite) => suite,
                Err(reason) => {
                    assert!(reason.contains("is not an accumulator"), "{reason}");
                    continue;
                }
            };
            assert!(suite.cases.len() > 500, "{a} {accumulator}");
            for case in &suite.cases {
                let fits = |codes: &[u64], format: Format| {
                    codes.iter().all(|code| *code <= format.max_code())
                };
                assert!(fits(&case.a, a) && fits(&case.b, b) && fits(&[case.c], accumulator));
            }
        }
    }
}

#[test]
fn tensor_core_formats_are_asked_every_question() {
    let families = |a, acc| -> BTreeSet<&str> {
        let suite = Suite::new(a, a, acc).unwrap();
        suite.cases.iter().map(|case| case.family).collect()
    };
    let common = [
        "order",
        "small_addends",
        "alignment",
        "rounding",
        "products",
        "subnormals",
        "zero_exponent",
        "zeros",
        "overflow",
        "specials",
        "fasi",
        "mixed",
    ];
    for a in [
        Format::Fp16,
        Format::Bf16,
        Format::Tf32,
        Format::E4m3,
        Format::E5m2,
    ] {
        let found = families(a, Format::Fp32);
        for family in common {
            assert!(found.contains(family), "{a}: {family}");
        }
        assert_eq!(found.contains("pairs"), a.bytes() == 1);
    }
}

#[test]
fn integers_are_asked_every_question() {
    let integers = [Format::Int8, Format::Uint8, Format::Int4, Format::Uint4];
    for a in integers {
        for b in integers {
            let suite = Suite::new(a, b, Format::Int32).unwrap();
            let families: BTreeSet<&str> = suite.cases.iter().map(|case| case.family).collect();
            let mut expected = BTreeSet::from([
                "limits",
                "order",
                "products",
                "sums",
                "mixed",
                "excursions",
                "anything",
            ]);
            if a.sign_mask() | b.sign_mask() == 0 {
                // Nothing leads back.
                expected.remove("order");
            }
            assert_eq!(families, expected, "{a} {b}");
            let mut products = BTreeSet::new();
            for case in &suite.cases {
                assert!(case.a.len() == suite.k && case.b.len() == suite.k);
                let pairs = case.a.iter().zip(&case.b);
                products.extend(pairs.map(|(&x, &y)| (x, y)));
            }
            // Every product of two codes is in some sum.
            let all = (a.max_code() + 1) * (b.max_code() + 1);
            assert_eq!(products.len() as u64, all, "{a} {b}");
        }
    }
}

#[test]
fn other_pairs_have_no_probes() {
    for (formats, words) in [
        (
            [Format::Int8, Format::Fp16, Format::Int32],
            "both be integers",
        ),
        ([Format::Int8, Format::Int8, Format::Fp32], "int32 is"),
        (
            [Format::Fp16, Format::Fp16, Format::Int32],
            "is not an accumulator",
        ),
        (
            [Format::Int32, Format::Int32, Format::Int32],
            "not a format of A or B",
        ),
        (
            [Format::Ue8m0, Format::Fp16, Format::Fp32],
            "not a format of A or B",
        ),
    ] {
        let [a, b, accumulator] = formats;
        let reason = Suite::new(a, b, accumulator).unwrap_err();
        assert!(reason.contains(words), "{reason}");
    }
}

/// A machine may answer anything, and the table is drawn all the same.
#[test]
fn senseless_answers_have_features() {
    for (a, accumulator) in [
        (Format::Fp16, Format::Fp32),
        (Format::E4m3, Format::Fp16),
        (Format::Fp64, Format::Fp64),
        (Format::E2m1, Format::Fp32),
        (Format::Int8, Format::Int32),
        (Format::Uint4, Format::Int32),
    ] {
        let suite = Suite::new(a, a, accumulator).unwrap();
        let mut state = 1u64;
        for round in 0..6 {
            let answers: Vec<u64> = (0..suite.cases.len())
                .map(|_| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    match round {
                        0 => accumulator.max_code(),
                        1 => accumulator.max_finite(true),
                        2 => accumulator.max_finite(false),
                        _ => (state >> 7 | state << 40) & accumulator.max_code(),
                    }
                })
                .collect();
            let rows = if suite.integers() { 6 } else { 24 };
            assert_eq!(features(&suite, &answers).len(), rows);
        }
    }
}
