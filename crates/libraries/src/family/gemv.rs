//! gemv: D is one row or one column.

use super::{COMPARED, Coverage, Family, Request, chunks};
use crate::emu::Evidence::Compared;
use crate::plan::Span;
use crate::{Capability, Cut, Fact, IfKnown, Join, Sharing};
use crate::{How, Settings, Slice, Sourced, Start, Traversal};
use crate::{KernelError, Merge, MergeOrder, Open, Plan};

pub static FAMILY: Family = Family {
    id: "gemv",
    title: "gemv: CUDA cores, one row or one column of 16-bit operands",
    kernels: "gemv2T_kernel_val, gemv2N_kernel, gemvNSP_kernel, gemvx::kernel",
    algos: &[13],
    facts: &[
        Fact::new(
            "several lanes share an element; the custom option sets how many and how they divide K",
            Compared,
            "bitequiv",
        ),
        Fact::new(
            "slices of ceil(K / slices) k, their f32 sums added in order from the first",
            Compared,
            "bitequiv",
        ),
    ],
    coverage: &[Coverage {
        gpus: "H100 (sm_90), GB200 (sm_100), GB300 (sm_103)",
        evidence: Some(Compared),
        what: "FP16 and BF16, cuBLASLt 13.1.1; the orders were measured by a probe",
        source: "bitequiv",
    }],
    names: &["gemv2T", "gemv2N", "gemvNSP", "gemvx", "gemvn"],
    tried_unnamed: &["gemv2T_kernel_val"],
    tried_customs: 0..112,
    needs,
    plan,
    ..Family::CUBLAS
};

/// From left to right.
const LEFT: Join = Join::Left(Start::First);

/// How K is dealt out to lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dealing {
    /// k that a lane takes of a tile; None is min(64, ceil(slice / lanes)): contiguous pieces.
    vector: Option<usize>,
    lanes: usize,
    /// Tiles of a chain; None is all of them.
    tiles: Option<usize>,
    join: Join,
}

const fn deal(vector: usize, lanes: usize, tiles: usize, join: Join) -> Dealing {
    Dealing {
        vector: if vector == 0 { None } else { Some(vector) },
        lanes,
        tiles: if tiles == 0 { None } else { Some(tiles) },
        join,
    }
}

impl Dealing {
    /// k that a lane takes of a tile: of the full slice, also in a shorter last one.
    fn vector_of(self, chunk: usize) -> usize {
        self.vector
            .unwrap_or_else(|| chunk.div_ceil(self.lanes).min(64))
    }
}

const SM_90: Capability = Capability::new(9, 0);

/// Custom options and what they mean on sm_100; those in the second list mean it on sm_90 only. A vector of
/// 0 stands for contiguous pieces.
const TABLE: [(Dealing, &[u32], &[u32]); 14] = {
    use Join::Butterfly;
    [
        (deal(1, 1, 0, LEFT), &[0, 6, 7, 8, 84], &[]),
        (deal(1, 16, 16, LEFT), &[12, 13, 14], &[]),
        (deal(1, 16, 32, LEFT), &[11], &[]),
        (deal(4, 32, 0, Butterfly), &[10], &[]),
        (deal(1, 2, 0, Butterfly), &[49, 57, 63, 95], &[]),
        (deal(1, 4, 0, Butterfly), &[41, 51, 59, 65, 69], &[111]),
        (deal(1, 8, 0, Butterfly), &[43, 53, 61, 67], &[89]),
        (deal(1, 16, 0, Butterfly), &[35, 45, 55, 81, 91], &[101]),
        (deal(1, 32, 0, Butterfly), &[37, 47, 75, 83, 93], &[]),
        (deal(0, 2, 0, Butterfly), &[48, 56, 62], &[102]),
        (deal(0, 4, 0, Butterfly), &[40, 50, 58, 86], &[68, 96, 110]),
        (deal(0, 8, 0, Butterfly), &[42, 52, 60, 66, 98], &[106]),
        (deal(0, 16, 0, Butterfly), &[44, 54, 90], &[72, 100]),
        (deal(0, 32, 0, Butterfly), &[36, 46, 82], &[74, 92]),
    ]
};

fn dealing(custom: u32, capability: Capability) -> Option<Dealing> {
    let sm_103 = Capability::new(10, 3);
    match custom {
        0 if capability == SM_90 => return Some(deal(1, 1, 512, LEFT)),
        7 | 8 if capability == SM_90 => return Some(deal(1, 1, 256, LEFT)),
        8 if capability == sm_103 => return Some(deal(1, 1, 256, LEFT)),
        _ => {}
    }
    let has = |row: &&(Dealing, &[u32], &[u32])| {
        row.1.contains(&custom) || capability == SM_90 && row.2.contains(&custom)
    };
    TABLE.iter().find(has).map(|row| row.0)
}

