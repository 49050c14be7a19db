//! `nvjet[_smNN]_TYPES_MxN_KxS_CMxCN[_2cta]_{h,v}[_bz][_coopA][_algo2][_bias][_splitK]..._LLL`.

use crate::cublaslt::numbers;
use crate::emu::Evidence::{Compared, Published};
use crate::family::nvjet;
use crate::num::Format;
use crate::{Capability, Compute, How, KernelError, KernelReading, Scheme, Sourced, Transposed};

const NO_BIT: Option<(crate::emu::Evidence, &str)> = Some((Compared, "bitequiv"));

pub fn read(reading: &mut KernelReading, word: &str) -> Result<(), KernelError> {
    let family = &nvjet::FAMILY;
    reading.set_family(family, How::Stated, "nvjet")?;
    reading.used("nvjet", "", format!("family of kernels: {}", family.title));
    let tokens = || word.split('_').skip(1).filter(|token| !token.is_empty());
    let mut sizes = 0;
    for token in tokens() {
        if let Some(capability) = Capability::parse(token) {
            reading.settings.capability = Some(Sourced::stated(capability, token));
            reading.used(token, "", format!("built for {capability}"));
        } else if let Some([x, y]) = numbers::<2>(token) {
            sizes += 1;
            size(reading, token, sizes, [x, y]);
        } else if !types(reading, token) {
            plain(reading, token);
        }
    }
    if !tokens().any(|token| token == "splitK") {
        reading.settings.split_k = Some(Sourced::new(1, How::Derived, "no splitK in the name"));
    }
    Ok(())
}

fn plain(reading: &mut KernelReading, token: &str) {
    let settings = &mut reading.settings;
    let ignored = match token {
        "h" | "v" => "order of tiles of D: does not affect the result",
        "2cta" => "two blocks share a tile: does not affect the result",
        "coopA" | "coopB" | "algo2" => "a variant: does not affect the result",
        "bz" => return reading.used(token, "", "probably beta = 0: C is not added"),
        "bias" => {
            settings.epilogue = Some(Sourced::stated("BIAS".into(), token));
            return reading.used(token, "", "a bias is added to the finished sum");
        }
        "splitK" => {
            settings.scheme = Some(Sourced::new(Scheme::ComputeType, How::Derived, "nvjet"));
            let meaning =
                "K is cut into slices, whose sums stay f32; the name does not say how many";
            return reading.used(token, "", meaning);
        }
        "Avec32UE8M0" | "Bvec32UE8M0" => {
            settings.scale_mode = Some(Sourced::stated("VEC32_UE8M0".into(), token));
            return reading.used(token, "", "32 k share a UE8M0 scale");
        }
        _ if token.len() == 3 && token.bytes().all(|b| b"NT".contains(&b)) => {
            settings.transposed = Transposed::parse(token).map(|t| Sourced::stated(t, token));
            return reading.used(token, "", "layouts of A, B and D, column-major");
        }
        _ => return reading.not_known(token, ""),
    };
    reading.ignored(token, "", ignored, NO_BIT);
}

fn size(reading: &mut KernelReading, token: &str, which: usize, [x, y]: [u32; 2]) {
    match which {
        1 => reading.tile_of_d(token, [x, y], NO_BIT),
        2 => {
            reading.settings.tile_k = Some(Sourced::stated(x as usize, token));
            let meaning = format!("tiles of {x} k, {y} in flight; slices are multiples of {x}");
            reading.used(token, "", meaning);
        }
        3 => {
            let why = "blocks of a cluster: does not affect the result";
            reading.ignored(token, "", why, NO_BIT);
        }
        _ => reading.not_known(token, ""),
    }
}

/// `tst`: format of A and B, of the sums, of D; five letters: of A, B, C, the sums, D.
fn types(reading: &mut KernelReading, token: &str) -> bool {
    let letter = |c: u8| match c {
        b't' => Some(Format::Bf16),
        b'h' => Some(Format::Fp16),
        b's' => Some(Format::Fp32),
        b'd' => Some(Format::Fp64),
        b'q' => Some(Format::E4m3),
        _ => None,
    };
    let formats: Option<Vec<Format>> = token.bytes().map(letter).collect();
    let Some(formats) = formats else { return false };
    let (a, b, sums, d) = match formats[..] {
        [a, sums, d] => (a, a, sums, d),
        [a, b, _, sums, d] => (a, b, sums, d),
        _ => return false,
    };
    let Some(compute) = Compute::of_sums(sums) else {
        return false;
    };
    let settings = &mut reading.settings;
    settings.compute = Some(Sourced::stated(compute, token));
    // Of the row-major product, whose A is the library's B.
    let fp8 = [a, b].contains(&Format::E4m3);
    settings.operands = Some(if fp8 {
        Sourced::new(
            [b, a],
            How::Assumed,
            "FP8; the letter does not distinguish E4M3 from E5M2",
        )
    } else {
        Sourced::stated([b, a], token)
    });
    settings.result = Some(Sourced::stated(d, token));
    let a_and_b = if fp8 {
        "FP8".into()
    } else {
        format!("{b} and {a}")
    };
    reading.used(token, "", format!("operands {a_and_b}, sums {sums}, D {d}"));
    reading.last_is_known(Some((Published, "logs")));
    true
}
