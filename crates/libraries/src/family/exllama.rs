//! ExLlama's kernels for GPTQ weights: their sums have no order.

use super::{Coverage, Family, Library, Request};
use crate::emu::Evidence::Published;
use crate::{Fact, KernelError, Plan};

pub static FAMILY: Family = Family {
    id: "exllama",
    title: "ExLlama: GPTQ weights, added by atomicAdd",
    kernels: "gemm_half_q_half_gptq_4bit_kernel, ...",
    facts: &[Fact::new(
        "blocks of 128 k add FP16 results by atomicAdd, in any order",
        Published,
        "exllama",
    )],
    coverage: &[Coverage {
        gpus: "all",
        evidence: None,
        what: "no order exists: D changes from run to run; above 50 rows vLLM dequantises and calls cuBLAS",
        source: "exllama",
    }],
    library: Library::Described,
    names: &["gemm_half_q_half", "exllama"],
    plan,
    ..Family::CUBLAS
};

fn plan(_: &Request) -> Result<Plan, KernelError> {
    Err(KernelError::Undetermined {
        why: "no order exists: blocks of 128 k add FP16 results by atomicAdd, and D changes from run to run, which is no \
              fault"
            .into(),
    })
}
