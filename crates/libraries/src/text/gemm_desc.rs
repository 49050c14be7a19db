//! PyTorch's `GEMMDesc` as JSON: `dataclasses.asdict`, with names of enums and dtypes as text. Its constructor's
//! rules hold, and a key or value that is not understood is an error.

use serde_json::{Map, Value};

use crate::family::gemm_desc;
use crate::io::printable;
use crate::num::Format;
use crate::words::Word as _;
use crate::{Algorithm, Dealt, How, KCut, KernelError, KernelReading, Sourced, Status, TextKind};

pub const FORM: &str = "GEMMDesc";

/// A field, what it is, and its value where it is left out; none if it must be there, or has no meaning for the
/// algorithm.
const FIELDS: [(&str, &str, Option<&str>); 10] = [
    ("operand_dtype", "format of the operands", None),
    ("accumulate_dtype", "format of the sums", None),
    ("output_dtype", "format of D", None),
    ("algorithm", "which instruction multiplies", None),
    (
        "input_precision",
        "format that operands are rounded to before they are multiplied",
        Some("IEEE"),
    ),
    ("instruction_k", "K of an instruction", None),
    (
        "use_fast_accum",
        "true: an instruction adds to the sum; false: it adds to +0, and its result is added to the sum in f32",
        None,
    ),
    (
        "k_loop_step",
        "K of a main-loop iteration, whose partial iteration comes first; without it the short instruction comes last",
        Some("None"),
    ),
    (
        "k_cuts",
        "how K is cut, outermost first, and how the sums are added",
        Some("()"),
    ),
    (
        "epilogue",
        "whether D is rounded before or after a bias and C",
        Some("NONE"),
    ),
];
/// A field of an older version, whose only supported value is "none".
const SCALE_APPLY: &str = "scale_apply";
const CUT_KEYS: [&str; 8] = [
    "span",
    "partial_dtype",
    "merge_dtype",
    "layout",
    "merge",
    "count",
    "period",
    "divisor",
];
/// The older name of `merge`.
const MERGE_ORDER: &str = "merge_order";

const OPERANDS: [Format; 8] = [
    Format::Fp16,
    Format::Bf16,
    Format::Fp32,
    Format::Fp64,
    Format::E4m3,
    Format::E5m2,
    Format::Int8,
    Format::Uint8,
];
const SUMS: [Format; 4] = [Format::Fp16, Format::Fp32, Format::Fp64, Format::Int32];
const OUTPUTS: [Format; 8] = [
    Format::Fp16,
    Format::Bf16,
    Format::Fp32,
    Format::Fp64,
    Format::E4m3,
    Format::E5m2,
    Format::Int8,
    Format::Int32,
];
const MERGES: [Format; 5] = [
    Format::Fp16,
    Format::Bf16,
    Format::Fp32,
    Format::Fp64,
    Format::Int32,
];

/// Most cuts: no kernel folds its lanes in so many rounds.
const MAX_CUTS: usize = 32;

pub fn is_one(object: &Map<String, Value>) -> bool {
    ["accumulate_dtype", "k_cuts", "k_loop_step"]
        .iter()
        .any(|key| object.contains_key(*key))
}

#[derive(Clone, Copy, PartialEq)]
enum Precision {
    Ieee,
    Tf32,
    Tf32x3,
}

