//! gemmk1: K = 1.

use super::{Coverage, Family, Request};
use crate::emu::Evidence::Compared;
use crate::{Fact, KernelError, Plan, Slice, Traversal};

pub static FAMILY: Family = Family {
    id: "gemmk1",
    title: "gemmk1: one product per element",
    kernels: "gemmk1_kernel",
    algos: &[12],
    facts: &[Fact::new(
        "seen only with K = 1, where there is nothing to order",
        Compared,
        "bitequiv",
    )],
    coverage: &[Coverage {
        gpus: "H100 (sm_90), GB200 (sm_100), GB300 (sm_103)",
        evidence: Some(Compared),
        what: "FP16 and BF16, 3,125 products",
        source: "bitequiv",
    }],
    names: &["gemmk1_kernel"],
    never_split: true,
    plan,
    ..Family::CUBLAS
};

fn plan(request: &Request) -> Result<Plan, KernelError> {
    if request.k() != 1 {
        return Err(request.wrong(&FAMILY, "they have been seen only with K = 1"));
    }
    let mut plan = request.plan(&FAMILY);
    plan.slices = vec![Slice::chain(Traversal::of(0..1, 1))];
    Ok(plan)
}
