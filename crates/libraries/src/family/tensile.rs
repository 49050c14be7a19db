//! Tensile and hipBLASLt: read in their source, compared with nothing.

use super::{Coverage, Family, Issues, Library, Request};
use crate::emu::Evidence::Published;
use crate::plan::{Residue, Span};
use crate::{Cut, Fact, IfKnown, Join, Sharing};
use crate::{KernelError, Merge, MergeOrder, Open, Plan, Settings, Slice};
use crate::{Start, Tensile, Tile, Traversal};

pub static FAMILY: Family = Family {
    id: "tensile",
    title: "AMD: Tensile, hipBLASLt and rocBLAS",
    kernels: "Cijk_Ailk_Bljk_...",
    facts: &[
        Fact::new(
            "a main-loop iteration takes DepthU k; the remainder of K comes last",
            Published,
            "tensile",
        ),
        Fact::new(
            "GlobalSplitU: group g takes iterations g, g + GSU, ...; with GlobalSplitUCoalesced it takes consecutive \
            ones, the first groups one more; the remainder of K goes to group (iterations mod GSU), coalesced to the \
            last",
            Published,
            "tensile",
        ),
        Fact::new(
            "LocalSplitU: groups take stripes of each iteration; their sums are added in order in f32",
            Published,
            "tensile",
        ),
        Fact::new(
            "StaggerU: each workgroup starts its loop over K at a different place and wraps around, so the order \
            differs between tiles of D",
            Published,
            "tensile",
        ),
    ],
    coverage: &[Coverage {
        gpus: "CDNA (MI100 to MI300)",
        evidence: Some(Published),
        what: "inferred from the kernel writer's source; no output has been compared",
        source: "tensile",
    }],
    library: Library::HipblasLt,
    issues: Issues::ByOperands,
    needs,
    plan,
    ..Family::CUBLAS
};

fn fields(settings: &Settings) -> Tensile {
    settings
        .tensile
        .as_ref()
        .map_or_else(Tensile::default, |setting| setting.value.clone())
}

fn needs(settings: &Settings) -> Vec<Open> {
    let why = "it is the K of a main-loop iteration (the third number of MT...)";
    if fields(settings).depth_u.is_some() || settings.tile_k.is_some() {
        return Vec::new();
    }
    vec![Open::new("DepthU", "tile-k", why)]
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    let fields = fields(settings);
    let k = request.k();
    if fields.stream_k.is_some_and(|kind| kind > 0) {
        return Err(KernelError::unknown(
            "stream-K kernels of Tensile",
            "the split depends on the number of compute units and on TENSILE_STREAMK_ variables",
        ));
    }
    let depth = fields
        .depth_u
        .or_else(|| settings.tile_k.value())
        .expect("asked for before");
    let groups = settings.split_k.value().unwrap_or(1);
    if groups > 1 && fields.single_buffer == Some(true) {
        return Err(KernelError::Undetermined {
            why: "GlobalSplitUAlgorithm SingleBuffer adds atomically, in the order in which groups finish".into(),
        });
    }
    let stripes = fields.local_split_u.unwrap_or(1).max(1);
    if !depth.is_multiple_of(stripes) {
        return Err(KernelError::unknown(
            format!("kernels whose {stripes} groups share iterations of {depth} k"),
            "a stripe must be a whole number of k",
        ));
    }
    if stripes > 1 && !k.is_multiple_of(depth) {
        return Err(KernelError::unknown(
            format!(
                "kernels with LocalSplitU {stripes} whose K is not a multiple of DepthU {depth}"
            ),
            "the source does not say how groups share the remainder",
        ));
    }
    let mut plan = request.plan(&FAMILY);
    plan.assumed
        .push("the order is inferred from Tensile's source: no output has been compared".into());
    let rotation = match (request.options.rotation, fields.stagger_u) {
        (Some(rotation), _) => rotation,
        (None, Some(0)) => 0,
        (None, Some(stagger)) => {
            plan.assumed.push(format!(
                "workgroups do not rotate their loop over K, although StaggerU {stagger} lets some start elsewhere; \
                state a rotation to plan those"
            ));
            0
        }
        (None, None) => {
            plan.assumed.push(
                "workgroups do not rotate their loop over K: the text does not state StaggerU"
                    .into(),
            );
            0
        }
    };
    for (name, setting) in [
        ("GlobalSplitU", settings.split_k.is_some()),
        ("LocalSplitU", fields.local_split_u.is_some()),
    ] {
        if !setting {
            plan.assumed
                .push(format!("{name} 1: the text does not state it"));
        }
    }
    let instruction_k = settings.instruction_k.value();
    let instruction_k = instruction_k.unwrap_or_else(|| {
        plan.assumed
            .push("instructions of 16 k: the text names none, so the model's own applies".into());
        16
    });
    if stripes > 1 && !(depth / stripes).is_multiple_of(instruction_k) {
        return Err(KernelError::unknown(
            format!(
                "kernels whose {stripes} groups share iterations of {depth} k, with instructions of {instruction_k} k"
            ),
            "a stripe must be a whole number of instructions",
        ));
    }
    request.few(groups.saturating_mul(stripes))?;
    let slice = |group: usize| {
        let spans = iterations(k, depth, groups, group, fields.coalesced == Some(true));
        let spans = rotated(spans, depth, rotation);
        match stripes {
            1 => Slice::chain(Traversal::of_spans(spans, instruction_k)),
            _ => striped(&spans, depth, stripes, instruction_k),
        }
    };
    plan.slices = (0..groups).map(slice).collect();
    plan.tile = Some(Tile {
        k: depth,
        residue: Residue::Last,
    });
    plan.grain = Some(depth);
    plan.cut = match (groups, rotation, fields.coalesced == Some(true)) {
        (1, 0, _) => Cut::Whole,
        (_, 0, true) => Cut::Balanced,
        (_, 0, false) => Cut::Dealt,
        _ => Cut::Listed,
    };
    if stripes > 1 {
        plan.sharing.push(Sharing {
            lanes: stripes,
            dealt: Some(depth / stripes),
            join: Join::Left(Start::First),
        });
    }
    if groups > 1 {
        plan.merge = Merge::in_f32(MergeOrder::Ascending);
    }
    Ok(plan)
}