pub fn read(object: &Map<String, Value>) -> Result<KernelReading, KernelError> {
    let all = Keys { place: "", object };
    all.only(&FIELDS.map(|(key, ..)| key), SCALE_APPLY)?;
    all.choice(SCALE_APPLY, "ScaleApply", "none", &[("NONE", ())])?;
    let operand = all.dtype("operand_dtype", &OPERANDS)?;
    let sums = all.dtype("accumulate_dtype", &SUMS)?;
    let output = all.dtype("output_dtype", &OUTPUTS)?;
    if [sums, output].map(Format::is_integer) != [operand.is_integer(); 2] {
        return Err(all.rule(format!(
            "operand_dtype {operand}, accumulate_dtype {sums} and output_dtype {output} must all be floating point or all be integer"
        )));
    }
    let algorithm = algorithm(&all)?;
    let instruction_k = all.size("instruction_k")?;
    let k_loop_step = all.size("k_loop_step")?;
    let fast = all.boolean("use_fast_accum")?;
    let name = algorithm.word();
    for (key, setting) in [
        ("instruction_k", instruction_k.is_some()),
        ("use_fast_accum", fast.is_some()),
    ] {
        if setting != algorithm.is_matrix() {
            return Err(all.rule(if setting {
                format!("{key} must be absent or null for {name}, which rounds once per k")
            } else {
                format!("{name} is a matrix instruction, which needs {key}")
            }));
        }
    }
    if k_loop_step.is_some() && !algorithm.is_matrix() {
        let why =
            format!("k_loop_step must be absent or null for {name}, whose instructions take one k");
        return Err(all.rule(why));
    }
    let precisions = [
        ("IEEE", Precision::Ieee),
        ("TF32", Precision::Tf32),
        ("TF32X3", Precision::Tf32x3),
    ];
    let wanted = "IEEE, TF32 or TF32X3";
    let precision = all.choice("input_precision", "InputPrecision", wanted, &precisions)?;
    let precision = precision.unwrap_or(Precision::Ieee);
    if precision != Precision::Ieee && (operand != Format::Fp32 || !algorithm.is_matrix()) {
        return Err(all.rule(format!(
            "input_precision {} needs operand_dtype float32 and a matrix instruction, not {operand} and {name}",
            all.shown("input_precision")
        )));
    }
    let epilogues = [
        ("NONE", "NONE"),
        ("IN_ACCUMULATOR", "IN_ACCUMULATOR"),
        ("AFTER_ROUNDING", "AFTER_ROUNDING"),
    ];
    let wanted = "NONE, IN_ACCUMULATOR or AFTER_ROUNDING";
    let epilogue = all.choice("epilogue", "EpilogueOrder", wanted, &epilogues)?;
    let cuts = cuts(&all, operand)?;
    planned(&all, sums, output, precision)?;

    let mut reading = KernelReading::new(TextKind::GemmDesc);
    reading.set_family(&gemm_desc::FAMILY, How::Derived, "its keys")?;
    let settings = &mut reading.settings;
    let operand = match precision {
        Precision::Tf32 => Format::Tf32,
        _ => operand,
    };
    settings.operands = Some(Sourced::stated([operand; 2], "operand_dtype"));
    settings.result = Some(Sourced::stated(output, "output_dtype"));
    settings.algorithm = Some(Sourced::stated(algorithm, "algorithm"));
    settings.instruction_k = Some(match instruction_k {
        Some(k) => Sourced::stated(k, "instruction_k"),
        None => Sourced::new(1, How::Derived, "algorithm"),
    });
    settings.tile_k = k_loop_step.map(|k| Sourced::stated(k, "k_loop_step"));
    settings.fast_accumulation = fast.map(|fast| Sourced::stated(fast, "use_fast_accum"));
    settings.cuts = (!cuts.is_empty()).then(|| Sourced::stated(cuts, "k_cuts"));
    settings.epilogue = Some(match epilogue {
        Some(epilogue) => Sourced::stated(epilogue.to_owned(), "epilogue"),
        None => Sourced::new("NONE".to_owned(), How::Defaulted, "left out"),
    });
    let older = (SCALE_APPLY, "scales: none", None);
    for (key, meaning, default) in FIELDS.into_iter().chain([older]) {
        match (all.get(key), default) {
            (Some(_), _) => reading.used(key, &all.shown(key), meaning),
            (None, Some(value)) => {
                let meaning = format!("{meaning}; left out");
                reading.token(key, value, Status::Defaulted, meaning);
            }
            (None, None) => {}
        }
    }
    reading.finished()
}

