//! Names of kernels, as profilers show them.

use super::{read, shape};
use crate::{IfKnown, KernelError, Options, Scheme};

/// What a name says: family, tile k, instruction k, operands, D.
const NAMES: [(&str, &str); 16] = [
    (
        "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT",
        "nvjet 64 - bf16 bf16",
    ),
    (
        "nvjet_hsh_256x128_64x4_2x1_2cta_h_bz_coopA_NNN",
        "nvjet 64 - fp16 fp16",
    ),
    (
        "nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT",
        "nvjet 128 - e4m3 bf16",
    ),
    (
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn",
        "cutlass 64 16 bf16 bf16",
    ),
    (
        "ampere_fp16_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_tn",
        "cutlass 32 8 fp16 fp16",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x5_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x5_tn_align8::Params)",
        "cutlass 32 16 bf16 bf16",
    ),
    (
        "cutlass_80_wmma_tensorop_s161616gemm_f16_32x32_64x2_nn_align2",
        "cutlass 64 16 fp16 fp32",
    ),
    (
        "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4",
        "cutlass 16 8 tf32 fp32",
    ),
    (
        "cutlass_80_simt_sgemm_64x64_8x5_nn_align1",
        "simt 8 - fp32 fp32",
    ),
    ("ampere_sgemm_128x32_nn", "simt - - fp32 fp32"),
    (
        "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
        "cutlass - 4 fp16 fp16",
    ),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        "hopper-xmma 64 - bf16 bf16",
    ),
    (
        "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize2x1x1_kernel",
        "hopper-xmma 32 - tf32 fp32",
    ),
    (
        "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x32_kernel",
        "ada-fp8 64 32 e4m3 bf16",
    ),
    (
        "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x16_kernel",
        "cutlass 64 16 fp16 fp16",
    ),
    (
        "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 2, 4, false>(cublasGemmSmallNParams)",
        "gemm-sn - - - -",
    ),
];

#[test]
fn names_of_profilers() {
    fn shown<T: ToString>(value: Option<T>) -> String {
        value.map_or("-".into(), |value| value.to_string())
    }
    for (name, says) in NAMES {
        let reading = read(name).unwrap();
        let s = &reading.settings;
        let said = [
            reading.family.value.id.to_owned(),
            shown(s.tile_k.value()),
            shown(s.instruction_k.value()),
            shown(s.operand()),
            shown(s.result.value()),
        ];
        assert_eq!(said.join(" "), says, "{name}");
    }
    let known = |name| {
        read(name)
            .unwrap()
            .unknown()
            .map(|token| token.key.clone())
            .collect::<Vec<_>>()
    };
    for (name, _) in NAMES.iter().filter(|row| !row.0.contains("execute")) {
        assert_eq!(known(name), [""; 0], "{name}");
    }
    assert_eq!(
        known("nvjet_sm90_tst_64x8_64x16_1x1_h_bz_wobble_NNT"),
        ["wobble"]
    );
}

#[test]
fn names_leave_slices_open() {
    let asks = |text: &str| -> Vec<&'static str> {
        let open = read(text).unwrap().open(&Options::default()).unwrap();
        open.iter().map(|open| open.ask).collect()
    };
    assert_eq!(
        asks("nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT"),
        ["split-k"]
    );
    assert_eq!(asks("nvjet_sm90_tst_64x104_64x10_4x1_v_bz_TNT"), [""; 0]);
    assert_eq!(
        asks("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"),
        ["split-k"]
    );
    assert_eq!(asks("dot_kernel"), ["split-k"]);
    assert_eq!(asks("gemv2T_kernel_val"), ["custom"]);
    assert_eq!(
        asks("nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_TNT"),
        ["accumulation"]
    );
    let name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT";
    let error = read(name)
        .unwrap()
        .plan(&shape(100, 2560, 9728), &Options::default());
    assert!(matches!(
        error,
        Err(KernelError::Missing { ask: "split-k", .. })
    ));
}

#[test]
fn a_reduction_kernel_says_what_it_adds() {
    let scheme = |text: &str| read(text).unwrap().settings.scheme.map(|said| said.value);
    assert_eq!(
        scheme(
            "void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(cublasSplitKParams<float>)"
        ),
        Some(Scheme::ComputeType)
    );
    assert_eq!(
        scheme("void splitKreduce_kernel<32, 16, int, __nv_bfloat16, float>"),
        Some(Scheme::OutputType)
    );
    assert_eq!(scheme("splitKreduce_kernel"), None);
}

/// A name starts with a GPU, or is none of these.
#[test]
fn names_that_only_look_like_one() {
    for name in [
        "sm_xmma_gemm_x",
        "smart_xmma_gemm_f16f16_f16f32_f32_tn_n",
        "sm9_xmma_gemm_f16f16_f16f32_f32_tn_n",
        "magma_lds128_sgemm_kernel",
    ] {
        assert!(
            matches!(read(name), Err(KernelError::Unrecognised { .. })),
            "{name}"
        );
    }
    assert_eq!(
        read("magma_sgemmEx_kernel").unwrap().family.value.id,
        "magma"
    );
}

#[test]
fn a_bias_is_an_epilogue() {
    let epilogue = |name: &str| read(name).unwrap().settings.epilogue.map(|said| said.value);
    let name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_bias_TNT";
    assert_eq!(epilogue(name).as_deref(), Some("BIAS"));
    assert_eq!(epilogue(&name.replace("_bias", "")), None);
}
