//! From a plan to a schedule that engines run.

use std::collections::{BTreeMap, BTreeSet};

use super::family::{Issues, Library};
use super::{
    Algorithm, Capability, Cut, Family, IfSaid, Join, Kept, KernelError, MergeOrder, Plan, Restart,
    Slice, Start, Sum, citation,
};
use crate::emu::schedule::{
    self, Addend, BiasAdded, Combine, Empty, Epilogue, Fold, FoldKind, Grain, Level, Multiply,
    Order, Partials, Parts, Per, ResultScale, SCHEMA, ScaledAt, Scaling, Schedule, ScheduleSpec,
    SliceLength, WithoutC, WithoutProducts,
};
use crate::emu::step::Code;
use crate::emu::{Catalogue, Evidence, KnownBy};
use crate::num::Format;

/// Which model of the catalogue computes a plan's chains, as far as the kernel's words say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub architecture: Option<&'static str>,
    pub instruction: Option<&'static str>,
}

impl Plan {
    /// Everything that decides a bit, for this product's K.
    ///
    /// # Errors
    /// If the vocabulary of schedules has no words for it.
    pub fn spec(&self) -> Result<ScheduleSpec, KernelError> {
        let family = self.family();
        if let Some(said) = &self.settings.scale_mode {
            return Err(KernelError::NoSchedule {
                why: format!(
                    "its scales are {}, not one per tensor; it is not known how such a kernel applies them",
                    said.value
                ),
            });
        }
        if self.settings.operand() == Some(Format::Fp64) {
            return Err(KernelError::NoSchedule {
                why: "its sums are FP64, and schedules add in f32".into(),
            });
        }
        let mut spec = ScheduleSpec {
            addend: Addend::Epilogue,
            epilogue: self.epilogue(family)?,
            nan: Code(0x7fff_ffff),
            ..ScheduleSpec::plain()
        };
        spec.without_products = is_cublas(family).then_some(WithoutProducts::Zero);
        if self.settings.is_fp8() && is_cublas(family) {
            spec.scales = Some(Scaling {
                per: Per::Tensor,
                at: ScaledAt::Epilogue,
                multiply: Multiply::Alpha,
            });
        }
        if self.settings.operand().is_some_and(Format::is_integer) {
            // They add up to the same whatever the order.
            spec.scales = None;
            return Ok(spec);
        }
        if let Some(tile) = self.tile {
            spec.tile_k = Some(tile.k);
            spec.residue = tile.residue;
        }
        let lane = self.lanes().next();
        let of = lane.map_or(1, |lane| lane.instruction_k);
        // AMD's names need not say it, and then it is the model's.
        let said = self.settings.instruction_k.is_some() || is_cublas(family);
        spec.instruction_k = (of > 1 && said).then_some(of);
        spec.split = self.split()?;
        spec.inner = self.sharing.iter().map(sharing).collect();
        if let Some(restart) = lane.and_then(|lane| lane.restart) {
            spec.inner.push(restarted(restart));
        }
        spec.validate()
            .map_err(|why| KernelError::NoSchedule { why })?;
        Ok(spec)
    }