/// The k of a group: whole iterations, and perhaps the rest of K.
fn iterations(k: usize, depth: usize, groups: usize, group: usize, coalesced: bool) -> Vec<Span> {
    let whole = k / depth;
    let (each, more) = (whole / groups, whole % groups);
    let mut spans = Vec::new();
    if coalesced {
        let before = group * each + group.min(more);
        let mine = each + usize::from(group < more);
        spans.push(Span::of(before * depth..(before + mine) * depth));
    } else {
        spans.push(Span::dealt(0..whole * depth, depth, group, groups));
    }
    let has_rest = if coalesced {
        group == groups - 1
    } else {
        group == more
    };
    if has_rest {
        spans.push(Span::of(whole * depth..k));
    }
    spans.retain(|span| span.start < span.end);
    spans
}

/// The whole iterations begin `rotation` iterations later and wrap around; the rest of K stays last.
fn rotated(spans: Vec<Span>, depth: usize, rotation: usize) -> Vec<Span> {
    let Some(&loops) = spans.first().filter(|span| span.len() >= depth) else {
        return spans;
    };
    let count = loops.len() / depth;
    let stride = if loops.is_range() {
        depth
    } else {
        loops.stride
    };
    let at = rotation % count * stride;
    if at == 0 {
        return spans;
    }
    let width = depth.min(loops.width);
    let part = |start: usize, end: usize| {
        if loops.is_range() {
            Span::of(start..end)
        } else {
            Span {
                start,
                width,
                stride,
                end,
            }
        }
    };
    let mut all = vec![
        part(loops.start + at, loops.end),
        part(loops.start, loops.start + at),
    ];
    all.extend(&spans[1..]);
    all
}

/// Every group of lanes takes its stripe of every iteration.
fn striped(spans: &[Span], depth: usize, stripes: usize, instruction_k: usize) -> Slice {
    let stripe = depth / stripes;
    let lane = |lane: usize| {
        let of = |span: &Span| Span {
            start: span.start + lane * stripe,
            width: stripe,
            stride: if span.is_range() { depth } else { span.stride },
            end: span.end,
        };
        Traversal::of_spans(spans.iter().map(of), instruction_k)
    };
    Slice::shared((0..stripes).map(lane), Join::Left(Start::First))
}
