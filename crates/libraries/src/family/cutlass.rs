//! CUTLASS 2.x: what cuBLAS runs on Ampere, and on later GPUs for products that are not aligned.

use super::{Coverage, Family, Issues, Request, chunks, common_needs, scheme_needs};
use crate::emu::Evidence::{Compared, Published};
use crate::plan::{Residue, Span};
use crate::{Cut, Fact, How, IfKnown, Join, Sharing};
use crate::{KernelError, Merge, MergeOrder, Open, Partition, Plan};
use crate::{Settings, Slice, Start, Tile, Transposed, Traversal};

pub static FAMILY: Family = Family {
    id: "cutlass",
    title: "CUTLASS 2.x with mma.sync",
    kernels: "ampere_..., cutlass_80_..., cutlass_75_..., sm80_xmma_gemm_...",
    algos: &[21, 23, 24],
    facts: &[
        Fact::new(
            "the partial tile of each slice comes first: its values, then zeros; the partial instruction lies inside \
            that tile",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "slices are multiples of 64 k of 16-bit operands if K is, else of 8 (CUTLASS: 128 bytes if K allows and an operand is contiguous along K, else 128 bits)",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "the grain comes from CUTLASS's source, not compared, for 8-bit and 32-bit operands and where neither \
            operand is contiguous along K",
            Published,
            "cutlass",
        ),
        Fact::new(
            "INPLACE and NONE: the running sum is rounded to D's format after every slice; COMPUTE_TYPE: f32 sums, one rounding; OUTPUT_TYPE: each sum rounded to D's format, then added in f32; all from the first sum",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "warps of a sliced kernel take stripes of each tile in turn; their sums are added in f32 in warp order",
            Published,
            "cutlass",
        ),
    ],
    coverage: &[
        Coverage {
            gpus: "H100 (sm_90), GB200 (sm_100), GB300 (sm_103)",
            evidence: Some(Compared),
            what: "FP16 and BF16, cuBLASLt 13.1.1 (GB200 also 12.8.5); row-major A and B",
            source: "bitequiv",
        },
        Coverage {
            gpus: "A100 (sm_80), L40S (sm_89)",
            evidence: Some(Compared),
            what: "BF16 products of one 4B model, M 100 to 4000, with the right tile, slices and scheme",
            source: "rounding-predictor",
        },
        Coverage {
            gpus: "other GPUs, TF32, FP64, integers (whose order does not matter)",
            evidence: Some(Published),
            what: "read in CUTLASS's source",
            source: "cutlass",
        },
    ],
    has_warps_of_k: true,
    custom_decides: false,
    issues: Issues::Named("mma"),
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    let mut open = common_needs(settings);
    if tile_and_instruction(settings).0.is_none() {
        let why = "the partial tile comes first, so the tile size moves the partial instruction";
        open.push(Open::tile_k(why));
    }
    open.extend(scheme_needs(settings));
    open
}

/// K of a tile and of an instruction: stated, or as the table of stages has them.
fn tile_and_instruction(settings: &Settings) -> (Option<usize>, Option<usize>) {
    let stated = settings.tile_k.value();
    // Assumed stages do not count as those of id 0.
    let setting = settings.stages.as_ref();
    let setting = setting.filter(|setting| setting.how != How::Assumed);
    let (tile, instruction) = match setting.map(|setting| setting.value) {
        // Kernels "...s1688...".
        Some(0) => (Some(32), Some(8)),
        Some(7..=12 | 25) => (Some(32), Some(16)),
        Some(13..=18) => (Some(64), Some(16)),
        Some(19..=24) => (Some(128), Some(16)),
        _ => (None, None),
    };
    // Stages with another tile belong to another kernel.
    let instruction = instruction.filter(|_| stated.is_none() || stated == tile);
    // The table holds for operands of 16 bits.
    let by_format = match settings.operand().map(|format| format.bytes()) {
        Some(4) => Some(8),
        Some(1) => Some(32),
        Some(8) => Some(4),
        Some(2) => instruction,
        _ => None,
    };
    let instruction = settings.instruction_k.value();
    (stated.or(tile), instruction.or(by_format))
}

/// k that slices are multiples of.
fn grain(request: &Request) -> usize {
    let bytes = request.operand_bytes();
    let transposed = request.settings.transposed.value();
    let contiguous = transposed.is_none_or(Transposed::contiguous_along_k);
    let wide = (128 / bytes).max(1);
    if request.k().is_multiple_of(wide) && contiguous {
        wide
    } else {
        (16 / bytes).max(1)
    }
}

