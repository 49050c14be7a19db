//! Tensile's names (`Cijk_Ailk_Bljk_...`) and fields of its logic files.

use super::builder::{number, once};
use super::fields::boolean;
use crate::cublaslt::{is_digits, numbers};
use crate::emu::Evidence;
use crate::family::tensile;
use crate::io::printable;
use crate::num::Format;
use crate::{Compute, How, KernelError, KernelReading, Sourced, Tensile, TextKind, Transposed};

const SOURCE: Option<(Evidence, &str)> = Some((Evidence::Published, "tensile"));
const DISTRIBUTION: &str = "work distribution: does not affect the result";
const FIELDS: [&str; 16] = [
    "DepthU",
    "GlobalSplitU",
    "GSU",
    "LocalSplitU",
    "LSU",
    "GlobalSplitUAlgorithm",
    "GlobalSplitUCoalesced",
    "GSUC",
    "StreamK",
    "SK",
    "StaggerU",
    "SU",
    "MatrixInstruction",
    "MacroTile",
    "WorkGroup",
    "LoopUnroll",
];

pub fn is_field(key: &str) -> bool {
    FIELDS.contains(&key)
}

pub fn is_name(word: &str) -> bool {
    word.starts_with("Cijk_") || word.starts_with("Custom_Cijk_")
}

fn fields(reading: &mut KernelReading) -> &mut Tensile {
    let none = || Sourced::stated(Tensile::default(), "");
    &mut reading.settings.tensile.get_or_insert_with(none).value
}

/// Reads one field of a logic file.
pub fn field(reading: &mut KernelReading, key: &str, value: &str) -> Result<bool, KernelError> {
    let size = || number(key, value, 1 << 20).map(|value| value as usize);
    let meaning = match key {
        "DepthU" => {
            let depth = size()?;
            if depth == 0 {
                return Err(KernelError::value(key, value, "at least 1"));
            }
            once_of(&mut fields(reading).depth_u, depth, key, value)?;
            "K of a main-loop iteration; the remainder of K comes last"
        }
        "GlobalSplitU" | "GSU" => {
            once_of(&mut fields(reading).global_split_u, size()?, key, value)?;
            "groups that share the main-loop iterations"
        }
        "LocalSplitU" | "LSU" => {
            once_of(&mut fields(reading).local_split_u, size()?, key, value)?;
            "groups that share every turn of the main loop"
        }
        "GlobalSplitUCoalesced" | "GSUC" => {
            let coalesced = boolean(key, value)?;
            once_of(&mut fields(reading).coalesced, coalesced, key, value)?;
            "groups take consecutive iterations, or every nth"
        }
        "GlobalSplitUAlgorithm" => {
            let single = match value {
                "SingleBuffer" => true,
                "MultipleBuffer" | "MultipleBufferSingleKernel" => false,
                _ => {
                    reading.not_known(key, value);
                    return Ok(true);
                }
            };
            once_of(&mut fields(reading).single_buffer, single, key, value)?;
            "how the groups' sums are added: atomically, or in order in a workspace"
        }
        "StreamK" | "SK" => {
            let kind = number(key, value, 16)? as u32;
            once_of(&mut fields(reading).stream_k, kind, key, value)?;
            "tiles times iterations are divided among compute units"
        }
        "StaggerU" | "SU" => {
            let stagger = number(key, value, 1 << 16)? as u32;
            once_of(&mut fields(reading).stagger_u, stagger, key, value)?;
            "workgroups start their loop over K at different iterations"
        }
        "MatrixInstruction" => return instruction(reading, key, value).map(|()| true),
        "WorkGroup" => return work_group(reading, key, value).map(|()| true),
        "MacroTile" | "LoopUnroll" => {
            reading.ignored(key, value, DISTRIBUTION, SOURCE);
            return Ok(true);
        }
        _ => return Ok(false),
    };
    reading.used(key, value, meaning);
    Ok(true)
}

