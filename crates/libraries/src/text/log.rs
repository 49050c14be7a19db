//! A line of cuBLASLt's log (`CUBLASLT_LOG_LEVEL` 2 to 5).

use super::builder::{number, once};
use super::fields::{accumulation, algorithm, boolean, defaults};
use super::groups::{FORM, pairs};
use crate::emu::Evidence::Published;
use crate::io::printable;
use crate::num::Format;
use crate::{
    Compute, How, IfKnown, KernelError, KernelReading, Scheme, Shape, Sourced, Status, TextKind,
    Transposed,
};

const DIMENSION: &str = "a dimension of the product, column-major";

pub fn looks_like_one(text: &str) -> bool {
    text.contains("[cublasLt]") || text.contains("algo=[") || text.contains("Adesc=[")
}

/// The line of the launch, and how many other lines there are.
fn launch(text: &str) -> Result<(&str, usize), KernelError> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let mut launches = lines().filter(|line| line.contains("algo=["));
    let others = lines().count().saturating_sub(1);
    match (launches.next(), launches.count()) {
        (Some(line), 0) => Ok((line.trim(), others)),
        (Some(_), more) => Err(KernelError::syntax(
            FORM,
            format!("it contains {} products; give the line of one", more + 1),
        )),
        (None, _) if text.contains("AlgoGetHeuristic") => Err(KernelError::syntax(
            FORM,
            "this line requests an algorithm; give the line of the launch ([Trace][cublasLtMatmul], \
            CUBLASLT_LOG_LEVEL=2), which says which one ran",
        )),
        (None, _) => Err(KernelError::syntax(
            FORM,
            "it has no algo=[...]; set CUBLASLT_LOG_LEVEL to 2 or more to log it for every launch",
        )),
    }
}

/// Skips `[time][cublasLt][process][Trace][function]`; the function is the last of them.
fn header(line: &str) -> (Option<&str>, &str) {
    let mut rest = line;
    let mut last = None;
    while let Some(inside) = rest.trim_start().strip_prefix('[') {
        let Some(end) = inside.find(']') else { break };
        last = Some(&inside[..end]);
        rest = &inside[end + 1..];
    }
    (last, rest)
}

#[derive(Default)]
struct Layout {
    format: Option<Format>,
    rows: Option<usize>,
    columns: Option<usize>,
    row_major: bool,
    /// 0 where it is not stated.
    batch: usize,
}

pub fn read(text: &str) -> Result<KernelReading, KernelError> {
    let (line, others) = launch(text)?;
    let (function, rest) = header(line);
    let mut reading = KernelReading::new(TextKind::CublasltLog);
    if others > 0 {
        reading
            .notes
            .push(format!("{others} other lines were ignored"));
    }
    if let Some(function) = function {
        reading.ignored(
            "function",
            function,
            "the layouts state the formats; its letters repeat them",
            Some((Published, "logs")),
        );
    }
    let mut layouts: [Layout; 4] = Default::default();
    let mut transposed = Transposed { a: false, b: false };
    for pair in pairs(rest)? {
        match (pair.key, pair.is_group) {
            ("Adesc" | "Bdesc" | "Cdesc" | "Ddesc", true) => {
                let which = usize::from(pair.key.as_bytes()[0] - b'A');
                layouts[which] = layout(&mut reading, pair.key, pair.value)?;
            }
            ("computeDesc", true) => compute(&mut reading, pair.value, &mut transposed)?,
            ("algo", true) => {
                let mut fields = pairs(pair.value)?;
                // What a custom option means depends on the algorithm.
                fields.sort_by_key(|field| field.key != "algoId");
                for field in fields {
                    if !algorithm(&mut reading, field.key, field.value)? {
                        reading.not_known(field.key, field.value);
                    }
                }
            }
            ("workSpaceSizeInBytes", false) => {
                let bytes = number(pair.key, pair.value, u64::MAX)?;
                once(&mut reading.settings.workspace, bytes, pair.key, pair.value)?;
            }
            ("A" | "B" | "C" | "D" | "workSpace" | "stream" | "bias", false) => {
                reading.ignored(pair.key, pair.value, "an address", None);
            }
            ("beta" | "alpha", false) => {
                reading.used(pair.key, pair.value, factor(pair.key, pair.value));
                if pair.value == "?" {
                    continue;
                }
                let number = pair.value.parse();
                let number =
                    number.map_err(|_| KernelError::value(pair.key, pair.value, "a number"))?;
                if pair.key == "alpha" {
                    reading.alpha = Some(number);
                    continue;
                }
                reading.beta = Some(number);
                if !number.is_zero() {
                    reading.notes.push(format!(
                        "beta is {number} in the line: give C to the check (--c)"
                    ));
                }
            }
            ("outOfPlace", false) => {
                let why = "whether C and D are two arrays: does not affect the result";
                reading.ignored(pair.key, pair.value, why, Some((Published, "cublaslt")));
            }
            (key, _) => reading.not_known(key, pair.value),
        }
    }
    let left_out = "absent from the line: the default";
    defaults(&mut reading, How::Defaulted, left_out);
    product(&mut reading, &layouts, transposed)?;
    workspace(&mut reading);
    reading.finished()
}

