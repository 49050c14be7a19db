//! PyTorch's `GEMMDesc`: the text is the order.

use std::ops::Range;

use super::{Coverage, Family, Library, Request};
use crate::emu::Catalogue;
use crate::emu::Evidence::Published;
use crate::num::Format;
use crate::plan::{Residue, Start, Sum};
use crate::words::Word as _;
use crate::{
    Cut, Dealt, Fact, How, IfKnown, KCut, Kept, KernelError, Merge, MergeOrder, Plan, Settings,
    Slice, Sourced, Tile, Traversal,
};

pub static FAMILY: Family = Family {
    id: "gemm-desc",
    title: "an order that a GEMMDesc of PyTorch describes",
    kernels: "JSON with accumulate_dtype, algorithm and k_cuts",
    facts: &[Fact::new(
        "cuts nest, the outermost first: consecutive spans of k, or tiles dealt by label; parts are added in order \
        or in pairs of neighbours; with k_loop_step the partial iteration comes first, else the short instruction \
        comes last; without use_fast_accum each instruction starts from +0, and its result is added in f32",
        Published,
        "gemm-desc",
    )],
    coverage: &[Coverage {
        gpus: "none: it describes an order, not a GPU",
        evidence: Some(Published),
        what: "no library writes one yet",
        source: "gemm-desc",
    }],
    library: Library::Described,
    plan,
    ..Family::CUBLAS
};

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let settings = &request.settings;
    refuse_answers(settings)?;
    let mut plan = request.plan(&FAMILY);
    plan.assumed.push(
        "the meaning of GEMMDesc fields: the pull request is open and nothing writes one yet"
            .into(),
    );
    if settings.operand() == Some(Format::Tf32) {
        plan.assumed.push(
            "FP32 operands become TF32 as --tf32-input says (default: truncation): a GEMMDesc does not say how"
                .into(),
        );
    }
    let walk = Walk::of(settings)?;
    plan.tile = walk.iteration.map(|k| Tile {
        k,
        residue: Residue::First,
    });
    let k = request.k();
    let all = 0..k;
    let whole = std::slice::from_ref(&all);
    let cuts = settings
        .cuts
        .as_ref()
        .map_or(&[][..], |setting| &setting.value);
    let Some((first, inner)) = cuts.split_first() else {
        plan.slices = vec![Slice::chain(walk.over(whole)?)];
        return Ok(plan);
    };
    let mut dealer = Dealer {
        request,
        walk,
        spent: 0,
    };
    let parts = dealer.dealt(first, whole)?;
    let slices: Result<Vec<Slice>, KernelError> = parts
        .iter()
        .map(|part| {
            let mut lanes = Vec::new();
            let join = dealer.nested((1, inner), part, &mut lanes)?;
            Ok(Slice { lanes, join })
        })
        .collect();
    plan.slices = slices?;
    plan.merge = Merge {
        order: order(first, 0, parts.len())?,
        kept: kept(first, parts.len(), settings, &mut plan.assumed)?,
    };
    for (level, cut) in inner.iter().enumerate() {
        in_f32(cut, level + 1)?;
        if cut.dealt.is_some_and(|dealt| dealt.period.is_some()) {
            plan.assumed.push(format!(
                "k_cuts[{}].period counts tiles over the whole K, not within a part: a GEMMDesc does not say which",
                level + 1
            ));
        }
    }
    let count = parts.len();
    plan.settings.split_k = Some(Sourced::new(count, How::Derived, "k_cuts"));
    match first.dealt {
        None => {
            plan.cut = Cut::Even;
            plan.chunk = Some(first.span.min(k));
            plan.grain = plan.chunk;
        }
        Some(own) if own.is_rotation() => {
            plan.cut = Cut::Dealt;
            plan.grain = Some(first.span);
        }
        Some(_) => plan.cut = Cut::Listed,
    }
    Ok(plan)
}

/// Refuses answers: a description defines its whole order, so that they would be ignored.
fn refuse_answers(settings: &Settings) -> Result<(), KernelError> {
    fn given<T>(setting: &Option<Sourced<T>>) -> bool {
        setting
            .as_ref()
            .is_some_and(|setting| setting.how == How::Given)
    }
    let answers = [
        ("the number of slices", "k_cuts", given(&settings.split_k)),
        ("K of a tile", "k_loop_step", given(&settings.tile_k)),
        ("the reduction scheme", "k_cuts", given(&settings.scheme)),
        ("the partition of K", "k_cuts", given(&settings.partition)),
        ("the custom option", "its fields", given(&settings.custom)),
        (
            "FP8 accumulation",
            "use_fast_accum",
            given(&settings.fast_accumulation),
        ),
    ];
    match answers.into_iter().find(|answer| answer.2) {
        None => Ok(()),
        Some((option, key, _)) => Err(KernelError::unplanned(
            option,
            "given",
            format!("a GEMMDesc already defines its whole order ({key})"),
        )),
    }
}

