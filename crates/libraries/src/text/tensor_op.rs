//! `ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn`, `cutlass_80_tensorop_...`,
//! `cutlass_80_simt_sgemm_...`, `ampere_sgemm_...` and their like.

use crate::cublaslt::{is_digits, numbers};
use crate::emu::Evidence::Published;
use crate::family::{cutlass, simt};
use crate::num::Format;
use crate::{Capability, Compute, How, KernelError, KernelReading, Sourced};

const NAMES: Option<(crate::emu::Evidence, &str)> = Some((Published, "logs"));

pub fn is_one(word: &str) -> bool {
    let start = word.split('_').next().unwrap_or("");
    ["ampere", "volta", "turing", "maxwell", "cutlass"].contains(&start) && word.contains("gemm")
}

/// `s16816gemm`: format of the sums, and the instruction's sizes; none is a kernel of CUDA cores.
struct Gemm<'t> {
    /// None is complex numbers.
    sums: Option<Format>,
    instruction: &'t str,
    tf32: bool,
}

fn gemm(token: &str) -> Option<Gemm<'_>> {
    let body = token.strip_suffix("gemm")?;
    let mut letters = body.chars();
    let sums = match letters.next()? {
        's' => Some(Format::Fp32),
        'h' => Some(Format::Fp16),
        'd' => Some(Format::Fp64),
        'i' => Some(Format::Int32),
        'c' | 'z' => None,
        _ => return None,
    };
    let rest = letters.as_str();
    let instruction = rest.trim_end_matches("tf32").trim_end_matches("bf16");
    let digits = instruction.bytes().all(|b| b.is_ascii_digit());
    digits.then_some(Gemm {
        sums,
        instruction,
        tf32: rest.ends_with("tf32"),
    })
}

fn instruction_k(sizes: &str) -> Option<usize> {
    Some(match sizes {
        "16816" | "161616" | "8816" => 16,
        "1688" => 8,
        "884" | "1684" => 4,
        "16832" => 32,
        _ => return None,
    })
}

fn format(token: &str) -> Option<Format> {
    Some(match token {
        "bf16" => Format::Bf16,
        "f16" | "fp16" => Format::Fp16,
        "f32" | "fp32" => Format::Fp32,
        "tf32" => Format::Tf32,
        "f64" | "fp64" => Format::Fp64,
        "e4m3" => Format::E4m3,
        "e5m2" => Format::E5m2,
        "s8" | "i8" | "int8" => Format::Int8,
        "u8" => Format::Uint8,
        "s32" | "i32" => Format::Int32,
        _ => return None,
    })
}

pub fn read(reading: &mut KernelReading, word: &str) -> Result<(), KernelError> {
    let mut before = None;
    let mut after = None;
    let mut found = None;
    let mut sizes = 0;
    for token in word.split('_').filter(|token| !token.is_empty()) {
        if let Some(format) = format(token) {
            if found.is_none() {
                before = Some((format, token))
            } else {
                after = Some((format, token))
            }
            let what = if found.is_none() {
                "of D"
            } else {
                "of the operands"
            };
            reading.used(token, "", format!("format {what}"));
        } else if let (None, Some(gemm)) = (&found, gemm(token)) {
            product(reading, token, &gemm)?;
            found = Some(gemm);
        } else if let Some([x, y]) = numbers::<2>(token) {
            sizes += 1;
            size(reading, token, sizes, [x, y]);
        } else if let Some(warps) = token.strip_prefix("sliced1x")
            && let Ok(warps @ 1..=32) = warps.parse::<usize>()
        {
            reading.settings.sliced = Some(Sourced::stated(warps, token));
            reading.used(token, "", format!("{warps} warps share each tile of K"));
        } else {
            plain(reading, token);
        }
    }
    let Some(found) = found else {
        return Err(KernelError::syntax(
            "kernel name",
            "it does not name a GEMM",
        ));
    };
    formats(reading, &found, before, after);
    let sliced = reading.settings.sliced.is_some();
    if !sliced && reading.settings.instruction_k.is_some() && stripes(word) {
        reading.notes.push(
            "other readers take such names as sliced kernels: two warps, stripes of half the tile"
                .into(),
        );
    }
    Ok(())
}

/// `_128x64_32x6_`: one published reading of it.
fn stripes(word: &str) -> bool {
    word.contains("_32x6_")
}

