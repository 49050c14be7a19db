//! Specs that no kernel can follow, each beside one that some could and that differs in one number or word.

mod levels;
mod scales;

use serde_json::{Value, json};
use tcverify::emu::schedule::{BoundSchedule, ScheduleSpec};
use tcverify::emu::{Arithmetic, Problem};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

/// The plain chain with these fields: refused in a sentence with these words, or taken where there are none.
fn said(fields: &Value, words: &str) {
    let mut spec = json!({
        "residue": "last", "addend": "start", "epilogue": {"combine": "fma"}, "nan": "7fffffff"
    });
    for (name, value) in fields.as_object().expect("fields") {
        spec[name] = value.clone();
    }
    let spec: ScheduleSpec = serde_json::from_value(spec).expect("a spec");
    match (spec.validate(), words) {
        (Ok(()), "") => {}
        (Err(reason), words) if !words.is_empty() => {
            assert!(reason.contains(words), "{fields}: {reason}");
        }
        (other, _) => panic!("{fields}: {other:?}, not {words:?}"),
    }
}

fn all(rows: &[(Value, &str)]) {
    rows.iter().for_each(|(fields, words)| said(fields, words));
}

fn slices(count: Value, grain: Value) -> Value {
    let mut parts = json!({"kind": "slices", "count": count, "length": "ceil", "empty": "zero"});
    if !grain.is_null() {
        parts["grain"] = grain;
    }
    parts
}

fn interleaved(count: Value, grain: Value) -> Value {
    json!({"kind": "interleaved", "count": count, "grain": grain, "empty": "zero"})
}

fn blocks(length: usize) -> Value {
    json!({"kind": "blocks", "length": length})
}

fn merged(parts: Value, order: Value, start: &str) -> Value {
    json!({"parts": parts, "merge": {"kind": "sum", "order": order, "start": start}})
}

fn serial(parts: Value) -> Value {
    merged(parts, json!("serial"), "first")
}

fn promoted(length: usize) -> Value {
    merged(blocks(length), json!("serial"), "zero")
}

/// What a schedule says of a product of fp64 or fp32 operands, of this K.
fn about(operands: &str, tile_k: usize, split: Value, k: usize) -> Result<(), String> {
    let unit: Arithmetic = serde_json::from_value(json!({
        "a": operands, "b": operands, "accumulator": "fp32",
        "step": {"kind": "fma_chain", "rounding": "rne", "nan": "7fffffff"},
    }))
    .expect("a unit");
    let mut spec = json!({
        "residue": "last", "addend": "start", "epilogue": {"combine": "fma"}, "nan": "7fffffff",
        "tile_k": tile_k,
    });
    if !split.is_null() {
        spec["split"] = split;
    }
    let spec: ScheduleSpec = serde_json::from_value(spec).expect("a spec");
    spec.validate().expect("a kernel could follow it");
    let line = Tensor::from_codes(unit.a, vec![1, k], &vec![0; k]);
    let problem = Problem::new(line.planes(), line.planes().transposed(), None).expect("they fit");
    BoundSchedule::check_compatible(&spec, &unit, &problem, Format::Fp32)
}

#[test]
fn operands_wider_than_words() {
    assert_eq!(about("fp32", 64, Value::Null, 100), Ok(()));
    let refused = about("fp64", 64, Value::Null, 100).unwrap_err();
    assert_eq!(refused, "schedules support no operands of fp64");
}

/// Each of a thousand parts of one k, filled up to a million.
#[test]
fn zeros_without_end() {
    let split = || serial(slices(json!(1024), json!(1)));
    assert_eq!(about("fp32", 64, split(), 1024), Ok(()));
    let refused = about("fp32", 1 << 20, split(), 1024).unwrap_err();
    assert!(
        refused.starts_with("1024 parts of K are filled up"),
        "{refused}"
    );
}
