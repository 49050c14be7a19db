//! `sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_tensor16x8x16_kernel`.

use crate::cublaslt::numbers;
use crate::emu::Evidence::Published;
use crate::family::{ada_fp8, cutlass, hopper_xmma, unknown};
use crate::num::Format;
use crate::{Capability, Compute, How, KernelError, KernelReading, Sourced};

const NAMES: Option<(crate::emu::Evidence, &str)> = Some((Published, "logs"));

pub fn is_one(word: &str) -> bool {
    word.contains("_xmma_gemm_") && built_for(word).is_some()
}

/// What the name starts with.
fn built_for(word: &str) -> Option<(&str, Capability)> {
    let (first, _) = word.split_once('_')?;
    Some((first, Capability::parse(first)?))
}

/// Two formats without a separator.
fn pair(token: &str) -> Option<[Format; 2]> {
    let (first, rest) = format(token)?;
    let (second, rest) = format(rest)?;
    rest.is_empty().then_some([first, second])
}

fn format(text: &str) -> Option<(Format, &str)> {
    const NAMES: [(&str, Format); 9] = [
        ("bf16", Format::Bf16),
        ("tf32", Format::Tf32),
        ("f16", Format::Fp16),
        ("f32", Format::Fp32),
        ("f64", Format::Fp64),
        ("e4m3", Format::E4m3),
        ("e5m2", Format::E5m2),
        ("i8", Format::Int8),
        ("i32", Format::Int32),
    ];
    NAMES
        .into_iter()
        .find_map(|(name, format)| text.strip_prefix(name).map(|rest| (format, rest)))
}

pub fn read(reading: &mut KernelReading, word: &str) -> Result<(), KernelError> {
    let mut pairs: Vec<([Format; 2], &str)> = Vec::new();
    for token in word.split('_').filter(|token| !token.is_empty()) {
        if let Some(capability) = Capability::parse(token) {
            reading.used(token, "", format!("built for {capability}"));
        } else if let Some(formats) = pair(token) {
            pairs.push((formats, token));
            let meaning = match pairs.len() {
                1 => format!("operands {} in memory, D {}", formats[0], formats[1]),
                _ => format!("multiplied as {}, summed in {}", formats[0], formats[1]),
            };
            reading.used(token, "", meaning);
        } else if format(token).is_some_and(|(_, rest)| rest.is_empty()) {
            reading.used(token, "", "format of the epilogue");
        } else if let Some(sizes) = token.strip_prefix("tilesize") {
            tile(reading, token, sizes)?;
        } else if let Some(sizes) = token.strip_prefix("tensor") {
            match numbers::<3>(sizes) {
                Some([_, _, k]) if k > 0 => {
                    reading.settings.instruction_k = Some(Sourced::stated(k as usize, token));
                    reading.used(token, "", format!("instructions of {k} k"));
                }
                _ => reading.not_known(token, ""),
            }
        } else if let Some(sizes) = token.strip_prefix("warpsize")
            && let Some([_, _, warps @ 1..=32]) = numbers::<3>(sizes)
        {
            warps_of_k(reading, token, warps as usize);
        } else {
            plain(reading, token);
        }
    }
    let (first, capability) = built_for(word).expect("the name starts with one");
    let fp8 = pairs
        .iter()
        .any(|(formats, _)| matches!(formats[0], Format::E4m3 | Format::E5m2));
    let family = match (capability.major, capability.minor, fp8) {
        (8, 9, true) => &ada_fp8::FAMILY,
        (9, 0, _) => &hopper_xmma::FAMILY,
        (7 | 8, _, false) => &cutlass::FAMILY,
        _ => &unknown::FAMILY,
    };
    // Kernels of sm_80 run on later GPUs as well.
    let built_for = Some(Sourced::stated(capability, first));
    if *family == cutlass::FAMILY {
        reading.settings.oldest = built_for;
        reading.notes.push(
            "the partial tile is assumed to come first, as in the kernels that were compared"
                .into(),
        );
    } else {
        reading.settings.capability = built_for;
    }
    reading.set_family(family, How::Derived, "its name")?;
    let settings = &mut reading.settings;
    if let Some(&([operand, d], token)) = pairs.first() {
        settings.operands = Some(Sourced::stated([operand; 2], token));
        settings.result = Some(Sourced::stated(d, token));
    }
    if let Some(&([operand, sums], token)) = pairs.get(1) {
        if operand == Format::Tf32 {
            settings.operands = Some(Sourced::stated([operand; 2], token));
        }
        let compute = match operand {
            Format::Tf32 => Some(Compute::Tf32),
            _ => Compute::of_sums(sums),
        };
        settings.compute = compute.map(|compute| Sourced::stated(compute, token));
    }
    Ok(())
}

fn tile(reading: &mut KernelReading, token: &str, sizes: &str) -> Result<(), KernelError> {
    let Some([rows, columns, k]) = numbers::<3>(sizes).filter(|sizes| sizes[2] > 0) else {
        return Err(KernelError::value(
            "tilesize",
            sizes,
            "three numbers such as 128x128x64",
        ));
    };
    reading.settings.tile = Some(Sourced::stated([rows, columns], token));
    reading.settings.tile_k = Some(Sourced::stated(k as usize, token));
    reading.used(
        token,
        "",
        format!("tiles of {k} k; {rows} x {columns} of D does not affect the result"),
    );
    Ok(())
}

/// Warps along rows, columns and K of a tile.
fn warps_of_k(reading: &mut KernelReading, token: &str, warps: usize) {
    if warps == 1 {
        let why = "how work is divided: does not affect the result (assumed)";
        return reading.ignored(token, "", why, NAMES);
    }
    reading.settings.sliced = Some(Sourced::stated(warps, token));
    reading.used(token, "", format!("{warps} warps share each tile of K"));
}

fn plain(reading: &mut KernelReading, token: &str) {
    let starts = |starts: &[&str]| starts.iter().any(|start| token.starts_with(start));
    let ignored = match token {
        "xmma" | "gemm" | "kernel" | "cublas" | "5x" | "execute" => "part of the name of its class",
        "n" | "t" => "layout of D: does not affect the result",
        "tn" | "nn" | "nt" | "tt" => return reading.layouts(token),
        _ if starts(&["stage", "warpgroupsize", "cga", "bstage", "gmmastage"]) => {
            "how work is divided: does not affect the result (assumed)"
        }
        _ if starts(&["align", "simple", "ldg"]) => {
            "how operands are loaded: does not affect the result"
        }
        _ => return reading.not_known(token, ""),
    };
    reading.ignored(token, "", ignored, NAMES);
}
