//! magma_sgemmEx: one chain of multiply-adds.

use super::{Coverage, Family, Request};
use crate::emu::Evidence::Compared;
use crate::{Fact, KernelError, Plan, Slice, Traversal};

pub static FAMILY: Family = Family {
    id: "magma",
    title: "magma_sgemmEx: CUDA cores, small products of 16-bit operands",
    kernels: "magma_sgemmEx_kernel",
    algos: &[16],
    facts: &[Fact::new(
        "one chain of fused multiply-adds from +0, k ascending",
        Compared,
        "bitequiv",
    )],
    coverage: &[Coverage {
        gpus: "H100 (sm_90), GB200 (sm_100), GB300 (sm_103)",
        evidence: Some(Compared),
        what: "FP16 and BF16, M 6 to 16, K 2 to 45: 221 of 221",
        source: "bitequiv",
    }],
    names: &["magma_sgemmEx"],
    never_split: true,
    tried_unnamed: &["magma_sgemmEx_kernel"],
    plan,
    ..Family::CUBLAS
};

fn plan(request: &Request) -> Result<Plan, KernelError> {
    if request.splits()? > 1 {
        return Err(KernelError::unknown(
            "split magma kernels",
            "none has been seen",
        ));
    }
    let mut plan = request.plan(&FAMILY);
    request.assume_as_compared(&mut plan, "magma");
    plan.slices = vec![Slice::chain(Traversal::of(0..request.k(), 1))];
    Ok(plan)
}
