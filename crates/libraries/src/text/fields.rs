//! The fields of an algorithm's configuration, however they are spelt.

use super::builder::{number, once};
use crate::cublaslt::{cluster_name, inner_shape_name, parse_tile};
use crate::emu::Evidence;
use crate::family::Family;
use crate::num::Format;
use crate::{
    Capability, How, IfKnown, KernelError, KernelReading, Partition, Scheme, Sourced, Stages,
    Status, Transposed,
};

/// Most slices that a configuration may have.
const MAX_SPLITS: u64 = 1 << 20;

/// A key in the spelling of logs, of the API's attributes or of people, as one word.
fn canonical(key: &str) -> String {
    let lower = key.trim().to_ascii_lowercase();
    let short = lower
        .strip_prefix("cublaslt_")
        .unwrap_or(&lower)
        .trim_start_matches("algo_config_")
        .trim_start_matches("algo_cap_");
    short.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The evidence for fields that do not affect D.
const NO_BIT: Option<(Evidence, &str)> = Some((Evidence::Compared, "bitequiv"));

/// Reads one field; false if an algorithm has no such key.
pub fn algorithm(reading: &mut KernelReading, key: &str, value: &str) -> Result<bool, KernelError> {
    let settings = &mut reading.settings;
    let wrong = |wanted| move || KernelError::value(key, value, wanted);
    let ignored = |reading: &mut KernelReading, why: String| {
        reading.ignored(key, value, why, NO_BIT);
        Ok(true)
    };
    let meaning = match canonical(key).as_str() {
        "id" | "algo" | "algoid" => {
            let id = number(key, value, u32::MAX.into())? as u32;
            once(&mut settings.algo, id, key, value)?;
            let family = Family::of_algo(id);
            reading.set_family(family, How::Derived, &format!("{key}={value}"))?;
            format!("family of kernels: {}", family.title)
        }
        "tile" | "tileid" => {
            let tile = parse_tile(value);
            let tile = tile.ok_or_else(wrong("a tile such as 128x64, or its id"))?;
            let why = "the size of a tile of D does not affect the result";
            let Some([rows, columns]) = tile else {
                return ignored(reading, why.into());
            };
            once(&mut settings.tile, [rows, columns], key, value)?;
            let why = format!("{rows} x {columns} of D, column-major: {why}");
            return ignored(reading, why);
        }
        "stages" | "stagesid" => {
            let stages = Stages::parse(value);
            let wanted = "stages such as 64x3 or 128xAUTO, or their id";
            let stages = stages.ok_or_else(wrong(wanted))?;
            once(&mut settings.stages, stages.id, key, value)?;
            let (name, id) = (stages.name(), stages.id);
            match stages.k {
                Some(k) => format!("tiles of {k} k (stages {name}, id {id})"),
                None => "left undefined by the library (id 0)".into(),
            }
        }
        "splitk" | "splitknum" | "numsplitsk" | "splits" => {
            let splits = number(key, value, MAX_SPLITS)? as usize;
            if splits == 0 {
                return Err(wrong("at least 1")());
            }
            once(&mut settings.split_k, splits, key, value)?;
            match splits {
                1 => "K is not cut".into(),
                _ => format!("K is cut into at most {splits} slices"),
            }
        }
        "reduction" | "reductionscheme" => {
            let wanted = "NONE, INPLACE, COMPUTE_TYPE or OUTPUT_TYPE, or 0, 1, 2, 4";
            let scheme = Scheme::parse(value).ok_or_else(wrong(wanted))?;
            once(&mut settings.scheme, scheme, key, value)?;
            let meaning = match scheme {
                Scheme::None => "no reduction; slices, if any, are added in D",
                Scheme::Inplace => "slices are added in D, in D's format, one after another",
                Scheme::ComputeType => "slices are added in a workspace, in f32",
                Scheme::OutputType => "slices are added in a workspace, in D's format",
            };
            meaning.into()
        }
        "custom" | "customoption" => {
            let custom = number(key, value, u32::MAX.into())? as u32;
            once(&mut settings.custom, custom, key, value)?;
            let family = settings.algo.value().map(Family::of_algo);
            if family.is_some_and(|family| !family.custom_decides) {
                let why = "kernel variant: does not affect the result in this family";
                return ignored(reading, why.into());
            }
            "kernel variant: the order of sums depends on it in some families".into()
        }
        "swizzle" | "swizzling" | "ctaswizzling" => {
            number(key, value, 64)?;
            let why = "order in which blocks visit tiles of D: does not affect the result";
            return ignored(reading, why.into());
        }
        "inner" | "innershape" | "innershapeid" => {
            let wanted = "an inner shape such as MMA16816, or its id";
            let name = inner_shape_name(value).ok_or_else(wrong(wanted))?;
            let k = match name {
                "MMA884" | "MMA1684" => Some(4),
                "MMA1688" => Some(8),
                "MMA16816" => Some(16),
                _ => None,
            };
            if let Some(k) = k {
                once(&mut settings.instruction_k, k, key, value)?;
            }
            format!("shape of the instruction: {name}")
        }
        "cluster" | "clustershape" | "clustershapeid" => {
            let name = cluster_name(value);
            let name = name.ok_or_else(wrong("a cluster such as 2x1x1, or its id"))?;
            let why = format!("blocks of a cluster ({name}): does not affect the result");
            return ignored(reading, why);
        }
        "schedulingmode" => {
            let why = "order in which blocks are launched (read by its name)";
            reading.ignored(key, value, why, None);
            return Ok(true);
        }
        _ => return Ok(false),
    };
    reading.used(key, value, meaning);
    Ok(true)
}

/// Fields that a configuration of cublasLt lacks, but a plan needs: formats, GPU, and so on.
pub fn beside(reading: &mut KernelReading, key: &str, value: &str) -> Result<bool, KernelError> {
    let settings = &mut reading.settings;
    let wrong = |wanted| move || KernelError::value(key, value, wanted);
    let meaning = match canonical(key).as_str() {
        "family" => {
            let family = Family::find(value);
            let family = family.ok_or_else(wrong("one of 'tcverify kernels list'"))?;
            reading.set_family(family, How::Stated, &format!("{key}={value}"))?;
            format!("family of kernels: {}", family.title)
        }
        "tilek" => {
            let k = size(key, value)?;
            once(&mut settings.tile_k, k, key, value)?;
            format!("tiles of {k} k")
        }
        "instructionk" => {
            let k = size(key, value)?;
            once(&mut settings.instruction_k, k, key, value)?;
            format!("instructions of {k} k")
        }
        "partition" => {
            let partition = Partition::parse(value);
            let wanted = "universal, serial-tiles or parallel-tiles";
            let partition = partition.ok_or_else(wrong(wanted))?;
            once(&mut settings.partition, partition, key, value)?;
            "how CUTLASS cuts K into slices".into()
        }
        "sliced" => {
            let warps = number(key, value, 32)?.max(1) as usize;
            once(&mut settings.sliced, warps, key, value)?;
            format!("{warps} warps share each tile of K")
        }
        "fastaccum" | "fastaccumulation" | "usefastaccum" => {
            let fast = boolean(key, value)?;
            once(&mut settings.fast_accumulation, fast, key, value)?;
            accumulation(fast).into()
        }
        "dtype" | "operands" | "atype" => {
            let format = format(key, value)?;
            once(&mut settings.operands, [format; 2], key, value)?;
            format!("operands are {format}")
        }
        "result" | "dtyped" | "dtype_d" | "dtypeout" => {
            let format = format(key, value)?;
            once(&mut settings.result, format, key, value)?;
            format!("D is {format}")
        }
        "arch" | "sm" | "capability" => {
            let capability = Capability::parse(value);
            let wanted = "a compute capability such as sm_90";
            let capability = capability.ok_or_else(wrong(wanted))?;
            once(&mut settings.capability, capability, key, value)?;
            format!("the GPU is {capability}")
        }
        "layout" | "trans" => {
            let transposed = Transposed::parse(value).filter(|_| value.len() == 2);
            let transposed = transposed.ok_or_else(wrong("two letters such as tn"))?;
            once(&mut settings.transposed, transposed, key, value)?;
            "which operands are transposed, column-major".into()
        }
        _ => return Ok(false),
    };
    reading.used(key, value, meaning);
    Ok(true)
}

pub fn accumulation(fast: bool) -> &'static str {
    if fast {
        "fast accumulation: FP8 sums stay in the tensor core"
    } else {
        "slow accumulation: FP8 sums are promoted to f32 at intervals, where the GPU needs it"
    }
}