fn algorithm(all: &Keys) -> Result<Algorithm, KernelError> {
    const TWICE: &str = "SCALAR_MULTIPLY_THEN_ADD";
    let names = Algorithm::ALL
        .iter()
        .map(|(own, name, _)| (*name, Some(*own)));
    let names: Vec<_> = names.chain([(TWICE, None)]).collect();
    let wanted =
        "MMA_SYNC, WGMMA, TCGEN05_MMA, SCALAR_FUSED_MULTIPLY_ADD or SCALAR_MULTIPLY_THEN_ADD";
    match all.choice("algorithm", "GEMMAlgorithm", wanted, &names)? {
        None => Err(all.missing("algorithm")),
        Some(Some(algorithm)) => Ok(algorithm),
        Some(None) => Err(KernelError::unplanned(
            "algorithm",
            TWICE,
            "no model rounds the product and then the sum",
        )),
    }
}

/// Refuses valid descriptions that schedules cannot express.
fn planned(
    all: &Keys,
    sums: Format,
    output: Format,
    precision: Precision,
) -> Result<(), KernelError> {
    let no = |key: &str, why: &str| Err(KernelError::unplanned(key, all.shown(key), why));
    if ![Format::Fp32, Format::Int32].contains(&sums) {
        return no("accumulate_dtype", "schedules add in float32, or in int32");
    }
    if output == Format::Int8 {
        return no(
            "output_dtype",
            "a GEMMDesc does not say whether an int32 sum saturates or wraps when it becomes int8",
        );
    }
    if precision == Precision::Tf32x3 {
        return no(
            "input_precision",
            "a GEMMDesc defines neither how operands are split nor the order of their products; the schedules \
             cutlass-3xtf32, cutlass-3xtf32-staged and triton-tf32x3 do",
        );
    }
    Ok(())
}

fn cuts(all: &Keys, operand: Format) -> Result<Vec<KCut>, KernelError> {
    let list = match all.get("k_cuts") {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MAX_CUTS => list,
        Some(Value::Array(list)) => {
            let why = format!("k_cuts has {} cuts; limit: {MAX_CUTS}", list.len());
            return Err(all.rule(why));
        }
        Some(_) => return Err(all.rule("k_cuts must be a list".into())),
    };
    let cut = |(level, cut): (usize, &Value)| {
        let place = format!("k_cuts[{level}].");
        let Value::Object(object) = cut else {
            return Err(all.rule(format!("k_cuts[{level}] must be an object")));
        };
        let keys = Keys {
            place: &place,
            object,
        };
        self::cut(&keys, operand)
    };
    list.iter().enumerate().map(cut).collect()
}

fn cut(keys: &Keys, operand: Format) -> Result<KCut, KernelError> {
    keys.only(&CUT_KEYS, MERGE_ORDER)?;
    let span = keys.size("span")?.ok_or_else(|| keys.missing("span"))?;
    let [partial, merge] = ["partial_dtype", "merge_dtype"].map(|key| {
        let format = keys.dtype(key, &MERGES)?;
        if format.is_integer() == operand.is_integer() {
            Ok(format)
        } else {
            Err(keys.rule(format!(
                "{}{key} is {format}, which does not fit operand_dtype {operand}",
                keys.place
            )))
        }
    });
    let layouts = [("CONTIGUOUS", false), ("STRIDED", true)];
    let strided = keys.choice("layout", "KCutLayout", "CONTIGUOUS or STRIDED", &layouts)?;
    let orders = [("SEQUENTIAL", false), ("PAIRWISE_TREE", true)];
    let order = |key| keys.choice(key, "MergeOrder", "SEQUENTIAL or PAIRWISE_TREE", &orders);
    let (tree, old) = (order("merge")?, order(MERGE_ORDER)?);
    if let (Some(_), Some(_)) = (tree, old) {
        return Err(KernelError::Twice {
            key: format!("{}merge", keys.place),
            first: keys.shown("merge"),
            second: keys.shown(MERGE_ORDER),
        });
    }
    let [count, period, divisor] = ["count", "period", "divisor"].map(|key| keys.size(key));
    let (count, period, divisor) = (count?, period?, divisor?.unwrap_or(1));
    let place = keys.place;
    let dealt = match (strided.unwrap_or(false), count) {
        (false, None) if period.is_none() && divisor == 1 => None,
        (false, _) => {
            return Err(keys.rule(format!(
                "{place}count, period and divisor apply only to STRIDED; span determines the number of CONTIGUOUS \
                parts"
            )));
        }
        (true, Some(count @ 2..)) if period.is_some() || divisor == 1 => Some(Dealt {
            count,
            period,
            divisor,
        }),
        (true, Some(2..)) => {
            let why = format!("{place}divisor is {divisor}, which needs a period");
            return Err(keys.rule(why));
        }
        (true, _) => return Err(keys.rule(format!("{place}count must be at least 2 for STRIDED"))),
    };
    Ok(KCut {
        span,
        dealt,
        tree: tree.or(old).unwrap_or(false),
        partial: partial?,
        merge: merge?,
    })
}

