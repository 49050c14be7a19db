//! Names of kernels, as profilers show them.

use super::{read, shape};
use crate::kernel::{KernelError, Options, Scheme};
use crate::num::Format;

/// What a name says: family, tile k, instruction k, operands, D.
#[test]
fn names_of_profilers() {
    use Format::{Bf16, E4m3, Fp16, Fp32, Tf32};
    type Row = (
        &'static str,
        &'static str,
        Option<usize>,
        Option<usize>,
        Option<Format>,
        Option<Format>,
    );
    let rows: [Row; 16] = [
        (
            "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT",
            "nvjet",
            Some(64),
            None,
            Some(Bf16),
            Some(Bf16),
        ),
        (
            "nvjet_hsh_256x128_64x4_2x1_2cta_h_bz_coopA_NNN",
            "nvjet",
            Some(64),
            None,
            Some(Fp16),
            Some(Fp16),
        ),
        (
            "nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT",
            "nvjet",
            Some(128),
            None,
            Some(E4m3),
            Some(Bf16),
        ),
        (
            "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn",
            "cutlass",
            Some(64),
            Some(16),
            Some(Bf16),
            Some(Bf16),
        ),
        (
            "ampere_fp16_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_tn",
            "cutlass",
            Some(32),
            Some(8),
            Some(Fp16),
            Some(Fp16),
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x5_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x5_tn_align8::Params)",
            "cutlass",
            Some(32),
            Some(16),
            Some(Bf16),
            Some(Bf16),
        ),
        (
            "cutlass_80_wmma_tensorop_s161616gemm_f16_32x32_64x2_nn_align2",
            "cutlass",
            Some(64),
            Some(16),
            Some(Fp16),
            Some(Fp32),
        ),
        (
            "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4",
            "cutlass",
            Some(16),
            Some(8),
            Some(Tf32),
            Some(Fp32),
        ),
        (
            "cutlass_80_simt_sgemm_64x64_8x5_nn_align1",
            "simt",
            Some(8),
            None,
            Some(Fp32),
            Some(Fp32),
        ),
        (
            "ampere_sgemm_128x32_nn",
            "simt",
            None,
            None,
            Some(Fp32),
            Some(Fp32),
        ),
        (
            "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
            "cutlass",
            None,
            Some(4),
            Some(Fp16),
            Some(Fp16),
        ),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
            "hopper-xmma",
            Some(64),
            None,
            Some(Bf16),
            Some(Bf16),
        ),
        (
            "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize2x1x1_kernel",
            "hopper-xmma",
            Some(32),
            None,
            Some(Tf32),
            Some(Fp32),
        ),
        (
            "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x32_kernel",
            "ada-fp8",
            Some(64),
            Some(32),
            Some(E4m3),
            Some(Bf16),
        ),
        (
            "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x16_kernel",
            "cutlass",
            Some(64),
            Some(16),
            Some(Fp16),
            Some(Fp16),
        ),
        (
            "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 2, 4, false>(cublasGemmSmallNParams)",
            "gemm-sn",
            None,
            None,
            None,
            None,
        ),
    ];
    for (name, family, tile, instruction, operands, result) in rows {
        let reading = read(name).unwrap();
        let s = &reading.settings;
        let size = |said: &Option<crate::kernel::Said<usize>>| said.as_ref().map(|said| said.value);
        assert_eq!(reading.family.value.id, family, "{name}");
        assert_eq!(
            (size(&s.tile_k), size(&s.instruction_k)),
            (tile, instruction),
            "{name}"
        );
        assert_eq!(
            s.operands.as_ref().map(|said| said.value[0]),
            operands,
            "{name}"
        );
        assert_eq!(s.result.as_ref().map(|said| said.value), result, "{name}");
    }
    let known = |name| {
        read(name)
            .unwrap()
            .unknown()
            .map(|token| token.key.clone())
            .collect::<Vec<_>>()
    };
    for (name, ..) in rows.iter().filter(|row| !row.0.contains("execute")) {
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