fn factor(key: &str, value: &str) -> String {
    let what = match key {
        "beta" => "the factor of C",
        _ => "the factor of the sum",
    };
    match value {
        "?" => format!("{what} is in GPU memory: the line does not contain it"),
        "0" if key == "beta" => "C is not added".into(),
        _ => what.into(),
    }
}

fn layout(reading: &mut KernelReading, name: &str, text: &str) -> Result<Layout, KernelError> {
    let mut layout = Layout::default();
    for pair in pairs(text)? {
        let (key, value) = (format!("{name}.{}", pair.key), pair.value);
        let dimension = || number(&key, value, 1 << 40).map(|size| Some(size as usize));
        let meaning = match pair.key {
            "type" => {
                let format = format(value);
                let wanted = || KernelError::value(&key, value, "a format that can be checked");
                let format = format.ok_or_else(wanted)?;
                layout.format = Some(format);
                format!("elements are {format}")
            }
            "rows" => {
                layout.rows = dimension()?;
                DIMENSION.into()
            }
            "cols" => {
                layout.columns = dimension()?;
                DIMENSION.into()
            }
            "order" if ["ORDER_ROW", "ORDER_COL"].contains(&value) => {
                layout.row_major = value == "ORDER_ROW";
                "which dimension is contiguous".into()
            }
            "batchCount" => {
                layout.batch = number(&key, value, u32::MAX.into())? as usize;
                "matrices in the batch; all are summed in the same order".into()
            }
            "ld" => {
                let why = "row stride in memory: does not affect the result";
                reading.ignored(&key, value, why, None);
                continue;
            }
            "stridedBatchOffset" | "batchStride" => {
                let why = "matrix stride in memory: does not affect the result";
                reading.ignored(&key, value, why, None);
                continue;
            }
            _ => {
                reading.not_known(&key, value);
                continue;
            }
        };
        reading.used(&key, value, meaning);
    }
    Ok(layout)
}

/// `R_16BF`: cudaDataType without its prefix.
fn format(text: &str) -> Option<Format> {
    Some(match text.strip_prefix("CUDA_").unwrap_or(text) {
        "R_16F" => Format::Fp16,
        "R_16BF" => Format::Bf16,
        "R_32F" => Format::Fp32,
        "R_64F" => Format::Fp64,
        "R_8F_E4M3" => Format::E4m3,
        "R_8F_E5M2" => Format::E5m2,
        "R_8I" => Format::Int8,
        "R_8U" => Format::Uint8,
        "R_32I" => Format::Int32,
        "R_4F_E2M1" => Format::E2m1,
        _ => return None,
    })
}