/// `[16, 16, 2]`: threads along rows and columns of D, and groups that share each main-loop iteration.
fn work_group(reading: &mut KernelReading, key: &str, value: &str) -> Result<(), KernelError> {
    let inside = value.trim_matches(['[', ']']).split([',', 'x', '_']);
    let sizes: Option<Vec<usize>> = inside.map(|size| size.trim().parse().ok()).collect();
    let Some([_, _, groups]) = sizes.as_deref() else {
        reading.not_known(key, value);
        return Ok(());
    };
    once_of(&mut fields(reading).local_split_u, *groups, key, value)?;
    let meaning = format!("{groups} groups share each main-loop iteration (LocalSplitU)");
    reading.used(key, value, meaning);
    Ok(())
}

/// `[16, 16, 16, 1]`, `16x16x16` or `16x16x16x1`.
fn instruction(reading: &mut KernelReading, key: &str, value: &str) -> Result<(), KernelError> {
    let sizes: Vec<usize> = value
        .trim_matches(['[', ']'])
        .split([',', 'x'])
        .filter_map(|size| size.trim().parse().ok())
        .collect();
    match sizes[..] {
        [_, _, k, ..] if (1..=256).contains(&k) => {
            once(&mut reading.settings.instruction_k, k, key, value)?;
            reading.used(key, value, format!("instructions of {k} k"));
        }
        _ => reading.not_known(key, value),
    }
    Ok(())
}

/// Sets a field that two words must not state differently.
fn once_of<T: PartialEq + Copy>(
    slot: &mut Option<T>,
    value: T,
    key: &str,
    text: &str,
) -> Result<(), KernelError> {
    match slot.replace(value) {
        Some(setting) if setting != value => Err(KernelError::Twice {
            key: printable(key),
            first: "another value".into(),
            second: printable(text),
        }),
        _ => Ok(()),
    }
}

/// The last step of reading any text about Tensile.
pub fn finish(reading: &mut KernelReading) -> Result<(), KernelError> {
    reading.set_family(&tensile::FAMILY, How::Derived, "Tensile's fields")?;
    if let Some(splits) = fields(reading).global_split_u {
        // 0 turns it off.
        let text = splits.to_string();
        once(
            &mut reading.settings.split_k,
            splits.max(1),
            "GlobalSplitU",
            &text,
        )?;
    }
    reading.notes.push(
        "AMD's orders are inferred from Tensile's source; no output has been compared".into(),
    );
    Ok(())
}

pub fn read_name(word: &str) -> Result<KernelReading, KernelError> {
    let mut reading = KernelReading::new(TextKind::TensileName);
    fields(&mut reading);
    let mut layouts = Vec::new();
    let tokens: Vec<&str> = word.split('_').filter(|token| !token.is_empty()).collect();
    let mut rest = &tokens[..];
    while let [token, others @ ..] = rest {
        // `WG32_4_1`, `MIWT4_4`: one field in several pieces.
        let sizes = ["WG", "MIWT", "TT"].iter().find(|start| {
            let first = token.strip_prefix(**start);
            first.is_some_and(is_digits)
        });
        let more = others.iter().take_while(|other| is_digits(other)).count();
        rest = match sizes {
            None => {
                name_token(&mut reading, token, &mut layouts)?;
                others
            }
            Some(_) => {
                let whole = rest[..1 + more].join("_");
                match whole.strip_prefix("WG") {
                    Some(value) => work_group(&mut reading, "WG", value)?,
                    None => reading.ignored(&whole, "", DISTRIBUTION, SOURCE),
                }
                &others[more..]
            }
        };
    }
    if let [a, b] = layouts[..] {
        let transposed = Transposed { a, b };
        reading.settings.transposed = Some(Sourced::stated(transposed, "Ailk, Bljk"));
    }
    finish(&mut reading)?;
    reading.finished()
}