/// The keys of an object, and where it is.
struct Keys<'a> {
    /// `k_cuts[0].`, or nothing.
    place: &'a str,
    object: &'a Map<String, Value>,
}

impl Keys<'_> {
    /// Refuses every other key.
    fn only(&self, known: &[&str], old: &str) -> Result<(), KernelError> {
        let other = |key: &&String| key.as_str() != old && !known.contains(&key.as_str());
        match self.object.keys().find(other) {
            None => Ok(()),
            Some(key) => Err(self.rule(format!(
                "{}{} is not a known field and may affect the result; known fields: {}",
                self.place,
                printable(key),
                known.join(", ")
            ))),
        }
    }

    /// Null is as if it were left out.
    fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn shown(&self, key: &str) -> String {
        match self.get(key) {
            None => String::new(),
            Some(Value::String(text)) => printable(text),
            Some(other) => printable(&other.to_string()),
        }
    }

    fn rule(&self, why: String) -> KernelError {
        KernelError::syntax(FORM, why)
    }

    fn missing(&self, key: &str) -> KernelError {
        self.rule(format!("{}{key} is missing", self.place))
    }

    fn wrong(&self, key: &str, wanted: &'static str) -> KernelError {
        KernelError::value(&format!("{}{key}", self.place), &self.shown(key), wanted)
    }

    /// `torch.float32`, `float32`, `fp32`.
    fn dtype(&self, key: &str, among: &[Format]) -> Result<Format, KernelError> {
        let value = self.get(key).ok_or_else(|| self.missing(key))?;
        let wanted = "a dtype that GEMMDesc allows there, such as float32";
        let name = value.as_str().ok_or_else(|| self.wrong(key, wanted))?;
        let name = name.strip_prefix("torch.").unwrap_or(name);
        let wide = among.contains(&Format::Int32) && !among.contains(&Format::Int8);
        if wide && matches!(name, "int64" | "long") {
            let key = format!("{}{key}", self.place);
            return Err(KernelError::unplanned(
                &key,
                name,
                "no model adds in 64-bit formats",
            ));
        }
        let format = Format::from_name(name).filter(|format| among.contains(format));
        format.ok_or_else(|| self.wrong(key, wanted))
    }

    fn size(&self, key: &str) -> Result<Option<usize>, KernelError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let size = value.as_u64().filter(|size| (1..=1 << 40).contains(size));
        match size {
            Some(size) => Ok(Some(size as usize)),
            None => Err(self.wrong(key, "a whole number of at least 1")),
        }
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>, KernelError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(self.wrong(key, "true, false or null")),
        }
    }

    /// The name of a member of an enum, in either case, alone or after the enum's.
    fn choice<T: Copy>(
        &self,
        key: &str,
        class: &str,
        wanted: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, KernelError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let name = value.as_str().unwrap_or("");
        let own = name
            .strip_prefix(class)
            .and_then(|rest| rest.strip_prefix('.'));
        let name = own.unwrap_or(name);
        let known = choices
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name));
        match known {
            Some((_, choice)) => Ok(Some(*choice)),
            None => Err(self.wrong(key, wanted)),
        }
    }
}
