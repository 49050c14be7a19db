//! The fields of an algorithm's configuration, however they are spelt.

use super::draft::{Draft, number, once};
use crate::emu::Evidence::Compared;
use crate::kernel::family::Family;
use crate::kernel::tables::{cluster_name, inner_shape_name, parse_tile};
use crate::kernel::{Capability, How, IfSaid, KernelError, Partition, Said, Scheme, Stages};
use crate::num::Format;

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

/// Reads one field; false if the key is none of an algorithm.
pub fn algorithm(draft: &mut Draft, key: &str, value: &str) -> Result<bool, KernelError> {
    let settings = &mut draft.settings;
    match canonical(key).as_str() {
        "id" | "algo" | "algoid" => {
            let id = number(key, value, u32::MAX.into())? as u32;
            once(&mut settings.algo, id, key, value)?;
            let family = Family::of_algo(id);
            draft.family(family, How::Derived, &format!("{key}={value}"));
            draft.used(key, value, format!("family of kernels: {}", family.title));
        }
        "tile" | "tileid" => {
            let wanted = "a tile such as 128x64, or its id";
            let tile = parse_tile(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            let why = "the size of a tile of D does not affect the result";
            if let Some(tile) = tile {
                once(&mut settings.tile, tile, key, value)?;
            }
            let meaning = match tile {
                Some([rows, columns]) => format!("{rows} x {columns} of D, column-major: {why}"),
                None => why.into(),
            };
            draft.ignored(key, value, meaning, Some((Compared, "bitequiv")));
        }
        "stages" | "stagesid" => {
            let wanted = "stages such as 64x3 or 128xAUTO, or their id";
            let stages =
                Stages::parse(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            once(&mut settings.stages, stages.id, key, value)?;
            let meaning = match stages.k {
                Some(k) => format!(
                    "tiles of {k} k (stages {}, id {})",
                    stages.name(),
                    stages.id
                ),
                None => "left undefined by the library (id 0)".into(),
            };
            draft.used(key, value, meaning);
        }
        "splitk" | "splitknum" | "numsplitsk" | "splits" => {
            let splits = number(key, value, MAX_SPLITS)? as usize;
            if splits == 0 {
                return Err(KernelError::value(key, value, "at least 1"));
            }
            once(&mut settings.split_k, splits, key, value)?;
            let meaning = match splits {
                1 => "K is not cut".into(),
                _ => format!("K is cut into at most {splits} slices"),
            };
            draft.used(key, value, meaning);
        }
        "reduction" | "reductionscheme" => {
            let wanted = "NONE, INPLACE, COMPUTE_TYPE or OUTPUT_TYPE, or 0, 1, 2, 4";
            let scheme =
                Scheme::parse(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            once(&mut settings.scheme, scheme, key, value)?;
            let meaning = match scheme {
                Scheme::None => "no reduction; slices, if any, are added in D",
                Scheme::Inplace => "slices are added in D, in D's format, one after another",
                Scheme::ComputeType => "slices are added in a workspace, in f32",
                Scheme::OutputType => "slices are added in a workspace, in D's format",
            };
            draft.used(key, value, meaning);
        }
        "custom" | "customoption" => {
            let custom = number(key, value, u32::MAX.into())? as u32;
            once(&mut settings.custom, custom, key, value)?;
            match settings.algo.value().map(Family::of_algo) {
                Some(family) if !family.own.custom_decides => draft.ignored(
                    key,
                    value,
                    "kernel variant: does not affect the result in this family",
                    Some((Compared, "bitequiv")),
                ),
                _ => draft.used(
                    key,
                    value,
                    "kernel variant: the order of sums depends on it in some families",
                ),
            }
        }
        "swizzle" | "swizzling" | "ctaswizzling" => {
            number(key, value, 64)?;
            let why = "order in which blocks visit tiles of D: does not affect the result";
            draft.ignored(key, value, why, Some((Compared, "bitequiv")));
        }
        "inner" | "innershape" | "innershapeid" => {
            let wanted = "an inner shape such as MMA16816, or its id";
            let name =
                inner_shape_name(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            let k = match name {
                "MMA884" | "MMA1684" => Some(4),
                "MMA1688" => Some(8),
                "MMA16816" => Some(16),
                _ => None,
            };
            if let Some(k) = k {
                once(&mut settings.instruction_k, k, key, value)?;
            }
            draft.used(key, value, format!("shape of the instruction: {name}"));
        }
        "cluster" | "clustershape" | "clustershapeid" => {
            let wanted = "a cluster such as 2x1x1, or its id";
            let name = cluster_name(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            let why = format!("blocks of a cluster ({name}): does not affect the result");
            draft.ignored(key, value, why, Some((Compared, "bitequiv")));
        }
        "schedulingmode" => draft.ignored(
            key,
            value,
            "order in which blocks are launched (read by its name)",
            None,
        ),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Fields that no configuration of cublasLt has but people need: formats, GPU, and so on.
pub fn beside(draft: &mut Draft, key: &str, value: &str) -> Result<bool, KernelError> {
    let settings = &mut draft.settings;
    match canonical(key).as_str() {
        "family" => {
            let wanted = "one of 'tcverify kernels list'";
            let family =
                Family::find(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            draft.family(family, How::Stated, &format!("{key}={value}"));
            draft.used(key, value, format!("family of kernels: {}", family.title));
        }
        "tilek" => {
            let k = size(key, value)?;
            once(&mut settings.tile_k, k, key, value)?;
            draft.used(key, value, format!("tiles of {k} k"));
        }
        "instructionk" => {
            let k = size(key, value)?;
            once(&mut settings.instruction_k, k, key, value)?;
            draft.used(key, value, format!("instructions of {k} k"));
        }
        "partition" => {
            let wanted = "universal, serial-tiles or parallel-tiles";
            let partition =
                Partition::parse(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            once(&mut settings.partition, partition, key, value)?;
            draft.used(key, value, "how CUTLASS cuts K into slices");
        }
        "sliced" => {
            let warps = number(key, value, 32)?.max(1) as usize;
            once(&mut settings.sliced, warps, key, value)?;
            draft.used(key, value, format!("{warps} warps share each tile of K"));
        }
        "fastaccum" | "fastaccumulation" | "usefastaccum" => {
            let fast = boolean(key, value)?;
            once(&mut settings.fast_accumulation, fast, key, value)?;
            draft.used(key, value, accumulation(fast));
        }
        "dtype" | "operands" | "atype" => {
            let format = format(key, value)?;
            once(&mut settings.operands, [format; 2], key, value)?;
            draft.used(key, value, format!("operands are {format}"));
        }
        "result" | "dtyped" | "dtype_d" | "dtypeout" => {
            let format = format(key, value)?;
            once(&mut settings.result, format, key, value)?;
            draft.used(key, value, format!("D is {format}"));
        }
        "arch" | "sm" | "capability" => {
            let wanted = "a compute capability such as sm_90";
            let capability =
                Capability::parse(value).ok_or_else(|| KernelError::value(key, value, wanted))?;
            once(&mut settings.capability, capability, key, value)?;
            draft.used(key, value, format!("the GPU is {capability}"));
        }
        "layout" | "trans" => {
            let wanted = "two letters such as tn";
            let transposed = (value.len() == 2)
                .then(|| crate::kernel::Transposed::parse(value))
                .flatten()
                .ok_or_else(|| KernelError::value(key, value, wanted))?;
            once(&mut settings.transposed, transposed, key, value)?;
            draft.used(key, value, "which operands are transposed, column-major");
        }
        _ => return Ok(false),
    }
    Ok(true)
}

pub fn accumulation(fast: bool) -> &'static str {
    match fast {
        true => "fast accumulation: FP8 sums stay in the tensor core",
        false => {
            "slow accumulation: FP8 sums are promoted to f32 at intervals, where the GPU needs it"
        }
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
pub fn defaults(draft: &mut Draft, how: How, from: &str) {
    let settings = &mut draft.settings;
    let mut left_out = Vec::new();
    if settings.split_k.is_none() {
        settings.split_k = Some(Said::new(1, how, from));
        left_out.push(("numSplitsK", "1", "K is not cut"));
    }
    if settings.scheme.is_none() {
        settings.scheme = Some(Said::new(Scheme::None, how, from));
        left_out.push(("reductionScheme", "NONE", "no reduction"));
    }
    if settings.stages.is_none() {
        settings.stages = Some(Said::new(0, how, from));
        left_out.push((
            "stages",
            "UNDEFINED",
            "left undefined by the library (id 0)",
        ));
    }
    if settings.custom.is_none() {
        settings.custom = Some(Said::new(0, how, from));
        left_out.push(("customOption", "0", "the first variant"));
    }
    for (key, value, meaning) in left_out {
        let meaning = format!("{meaning}; {from}");
        draft.token(key, value, crate::kernel::Status::Defaulted, meaning);
    }
}
