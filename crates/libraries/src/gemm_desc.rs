//! A plan as a GEMMDesc of PyTorch, where a GEMMDesc can express it: what is written is read again, and must be the
//! same sum.

use serde_json::{Value, json};

use super::family::Library;
use super::{
    Algorithm, Cut, Dealt, IfKnown, Join, Kept, KernelError, MergeOrder, Open, Options, Plan,
    Residue, Restart, Start, read,
};
use crate::num::Format;
use crate::words::Word as _;

impl Plan {
    /// As JSON, with names of enums and dtypes as text.
    ///
    /// # Errors
    /// If a GEMMDesc has no words for it, or the plan does not say an instruction or a format.
    pub fn gemm_desc(&self) -> Result<Value, KernelError> {
        let fields = self.fields()?;
        let text = fields.to_string();
        let again = read(&text)?.plan(&self.shape, &Options::default())?;
        if again.is_equivalent_to(self)? {
            Ok(fields)
        } else {
            Err(no(
                "it cannot express the cuts of K, or where the sums start",
            ))
        }
    }

    fn fields(&self) -> Result<Value, KernelError> {
        let settings = &self.settings;
        if let Some(lost) = self.lost {
            return Err(no(format!("it omits the last {} k", lost.count)));
        }
        if self.order.is_some() {
            return Err(no("elements of D differ in their order"));
        }
        if settings.scale_mode.is_some() {
            return Err(no("its operands have block scales"));
        }
        let missing = |what, ask| Open::new(what, ask, "a GEMMDesc must name it");
        let [a, b] = settings
            .operands
            .value()
            .ok_or_else(|| missing("the operands' format", "dtype"))?;
        let result = settings.result.value();
        let result = result.ok_or_else(|| missing("D's format", "d-dtype"))?;
        if a != b {
            return Err(no("A and B have different formats"));
        }
        let (operand, precision) = match a {
            Format::Tf32 => (Format::Fp32, "TF32"),
            _ => (a, "IEEE"),
        };
        if self.family().library == Library::HipblasLt {
            return Err(no("it has no name for AMD's instructions"));
        }
        let instruction = self.model().instruction;
        let algorithm = instruction.ok_or_else(|| missing("the GPU", "arch"))?;
        let known = Algorithm::ALL
            .iter()
            .find(|(own, ..)| own.instruction() == algorithm);
        let Some((algorithm, name, _)) = known else {
            return Err(no(format!(
                "GEMMDesc has no name for the instruction {algorithm}"
            )));
        };
        if operand == Format::Fp64 {
            return Err(no("its sums are FP64"));
        }
        let sums = if operand.is_integer() {
            "int32"
        } else {
            "float32"
        };
        let lane = self.lanes().next();
        let instruction_k = lane.map_or(1, |lane| lane.instruction_k);
        let restart = lane.and_then(|lane| lane.restart);
        let mut cuts = self.cuts(sums, result)?;
        let mut fast = true;
        match restart {
            None => {}
            Some(Restart {
                every,
                from: Start::Zero,
            }) if every == instruction_k => fast = false,
            Some(Restart {
                every,
                from: Start::First,
            }) => {
                cuts.push(cut(every, None, [sums; 2], false));
            }
            Some(Restart {
                from: Start::Zero, ..
            }) => {
                return Err(no(
                    "its partial sums are promoted to an f32 sum that starts from +0",
                ));
            }
        }
        let residue_first = self.tile.filter(|tile| tile.residue == Residue::First);
        let matrix = algorithm.is_matrix();
        Ok(json!({
            "operand_dtype": dtype(operand)?,
            "accumulate_dtype": sums,
            "output_dtype": dtype(result)?,
            "algorithm": name,
            "input_precision": precision,
            "instruction_k": matrix.then_some(instruction_k),
            "use_fast_accum": matrix.then_some(fast),
            "k_loop_step": residue_first.filter(|_| matrix).map(|tile| tile.k),
            "k_cuts": cuts,
            "epilogue": self.epilogue_order()?,
        }))
    }