fn product(reading: &mut KernelReading, token: &str, gemm: &Gemm) -> Result<(), KernelError> {
    let on_cuda_cores = gemm.instruction.is_empty();
    let family = if on_cuda_cores {
        &simt::FAMILY
    } else {
        &cutlass::FAMILY
    };
    reading.set_family(family, How::Stated, token)?;
    let Some(sums) = gemm.sums else {
        return Err(KernelError::unknown(
            "kernels for complex numbers",
            "products of complex numbers are not supported",
        ));
    };
    let compute = Compute::of_sums(sums);
    reading.settings.compute = compute.map(|compute| Sourced::stated(compute, token));
    match instruction_k(gemm.instruction) {
        Some(k) => {
            reading.settings.instruction_k = Some(Sourced::stated(k, token));
            reading.used(
                token,
                "",
                format!("instructions of {k} k; {}", family.title),
            );
        }
        None if on_cuda_cores => reading.used(token, "", family.title),
        None => reading.not_known(token, ""),
    }
    Ok(())
}

fn size(reading: &mut KernelReading, token: &str, which: usize, [x, y]: [u32; 2]) {
    match which {
        1 => reading.tile_of_d(token, [x, y], NAMES),
        2 if x > 0 => {
            reading.settings.tile_k = Some(Sourced::stated(x as usize, token));
            reading.used(token, "", format!("tiles of {x} k, {y} in flight"));
        }
        _ => reading.not_known(token, ""),
    }
}

/// The GPU that a kernel was written for.
fn written_for(token: &str) -> Option<Capability> {
    let number = match token {
        "maxwell" => 50,
        "volta" | "70" => 70,
        "turing" | "75" => 75,
        "ampere" | "80" => 80,
        "86" => 86,
        "89" => 89,
        "90" => 90,
        _ => return None,
    };
    Some(Capability::new(number / 10, number % 10))
}

fn plain(reading: &mut KernelReading, token: &str) {
    if let Some(oldest) = written_for(token) {
        reading.settings.oldest = Some(Sourced::stated(oldest, token));
        let meaning = "the GPU that the kernel was written for; later ones also run it";
        return reading.ignored(token, "", meaning, NAMES);
    }
    let ignored = match token {
        "cutlass" => "part of the name of its class",
        "tensorop" | "wmma" | "simt" | "stages" | "kernel" => "part of the name of its class",
        "relu" => "part of the name of its class, not an activation in effect",
        "f2f" | "nopad" | "interior" => "how operands are loaded: does not affect the result",
        _ if numbered(token, "ldg") || numbered(token, "align") => {
            "how operands are loaded: does not affect the result"
        }
        "tn" | "nn" | "nt" | "tt" => return reading.layouts(token),
        _ => return reading.not_known(token, ""),
    };
    reading.ignored(token, "", ignored, NAMES);
}

fn numbered(token: &str, start: &str) -> bool {
    token.strip_prefix(start).is_some_and(is_digits)
}

/// What stands before "gemm" is D's format, where it is not that of the sums; what stands after is the
/// operands'.
fn formats(
    reading: &mut KernelReading,
    gemm: &Gemm,
    before: Option<(Format, &str)>,
    after: Option<(Format, &str)>,
) {
    let settings = &mut reading.settings;
    settings.result = match before {
        Some((format, token)) => Some(Sourced::stated(format, token)),
        None => gemm
            .sums
            .map(|sums| Sourced::new(sums, How::Derived, "no format before \"gemm\"")),
    };
    let on_cuda_cores = gemm.instruction.is_empty();
    settings.operands = match (after, gemm.sums) {
        (Some((format, token)), _) => Some(Sourced::stated([format; 2], token)),
        (None, Some(Format::Fp32)) if on_cuda_cores => {
            Some(Sourced::new([Format::Fp32; 2], How::Derived, "sgemm"))
        }
        (None, Some(Format::Fp32)) if gemm.tf32 || gemm.instruction == "1688" => {
            let why = "no format after \"gemm\": FP32 operands as TF32";
            Some(Sourced::new([Format::Tf32; 2], How::Derived, why))
        }
        (None, Some(Format::Fp64)) => {
            Some(Sourced::new([Format::Fp64; 2], How::Derived, "d...gemm"))
        }
        (None, Some(Format::Fp16)) => {
            Some(Sourced::new([Format::Fp16; 2], How::Derived, "h...gemm"))
        }
        _ => None,
    };
}