/// How one accumulator goes over its k.
struct Walk {
    instruction_k: usize,
    /// k of a main-loop iteration, the partial one of which comes first.
    iteration: Option<usize>,
    /// Every instruction starts from +0, and f32 adds its result.
    apart: bool,
}

impl Walk {
    fn of(settings: &Settings) -> Result<Walk, KernelError> {
        let instruction_k = settings.instruction_k.value().unwrap_or(1);
        let iteration = settings.tile_k.value();
        if let Some(k) = iteration.filter(|k| !k.is_multiple_of(instruction_k)) {
            let why = format!(
                "instructions have {instruction_k} k (instruction_k); a GEMMDesc does not say which one of an \
                iteration is short"
            );
            return Err(KernelError::unplanned("k_loop_step", k, why));
        }
        let apart = settings.fast_accumulation.value() == Some(false);
        if apart && settings.is_fp8() {
            return Err(KernelError::unplanned(
                "use_fast_accum",
                "false with FP8 operands",
                "a GEMMDesc does not say after how many k the sums are promoted",
            ));
        }
        on_the_gpu(settings)?;
        Ok(Walk {
            instruction_k,
            iteration,
            apart: apart && !settings.operand().is_some_and(Format::is_integer),
        })
    }

    /// Over these runs of k, one after another.
    fn over(&self, runs: &[Range<usize>]) -> Result<Traversal, KernelError> {
        let length: usize = runs.iter().map(ExactSizeIterator::len).sum();
        let residue = self.iteration.map_or(0, |k| length % k);
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        for run in runs {
            // How many k come before the next instruction.
            let from = if at < residue { 0 } else { residue };
            let reaches = !(at - from).is_multiple_of(self.instruction_k) && at != residue;
            if reaches {
                return Err(KernelError::unplanned(
                    "k_cuts span",
                    format!("not a multiple of instruction_k {}", self.instruction_k),
                    "a GEMMDesc does not say whether an instruction can span two tiles",
                ));
            }
            let split = (residue.saturating_sub(at)).min(run.len());
            let middle = run.start + split;
            let halves = [run.start..middle, middle..run.end];
            pieces.extend(halves.into_iter().filter(|half| !half.is_empty()));
            at += run.len();
        }
        let chain = Traversal::of_runs(&pieces, self.instruction_k);
        Ok(if self.apart {
            chain.restarting(self.instruction_k, Start::Zero)
        } else {
            chain
        })
    }
}

/// A GPU that does not have the instruction runs no such kernel.
fn on_the_gpu(settings: &Settings) -> Result<(), KernelError> {
    let (Some(algorithm), Some(gpu)) = (&settings.algorithm, &settings.capability) else {
        return Ok(());
    };
    let Ok(architecture) = Catalogue::builtin().find(&gpu.value.to_string()) else {
        return Ok(());
    };
    let name = algorithm.value.instruction();
    let has = architecture.instructions.iter().any(|own| own.name == name);
    if has {
        Ok(())
    } else {
        Err(KernelError::WrongGpu {
            text: format!(
                "a kernel of {name} instructions ({})",
                algorithm.value.word()
            ),
            requested: gpu.value.to_string(),
        })
    }
}

impl Dealt {
    /// Tile t goes to part `t % count`.
    fn is_rotation(self) -> bool {
        self.divisor == 1 && self.period.is_none_or(|period| period == self.count)
    }
}

/// Deals out k, and stops before there is no end of it.
struct Dealer<'a> {
    request: &'a Request<'a>,
    walk: Walk,
    /// Tiles and accumulators so far.
    spent: usize,
}

