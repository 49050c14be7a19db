//! Cases of products that emulate a wider format, fix their sums by trees, or dequantise weights, as collections of vectors
//! describe them: by a kind and the numbers of the rule, which name a schedule or a kernel here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::case::text;

/// Fields that describe where a case comes from, or that a kind's rule has used up.
const USED: [&str; 18] = [
    "bands",
    "block_k",
    "case",
    "elements",
    "fp32_accum",
    "generation",
    "group",
    "kind",
    "leaf",
    "made_by",
    "path",
    "reduce",
    "rule",
    "scales_dtype",
    "slices_in_tiles_of_k",
    "sms",
    "terms",
    "wrong_rules",
];

/// Puts a schedule in the place of what the case says of its rule; nothing of other kinds.
///
/// # Errors
/// What the kind lacks, or which rule no schedule has.
pub(super) fn schedule(fields: &mut BTreeMap<String, Value>) -> Result<(), String> {
    let schedule = match text(fields, "kind") {
        Some("bf16x9-scaled") => bands(fields)?,
        Some("terms") => terms(fields)?,
        Some("fp64-slices") => {
            // Such a case need not say which unit: sums of integers are the same on all.
            fields.entry("arch".to_owned()).or_insert("hopper".into());
            fields.insert("acc".to_owned(), "int32".into());
            if !fields.contains_key("c_dtype") {
                fields.remove("beta");
            }
            for factor in ["alpha", "beta"] {
                if let Some(Value::Number(number)) = fields.get(factor) {
                    let text = number.to_string().into();
                    fields.insert(factor.to_owned(), text);
                }
            }
            "cublasdx-fp64-slices"
        }
        Some("det_gemm") => match text(fields, "path") {
            Some("sm90") => "rl-kernel-det-gemm",
            Some("scalar") => {
                fields.entry("arch".to_owned()).or_insert("ieee-fma".into());
                "rl-kernel-det-gemm-scalar"
            }
            _ => return Err("field \"path\": expected sm90 or scalar".into()),
        },
        Some("matmul_tp_inv") => {
            let in_fp32 = fields.get("fp32_accum").and_then(Value::as_bool);
            match (in_fp32, text(fields, "dtype")) {
                (Some(true), _) => "sglang-tp-inv-fp32",
                (Some(false), Some("fp16")) => "sglang-tp-inv-fp16",
                (Some(false), _) => "sglang-tp-inv",
                _ => return Err("field \"fp32_accum\": expected true or false".into()),
            }
        }
        Some("marlin") => {
            marlin(fields)?;
            fields.retain(|name, _| !USED.contains(&name.as_str()));
            return Ok(());
        }
        _ => return Ok(()),
    };
    // Sums are kept in D's format by the schedule, not by the instruction.
    fields.entry("acc".to_owned()).or_insert("fp32".into());
    fields.insert("schedule".to_owned(), schedule.into());
    // In words, it is no name of an instruction.
    let in_words = |instruction: &str| instruction.contains(' ');
    if text(fields, "instruction").is_some_and(in_words) {
        fields.remove("instruction");
    }
    fields.retain(|name, _| !USED.contains(&name.as_str()));
    Ok(())
}