fn needs(settings: &Settings) -> Vec<Open> {
    let Some(custom) = settings.custom.value() else {
        return vec![Open::custom("it sets how lanes share K")];
    };
    let means: Vec<_> = COMPARED.map(|gpu| dealing(custom, gpu)).into();
    if settings.capability.is_none() && custom != 5 && means.windows(2).any(|w| w[0] != w[1]) {
        let why = format!("custom option {custom} differs between these GPUs");
        return vec![Open::gpu(why)];
    }
    Vec::new()
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let shape = request.shape;
    let k = request.k();
    if shape.m != 1 && shape.n != 1 {
        return Err(request.wrong(&FAMILY, "D must be one row or one column"));
    }
    let custom = request.custom();
    let capability = request.settings.capability.value();
    let gpus = request.gpus();
    if let Some(gpu) = gpus.first()
        && !gpus.iter().any(|gpu| COMPARED.contains(gpu))
    {
        return Err(KernelError::unknown(
            format!("gemv kernels on {gpu}"),
            "custom options are known on sm_90, sm_100 and sm_103 only",
        ));
    }
    let mut plan = request.plan(&FAMILY);
    let one = || Sourced::new(1, How::Assumed, "the text does not state it");
    plan.settings.split_k.get_or_insert_with(one);
    let splits = request.splits()?;
    if custom == 5 {
        if splits > 1 || shape.m != 1 {
            return Err(KernelError::unknown(
                "gemv kernels with the custom option 5",
                "it has been seen only with M = 1 and without slices",
            ));
        }
        plan.sharing = vec![Sharing {
            lanes: 32,
            dealt: None,
            join: LEFT,
        }];
        plan.slices = vec![pieces_of_sixteen(k)];
        return Ok(plan);
    }
    let gpu = capability.unwrap_or(SM_90);
    let Some(dealing) = dealing(custom, gpu) else {
        return Err(KernelError::unknown(
            format!("gemv kernels with the custom option {custom} on {gpu}"),
            "no table lists it",
        ));
    };
    if custom == 10 {
        warps_must_suffice(request, &mut plan)?;
    }
    let chunk = k.div_ceil(splits);
    request.few(splits * dealing.lanes)?;
    plan.grain = Some(1);
    plan.chunk = Some(chunk);
    plan.sharing = vec![Sharing {
        lanes: dealing.lanes,
        dealt: Some(dealing.vector_of(chunk)),
        join: dealing.join,
    }];
    plan.slices = chunks(chunk, k, splits)
        .map(|range| dealt(dealing, range, chunk))
        .collect();
    if plan.slices.len() > 1 {
        plan.cut = Cut::Even;
        plan.merge = Merge::in_f32(MergeOrder::Ascending);
    }
    Ok(plan)
}

/// Above so many elements of D a warp has several, and the configuration does not say in which order.
fn warps_must_suffice(request: &Request, plan: &mut Plan) -> Result<(), KernelError> {
    let outputs = request.shape.m * request.shape.n;
    let Some(sms) = &request.settings.multiprocessors else {
        plan.assumed.push(format!(
            "{outputs} elements of D are at most 64 per multiprocessor: above that, custom option 10 does not \
            determine the order"
        ));
        return Ok(());
    };
    if outputs <= sms.value as usize * 64 {
        Ok(())
    } else {
        Err(KernelError::Undetermined {
            why: format!(
                "custom option 10 determines it only up to 64 elements of D per multiprocessor; D has {outputs} on \
            {}",
                sms.value
            ),
        })
    }
}

fn dealt(dealing: Dealing, range: std::ops::Range<usize>, chunk: usize) -> Slice {
    let Dealing {
        lanes, tiles, join, ..
    } = dealing;
    let vector = dealing.vector_of(chunk);
    let lane = |lane: usize| {
        let span = Span::dealt(range.clone(), vector, lane, lanes);
        let chain = Traversal::of_spans([span], 1);
        match tiles {
            Some(tiles) => chain.restarting(tiles * vector, Start::First),
            None => chain,
        }
    };
    Slice::shared((0..lanes).map(lane), join)
}

/// Custom option 5: 32 lanes, each with a piece of K, chains of 16.
fn pieces_of_sixteen(k: usize) -> Slice {
    let piece = k.div_ceil(32);
    let lane = |lane: usize| {
        let range = (lane * piece).min(k)..((lane + 1) * piece).min(k);
        Traversal::of(range, 1).restarting(16, Start::First)
    };
    Slice::shared((0..32).map(lane), LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_custom_option_means_two_things_on_one_gpu() {
        for gpu in COMPARED {
            for custom in 0..128 {
                let rows = TABLE
                    .iter()
                    .filter(|row| {
                        row.1.contains(&custom) || gpu == SM_90 && row.2.contains(&custom)
                    })
                    .count();
                assert!(rows <= 1, "{custom} on {gpu}");
            }
        }
        assert_ne!(dealing(0, COMPARED[0]), dealing(0, COMPARED[1]));
        assert_eq!(dealing(111, COMPARED[1]), None);
    }
}
