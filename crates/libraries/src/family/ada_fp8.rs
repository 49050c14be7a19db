//! FP8 kernels of Ada: tiles dealt out in turn.

use super::{Coverage, Family, Issues, Request};
use crate::emu::Evidence::{Captured, Compared};
use crate::num::Format;
use crate::plan::{Residue, Span};
use crate::{
    Capability, Cut, Fact, IfKnown, KernelError, Merge, MergeOrder, Open, Plan, Settings, Sourced,
};
use crate::{How, Slice, Start, Tile, Traversal};

const TILE: usize = 64;

pub static FAMILY: Family = Family {
    id: "ada-fp8",
    title: "FP8 of Ada, mma.sync m16n8k32",
    kernels: "sm89_xmma_gemm_e4m3...",
    algos: &[35, 60],
    facts: &[
        Fact::new(
            "tiles of 64 k are dealt round-robin: tile t belongs to slice t mod s; a slice without a tile is +0",
            Compared,
            "mmaemu",
        ),
        Fact::new(
            "slow accumulation (ALGO 35): after every 128 k of a slice, the chain is added to an f32 sum (from +0) \
            and restarts; fast (ALGO 60): one chain per slice",
            Compared,
            "mmaemu",
        ),
        Fact::new(
            "slices are added in f32: custom options 0 and 2 in order, 1 in pairs",
            Compared,
            "mmaemu",
        ),
    ],
    coverage: &[
        Coverage {
            gpus: "RTX 4060 (sm_89)",
            evidence: Some(Captured),
            what: "E4M3 and E5M2, slow and fast, all splits, cuBLASLt 12.8.3.14: all 1,429 captured products that \
                the tests replay agree in every bit",
            source: "mmaemu",
        },
        Coverage {
            gpus: "RTX 5060 and other sm_120 GPUs, which use ALGO 35 too",
            evidence: None,
            what: "seen in logs, never compared",
            source: "logs",
        },
    ],
    gpu: Some(Capability::new(8, 9)),
    issues: Issues::Named("mma"),
    epilogue_compared: true,
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    let mut open = Vec::new();
    if settings.split_k.is_none() {
        open.push(Open::slices("the kernel's name does not contain it"));
    }
    if accumulation(settings).is_none() {
        open.push(Open::accumulation(
            "slow accumulation restarts the chain every 128 k of a slice",
        ));
    }
    if settings.splits() && settings.custom.is_none() {
        open.push(Open::custom("1 adds slices in pairs, 0 and 2 in order"));
    }
    open
}

/// Whether accumulation is fast; the algorithm tells it, too.
fn accumulation(settings: &Settings) -> Option<Sourced<bool>> {
    let by_algo = match settings.algo.value() {
        Some(35) => Some(false),
        Some(60) => Some(true),
        _ => None,
    };
    let derived = by_algo.map(|fast| Sourced::new(fast, How::Derived, "the algorithm"));
    settings.fast_accumulation.clone().or(derived)
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    let k = request.k();
    if let Some(capability) = &settings.capability
        && (capability.value.major, capability.value.minor) != (8, 9)
    {
        return match capability.value.major {
            12 => Err(KernelError::unknown(
                format!("these FP8 kernels on {}", capability.value),
                "they have been compared on sm_89 only",
            )),
            _ => Err(KernelError::WrongGpu {
                text: "an FP8 kernel of Ada (sm_89)".into(),
                requested: capability.value.to_string(),
            }),
        };
    }
    let one_of = &request.options.one_of;
    if let Some(other) = one_of
        .first()
        .filter(|_| !one_of.contains(&Capability::new(8, 9)))
    {
        return Err(KernelError::WrongGpu {
            text: "an FP8 kernel of Ada (sm_89)".into(),
            requested: other.to_string(),
        });
    }
    if let Some(operands) = &settings.operands
        && !operands
            .value
            .iter()
            .all(|format| matches!(format, Format::E4m3 | Format::E5m2))
    {
        return Err(KernelError::Contradiction {
            what: "the operands' format",
            text: "FP8".into(),
            given: format!("{} and {}", operands.value[0], operands.value[1]),
        });
    }
    request.confirm_compute_type("FP8 kernels of Ada")?;
    let setting = accumulation(settings).expect("asked for before");
    if let Some(algo) = settings.algo.value()
        && [35, 60].contains(&algo)
        && setting.value != (algo == 60)
    {
        return Err(KernelError::Contradiction {
            what: "fast accumulation",
            text: format!("{} (ALGO {algo})", if algo == 60 { "on" } else { "off" }),
            given: if setting.value { "on" } else { "off" }.into(),
        });
    }
    let splits = request.splits()?;
    let chain = |slice: usize| {
        let span = Span::dealt(0..k, TILE, slice, splits);
        let traversal = Traversal::of_spans([span], 32);
        Slice::chain(if setting.value {
            traversal
        } else {
            traversal.restarting(128, Start::Zero)
        })
    };
    let order = match (splits, request.custom()) {
        (1, _) => MergeOrder::Alone,
        (_, 0 | 2) => MergeOrder::Ascending,
        (_, 1) => MergeOrder::Pairwise,
        (_, custom) => {
            return Err(KernelError::unknown(
                format!("FP8 kernels of Ada with the custom option {custom}"),
                "0 and 2 add slices in order, 1 in pairs; no other has been seen",
            ));
        }
    };
    let mut plan = request.plan(&FAMILY);
    plan.settings.fast_accumulation = Some(setting.clone());
    Ok(Plan {
        cut: match splits {
            1 => Cut::Whole,
            _ => Cut::Dealt,
        },
        grain: Some(TILE),
        chunk: Some(k.div_ceil(TILE).div_ceil(splits) * TILE),
        tile: Some(Tile {
            k: TILE,
            residue: Residue::Last,
        }),
        slices: (0..splits).map(chain).collect(),
        merge: Merge::in_f32(order),
        ..plan
    })
}
