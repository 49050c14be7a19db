//! Facts about libraries, each with its evidence and its source.

use serde::Serialize;

use crate::emu::Evidence;

/// A statement with its source, a key of [`SOURCES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    pub says: &'static str,
    pub known: Evidence,
    pub source: &'static str,
}

impl Fact {
    pub const fn new(says: &'static str, known: Evidence, source: &'static str) -> Fact {
        Fact {
            says,
            known,
            source,
        }
    }
}

/// Keys of sources and what they are.
pub const SOURCES: [(&str, &str); 12] = [
    (
        "bitequiv",
        "github.com/facebookexperimental/triton, bitequiv/cublas_match (MIT), commit db4666f, pull requests 2752-2757 and 2767-2770: plans compared with cuBLASLt 12.8.5 and 13.1.1 on H100, GB200 and GB300",
    ),
    (
        "mmaemu",
        "PyPI mmaemu 0.1.0 (Apache-2.0): recorded FP8 products of cuBLASLt 12.8.3.14 on a GeForce RTX 4060 and an H100 PCIe",
    ),
    (
        "rounding-predictor",
        "github.com/NaciCankaya/hardware_rounding_error_predictor, notebooks (arXiv:2606.00279): BF16 products of a 4B-parameter model on A100, L40S and H100",
    ),
    (
        "cutlass",
        "github.com/NVIDIA/cutlass, commit 7107b05: predicated_tile_access_iterator.h, params_universal_base.h, gemm_splitk_parallel.h, linear_combination.h",
    ),
    (
        "cublaslt",
        "cublasLt.h of cuBLAS 12.8.4.1 and the cuBLAS documentation",
    ),
    (
        "logs",
        "cuBLASLt and profiler lines in public issues and READMEs, 2023 to 2026",
    ),
    (
        "gemm-desc",
        "github.com/pytorch/pytorch, pull request 193140: torch/_inductor/gemm_desc.py and gemm_desc.md, commit f7f19f8",
    ),
    (
        "ptx",
        "NVIDIA, PTX ISA 8.8: floating-point instructions (add, mul, fma: rounding, and 0x7fffffff for every NaN result); cvt (rn, satfinite)",
    ),
    (
        "tensile",
        "github.com/ROCm/hipBLASLt, tensilelite: kernel writer and solution parameters",
    ),
    (
        "marlin",
        "github.com/IST-DASLab/marlin, commit 2f6d7c1: marlin_cuda_kernel.cu",
    ),
    (
        "exllama",
        "vLLM, csrc/quantization/gptq/q_gemm.cu (after ExLlama)",
    ),
    (
        "vllm-marlin",
        "github.com/vllm-project/vllm, commits 5d11149b and 17c72768: csrc/quantization/marlin/marlin_template.h, marlin.cu",
    ),
];

/// What a source's key stands for.
pub fn citation(key: &str) -> Option<&'static str> {
    SOURCES
        .iter()
        .find(|(name, _)| *name == key)
        .map(|(_, text)| *text)
}