/// Marlin by its generation, tile, multiprocessors and reduction; weights by the words about their codes.
fn marlin(fields: &mut BTreeMap<String, Value>) -> Result<(), String> {
    let generation = match text(fields, "generation") {
        Some(generation @ ("original" | "vllm")) => generation,
        _ => return Err("field \"generation\": expected original or vllm".into()),
    };
    let mut kernel = format!("marlin-{generation}");
    if let Some(tile) = fields.remove("tile") {
        let sizes: Option<Vec<u64>> = tile
            .as_array()
            .map(|tile| tile.iter().filter_map(Value::as_u64).collect());
        match sizes.as_deref() {
            Some([k, n, threads]) => kernel.push_str(&format!(",{k}x{n}x{threads}")),
            _ => return Err("field \"tile\": expected k, columns and threads".into()),
        }
    }
    let of_codes = text(fields, "dtype_b").unwrap_or_default();
    let weights = match (
        of_codes.contains("8 bits"),
        of_codes.contains("zero points"),
    ) {
        (false, false) if of_codes.ends_with("minus 8") => "u4b8",
        (false, true) => "u4",
        (true, false) if of_codes.ends_with("minus 128") => "u8b128",
        (true, true) => "u8",
        _ => {
            return Err(
                "field \"b_dtype\": expected codes of 4 or 8 bits, \"minus 8\", \"minus 128\" or with zero points"
                    .into(),
            );
        }
    };
    let reduction = match text(fields, "reduce") {
        Some("fp32") => "compute_type",
        Some("output type") => "output_type",
        _ => return Err("field \"reduce\": expected \"fp32\" or \"output type\"".into()),
    };
    let sms = fields.get("sms").filter(|sms| sms.is_u64()).cloned();
    let sms = sms.ok_or("field \"sms\": expected a number")?;
    if weights == "u4" || weights == "u8" {
        fields.insert("zero_b".to_owned(), "zeros.npy".into());
    }
    match fields.remove("bias") {
        Some(Value::Bool(true)) => {
            fields.insert("bias".to_owned(), "bias.npy".into());
            let format = fields.get("dtype").cloned().unwrap_or_default();
            fields.insert("bias_dtype".to_owned(), format);
        }
        None | Some(Value::Bool(false)) => {}
        Some(_) => return Err("field \"bias\": expected true or false".into()),
    }
    fields.remove("dtype_b");
    fields.insert("weights".to_owned(), weights.into());
    fields.insert("scale_b".to_owned(), "scales.npy".into());
    fields.insert("kernel".to_owned(), kernel.into());
    fields.insert("multiprocessors".to_owned(), sms);
    fields.insert("reduction".to_owned(), reduction.into());
    fields.insert("acc".to_owned(), "fp32".into());
    Ok(())
}

/// The fields of an operation, if the case is one: llama.cpp's products of quantised vectors.
///
/// # Errors
/// If its weights are of no kind that is known.
pub(super) fn operation(
    fields: &BTreeMap<String, Value>,
) -> Result<Option<BTreeMap<String, Value>>, String> {
    const ABOUT: [&str; 9] = [
        "case",
        "d_dtype",
        "elements",
        "kind",
        "made_by",
        "tokens",
        "warps",
        "weights",
        "wrong_rules",
    ];
    if text(fields, "kind") != Some("llama.cpp mul_mat_vec_q") {
        return Ok(None);
    }
    let variant = match text(fields, "weights") {
        Some("q8_0") => "llama.cpp-q8_0",
        Some("q4_0") => "llama.cpp-q4_0",
        _ => return Err("field \"weights\": expected q8_0 or q4_0".into()),
    };
    let sums = (variant == "llama.cpp-q4_0").then_some(("other", "x_s.npy"));
    let own = [
        ("operation", "mul_mat_vec_q"),
        ("variant", variant),
        ("x", "x_codes.npy"),
        ("scale", "x_d.npy"),
        ("weight", "w_codes.npy"),
        ("weight_scale", "w_d.npy"),
        ("y", "d.npy"),
    ];
    let mut all = fields.clone();
    all.retain(|name, _| !ABOUT.contains(&name.as_str()));
    for (name, value) in own.into_iter().chain(sums) {
        all.entry(name.to_owned()).or_insert(value.into());
    }
    Ok(Some(all))
}

/// CUTLASS's scaled terms.
fn bands(fields: &BTreeMap<String, Value>) -> Result<&'static str, String> {
    match fields.get("bands").and_then(Value::as_u64) {
        Some(5) => Ok("cutlass-bf16x9"),
        Some(4) => Ok("cutlass-bf16x9-4-bands"),
        Some(3) => Ok("cutlass-bf16x9-3-bands"),
        _ => Err("field \"bands\": expected 3, 4 or 5".into()),
    }
}

/// Terms of every tile, by Triton or XLA.
fn terms(fields: &BTreeMap<String, Value>) -> Result<&'static str, String> {
    let rule = text(fields, "rule").unwrap_or_default();
    let says = |words: &str| rule.contains(words);
    match text(fields, "terms") {
        Some("tf32x3") if says("first generation") => Ok("triton-tf32x3"),
        Some("tf32x3") if says("second generation") => Ok("triton-tf32x3-second"),
        Some("tf32x3") if says("newest") || says("third generation") => Ok("triton-tf32x3-third"),
        Some("tf32x3") => Err(
            "field \"rule\": expected the generation of tf32x3: \"first generation\", \"second generation\" or \
             \"newest\""
                .into(),
        ),
        Some("bf16x3") => Ok("triton-bf16x3"),
        Some("bf16x6") => Ok("triton-bf16x6"),
        Some("bf16x9") => Ok("xla-bf16x9"),
        _ => Err("field \"terms\": expected tf32x3, bf16x3, bf16x6 or bf16x9".into()),
    }
}
