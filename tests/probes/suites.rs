//! Suites for any formats: nothing panics, every code is one, and the questions are asked.

use std::collections::BTreeSet;

use tcverify::num::Format;
use tcverify::probe::Suite;

#[test]
fn every_format_has_probes() {
    for a in Format::ALL {
        for accumulator in Format::ALL {
            let b = match a {
                Format::E4m3 => Format::E5m2,
                Format::Fp16 => Format::Fp64,
                other => other,
            };
            let suite = match Suite::new(a, b, accumulator) {
                Ok(suite) => suite,
                Err(reason) => {
                    assert!(reason.contains("is no accumulator"), "{reason}");
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
        "crumbs",
        "alignment",
        "rounding",
        "products",
        "subnormals",
        "low",
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