fn name_token(
    reading: &mut KernelReading,
    token: &str,
    layouts: &mut Vec<bool>,
) -> Result<(), KernelError> {
    // `GSU4`: a field and its number.
    const NUMBERED: [&str; 5] = ["GSU", "LSU", "SK", "SU", "GSUC"];
    let numbered = |key: &'static str| {
        let rest = token.strip_prefix(key)?;
        is_digits(rest).then_some((key, rest))
    };
    match token {
        "Cijk" => reading.ignored(token, "", "indices of D", SOURCE),
        // Written by hand, so the kernel writer's source does not tell its order.
        "Custom" => reading.not_known(token, ""),
        "Ailk" | "Alik" | "Bljk" | "Bjlk" => {
            layouts.push(["Alik", "Bjlk"].contains(&token));
            reading.used(token, "", "which index of an operand is contiguous");
        }
        _ if layouts.len() == 2 && reading.settings.operands.is_none() && types(reading, token) => {
        }
        _ => {
            if let Some(sizes) = token.strip_prefix("MT")
                && let Some([rows, columns, depth]) = numbers::<3>(sizes)
                && depth > 0
            {
                reading.settings.tile = Some(Sourced::stated([rows, columns], token));
                once_of(
                    &mut fields(reading).depth_u,
                    depth as usize,
                    "DepthU",
                    token,
                )?;
                let meaning = format!("iterations of {depth} k (DepthU); {rows} x {columns} of D");
                reading.used(token, "", meaning);
            } else if let Some(sizes) = token.strip_prefix("MI")
                && let [_, _, k, ..] = sizes.split('x').collect::<Vec<_>>()[..]
                && let Ok(k @ 2..=256) = k.parse::<usize>()
            {
                reading.settings.instruction_k = Some(Sourced::stated(k, token));
                reading.used(token, "", format!("instructions of {k} k"));
            } else if let Some((key, value)) = NUMBERED.iter().find_map(|key| numbered(key)) {
                field(reading, key, value)?;
            } else if token == "GSUASB" {
                field(reading, "GlobalSplitUAlgorithm", "SingleBuffer")?;
            } else if ["GSUAMB", "GSUAMBSK"].contains(&token) {
                field(reading, "GlobalSplitUAlgorithm", "MultipleBuffer")?;
            } else if ["BH", "Bias", "HA", "S", "SAV", "UserArgs", "SN"].contains(&token)
                || ["WGM", "ISA", "PLR", "PGR", "VW", "GRVW", "LBS", "1LDS"]
                    .iter()
                    .any(|start| token.starts_with(start))
            {
                let why = "how work is divided or loaded: does not affect the result";
                reading.ignored(token, "", why, SOURCE);
            } else {
                reading.not_known(token, "");
            }
        }
    }
    Ok(())
}

/// `HHS`, `BBS`, `BSS`, `F8BS`: operands, D, sums.
fn types(reading: &mut KernelReading, token: &str) -> bool {
    let mut formats = Vec::new();
    let mut rest = token;
    while !rest.is_empty() {
        const NAMES: [(&str, Format); 8] = [
            ("F8", Format::E4m3fnuz),
            ("B8", Format::E5m2fnuz),
            ("I8", Format::Int8),
            ("H", Format::Fp16),
            ("B", Format::Bf16),
            ("S", Format::Fp32),
            ("D", Format::Fp64),
            ("I", Format::Int32),
        ];
        let Some((name, format)) = NAMES.iter().find(|(name, _)| rest.starts_with(name)) else {
            return false;
        };
        formats.push(*format);
        rest = &rest[name.len()..];
    }
    let [operand, d, sums] = formats[..] else {
        return false;
    };
    let settings = &mut reading.settings;
    settings.operands = Some(Sourced::stated([operand; 2], token));
    settings.result = Some(Sourced::stated(d, token));
    settings.compute = Compute::of_sums(sums).map(|compute| Sourced::stated(compute, token));
    if settings.compute.is_none() {
        return false;
    }
    reading.used(token, "", format!("operands {operand}, D {d}, sums {sums}"));
    true
}
