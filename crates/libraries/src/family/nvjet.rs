//! nvjet: cuBLAS's kernels for aligned products on Hopper and later.

use super::{Coverage, Family, Request, chunks, common_needs};
use crate::emu::Evidence::{Compared, Inferred, Published};
use crate::plan::Residue;
use crate::{
    Capability, Cut, DroppedRemainder, Fact, IfKnown, KernelError, Merge, MergeOrder, Open,
};
use crate::{Plan, Settings, Slice, Start, Tile, Traversal};

pub static FAMILY: Family = Family {
    id: "nvjet",
    title: "nvjet: TMA with wgmma (sm_90) or tcgen05 (sm_100, sm_103)",
    kernels: "nvjet_...",
    algos: &[66],
    facts: &[
        Fact::new(
            "slices are equal multiples of the grain (64 k of 16-bit operands, 128 k of FP8); an unsplit K is one \
            chain, k ascending, the last tile padded with zeros",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "partial sums stay f32 and a second kernel adds them in order, from the first",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "FP8 on sm_90 without fast accumulation: each 128 k form a chain from +0, and the chains are added in \
            f32; on sm_100 and sm_103 one chain",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "FP8 on sm_90 with fast accumulation: one chain per slice",
            Compared,
            "mmaemu",
        ),
        Fact::new(
            "K of an instruction: 16 for 16-bit operands, 32 for FP8",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "a split kernel drops the last K mod (grain * slices) k when there are fewer of them than slices \
            (bitequiv pull request 2767)",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "the loss modelled as slices of ceil(floor(K / slices) / grain) * grain k; unverified for more slices \
            than the grain has k",
            Inferred,
            "bitequiv",
        ),
        Fact::new(
            "tile, cluster, raster, cooperative variants and swizzle do not affect the result",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "alpha and the scales multiply the merged sum once",
            Published,
            "mmaemu",
        ),
    ],
    coverage: &[
        Coverage {
            gpus: "H100 (sm_90)",
            evidence: Some(Compared),
            what: "FP16, BF16 and FP8 (E4M3), cuBLASLt 13.1.1; alpha 1, beta 0, no bias",
            source: "bitequiv",
        },
        Coverage {
            gpus: "H100 PCIe (sm_90)",
            evidence: Some(Compared),
            what: "FP8, fast and slow accumulation, cuBLASLt 12.8.3.14",
            source: "mmaemu",
        },
        Coverage {
            gpus: "GB200 (sm_100), GB300 (sm_103)",
            evidence: Some(Compared),
            what: "FP16, BF16 and FP8 (E4M3), cuBLASLt 12.8.5 and 13.1.1",
            source: "bitequiv",
        },
    ],
    custom_decides: false,
    oldest: Some(SM_90),
    // A name with splitK sets the scheme.
    fewest_slices: |settings| if settings.scheme.is_some() { 2 } else { 1 },
    needs,
    plan,
    ..Family::CUBLAS
};

const SM_90: Capability = Capability::new(9, 0);

fn needs(settings: &Settings) -> Vec<Open> {
    let mut open = common_needs(settings);
    if settings.is_fp8() {
        let capability = settings.capability.value();
        if capability.is_none() {
            let why = "FP8 sums are promoted every 128 k on sm_90, but not on sm_100 and sm_103";
            open.push(Open::gpu(why));
        }
        let promotes = capability.is_none_or(|capability| capability == SM_90);
        if promotes && settings.fast_accumulation.is_none() {
            open.push(Open::accumulation(
                "slow accumulation on sm_90 restarts the chain every 128 k; the default of cublasLt and of \
                torch._scaled_mm is slow, most inference code asks for fast",
            ));
        }
    }
    open
}

/// The grain: K of the stage, in every configuration that was seen.
pub(crate) fn grain(settings: &Settings) -> Option<usize> {
    match settings.operand()?.bytes() {
        2 => Some(64),
        1 if settings.is_fp8() => Some(128),
        _ => None,
    }
}

/// The k at the end that a split nvjet kernel with this grain drops: `K mod (grain * splits)` of them, where that is
/// fewer than there are slices.
pub fn dropped_remainder(k: usize, grain: usize, splits: usize) -> Option<DroppedRemainder> {
    let count = match grain.checked_mul(splits) {
        Some(period) => k % period,
        None => k,
    };
    let loses = splits > 1 && splits <= k && 0 < count && count < splits;
    loses.then(|| DroppedRemainder {
        count,
        first: k - count,
    })
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    let k = request.k();
    let Some(grain) = grain(settings) else {
        return Err(KernelError::unknown(
            "nvjet kernels of these operands",
            "only FP16, BF16 and FP8 have been compared",
        ));
    };
    if let Some(tile) = &settings.tile_k
        && tile.value != grain
    {
        return Err(KernelError::unknown(
            format!("nvjet kernels with tiles of {} k", tile.value),
            format!("only tiles of {grain} k have been compared for these operands"),
        ));
    }
    let mut plan = request.plan(&FAMILY);
    let splits = request.splits()?;
    let lost = dropped_remainder(k, grain, splits).filter(|_| !request.options.whole_remainder);
    let (cut, chunk) = match (splits, request.options.whole_remainder) {
        (1, _) => (Cut::Whole, k),
        // What the library computes: it differs from the next line where k are lost, and only there.
        (_, false) => (Cut::RoundedDown, (k / splits).div_ceil(grain) * grain),
        (_, true) => (Cut::Even, k.div_ceil(grain).div_ceil(splits) * grain),
    };
    let instruction_k = if settings.is_fp8() { 32 } else { 16 };
    let promoted = settings.is_fp8()
        && settings.capability.value() == Some(SM_90)
        && settings.fast_accumulation.value() == Some(false);
    let slice = |range| {
        let chain = Traversal::of(range, instruction_k);
        Slice::chain(if promoted {
            chain.restarting(128, Start::First)
        } else {
            chain
        })
    };
    let slices: Vec<Slice> = chunks(chunk, k, splits).map(slice).collect();
    request.confirm_compute_type("nvjet kernels")?;
    request.assume_as_compared(&mut plan, "nvjet");
    Ok(Plan {
        cut,
        grain: Some(grain),
        chunk: Some(chunk),
        tile: Some(Tile {
            k: grain,
            residue: Residue::Last,
        }),
        merge: match slices.len() {
            1 => Merge::ALONE,
            _ => Merge::in_f32(MergeOrder::Ascending),
        },
        slices,
        lost,
        ..plan
    })
}