fn compute(
    reading: &mut KernelReading,
    text: &str,
    transposed: &mut Transposed,
) -> Result<(), KernelError> {
    for pair in pairs(text)? {
        let (key, value) = (format!("computeDesc.{}", pair.key), pair.value);
        let settings = &mut reading.settings;
        let meaning = match pair.key {
            "computeType" => {
                let short = value.strip_prefix("CUBLAS_").unwrap_or(value);
                let short = short.strip_suffix("_PEDANTIC").unwrap_or(short);
                let compute = match short {
                    "COMPUTE_32F" => Compute::F32,
                    "COMPUTE_32F_FAST_TF32" => Compute::Tf32,
                    "COMPUTE_16F" => Compute::F16,
                    "COMPUTE_64F" => Compute::F64,
                    "COMPUTE_32I" => Compute::I32,
                    _ => {
                        // Operands that are rounded to another format make another product.
                        let why = "it is not known how such sums are computed";
                        return Err(KernelError::unplanned(&key, value, why));
                    }
                };
                settings.compute = Some(Sourced::stated(compute, format!("computeType={short}")));
                "format of the sums"
            }
            "scaleType" if ["R_32F", "R_64F", "R_32I"].contains(&value) => {
                "format of alpha and beta"
            }
            "transa" | "transb" => {
                let is_transposed = match value {
                    "OP_T" | "OP_C" => true,
                    "OP_N" => false,
                    _ => return Err(KernelError::value(&key, value, "OP_N, OP_T or OP_C")),
                };
                match pair.key {
                    "transa" => transposed.a = is_transposed,
                    _ => transposed.b = is_transposed,
                }
                "which dimension is K"
            }
            "epilogue" => {
                let name = value.strip_prefix("EPILOGUE_").unwrap_or(value);
                let from = printable(&format!("epilogue={value}"));
                settings.epilogue = Some(Sourced::stated(printable(name), from));
                "operations on the finished sum"
            }
            "aScaleMode" | "bScaleMode" | "dScaleMode" => {
                if value != "SCALAR_32F" {
                    let setting = printable(&format!("{key}={value}"));
                    settings.scale_mode = Some(Sourced::stated(printable(value), setting));
                }
                "which elements share a scale"
            }
            "aScalePointer" | "bScalePointer" | "cScalePointer" | "dScalePointer" => {
                "a scale is given, in GPU memory"
            }
            "biasPointer" | "amaxDPointer" | "epilogueAuxPointer" | "epilogueAuxLd" => {
                reading.ignored(&key, value, "an address", None);
                continue;
            }
            "smCountTarget" => {
                let why = "the library's choice may depend on it; this line records the choice";
                reading.ignored(&key, value, why, Some((Published, "cublaslt")));
                continue;
            }
            other if names_fast_accumulation(other) => {
                let fast = boolean(&key, value)?;
                once(&mut settings.fast_accumulation, fast, &key, value)?;
                let meaning = format!("{}; read by its name", accumulation(fast));
                reading.used(&key, value, meaning);
                continue;
            }
            _ => {
                reading.not_known(&key, value);
                continue;
            }
        };
        reading.used(&key, value, meaning);
    }
    Ok(())
}

/// `FAST_ACCUM` in whatever spelling.
fn names_fast_accumulation(key: &str) -> bool {
    let plain = key.to_ascii_lowercase().replace('_', "");
    plain.contains("fastaccum")
}

