//! PyTorch's `GEMMDesc` as JSON: a description of an order that no producer writes yet.

use serde_json::{Map, Value};

use super::draft::Draft;
use crate::io::printable;
use crate::kernel::family::gemm_desc;
use crate::kernel::{Cuts, How, Kept, KernelError, KernelReading, Said, TextKind};
use crate::num::Format;

pub const FORM: &str = "JSON object";

pub fn is_one(object: &Map<String, Value>) -> bool {
    object.contains_key("k_cuts") || object.contains_key("k_loop_step")
}

pub fn read(object: &Map<String, Value>) -> Result<KernelReading, KernelError> {
    let mut draft = Draft::new(TextKind::GemmDesc);
    draft.family(&gemm_desc::FAMILY, How::Derived, "k_loop_step, k_cuts");
    let mut scalar = false;
    for (key, value) in object {
        let shown = shown(value);
        match key.as_str() {
            "operand_dtype" | "a_dtype" | "input_dtype" => {
                let format = format(key, value)?;
                draft.settings.operands = Some(Said::stated([format; 2], printable(key)));
                draft.used(key, &shown, "format of the operands");
            }
            "output_dtype" => {
                draft.settings.result = Some(Said::stated(format(key, value)?, key.as_str()));
                draft.used(key, &shown, "format of D");
            }
            "accumulate_dtype" => {
                if format(key, value)? != Format::Fp32 {
                    return Err(KernelError::unknown(
                        "sums in another format than float32",
                        "nobody compared them",
                    ));
                }
                draft.used(key, &shown, "format of the sums");
            }
            "algorithm" => {
                scalar = match value.as_str() {
                    Some("MMA_SYNC" | "WGMMA" | "TCGEN05_MMA") => false,
                    Some("SCALAR_FUSED_MULTIPLY_ADD") => true,
                    _ => {
                        return Err(KernelError::unknown(
                            format!("sums by {shown}"),
                            "instructions and fused multiply-adds alone are planned",
                        ));
                    }
                };
                draft.used(key, &shown, "which instruction multiplies");
            }
            "instruction_k" | "k_loop_step" => {
                let size = value.as_u64().filter(|size| (1..=1 << 16).contains(size));
                let size = size.ok_or_else(|| KernelError::value(key, &shown, "a size of k"))?;
                let said = Some(Said::stated(size as usize, key.as_str()));
                let meaning = match key.as_str() {
                    "instruction_k" => {
                        draft.settings.instruction_k = said;
                        "k of an instruction"
                    }
                    _ => {
                        draft.settings.tile_k = said;
                        "k of a turn of the main loop; the partial turn comes first"
                    }
                };
                draft.used(key, &shown, meaning);
            }
            "use_fast_accum" => {
                let fast = value
                    .as_bool()
                    .ok_or_else(|| KernelError::value(key, &shown, "true or false"))?;
                draft.settings.fast_accumulation = Some(Said::stated(fast, key.as_str()));
                draft.used(key, &shown, super::fields::accumulation(fast));
            }
            "k_cuts" => {
                let read = cuts(value)?;
                let splits = read.as_ref().map_or(1, |cuts| cuts.count.unwrap_or(0));
                if splits > 0 {
                    draft.settings.split_k = Some(Said::stated(splits, "k_cuts"));
                }
                draft.settings.cuts = read.map(|cuts| Said::stated(cuts, "k_cuts"));
                draft.used(key, &shown, "how K is cut, and how the sums meet");
            }
            "epilogue" if value.is_null() => draft.used(key, &shown, "nothing is done to sums"),
            "epilogue" => {
                let name = shown.to_ascii_uppercase();
                draft.settings.epilogue = Some(Said::stated(name, key.as_str()));
                draft.used(key, &shown, "what is done to finished sums");
            }
            "input_precision" if value.is_null() || value == "ieee" => {
                draft.used(key, &shown, "operands are multiplied as they are");
            }
            "input_precision" if value == "tf32" => draft.unknown(key, &shown),
            "input_precision" => {
                return Err(KernelError::unknown(
                    format!("operands of input precision {shown}"),
                    "how they are split into several products is not said",
                ));
            }
            _ => draft.unknown(key, &shown),
        }
    }
    if scalar {
        draft.settings.instruction_k = Some(Said::new(1, How::Derived, "algorithm"));
    }
    Ok(draft.finished())
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        other => printable(&other.to_string()),
    }
}

fn format(key: &str, value: &Value) -> Result<Format, KernelError> {
    let name = value.as_str().unwrap_or("");
    let name = name.strip_prefix("torch.").unwrap_or(name);
    Format::from_name(name).ok_or_else(|| KernelError::value(key, name, "a number format"))
}

/// None cut, or one; more are not planned.
fn cuts(value: &Value) -> Result<Option<Cuts>, KernelError> {
    let list = value
        .as_array()
        .ok_or_else(|| KernelError::syntax(FORM, "k_cuts is no list"))?;
    let cut = match &list[..] {
        [] => return Ok(None),
        [cut] => cut,
        _ => {
            return Err(KernelError::unknown(
                "sums cut more than once",
                "a GEMMDesc with one cut at most is planned",
            ));
        }
    };
    let text = |key: &str| cut.get(key).and_then(Value::as_str).unwrap_or("");
    let size = |key: &str| {
        cut.get(key)
            .and_then(Value::as_u64)
            .filter(|size| (1..=1 << 32).contains(size))
            .map(|size| size as usize)
    };
    let span = size("span").ok_or_else(|| KernelError::syntax(FORM, "a cut has no span"))?;
    let period = match text("layout") {
        "CONTIGUOUS" => None,
        "STRIDED" => Some(
            size("period")
                .ok_or_else(|| KernelError::syntax(FORM, "a STRIDED cut has no period"))?,
        ),
        other => return Err(KernelError::value("layout", other, "CONTIGUOUS or STRIDED")),
    };
    match text("merge_order") {
        "SEQUENTIAL" => {}
        "PAIRWISE_TREE" => {
            return Err(KernelError::unknown(
                "a PAIRWISE_TREE",
                "which tree it is, its description does not say; the butterfly it is not",
            ));
        }
        other => {
            return Err(KernelError::value(
                "merge_order",
                other,
                "SEQUENTIAL or PAIRWISE_TREE",
            ));
        }
    }
    let kept = |key: &str| !matches!(text(key), "" | "float32" | "torch.float32");
    Ok(Some(Cuts {
        span,
        period,
        count: size("count"),
        kept: match (kept("partial_dtype"), kept("merge_dtype")) {
            (_, true) => Kept::Running,
            (true, false) => Kept::Result,
            (false, false) => Kept::F32,
        },
    }))
}
