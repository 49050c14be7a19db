//! PyTorch's `GEMMDesc`: the text is the order.

use super::{Coverage, Family, Library, Own, Request, Tried, chunks, sliced};
use crate::emu::Evidence::Published;
use crate::kernel::Traversal;
use crate::kernel::plan::{Residue, Span};
use crate::kernel::{Cut, Fact, KernelError, Merge, MergeOrder, Open, Plan, Settings, Slice, Tile};

pub static FAMILY: Family = Family {
    id: "gemm-desc",
    title: "an order that a GEMMDesc of PyTorch describes",
    kernels: "JSON with k_loop_step and k_cuts",
    algos: &[],
    facts: &[Fact::new(
        "k_loop_step: the partial turn comes first; a cut is a span of k, contiguous or strided; sums are added in sequence",
        Published,
        "gemm-desc",
    )],
    coverage: &[Coverage {
        gpus: "none: it describes an order, no GPU",
        evidence: Some(Published),
        what: "no producer writes one yet",
        source: "gemm-desc",
    }],
    tried: Tried::NAMED,
    own: Own {
        library: Library::Described,
        ..Own::CUBLAS
    },
    needs,
    plan,
};

fn needs(settings: &Settings) -> Vec<Open> {
    let missing = |what, ask| Open {
        what,
        why: "the description leaves it out".into(),
        ask,
    };
    let mut open = Vec::new();
    if settings.tile_k.is_none() {
        open.push(missing("k_loop_step", "tile-k"));
    }
    if settings.instruction_k.is_none() {
        open.push(missing("instruction_k", "instruction-k"));
    }
    open
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    let k = request.k();
    let of = |said: &Option<crate::kernel::Said<usize>>| said.as_ref().expect("asked for").value;
    let (tile_k, instruction_k) = (of(&settings.tile_k), of(&settings.instruction_k));
    if !tile_k.is_multiple_of(instruction_k) {
        return Err(KernelError::unknown(
            format!("turns of {tile_k} k with instructions of {instruction_k} k"),
            "a turn is a whole number of instructions",
        ));
    }
    let first = |range| Slice::chain(Traversal::residue_first(range, tile_k, instruction_k));
    let (chunk, slices, kept): (usize, Vec<Slice>, _) = match &settings.cuts {
        None => (k, vec![first(0..k)], crate::kernel::Kept::F32),
        Some(cuts) => {
            let cuts = &cuts.value;
            request.few(
                cuts.count
                    .unwrap_or(1)
                    .max(k.div_ceil(cuts.period.unwrap_or(cuts.span))),
            )?;
            let slices: Vec<Slice> = match cuts.period {
                None => chunks(cuts.span, k, usize::MAX).map(first).collect(),
                Some(period) => {
                    if period % cuts.span != 0 || cuts.span % instruction_k != 0 {
                        return Err(KernelError::unknown(
                            format!("spans of {} k every {period}", cuts.span),
                            "a period is a whole number of spans, and a span of instructions",
                        ));
                    }
                    request.few(period / cuts.span)?;
                    let lane = |start: usize| {
                        let span = Span {
                            start,
                            width: cuts.span,
                            stride: period,
                            end: k,
                        };
                        Slice::chain(Traversal {
                            spans: Some(span).filter(|s| s.start < k).into_iter().collect(),
                            instruction_k,
                            restart: None,
                        })
                    };
                    (0..period).step_by(cuts.span).map(lane).collect()
                }
            };
            if cuts.count.is_some_and(|count| count != slices.len()) {
                return Err(KernelError::TooManySplits {
                    splits: cuts.count.expect("just seen"),
                    k,
                });
            }
            (cuts.span, slices, cuts.kept)
        }
    };
    if settings
        .fast_accumulation
        .as_ref()
        .is_some_and(|said| !said.value)
        && settings.is_fp8()
    {
        return Err(KernelError::unknown(
            "FP8 sums of a GEMMDesc without fast accumulation",
            "it does not say after how many k they are promoted",
        ));
    }
    let merge = Merge {
        order: match slices.len() {
            1 => MergeOrder::Alone,
            _ => MergeOrder::Ascending,
        },
        kept,
    };
    let tile = Tile {
        k: tile_k,
        residue: Residue::First,
    };
    let mut plan = request.plan(&FAMILY);
    plan.assumed.push(
        "the meaning of a GEMMDesc's fields: its pull request is open and nothing writes one"
            .into(),
    );
    let cut = match &settings.cuts {
        None => Cut::Whole,
        Some(_) => Cut::Listed,
    };
    Ok(sliced(plan, cut, chunk, chunk, tile, slices, merge))
}
