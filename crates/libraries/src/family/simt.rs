//! CUDA-core kernels for FP32 and FP64: one fused multiply-add a thread and k.

use super::{Coverage, Family, Request, cutlass, scheme_needs};
use crate::emu::Evidence::Published;
use crate::plan::Residue;
use crate::{Fact, IfKnown, KernelError, Open, Plan, Settings, Slice, Tile, Traversal};

pub static FAMILY: Family = Family {
    id: "simt",
    title: "CUDA cores, FP32 and FP64",
    kernels: "cutlass_80_simt_sgemm_..., ampere_sgemm_..., ampere_dgemm_..., volta_sgemm_...",
    algos: &[0, 55],
    facts: &[
        Fact::new(
            "one fused multiply-add per thread and k, ascending, from +0; the partial tile first",
            Published,
            "cutlass",
        ),
        Fact::new(
            "slices are multiples of 128 bytes of K if K is, else of 128 bits",
            Published,
            "cutlass",
        ),
    ],
    coverage: &[Coverage {
        gpus: "all",
        evidence: Some(Published),
        what: "read in CUTLASS's source; no FP32 or FP64 product has been compared",
        source: "cutlass",
    }],
    has_warps_of_k: true,
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    let mut open: Vec<Open> = super::common_needs(settings);
    open.extend(scheme_needs(settings));
    if settings.sliced.is_some() && settings.tile_k.is_none() {
        open.push(Open::tile_k("warps share the tiles of K"));
    }
    open
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    let tile_k = settings.tile_k.value().unwrap_or(8);
    let warps = settings.sliced.value().unwrap_or(1);
    let mut plan = request.plan(&FAMILY);
    let ranges = cutlass::divide(request, tile_k, &mut plan)?.into_iter();
    if !tile_k.is_multiple_of(warps) {
        return Err(KernelError::unknown(
            format!("kernels whose {warps} warps share tiles of {tile_k} k"),
            "a stripe must be a whole number of k",
        ));
    }
    request.few(warps * ranges.len())?;
    plan.slices = ranges
        .map(|range| match warps {
            // Where zeros lie in a chain of multiply-adds does not matter.
            1 => Slice::chain(Traversal::of(range, 1)),
            warps => cutlass::striped(range, tile_k, warps, 1),
        })
        .collect();
    plan.merge = request.merge(plan.slices.len());
    if warps > 1 {
        plan.sharing.push(cutlass::stripes(warps, tile_k));
    }
    plan.assumed.push(
        "one ascending chain of fused multiply-adds per slice: read in CUTLASS's source, not compared"
            .into(),
    );
    plan.tile = Some(Tile {
        k: tile_k,
        residue: Residue::First,
    });
    Ok(plan)
}
