//! From a plan to a schedule that engines run.

use std::collections::{BTreeMap, BTreeSet};

use super::family::{Family, Issues};
use super::{
    Algorithm, Cut, IfKnown, Join, Kept, KernelError, MergeOrder, Plan, Restart, Slice, Start, Sum,
    citation,
};
use crate::emu::schedule::{
    self, AddendAt, BiasAdded, Combine, Empty, Epilogue, Fold, FoldKind, Grain, Level, Multiply,
    Order, Partials, Parts, Per, ResultScale, SCHEMA, ScaledAt, Scaling, Schedule, ScheduleSpec,
    SliceLength, WithoutC, WithoutProducts,
};
use crate::emu::step::Code;
use crate::emu::{Catalogue, Evidence, KnownBy};
use crate::num::Format;

/// Which model of the catalogue computes a plan's chains, as far as the text tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub architecture: Option<&'static str>,
    pub instruction: Option<&'static str>,
}

impl Plan {
    /// Everything that decides a bit, for this product's K.
    ///
    /// # Errors
    /// If a schedule cannot express it.
    pub fn spec(&self) -> Result<ScheduleSpec, KernelError> {
        if let Some(order) = &self.order {
            order.validate().map_err(no)?;
            return Ok(order.clone());
        }
        let settings = &self.settings;
        if let Some(setting) = &settings.scale_mode {
            return Err(no(format!(
                "its scales are {}, not one per tensor; it is not known how such a kernel applies them",
                setting.value
            )));
        }
        if settings.operand() == Some(Format::Fp64) {
            return Err(no("its sums are FP64, and schedules add in f32"));
        }
        let of_cublas = self.family().is_cublas();
        let mut spec = ScheduleSpec {
            addend: AddendAt::Epilogue,
            epilogue: self.epilogue()?,
            nan: Code(0x7fff_ffff),
            without_products: of_cublas.then_some(WithoutProducts::Zero),
            scales: (settings.is_fp8() && of_cublas).then_some(Scaling {
                per: Per::Tensor,
                at: ScaledAt::Epilogue,
                multiply: Multiply::Alpha,
            }),
            ..ScheduleSpec::plain()
        };
        if settings.operand().is_some_and(Format::is_integer) {
            // Integers add up to the same in any order.
            return Ok(spec);
        }
        if let Some(tile) = self.tile {
            spec.tile_k = Some(tile.k);
            spec.residue = tile.residue;
        }
        let lane = self.lanes().next();
        let of = lane.map_or(1, |lane| lane.instruction_k);
        // AMD's names need not state it; then the model's applies.
        let stated = settings.instruction_k.is_some() || of_cublas;
        spec.instruction_k = (of > 1 && stated).then_some(of);
        spec.split = self.split()?;
        spec.inner = self.sharing.iter().map(sharing).collect();
        if let Some(Restart { every, from }) = lane.and_then(|lane| lane.restart) {
            spec.inner.push(Level {
                parts: Parts::Blocks {
                    length: every,
                    first: None,
                },
                merge: schedule::Merge::serial(from),
            });
        }
        spec.validate().map_err(no)?;
        Ok(spec)
    }

    /// The schedule of the plan, with a name, its sources, and how it is known.
    pub fn schedule(&self) -> Result<Schedule, KernelError> {
        let family = self.family();
        let spec = self.spec()?;
        let own: BTreeSet<&str> = self.facts.iter().map(|fact| fact.source).collect();
        let of_nan = BTreeSet::from(["ptx"]);
        let evidence = self.evidence();
        let mut known_by = BTreeMap::new();
        for constant in spec.constants() {
            let group = constant.name.split('.').next().expect("one");
            let (evidence, sources, note) = match group {
                "nan" => (Evidence::Published, &of_nan, None),
                "addend" | "epilogue" | "scales" | "without_products" => {
                    let compared = family.epilogue_compared;
                    let note = "captured for cuBLASLt's FP8 products on Ada, concluded from them for others";
                    let known = if compared {
                        evidence
                    } else {
                        Evidence::Inferred
                    };
                    (known, &own, Some(note.to_owned()))
                }
                _ => (evidence, &own, None),
            };
            let known = KnownBy {
                evidence,
                source: sources.iter().map(ToString::to_string).collect(),
                note,
            };
            known_by.insert(group.to_owned(), known);
        }
        let cited = |key: &&str| Some(((*key).to_owned(), citation(key)?.into()));
        Ok(Schedule {
            schema: SCHEMA.into(),
            name: format!("kernel-{}", family.id),
            title: family.title.into(),
            evidence,
            sources: own.union(&of_nan).filter_map(cited).collect(),
            notes: self
                .assumed
                .iter()
                .map(|what| format!("Assumed: {what}."))
                .collect(),
            known_by,
            spec,
        })
    }