    /// The same with a name, its sources, and how it is known.
    pub fn schedule(&self) -> Result<Schedule, KernelError> {
        let family = self.family();
        let spec = self.spec()?;
        let mut keys: BTreeSet<&str> = self.facts.iter().map(|fact| fact.source).collect();
        let own = keys.clone();
        keys.insert("ptx");
        let sources = keys
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), citation(key)?.into())));
        let evidence = self.evidence(family);
        let known = |evidence, note: &str| KnownBy {
            evidence,
            source: own.iter().map(|key| (*key).to_owned()).collect(),
            note: (!note.is_empty()).then(|| note.into()),
        };
        let mut known_by = BTreeMap::new();
        let nan = KnownBy {
            evidence: Evidence::Published,
            source: vec!["ptx".into()],
            note: None,
        };
        for constant in spec.constants() {
            let group = constant.name.split('.').next().expect("one").to_owned();
            let note = match group.as_str() {
                "nan" => {
                    known_by.insert(group, nan.clone());
                    continue;
                }
                "addend" | "epilogue" | "scales" | "without_products" => {
                    "captured for cuBLASLt's FP8 products on Ada, concluded from them for others"
                }
                _ => "",
            };
            let evidence = if note.is_empty() || family.own.epilogue_compared {
                evidence
            } else {
                Evidence::Inferred
            };
            known_by.insert(group, known(evidence, note));
        }
        Ok(Schedule {
            schema: SCHEMA.into(),
            name: format!("kernel-{}", self.family),
            title: family.title.into(),
            evidence,
            sources: sources.collect(),
            notes: self
                .assumed
                .iter()
                .map(|what| format!("Assumed: {what}."))
                .collect(),
            known_by,
            spec,
        })
    }

    /// The model that computes the chains, as far as the kernel's words say.
    pub fn model(&self) -> Model {
        let capability = self.settings.capability.value();
        let by_capability = |capability: Capability| {
            let found = Catalogue::builtin().find(&capability.to_string());
            found.ok()
        };
        let own = &self.family().own;
        let capability = capability.or(own.gpu);
        let architecture = capability.and_then(by_capability);
        let said = self.settings.algorithm.value();
        let instruction = match own.issues {
            _ if said.is_some() => said.map(Algorithm::instruction),
            Issues::ByOperands => None,
            _ if !self.on_tensor_cores() => Some("ffma"),
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

    fn evidence(&self, family: &Family) -> Evidence {
        let best = family.coverage.iter().filter_map(|row| row.evidence).max();
        let known = self.facts.iter().map(|fact| fact.known).max();
        match (best, known) {
            _ if !self.assumed.is_empty() => Evidence::Inferred,
            (Some(Evidence::Captured), _) => Evidence::Captured,
            (Some(Evidence::Compared), Some(Evidence::Compared)) => Evidence::Compared,
            _ => Evidence::Inferred,
        }
    }

    fn epilogue(&self, family: &Family) -> Result<Epilogue, KernelError> {
        if let Some(said) = &self.settings.epilogue
            && !["DEFAULT", "BIAS", "NONE", "IN_ACCUMULATOR"].contains(&said.value.as_str())
        {
            if said.value == "AFTER_ROUNDING" {
                return Err(KernelError::NoSchedule {
                    why: "its epilogue is AFTER_ROUNDING: no schedule adds a bias or C after rounding to D's format".into(),
                });
            }
            return Err(KernelError::NoSchedule {
                why: format!(
                    "its epilogue is {}, whose arithmetic is not published; check the product without it",
                    said.value
                ),
            });
        }
        // CUTLASS's own front ends multiply where C is not read.
        let own = self.settings.partition.is_some();
        Ok(Epilogue {
            combine: Combine::Fma,
            without_c: if is_cublas(family) && !own {
                WithoutC::AddZero
            } else {
                WithoutC::Multiply
            },
            bias: BiasAdded::Add,
            function: None,
            result_scale: (self.settings.is_fp8() && is_cublas(family)).then_some(ResultScale::Fp8),
        })
    }

    fn split(&self) -> Result<Option<Level>, KernelError> {
        let nested = |slice: &Slice| slice.lanes.len() > 1;
        if self.sharing.is_empty() && self.slices.iter().any(nested) {
            return self.nested().map(Some);
        }
        let asked = self.settings.split_k.value();
        let count = Some(asked.unwrap_or(self.slices.len()).max(self.slices.len()));
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
            Cut::Listed => self.listed()?,
        };
        Ok(Some(Level {
            parts,
            merge: self.merged(),
        }))
    }

    /// The runs of every slice, as they are.
    fn listed(&self) -> Result<Parts, KernelError> {
        if self.slices.iter().any(|slice| slice.lanes.len() > 1) {
            return Err(KernelError::NoSchedule {
                why: "its lanes share slices irregularly".into(),
            });
        }
        self.runs_of_lanes()
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
                return Err(KernelError::NoSchedule {
                    why: format!("it has more than {MAX_RUNS} irregular runs of k"),
                });
            }
            parts.push(runs);
        }
        Ok(Parts::Ranges { parts })
    }

    /// Slices that are cut again: the lanes of all of them, and every addition.
    fn nested(&self) -> Result<Level, KernelError> {
        let no = |why: &str| KernelError::NoSchedule { why: why.into() };
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
        }
    }
}

/// Whether it is one of cuBLAS's, whose epilogue is that of cublasLt.
fn is_cublas(family: &Family) -> bool {
    family.own.library == Library::Cublas
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
            },
        },
    }
}

fn restarted(restart: Restart) -> Level {
    Level {
        parts: Parts::Blocks {
            length: restart.every,
            first: None,
        },
        merge: schedule::Merge::serial(restart.from),
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