    fn epilogue_order(&self) -> Result<&str, KernelError> {
        let epilogue = self.settings.epilogue.as_ref();
        match epilogue.map(|setting| setting.value.as_str()) {
            None | Some("DEFAULT" | "NONE") => Ok("NONE"),
            Some("BIAS") => Ok("IN_ACCUMULATOR"),
            Some(own @ ("IN_ACCUMULATOR" | "AFTER_ROUNDING")) => Ok(own),
            Some(other) => Err(no(format!("its epilogue is {other}"))),
        }
    }

    fn cuts(&self, sums: &str, result: Format) -> Result<Vec<Value>, KernelError> {
        if let Some(own) = &self.settings.cuts {
            let own = own.value.iter().map(|cut| {
                let formats = [dtype(cut.partial)?, dtype(cut.merge)?];
                Ok(self::cut(cut.span, cut.dealt, formats, cut.tree))
            });
            return own.collect();
        }
        let mut cuts = Vec::new();
        let own = dtype(result)?;
        let formats = match self.merge.kept {
            Kept::F32 => [sums; 2],
            Kept::Result => [own, sums],
            Kept::As(format) => [dtype(format)?, sums],
            Kept::Running => [sums, own],
        };
        let tree = match self.merge.order {
            MergeOrder::Alone | MergeOrder::Ascending => false,
            MergeOrder::Adjacent => true,
            _ => return Err(no("its slices are added in an order that GEMMDesc lacks")),
        };
        let dealt = |count| Dealt {
            count,
            period: None,
            divisor: 1,
        };
        match (self.cut, self.slices.len()) {
            (_, 1) if self.merge.kept == Kept::F32 => {}
            (Cut::Dealt, count) => {
                let grain = self.grain.unwrap_or(1);
                cuts.push(cut(grain, Some(dealt(count)), formats, tree));
            }
            _ => cuts.push(cut(self.chunk.unwrap_or(self.shape.k), None, formats, tree)),
        }
        for shared in &self.sharing {
            let of_slice = self.slices.first().map_or(0, |slice| {
                slice.lanes.iter().map(super::Traversal::len).sum()
            });
            let lanes = shared.lanes;
            match (shared.dealt, shared.join) {
                (Some(grain), Join::Left(Start::First)) => {
                    cuts.push(cut(grain, Some(dealt(lanes)), [sums; 2], false));
                }
                // A round at a time, each of two parts.
                (Some(grain), Join::Butterfly) => {
                    let rounds = lanes.ilog2() as usize;
                    let round = cut(grain, Some(dealt(2)), [sums; 2], false);
                    cuts.extend(std::iter::repeat_n(round, rounds));
                }
                (None, Join::Left(Start::First)) => {
                    cuts.push(cut(of_slice.div_ceil(lanes).max(1), None, [sums; 2], false));
                }
                _ => return Err(no("its lanes are added in an order that GEMMDesc lacks")),
            }
        }
        Ok(cuts)
    }
}

fn cut(span: usize, dealt: Option<Dealt>, [partial, merge]: [&str; 2], tree: bool) -> Value {
    json!({
        "span": span,
        "partial_dtype": partial,
        "merge_dtype": merge,
        "layout": if dealt.is_some() { "STRIDED" } else { "CONTIGUOUS" },
        "merge": if tree { "PAIRWISE_TREE" } else { "SEQUENTIAL" },
        "count": dealt.map(|dealt| dealt.count),
        "period": dealt.and_then(|dealt| dealt.period),
        "divisor": dealt.map_or(1, |dealt| dealt.divisor),
    })
}

/// The name that torch has for a format.
fn dtype(format: Format) -> Result<&'static str, KernelError> {
    Ok(match format {
        Format::Fp16 => "float16",
        Format::Bf16 => "bfloat16",
        Format::Fp32 => "float32",
        Format::Fp64 => "float64",
        Format::E4m3 => "float8_e4m3fn",
        Format::E5m2 => "float8_e5m2",
        Format::Int8 => "int8",
        Format::Uint8 => "uint8",
        Format::Int32 => "int32",
        other => return Err(no(format!("GEMMDesc has no dtype for {other}"))),
    })
}

fn no(why: impl Into<String>) -> KernelError {
    KernelError::NoDescription { why: why.into() }
}