impl Dealer<'_> {
    fn spend(&mut self, count: usize) -> Result<(), KernelError> {
        // Every cut deals all of K out again.
        const CUTS: usize = 4;
        self.spent = self.spent.saturating_add(count);
        self.request.few(self.spent / CUTS).map(drop)
    }

    /// The parts of a cut of these runs.
    fn dealt(
        &mut self,
        cut: &KCut,
        runs: &[Range<usize>],
    ) -> Result<Vec<Vec<Range<usize>>>, KernelError> {
        let length: usize = runs.iter().map(ExactSizeIterator::len).sum();
        let count = match cut.dealt {
            None => length.div_ceil(cut.span).max(1),
            Some(dealt) => dealt.count,
        };
        self.spend(count)?;
        self.spend((length / cut.span).saturating_add(runs.len()))?;
        let mut parts: Vec<Vec<Range<usize>>> = vec![Vec::new(); count];
        let mut before = 0;
        for run in runs {
            let mut k = run.start;
            while k < run.end {
                let in_part = before + (k - run.start);
                let at = match cut.dealt {
                    Some(Dealt {
                        period: Some(_), ..
                    }) => k,
                    _ => in_part,
                };
                let end = run.end.min(k + (cut.span - at % cut.span));
                let tile = at / cut.span;
                let part = match cut.dealt {
                    None => tile,
                    Some(Dealt {
                        count,
                        period,
                        divisor,
                    }) => tile % period.unwrap_or(count) / divisor % count,
                };
                match parts[part].last_mut() {
                    Some(last) if last.end == k => last.end = end,
                    _ => parts[part].push(k..end),
                }
                k = end;
            }
            before += run.len();
        }
        Ok(parts)
    }

    /// The sum of a part that is cut further; its accumulators go to the lanes.
    fn nested(
        &mut self,
        (level, cuts): (usize, &[KCut]),
        part: &[Range<usize>],
        lanes: &mut Vec<Traversal>,
    ) -> Result<Sum, KernelError> {
        let Some((cut, inner)) = cuts.split_first() else {
            self.spend(1)?;
            lanes.push(self.walk.over(part)?);
            return Ok(Sum::Term(lanes.len() - 1));
        };
        let parts = self.dealt(cut, part)?;
        let sums = parts
            .iter()
            .map(|part| self.nested((level + 1, inner), part, lanes));
        let sums: Result<Vec<Sum>, KernelError> = sums.collect();
        let sums = sums?;
        Ok(match order(cut, level, sums.len())? {
            MergeOrder::Adjacent => Sum::adjacent(sums),
            _ => Sum::left(Start::First, sums),
        })
    }
}

fn order(cut: &KCut, level: usize, parts: usize) -> Result<MergeOrder, KernelError> {
    match (cut.tree, parts) {
        (_, 1) => Ok(MergeOrder::Alone),
        (false, _) | (true, 2) => Ok(MergeOrder::Ascending),
        (true, _) if parts.is_power_of_two() => Ok(MergeOrder::Adjacent),
        (true, _) => Err(KernelError::unplanned(
            &format!("k_cuts[{level}].merge"),
            format!("PAIRWISE_TREE of {parts} parts"),
            "a GEMMDesc does not define the tree unless the number of parts is a power of two",
        )),
    }
}

/// Whether an f32 sum is stored in it without rounding.
fn is_wide(format: Format) -> bool {
    matches!(format, Format::Fp32 | Format::Fp64 | Format::Int32)
}

/// What the parts of the outermost cut are kept in.
fn kept(
    cut: &KCut,
    parts: usize,
    settings: &Settings,
    assumed: &mut Vec<String>,
) -> Result<Kept, KernelError> {
    let result = settings.result.value();
    let wide_sum = cut.merge == Format::Fp32 || cut.merge == Format::Int32;
    let nearest = "sums are rounded to nearest even to partial_dtype and merge_dtype: a GEMMDesc does not say how";
    // One part is not added to anything, but it is rounded.
    if wide_sum || parts == 1 && is_wide(cut.merge) {
        if is_wide(cut.partial) {
            return Ok(Kept::F32);
        }
        assumed.push(nearest.into());
        return Ok(if Some(cut.partial) == result {
            Kept::Result
        } else {
            Kept::As(cut.partial)
        });
    }
    let in_d = Some(cut.merge) == result && is_wide(cut.partial) && !cut.tree;
    if in_d
        && settings
            .epilogue
            .as_ref()
            .is_some_and(|setting| setting.value != "NONE")
    {
        return Err(KernelError::unplanned(
            "k_cuts[0].merge_dtype",
            format!("{} with an epilogue", cut.merge),
            "no schedule adds an epilogue to a sum that is kept in D's format",
        ));
    }
    if in_d {
        assumed.push(nearest.into());
        assumed.push(
            "the first part is rounded to merge_dtype before the second is added: a GEMMDesc does not say"
                .into(),
        );
        return Ok(Kept::Running);
    }
    Err(KernelError::unplanned(
        "k_cuts[0].merge_dtype",
        format!("{} with partial_dtype {}", cut.merge, cut.partial),
        "schedules add parts in float32, or keep their sum in output_dtype and each part in float32",
    ))
}

/// Refuses other formats than f32 inside a part.
fn in_f32(cut: &KCut, level: usize) -> Result<(), KernelError> {
    let place = |key: &str| format!("k_cuts[{level}].{key}");
    let why = "schedules add inside a part in float32 only";
    if !is_wide(cut.partial) {
        return Err(KernelError::unplanned(
            &place("partial_dtype"),
            cut.partial,
            why,
        ));
    }
    match cut.merge {
        Format::Fp32 | Format::Int32 => Ok(()),
        other => Err(KernelError::unplanned(&place("merge_dtype"), other, why)),
    }
}
