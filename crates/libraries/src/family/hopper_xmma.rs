//! Kernels that name wgmma and a tile, from before nvjet.

use super::{Coverage, Family, Request, common_needs};
use crate::emu::Evidence::Published;
use crate::plan::Residue;
use crate::{
    Capability, Fact, IfKnown, KernelError, Open, Plan, Settings, Slice, Start, Tile, Traversal,
};

pub static FAMILY: Family = Family {
    id: "hopper-xmma",
    title: "Hopper's kernels of cuBLAS up to 12.4 and for TF32, with wgmma",
    kernels: "sm90_xmma_gemm_...",
    facts: &[Fact::new(
        "K ascending in one chain, the last tile padded with zeros: concluded from TMA, never compared",
        Published,
        "logs",
    )],
    coverage: &[Coverage {
        gpus: "H100 (sm_90)",
        evidence: None,
        what: "a plan without slices is an assumption; slices are not planned",
        source: "logs",
    }],
    oldest: Some(Capability::new(9, 0)),
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    let mut open = common_needs(settings);
    if settings.tile_k.is_none() {
        open.push(Open::tile_k("the last tile is padded with zeros"));
    }
    if settings.is_fp8() && settings.fast_accumulation.is_none() {
        open.push(Open::accumulation(
            "slow accumulation restarts the chain every 128 k",
        ));
    }
    open
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    if request.splits()? > 1 {
        return Err(KernelError::unknown(
            "split kernels named sm90_xmma_gemm",
            "no source says how they split K",
        ));
    }
    let Some(instruction_k) = settings
        .instruction_k
        .value()
        .or(match request.operand_bytes() {
            1 => Some(32),
            2 => Some(16),
            4 => Some(8),
            _ => None,
        })
    else {
        return Err(KernelError::unknown(
            "kernels named sm90_xmma_gemm of these operands",
            "no source says which instruction they use",
        ));
    };
    let mut plan = request.plan(&FAMILY);
    plan.assumed
        .push("K ascending, the partial tile last: no output has been compared".into());
    let chain = Traversal::of(0..request.k(), instruction_k);
    let slow = settings.is_fp8() && settings.fast_accumulation.value() == Some(false);
    let chain = if slow {
        chain.restarting(128, Start::First)
    } else {
        chain
    };
    let tile_k = settings.tile_k.value().expect("needed");
    Ok(Plan {
        grain: Some(tile_k),
        chunk: Some(request.k()),
        tile: Some(Tile {
            k: tile_k,
            residue: Residue::Last,
        }),
        slices: vec![Slice::chain(chain)],
        ..plan
    })
}