    /// The model that computes the chains, as far as the text tells.
    pub fn model(&self) -> Model {
        let family = self.family();
        let gpu = self.settings.capability.value().or(family.gpu);
        let architecture = gpu.and_then(|gpu| Catalogue::builtin().find(&gpu.to_string()).ok());
        let setting = self.settings.algorithm.value();
        let instruction = match family.issues {
            _ if setting.is_some() => setting.map(Algorithm::instruction),
            Issues::ByOperands => None,
            _ if self.order.is_none() && !self.on_tensor_cores() => Some("ffma"),
            Issues::Named(name) => Some(name),
            Issues::First => {
                architecture.map(|architecture| architecture.instructions[0].name.as_str())
            }
        };
        Model {
            architecture: architecture.map(|architecture| architecture.name.as_str()),
            instruction,
        }
    }

    pub(super) fn family(&self) -> &'static Family {
        Family::find(self.family).expect("planned by one")
    }

    fn evidence(&self) -> Evidence {
        let coverage = self.family().coverage.iter();
        let best = coverage.filter_map(|row| row.evidence).max();
        let known = self.facts.iter().map(|fact| fact.known).max();
        match (best, known) {
            _ if !self.assumed.is_empty() => Evidence::Inferred,
            (Some(Evidence::Captured), _) => Evidence::Captured,
            (Some(Evidence::Compared), Some(Evidence::Compared)) => Evidence::Compared,
            _ => Evidence::Inferred,
        }
    }

    fn epilogue(&self) -> Result<Epilogue, KernelError> {
        if let Some(setting) = &self.settings.epilogue
            && !["DEFAULT", "BIAS", "NONE", "IN_ACCUMULATOR"].contains(&setting.value.as_str())
        {
            return Err(no(match setting.value.as_str() {
                "AFTER_ROUNDING" => {
                    "its epilogue is AFTER_ROUNDING: no schedule adds a bias or C after rounding to D's format"
                        .to_owned()
                }
                other => format!(
                    "its epilogue is {other}, whose arithmetic is not published; check the product without it"
                ),
            }));
        }
        // CUTLASS's own front ends multiply by alpha where C is not read.
        let own = self.settings.partition.is_some();
        let of_cublas = self.family().is_cublas();
        Ok(Epilogue {
            combine: Combine::Fma,
            without_c: if of_cublas && !own {
                WithoutC::AddZero
            } else {
                WithoutC::Multiply
            },
            bias: BiasAdded::Add,
            function: None,
            result_scale: (self.settings.is_fp8() && of_cublas).then_some(ResultScale::Fp8),
        })
    }

    fn split(&self) -> Result<Option<Level>, KernelError> {
        let nested = |slice: &Slice| slice.lanes.len() > 1;
        if self.sharing.is_empty() && self.slices.iter().any(nested) {
            return self.nested().map(Some);
        }
        let requested = self.settings.split_k.value();
        let count = Some(
            requested
                .unwrap_or(self.slices.len())
                .max(self.slices.len()),
        );
        let grain = self.grain.map(Grain::K);
        let slices = |length| Parts::Slices {
            count,
            grain,
            length,
            empty: Empty::Skipped,
        };
        let parts = match self.cut {
            Cut::Whole => return Ok(None),
            Cut::Even => slices(SliceLength::Ceil),
            Cut::RoundedDown => slices(SliceLength::CeilOfFloor),
            Cut::LastTakesRest => slices(SliceLength::Floor),
            Cut::Balanced => Parts::Slices {
                count: Some(self.slices.len()),
                grain,
                length: SliceLength::Balanced,
                empty: Empty::Zero,
            },
            Cut::Dealt => Parts::Interleaved {
                count: Some(self.slices.len()),
                grain,
                empty: Empty::Zero,
            },
            Cut::Listed if self.slices.iter().any(nested) => {
                return Err(no("its lanes share slices irregularly"));
            }
            Cut::Listed => self.runs_of_lanes()?,
        };
        Ok(Some(Level {
            parts,
            merge: self.merged(),
        }))
    }

    /// The runs of every lane.
    fn runs_of_lanes(&self) -> Result<Parts, KernelError> {
        const MAX_RUNS: usize = 1 << 16;
        let mut parts = Vec::new();
        let mut count = 0;
        for lane in self.lanes() {
            let mut runs: Vec<[usize; 2]> = Vec::new();
            for run in lane.runs() {
                match runs.last_mut() {
                    Some(last) if last[1] == run.start => last[1] = run.end,
                    _ => runs.push([run.start, run.end]),
                }
            }
            count += runs.len();
            if count > MAX_RUNS {
                return Err(no(format!(
                    "it has more than {MAX_RUNS} irregular runs of k"
                )));
            }
            parts.push(runs);
        }
        Ok(Parts::Ranges { parts })
    }

    /// Slices that are cut again: the lanes of all of them, and every addition.
    fn nested(&self) -> Result<Level, KernelError> {
        if self.merge.kept != Kept::F32 {
            return Err(no(
                "its slices are cut again, but their sums are not kept in f32 (partial_dtype, merge_dtype)",
            ));
        }
        let mut lanes = 0;
        let mut sums = Vec::new();
        for slice in &self.slices {
            sums.push(slice.join.with(&|lane| Sum::Term(lanes + lane)));
            lanes += slice.lanes.len();
        }
        let all = self.merge.order.sum(sums.len());
        let mut pairs = Vec::new();
        all.with(&|slice| sums[slice].clone())
            .additions(&mut pairs)
            .ok_or_else(|| no("its sums start from +0"))?;
        let serial = pairs.iter().copied().eq((1..lanes).map(|from| [0, from]));
        Ok(Level {
            parts: self.runs_of_lanes()?,
            merge: schedule::Merge::Sum {
                order: if serial {
                    Order::Serial
                } else {
                    Order::Listed(pairs)
                },
                start: Start::First,
                partials: Partials::F32,
                sums: Partials::F32,
            },
        })
    }

    fn merged(&self) -> schedule::Merge {
        if self.merge.kept == Kept::Running && self.merge.order != MergeOrder::Alone {
            return schedule::Merge::InPlace {};
        }
        let (order, start) = match self.merge.order {
            MergeOrder::Alone | MergeOrder::Ascending => (Order::Serial, Start::First),
            MergeOrder::AscendingFromZero => (Order::Serial, Start::Zero),
            MergeOrder::Pairwise => (Order::Pairwise, Start::First),
            MergeOrder::Adjacent => (Order::Adjacent, Start::First),
            MergeOrder::DotBlocks => (dot_blocks(), Start::First),
        };
        schedule::Merge::Sum {
            order,
            start,
            partials: match self.merge.kept {
                Kept::Result => Partials::Result,
                Kept::As(Format::Fp16) => Partials::Fp16,
                Kept::As(_) => Partials::Bf16,
                _ => Partials::F32,
            },
            sums: Partials::F32,
        }
    }
}

fn no(why: impl Into<String>) -> KernelError {
    KernelError::NoSchedule { why: why.into() }
}

fn sharing(sharing: &super::Sharing) -> Level {
    let count = Some(sharing.lanes);
    let empty = Empty::Zero;
    Level {
        parts: match sharing.dealt {
            Some(grain) => Parts::Interleaved {
                count,
                grain: Some(Grain::K(grain)),
                empty,
            },
            None => Parts::Slices {
                count,
                grain: Some(Grain::K(1)),
                length: SliceLength::Ceil,
                empty,
            },
        },
        merge: match sharing.join {
            Join::Left(start) => schedule::Merge::serial(start),
            Join::Butterfly => schedule::Merge::Sum {
                order: Order::Butterfly,
                start: Start::First,
                partials: Partials::F32,
                sums: Partials::F32,
            },
        },
    }
}

fn dot_blocks() -> Order {
    let fold = |how, to| Fold { how, to };
    Order::Folds(vec![
        fold(FoldKind::Stride, 128),
        fold(FoldKind::Halve, 32),
        fold(FoldKind::Stride, 4),
        fold(FoldKind::Stride, 1),
    ])
}
