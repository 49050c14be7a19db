//! dot: blocks of 128 threads share K, and a second kernel adds the blocks.

use super::{Coverage, Family, Request};
use crate::emu::Evidence::Compared;
use crate::plan::{Span, Sum};
use crate::{Cut, Fact, IfKnown, Join, Sharing};
use crate::{KernelError, Merge, MergeOrder, Open, Plan, Settings, Slice};
use crate::{Start, Traversal};

const THREADS: usize = 128;

pub static FAMILY: Family = Family {
    id: "dot",
    title: "dot: CUDA cores, one row times one column",
    kernels: "dot_kernel and reduce_1Block_kernel",
    algos: &[14],
    facts: &[Fact::new(
        "tiles of 128 k (256 if N = 1) are dealt to blocks round-robin; each thread has one chain (two if N = 1) of \
        every 128th k; threads are added by butterfly, blocks by 128 threads, then 32, then 4",
        Compared,
        "bitequiv",
    )],
    coverage: &[Coverage {
        gpus: "H100 (sm_90), GB200 (sm_100), GB300 (sm_103)",
        evidence: Some(Compared),
        what: "FP16 and BF16; the order was measured by a probe",
        source: "bitequiv",
    }],
    names: &["dot_kernel", "reduce_1Block_kernel"],
    tried_unnamed: &["dot_kernel"],
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    let why = "SPLITK_NUM of the configuration, or gridDim, gives it";
    match settings.split_k {
        Some(_) => Vec::new(),
        None => vec![Open::new("the number of blocks", "split-k", why)],
    }
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let shape = request.shape;
    if shape.m != 1 && shape.n != 1 {
        return Err(request.wrong(&FAMILY, "D must be one row or one column"));
    }
    // More blocks than tiles are not an error: those without one count as +0.
    let blocks = request.settings.split_k.value().unwrap_or(1);
    let chains = if shape.n == 1 { 2 } else { 1 };
    request.few(blocks.saturating_mul(THREADS * chains))?;
    let tile = THREADS * chains;
    let traversal = |block: usize, thread: usize, chain: usize| {
        let span = Span {
            start: block * tile + thread * chains + chain,
            width: 1,
            stride: blocks * tile,
            end: request.k(),
        };
        Traversal::of_spans([span], 1)
    };
    let block = |block: usize| {
        let lanes = (0..THREADS)
            .flat_map(|thread| (0..chains).map(move |chain| traversal(block, thread, chain)));
        let thread = |thread: usize| {
            let terms = (0..chains).map(|chain| Sum::Term(thread * chains + chain));
            match chains {
                1 => Sum::left(Start::First, terms),
                _ => Sum::left(Start::Zero, terms),
            }
        };
        Slice {
            lanes: lanes.collect(),
            join: Sum::Butterfly((0..THREADS).map(thread).collect()),
        }
    };
    let mut plan = request.plan(&FAMILY);
    request.assume_as_compared(&mut plan, "dot");
    plan.cut = Cut::Dealt;
    plan.grain = Some(tile);
    plan.sharing.push(Sharing {
        lanes: THREADS,
        dealt: Some(chains),
        join: Join::Butterfly,
    });
    if chains > 1 {
        plan.sharing.push(Sharing {
            lanes: chains,
            dealt: Some(1),
            join: Join::Left(Start::Zero),
        });
    }
    plan.slices = (0..blocks).map(block).collect();
    plan.merge = Merge::in_f32(MergeOrder::DotBlocks);
    Ok(plan)
}