fn size(key: &str, value: &str) -> Result<usize, KernelError> {
    let size = number(key, value, 1 << 16)? as usize;
    match size {
        0 => Err(KernelError::value(key, value, "at least 1")),
        _ => Ok(size),
    }
}

pub fn boolean(key: &str, value: &str) -> Result<bool, KernelError> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "fast" => Ok(true),
        "0" | "false" | "off" | "no" | "slow" => Ok(false),
        _ => Err(KernelError::value(key, value, "0 or 1")),
    }
}

fn format(key: &str, value: &str) -> Result<Format, KernelError> {
    Format::from_name(value).ok_or_else(|| KernelError::value(key, value, "a number format"))
}

/// What the library means where a field is left out.
pub fn defaults(reading: &mut KernelReading, how: How, from: &str) {
    fn absent<T>(slot: &mut Option<Sourced<T>>, default: Sourced<T>) -> bool {
        let absent = slot.is_none();
        slot.get_or_insert(default);
        absent
    }
    let settings = &mut reading.settings;
    let rows = [
        (
            absent(&mut settings.split_k, Sourced::new(1, how, from)),
            ["numSplitsK", "1", "K is not cut"],
        ),
        (
            absent(&mut settings.scheme, Sourced::new(Scheme::None, how, from)),
            ["reductionScheme", "NONE", "no reduction"],
        ),
        (
            absent(&mut settings.stages, Sourced::new(0, how, from)),
            [
                "stages",
                "UNDEFINED",
                "left undefined by the library (id 0)",
            ],
        ),
        (
            absent(&mut settings.custom, Sourced::new(0, how, from)),
            ["customOption", "0", "the first variant"],
        ),
    ];
    for (_, [key, value, meaning]) in rows.into_iter().filter(|row| row.0) {
        let meaning = format!("{meaning}; {from}");
        reading.token(key, value, Status::Defaulted, meaning);
    }
}
