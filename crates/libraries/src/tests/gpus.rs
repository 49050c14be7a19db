//! Whose kernels they are.

use super::*;
use crate::emu::Catalogue;

/// What was compared on Hopper and Blackwell alone is an assumption elsewhere, and gemv's table is theirs.
#[test]
fn other_gpus_are_an_assumption() {
    let shape = Shape { m: 1, n: 8, k: 300 };
    let on = |text: &str, gpu: &str| {
        let mut options = Options::default();
        options.on(gpu).expect("of the catalogue");
        read(text).unwrap().plan(&shape, &options)
    };
    for text in ["algo=16", "algo=11,custom=0", "algo=14,splitK=3"] {
        for gpu in ["sm_90", "sm_100", "blackwell"] {
            assert!(on(text, gpu).unwrap().assumed.is_empty(), "{text} {gpu}");
        }
        for gpu in ["sm_86", "sm_120", "ampere"] {
            let assumed = on(text, gpu).unwrap().assumed.join("");
            assert!(assumed.contains("were compared"), "{text} {gpu}: {assumed}");
        }
    }
    assert!(on("algo=13,custom=48", "hopper").is_ok());
    for gpu in ["sm_86", "ampere"] {
        let refused = on("algo=13,custom=48", gpu).unwrap_err();
        assert!(
            refused.to_string().contains("gemv kernels on sm_8"),
            "{refused}"
        );
    }
}

/// Plans on a GPU of the catalogue, by a text about a product of 8x8x64.
fn on(text: &str, gpu: &str) -> Result<Plan, String> {
    let mut options = Options {
        split_k: Some(1),
        operands: Some([Format::Fp16; 2]),
        ..Options::default()
    };
    options.on(gpu).expect("of the catalogue");
    let shape = Shape { m: 8, n: 8, k: 64 };
    let planned = read(text).unwrap().plan(&shape, &options);
    planned.map_err(|error| error.to_string())
}

/// AMD's run on GPUs of AMD's alone, and on no reference.
#[test]
fn kernels_run_on_their_makers_gpus() {
    let amd = "DepthU=32,GSU=1,LSU=1,SU=0,MatrixInstruction=16x16x16";
    for gpu in Catalogue::builtin().architectures() {
        let is_amd = gpu.title.starts_with("AMD");
        assert_eq!(on(amd, &gpu.name).is_ok(), is_amd, "{}", gpu.name);
        let nvidia = on("algo=16", &gpu.name).is_ok();
        assert_eq!(nvidia, gpu.title.starts_with("NVIDIA"), "{}", gpu.name);
    }
    let refused = on(amd, "a100").unwrap_err();
    assert!(
        refused.contains("AMD GPU's kernel, but the request is for sm_80 or sm_86"),
        "{refused}"
    );
    assert!(on(amd, "sm_86").is_err());
    assert!(on(amd, "mi300x").is_ok());
}

/// Later GPUs run a kernel, older ones do not.
#[test]
fn kernels_are_not_older_than_their_gpus() {
    let ampere = "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x16_kernel";
    let named = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn";
    let turing = "cutlass_75_tensorop_f16_s1688gemm_f16_128x128_32x2_tn_align8";
    let hopper = "family=hopper-xmma,tileK=64,splitK=1,dtype=fp16";
    for (text, oldest, older) in [
        (ampere, "sm_80", &["v100", "turing"][..]),
        (named, "sm_80", &["v100", "turing"]),
        (turing, "sm_75", &["v100"]),
        (hopper, "sm_90", &["a100", "ada"]),
        ("algo=66", "sm_90", &["a100", "ada"]),
    ] {
        for gpu in older {
            let refused = on(text, gpu).unwrap_err();
            let words = format!("a kernel of {oldest} and later");
            assert!(refused.contains(&words), "{text} {gpu}: {refused}");
        }
        for gpu in [oldest, "h100"] {
            on(text, gpu).unwrap_or_else(|error| panic!("{text} {gpu}: {error}"));
        }
    }
}
