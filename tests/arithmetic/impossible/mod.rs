//! Arithmetics that no unit has, or that the engine could not compute exactly, each beside one that differs in one
//! number and is taken; and what every step of the catalogue says of itself.

mod aligned;
mod others;

use serde_json::{Value, json};
use tcverify::emu::{Arithmetic, Catalogue};

/// An arithmetic of the catalogue with these constants of its step, or fields of its own (`/b`): refused in a sentence
/// with these words, or taken where there are none.
fn said(of: &str, changes: &Value, words: &str) {
    let mut arithmetic = found(of);
    // Its length would be too short for most of what is tried.
    arithmetic.instruction_k = None;
    let mut arithmetic = serde_json::to_value(arithmetic).expect("plain data");
    for (name, value) in changes.as_object().expect("constants") {
        let (place, name) = match name.strip_prefix('/') {
            Some(name) => (&mut arithmetic, name),
            None => (&mut arithmetic["step"], name.as_str()),
        };
        match name.split_once('.') {
            Some((outer, inner)) => place[outer][inner] = value.clone(),
            None if value.is_null() => drop(place.as_object_mut().expect("an object").remove(name)),
            None => place[name] = value.clone(),
        }
    }
    let arithmetic: Arithmetic = serde_json::from_value(arithmetic).expect("an arithmetic");
    match (arithmetic.check(), words) {
        (Ok(()), "") => {}
        (Err(reason), words) if !words.is_empty() => {
            assert!(reason.contains(words), "{of} {changes}: {reason}");
        }
        (other, _) => panic!("{of} {changes}: {other:?}, not {words:?}"),
    }
}

/// "hopper wgmma fp16 fp32": the first rule of an instruction for a format of A with an accumulator.
fn found(of: &str) -> Arithmetic {
    all()
        .into_iter()
        .find(|(name, _)| name.starts_with(of))
        .unwrap_or_else(|| panic!("no {of}"))
        .1
}

fn all() -> Vec<(String, Arithmetic)> {
    let mut all = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                for &[a, b] in &rule.operands {
                    let scale = rule
                        .scale
                        .map(|scale| format!(" {} {}", scale.format, scale.block));
                    let name = format!(
                        "{} {} {a} {} {b}{}",
                        architecture.name,
                        instruction.name,
                        rule.accumulator,
                        scale.unwrap_or_default()
                    );
                    all.push((name, Arithmetic::of(rule, [a, b])));
                }
            }
        }
    }
    all
}

fn table(of: &str, rows: &[(Value, &str)]) {
    said(of, &json!({}), "");
    rows.iter()
        .for_each(|(changes, words)| said(of, changes, words));
}

/// What all kinds have.
fn nan_and_rounding(of: &str) {
    table(
        of,
        &[
            (
                json!({"nan": "7f800000"}),
                "nan 7f800000 is not a NaN of fp32",
            ),
            (
                json!({"nan": "17fffffff"}),
                "nan 17fffffff is not a NaN of fp32",
            ),
            (json!({"nan": "ff800001"}), ""),
            (json!({"rounding": "rna"}), "rounding must be rne or rz"),
            (json!({"rounding": "rz"}), ""),
        ],
    );
}

/// The number of products is in the sentence, and sentences differ where constants do.
#[test]
fn every_step_is_told_in_a_sentence() {
    let mut sentences = std::collections::BTreeMap::new();
    for (name, arithmetic) in all() {
        let step = serde_json::to_value(&arithmetic.step).expect("plain data");
        let kind = step["kind"].as_str().expect("a kind").to_owned();
        let said = arithmetic.step.summary();
        let word = match kind.as_str() {
            "fma_chain" => "chain of IEEE fused multiply-adds, ".to_owned(),
            "exact_dot" => "exact sum of C and all K products".to_owned(),
            "integer_sum" if step["overflow"] == "wrap" => "modulo 2^32".to_owned(),
            "fused_halves" => "32 products in two halves".to_owned(),
            "pairwise_flush" => format!("{} products added in pairs", step["group"]),
            "half_chain" => "chain of 16 FP32 additions".to_owned(),
            "complement_dot" | "floored_pairs" => {
                let groups = step["groups"]["order"].as_array().expect("groups").len() as u64;
                let size = step["groups"]["size"].as_u64().expect("a size");
                format!("{} products, {size} at a time", size * groups)
            }
            "sliced" | "sliced_integers" => format!("phase {}", step["phases"][0]),
            "ordered_fma" if step["exact"] == true => "exact sum of 64 products".to_owned(),
            "rounded_dot" if step["group"] == 1 => "chain of fused multiply-adds, ".to_owned(),
            "ordered_fma" => "chain of IEEE fused multiply-adds, rne, ".to_owned(),
            _ => format!("{} products", step["group"]),
        };
        assert!(said.contains(&word), "{name}: {said}");
        sentences
            .entry(kind)
            .or_insert_with(std::collections::BTreeSet::new)
            .insert(said);
    }
    assert_eq!(sentences.len(), 18, "{:?}", sentences.keys());
    assert!(sentences["fused"].len() > 5 && sentences["fused_floor"].len() > 2);
}
