//! gemmSN: threads share K, for few rows of 16-bit operands.

use super::{Coverage, Family, Request};
use crate::emu::Evidence::Compared;
use crate::{Fact, Join, Sharing};
use crate::{KernelError, Open, Plan, Settings, Slice, Start, Traversal};

pub static FAMILY: Family = Family {
    id: "gemm-sn",
    title: "gemmSN: CUDA cores, few rows of 16-bit operands",
    kernels: "gemmSN_NN_kernel, gemmSN_TN_kernel",
    algos: &[11],
    facts: &[Fact::new(
        "custom option 0: 2 threads, blocks of 256 k; 1: 4 threads, blocks of 128; each thread owns consecutive k; \
        each block is an ascending chain from +0; blocks are added from +0, then threads from +0",
        Compared,
        "bitequiv",
    )],
    coverage: &[Coverage {
        gpus: "H100 (sm_90), GB200 (sm_100), GB300 (sm_103)",
        evidence: Some(Compared),
        what: "FP16 and BF16, M 2 to 16, 279,486 comparisons",
        source: "bitequiv",
    }],
    names: &["gemmSN_"],
    never_split: true,
    tried_unnamed: &["gemmSN_NN_kernel"],
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    match settings.custom {
        Some(_) => Vec::new(),
        None => vec![Open::custom("it sets how many threads share K")],
    }
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    if request.splits()? > 1 {
        return Err(KernelError::unknown(
            "split gemmSN kernels",
            "none has been seen",
        ));
    }
    let (threads, block) = match request.custom() {
        0 => (2, 256),
        1 => (4, 128),
        custom => {
            return Err(KernelError::unknown(
                format!("gemmSN kernels with the custom option {custom}"),
                "only 0 and 1 have been seen",
            ));
        }
    };
    let k = request.k();
    let share = k.div_ceil(threads);
    let lane = |t: usize| {
        let range = (t * share).min(k)..((t + 1) * share).min(k);
        Traversal::of(range, 1).restarting(block, Start::Zero)
    };
    let mut plan = request.plan(&FAMILY);
    request.assume_as_compared(&mut plan, "gemmSN");
    let join = Join::Left(Start::Zero);
    plan.sharing = vec![Sharing {
        lanes: threads,
        dealt: None,
        join,
    }];
    plan.slices = vec![Slice::shared((0..threads).map(lane), join)];
    Ok(plan)
}