/// Cuts K into slices: notes the rule in the plan, and returns the k of each.
pub(super) fn divide(
    request: &Request,
    tile_k: usize,
    plan: &mut Plan,
) -> Result<Vec<std::ops::Range<usize>>, KernelError> {
    let k = request.k();
    let splits = request.splits()?;
    let partition = request.settings.partition.value();
    let (cut, grain, chunk) = match partition.unwrap_or(Partition::Universal) {
        _ if splits == 1 => (Cut::Whole, grain(request), k),
        Partition::Universal => {
            let grain = grain(request);
            let chunk = k.div_ceil(grain).div_ceil(splits) * grain;
            (Cut::Even, grain, chunk)
        }
        Partition::SerialTiles => {
            let chunk = k.div_ceil(tile_k).div_ceil(splits) * tile_k;
            (Cut::Even, tile_k, chunk)
        }
        Partition::ParallelTiles => (Cut::LastTakesRest, tile_k, k / tile_k / splits * tile_k),
    };
    if chunk == 0 {
        return Err(KernelError::TooManySplits { splits, k });
    }
    plan.cut = cut;
    plan.grain = Some(grain);
    plan.chunk = Some(chunk);
    let mut ranges: Vec<_> = chunks(chunk, k, splits).collect();
    if cut == Cut::LastTakesRest
        && let Some(last) = ranges.last_mut()
    {
        last.end = k;
    }
    Ok(ranges)
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    let (tile_k, instruction_k) = tile_and_instruction(settings);
    let tile_k = tile_k.expect("asked for before");
    let mut plan = request.plan(&FAMILY);
    let instruction_k = instruction_k.unwrap_or_else(|| {
        plan.assumed
            .push("an instruction of 16 k (m16n8k16), because the text names none".into());
        16
    });
    if !tile_k.is_multiple_of(instruction_k) {
        return Err(KernelError::unknown(
            format!("kernels with tiles of {tile_k} and instructions of {instruction_k} k"),
            "a tile must be a whole number of instructions",
        ));
    }
    let warps = settings.sliced.value().unwrap_or(1);
    let ranges = divide(request, tile_k, &mut plan)?.into_iter();
    plan.slices = match warps {
        1 => ranges
            .map(|range| Slice::chain(Traversal::residue_first(range, tile_k, instruction_k)))
            .collect(),
        warps => {
            if !tile_k.is_multiple_of(warps * instruction_k) {
                return Err(KernelError::unknown(
                    format!("kernels whose {warps} warps share tiles of {tile_k} k"),
                    "a stripe must be a whole number of instructions",
                ));
            }
            request.few(warps * ranges.len())?;
            plan.sharing.push(stripes(warps, tile_k));
            ranges
                .map(|range| striped(range, tile_k, warps, instruction_k))
                .collect()
        }
    };
    plan.merge = match settings.partition.value() {
        Some(Partition::ParallelTiles) if plan.slices.len() > 1 => {
            Merge::in_f32(MergeOrder::AscendingFromZero)
        }
        _ => request.merge(plan.slices.len()),
    };
    if request.operand_bytes() != 2 {
        plan.assumed.push(
            "tiles, instructions and grain of operands that are not 16 bits wide: from source code, not compared".into(),
        );
    }
    plan.tile = Some(Tile {
        k: tile_k,
        residue: Residue::First,
    });
    Ok(plan)
}

/// Warps that take stripes of every tile in turn.
pub(super) fn stripes(warps: usize, tile_k: usize) -> Sharing {
    Sharing {
        lanes: warps,
        dealt: Some(tile_k / warps),
        join: Join::Left(Start::First),
    }
}

/// Every warp takes its stripe of the partial tile, and then of the others.
pub(super) fn striped(
    range: std::ops::Range<usize>,
    tile_k: usize,
    warps: usize,
    instruction_k: usize,
) -> Slice {
    let stripe = tile_k / warps;
    let first = range.start + range.len() % tile_k;
    let lane = |warp: usize| {
        let lead = (range.start + warp * stripe).min(first);
        let head = lead..(lead + stripe).min(first);
        let body = Span::dealt(first..range.end, stripe, warp, warps);
        Traversal::of_spans([Span::of(head), body], instruction_k)
    };
    Slice::shared((0..warps).map(lane), Join::Left(Start::First))
}
