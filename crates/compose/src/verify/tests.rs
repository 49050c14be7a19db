//! Reports as they are, and with something changed. `tests/commands/trust/reports` changes every field.

use crate::Examined;
use serde_json::json;

use super::*;
use crate::check::{Counted, Prepared};
use crate::engines::resources;
use crate::num::Format;
use crate::role::Role;
use crate::tests::{product, sum, tensor};

/// A report on operands that everybody can make, and a digest that is not D's.
fn report() -> Report {
    let check: Check = serde_json::from_value(json!({
        "arch": "a100",
        "dtype": "fp16",
        "a": "generate:1:normal:6x16",
        "b": "generate:2:normal:16x5",
        "d_digest": "7".repeat(64),
    }))
    .expect("a check");
    let prepared = check.prepare(&resources()).expect("generated operands");
    prepared.reported(&()).expect("a verdict")
}

fn verified(report: &Report, progress: &dyn Progress) -> Vec<String> {
    let verified = verify(report, &resources(), None, progress);
    verified.expect("an answer").differences
}

#[test]
fn the_report_that_comes_out_and_others() {
    let honest = report();
    assert_eq!(verified(&honest, &()), [""; 0]);
    let mut forged = honest.clone();
    forged.verdict = crate::report::Verdict::Identical;
    forged.reproduced.payload_sha256 = Some("7".repeat(64));
    let wrong = verified(&forged, &());
    assert_eq!(wrong.len(), 2);
    assert_eq!(
        wrong[1],
        "`verdict` is reported as \"identical\", but is \"different\""
    );
    // Another version is the caller's to compare, another tool is wrong.
    let mut forged = honest.clone();
    forged.tool.version = "9".into();
    assert_eq!(verified(&forged, &()), [""; 0]);
    forged.tool.name = "other".into();
    assert_eq!(
        verified(&forged, &()),
        ["`tool.name` is reported as \"other\", but is \"tcverify\""]
    );
    let mut forged = honest;
    forged.request = None;
    assert!(verify(&forged, &resources(), None, &()).is_err());
}

/// No replay shows which GPU computed, so the field is named as unconfirmed; what no GPU can have done is refuted.
#[test]
fn an_invented_engine_is_not_confirmed() {
    let honest = report();
    let engine = |multiply_adds, tiles, twice| crate::report::EngineUsed {
        adapter: "NVIDIA H100".into(),
        driver: "999.99".into(),
        backend: "Vulkan".into(),
        multiply_adds,
        tiles,
        tiles_computed_twice: twice,
    };
    let all = 6 * 5 * 16;
    for (engine, wrong) in [
        (engine(all, 1, 1), ""),
        (
            engine(1_000_000_000_000_000, 1, 1),
            "`engine.multiply_adds` is reported as 1000000000000000",
        ),
        (engine(all, 1, 2), "`engine` reports more tiles"),
    ] {
        let mut invented = honest.clone();
        invented.engine = Some(engine);
        let found = verify(&invented, &resources(), None, &()).expect("an answer");
        let unconfirmed: Vec<_> = found.unconfirmed.iter().map(|one| one.field).collect();
        assert_eq!(unconfirmed, ["engine"]);
        match found.differences.as_slice() {
            [] => assert_eq!(wrong, ""),
            [one] => assert!(!wrong.is_empty() && one.starts_with(wrong), "{one}"),
            more => panic!("{more:?}"),
        }
    }
    let found = verify(&honest, &resources(), None, &()).expect("an answer");
    assert_eq!(found.unconfirmed, []);
}

/// A product of other shapes than the report says is not computed.
#[test]
fn shapes_before_anything_is_computed() {
    let mut forged = report();
    let counted = Counted::default();
    assert_eq!(verified(&forged, &counted), [""; 0]);
    assert_ne!(counted.counts()[1], 0);
    let Rule::Product(rule) = &mut forged.rule else {
        panic!("a product");
    };
    rule.product.k = 15;
    let counted = Counted::default();
    assert_eq!(
        verified(&forged, &counted),
        [
            "`request.a` is 6x16, which does not fit the reported product",
            "`request.b` is 16x5, which does not fit the reported product"
        ]
    );
    assert_eq!(counted.counts(), [0; 2]);
    // Nor are operands made that it has no place for, of 7 GB here.
    let mut forged = report();
    for (operand, shape) in [("a", "60000x60000"), ("b", "60000x60000"), ("a", "16x6")] {
        let mut request = forged.request.clone().expect("a request");
        request[operand] = json!(format!("generate:1:normal:{shape}"));
        forged.request = Some(request);
        let wrong = verified(&forged, &());
        let expected = format!("`request.{operand}` is {shape}, which");
        assert!(
            wrong.iter().any(|one| one.starts_with(&expected)),
            "{wrong:?}"
        );
        forged = report();
    }
}

/// Figures that no D has, whatever it is.
#[test]
fn figures_that_contradict_each_other() {
    let [m, n, k] = [6, 5, 16];
    let wrong = |row, column| i64::from([row, column] == [m - 1, n - 1]);
    let number = |row, column| sum([row, column], k) + wrong(row, column);
    let d = tensor(Format::Fp32, [m, n], number);
    let tensors = product(Format::Fp16, [m, n, k]).with(Role::D, d);
    let check = Check::in_memory("a100", Format::Fp16);
    let prepared = Prepared::from_tensors(&check, &resources(), tensors).expect("a check");
    let report = prepared.reported(&()).expect("a verdict");
    assert_eq!(contradictions(&report), [""; 0]);
    let written = json(&report);
    for (place, value) in [
        ("/verdict", json!("identical")),
        ("/outcome/comparison/mismatches", json!(0)),
        ("/outcome/comparison/mismatches", json!(31)),
        ("/outcome/comparison/histogram/0/count", json!(0)),
        ("/outcome/comparison/first/0/index", json!([6, 0])),
        ("/outcome/comparison/first/0/xor", json!("0")),
        ("/reproduced/shape", json!([30])),
    ] {
        let mut forged = written.clone();
        *forged.pointer_mut(place).expect(place) = value;
        let forged: Report = serde_json::from_value(forged).expect("a report");
        assert_ne!(contradictions(&forged), [""; 0], "{place}");
    }
}

#[test]
fn every_difference_is_named() {
    let reported = json!({"a": {"b": [1, 2]}, "c": null});
    let table = r#"
        {"a": {"b": [1, 2]}, "c": null}
        {"a": {"b": [1, 2]}} | `c` must be absent
        {"a": {"b": [1, 2]}, "c": null, "d": 1} | `d` is missing
        {"a": {"e": 1}, "c": 0} | `a.b` must be absent | `a.e` is missing | `c` is reported as null, but is 0
        {"a": {"b": [0, 3]}, "c": null} | `a.b[0]` is reported as 1, but is 0 | `a.b[1]` is reported as 2, but is 3
        {"a": {"b": [1]}, "c": null} | `a.b` is reported as [1,2], but is [1]
        [] | is reported as {"a":{"b":[1,2]},"c":null}, but is []
        "#;
    for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let mut columns = row.split(" | ");
        let found = serde_json::from_str(columns.next().expect("fields")).expect(row);
        let expected: Vec<&str> = columns.collect();
        assert_eq!(differences(&reported, &found), expected);
    }
    assert_eq!(
        differences_at("x", &[1], &[2]),
        ["`x[0]` is reported as 1, but is 2"]
    );
}