/// The library works column-major: rows of its D are columns of a row-major one, its A is the other side's
/// B. The order over k is the same.
fn product(
    reading: &mut KernelReading,
    [a, b, c, d]: &[Layout; 4],
    transposed: Transposed,
) -> Result<(), KernelError> {
    let depth = |layout: &Layout, along_rows: bool| {
        if along_rows {
            layout.rows
        } else {
            layout.columns
        }
    };
    let of_a = depth(a, transposed.a);
    let of_b = depth(b, !transposed.b);
    if let (Some(of_a), Some(of_b)) = (of_a, of_b)
        && of_a != of_b
    {
        return Err(KernelError::syntax(
            FORM,
            format!("A has {of_a} k, but B has {of_b}"),
        ));
    }
    for (name, have, what, of_d) in [
        ("A", depth(a, !transposed.a), "rows", d.rows),
        ("B", depth(b, transposed.b), "columns", d.columns),
        ("C", c.rows, "rows", d.rows),
        ("C", c.columns, "columns", d.columns),
    ] {
        if let (Some(have), Some(of_d)) = (have, of_d)
            && have != of_d
        {
            let why = format!("{name} is for {have} {what} of D, but D has {of_d}");
            return Err(KernelError::syntax(FORM, why));
        }
    }
    if let (Some(rows), Some(columns), Some(k)) = (d.rows, d.columns, of_a.or(of_b)) {
        let (m, n) = if d.row_major {
            (rows, columns)
        } else {
            (columns, rows)
        };
        reading.product = Some(Shape { m, n, k });
    }
    reading.batch = (d.batch > 1).then_some(d.batch);
    let settings = &mut reading.settings;
    let tf32 = settings.compute.value() == Some(Compute::Tf32);
    let operand = |layout: &Layout| match layout.format {
        Some(Format::Fp32) if tf32 => Some(Format::Tf32),
        format => format,
    };
    // Of the row-major product, whose A is the library's B, unless the library's D is row-major itself.
    if let (Some(a), Some(b)) = (operand(a), operand(b)) {
        settings.operands = Some(if d.row_major {
            Sourced::stated([a, b], "Adesc.type, Bdesc.type")
        } else {
            Sourced::stated([b, a], "Bdesc.type, Adesc.type")
        });
    }
    settings.addend = c.format.map(|format| Sourced::stated(format, "Cdesc.type"));
    settings.result = d.format.map(|format| Sourced::stated(format, "Ddesc.type"));
    let [a, b] = [transposed.a != a.row_major, transposed.b != b.row_major];
    // A row-major D = AB is a column-major D' = B'A'.
    let [a, b] = if d.row_major { [!b, !a] } else { [a, b] };
    let transposed = Transposed { a, b };
    settings.transposed = Some(Sourced::stated(transposed, "transa, transb"));
    Ok(())
}

/// Whether the workspace has the size that slices of this product need.
fn workspace(reading: &mut KernelReading) {
    let Some(setting) = &reading.settings.workspace else {
        return;
    };
    let (bytes, text) = (setting.value, setting.value.to_string());
    let splits = reading.settings.split_k.value().unwrap_or(1) as u64;
    let scheme = reading.settings.scheme.value();
    let result = reading.settings.result.value();
    let width = result.map(|format| format.bytes() as u64);
    let elements = reading
        .product
        .and_then(|shape| (shape.m as u64).checked_mul(shape.n as u64))
        .and_then(|elements| elements.checked_mul(splits));
    let of = |bytes_each: u64| elements.and_then(|elements| elements.checked_mul(bytes_each));
    let meaning = match scheme {
        _ if splits == 1 => {
            "workspace of a kernel without slices: does not affect the result".into()
        }
        Some(Scheme::ComputeType) if Some(bytes) == of(4) => {
            "M * N * slices * 4: sums of slices in f32, as the reduction scheme says".into()
        }
        Some(Scheme::OutputType) if width.and_then(of) == Some(bytes) => {
            "M * N * slices * the size of an element of D, as the reduction scheme says".into()
        }
        Some(Scheme::ComputeType | Scheme::OutputType) => {
            reading.notes.push(format!(
                "the workspace has {bytes} bytes, which does not match {splits} slices of this product under its \
                reduction scheme"
            ));
            "does not match the slices of this product".to_owned()
        }
        _ => "counters that keep slices in order".into(),
    };
    reading.token("workSpaceSizeInBytes", &text, Status::Used, meaning);
}
