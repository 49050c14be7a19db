//! Specs that no kernel can follow, each beside one that some could and that differs in one number or word.

mod levels;
mod scales;

use serde_json::{Value, json};
use tcverify::emu::schedule::ScheduleSpec;

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
