//! Which kernels could have computed a D: the schedules that are worth a try for one K.

use std::collections::HashSet;

use super::Candidate;
use crate::emu::schedule::{
    Addend, KTraversal, Kernel, Merge, Node, OrderChoice, Overrides, Partials, PartialsChoice, Per,
    PromoteChoice, ResidueChoice, Role, Schedule, ScheduleSpec, SplitChoice, Start, TileOfD,
};
use crate::emu::{Arithmetic, Problem};
use crate::num::Format;

/// A schedule to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// The preset it comes from.
    pub preset: &'static Schedule,
    /// What takes the place of the preset's constants.
    pub overrides: Overrides,
    pub spec: ScheduleSpec,
    /// How far down the list: the smaller, the commoner the kernel.
    pub rank: usize,
}

impl std::fmt::Display for Guess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.preset.name)?;
        match self.overrides.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.overrides),
        }
    }
}

/// What is searched.
/// That of the presets first, so that it needs no override.
const TILES: [usize; 4] = [32, 64, 128, 16];
const SLICES: std::ops::RangeInclusive<usize> = 2..=24;
const WARPS: [usize; 3] = [2, 4, 8];
const STRIPE: usize = 32;
const GRAINS: [usize; 2] = [16, 8];
const PROMOTIONS: [usize; 5] = [32, 64, 128, 256, 512];
const RESIDUES: [ResidueChoice; 3] = [
    ResidueChoice::First,
    ResidueChoice::Last,
    ResidueChoice::FirstAligned,
];

/// Every schedule of these families that differs from the plain chain and from the others of the list on
/// a product like this one, the likely ones first: partial tiles, slices in a workspace and in place,
/// sliced-K, promotion, permutations, 3xTF32; with scales, the kernels that take such scales.
pub fn guesses(
    arithmetic: &Arithmetic,
    problem: &Problem,
    result: Format,
    scales: Option<Per>,
) -> Vec<Guess> {
    let mut list = List {
        arithmetic,
        problem,
        result,
        seen: HashSet::new(),
        ranked: 0,
        guesses: Vec::new(),
    };
    // The bare chain has been tried.
    if scales.is_none()
        && let Ok(plain) = list.traversal(&ScheduleSpec::plain())
    {
        list.seen.insert((plain, String::new()));
    }
    match scales {
        None => list.unscaled(),
        Some(per) => list.scaled(per),
    }
    list.guesses
}

struct List<'a> {
    arithmetic: &'a Arithmetic,
    problem: &'a Problem<'a>,
    result: Format,
    /// Traversals, and what they do not say.
    seen: HashSet<(KTraversal, String)>,
    /// Presets that were looked at, whether or not they are in the list.
    ranked: usize,
    guesses: Vec<Guess>,
}

impl List<'_> {
    fn unscaled(&mut self) {
        let none = Overrides::default;
        for name in ["cutlass-sm80", "cutlass-sm90", "cute-sm80"] {
            for tile in TILES {
                let tile_k = Some(tile);
                self.preset(name, Overrides { tile_k, ..none() });
            }
        }
        for name in [
            "triton-kwidth8",
            "cutlass-3xtf32-staged",
            "cutlass-3xtf32",
            "triton-tf32x3",
        ] {
            self.preset(name, none());
        }
        for every in PROMOTIONS {
            let promote = Some(PromoteChoice::Every(every));
            self.preset("cutlass-fp8-promote", Overrides { promote, ..none() });
        }
        for warps in WARPS {
            let overrides = Overrides {
                split_k: Some(warps),
                tile_k: Some(warps * STRIPE),
                ..none()
            };
            self.preset("cublas-sliced", overrides);
        }
        for slices in SLICES {
            for name in [
                "cutlass-splitk-parallel",
                "cublas-workspace",
                "cublas-splitk-serial",
            ] {
                for tile in TILES {
                    for residue in RESIDUES {
                        let overrides = Overrides {
                            split_k: Some(slices),
                            tile_k: Some(tile),
                            residue: Some(residue),
                            ..none()
                        };
                        self.preset(name, overrides);
                    }
                }
            }
        }
        self.rarer();
    }

    /// Warps that share a tile in other grains, slices of sliced tiles, slices of no whole tiles, sums in other
    /// orders.
    fn rarer(&mut self) {
        let none = Overrides::default;
        for grain in GRAINS {
            for parts in WARPS {
                let overrides = Overrides {
                    split: Some(SplitChoice::Interleaved),
                    split_k: Some(parts),
                    grain: Some(grain),
                    tile_k: Some(parts * grain),
                    ..none()
                };
                self.preset("cutlass-sm80", overrides);
            }
        }
        for slices in SLICES {
            for grain in [8, 16] {
                for partials in [PartialsChoice::F32, PartialsChoice::Result] {
                    let overrides = Overrides {
                        split_k: Some(slices),
                        grain: Some(grain),
                        partials: Some(partials),
                        ..none()
                    };
                    self.preset("cublas-workspace", overrides);
                }
            }
            let sliced = Overrides {
                split: Some(SplitChoice::Workspace),
                split_k: Some(slices),
                ..none()
            };
            self.preset("cublas-sliced", sliced);
            for order in [
                OrderChoice::Reverse,
                OrderChoice::Adjacent,
                OrderChoice::Pairwise,
            ] {
                for tile in TILES {
                    for residue in RESIDUES {
                        let overrides = Overrides {
                            split_k: Some(slices),
                            tile_k: Some(tile),
                            residue: Some(residue),
                            sum_order: Some(order),
                            ..none()
                        };
                        self.preset("cutlass-splitk-parallel", overrides);
                    }
                }
            }
        }
    }

    fn scaled(&mut self, per: Per) {
        match per {
            Per::Block { .. } => {
                for name in ["deepgemm-sm90", "triton-fp8-block"] {
                    self.preset(name, Overrides::default());
                }
            }
            Per::Row => {
                for promote in [None, Some(PromoteChoice::Never)] {
                    let overrides = Overrides {
                        promote,
                        ..Overrides::default()
                    };
                    self.preset("torch-scaled-mm-rowwise", overrides);
                }
            }
            Per::Tensor => {
                for name in [
                    "cublas-ada-fp8",
                    "cublas-ada-fp8-serial",
                    "cublas-ada-fp8-pairwise",
                ] {
                    self.preset(name, Overrides::default());
                    for slices in SLICES {
                        let split_k = Some(slices);
                        self.preset(
                            name,
                            Overrides {
                                split_k,
                                ..Overrides::default()
                            },
                        );
                    }
                }
            }
        }
    }

    /// Adds a preset as the overrides change it, unless another one of the list computes the same.
    fn preset(&mut self, name: &str, mut overrides: Overrides) {
        self.ranked += 1;
        let preset = Schedule::preset(name).expect("a preset");
        let mut changed = preset.clone();
        if overrides.apply(&mut changed).is_err() {
            return;
        }
        let spec = changed.spec;
        overrides.forget_own(preset);
        let product = Problem {
            c: self.problem.c.filter(|_| spec.addend == Addend::Epilogue),
            ..*self.problem
        };
        if Kernel::check_compatible(&spec, self.arithmetic, &product, self.result).is_err() {
            return;
        }
        let Ok(traversal) = self.traversal(&spec) else {
            return;
        };
        // An epilogue without C, bias and factors leaves the sum as it is.
        let c = self.problem.c.map(|_| spec.addend);
        let traversal = self.canonical(traversal);
        let rest = match (c, &spec.scales, &spec.split_terms) {
            (None, None, None) => String::new(),
            (c, scales, terms) => format!("{c:?} {scales:?} {terms:?}"),
        };
        if self.seen.insert((traversal, rest)) {
            self.guesses.push(Guess {
                preset,
                overrides,
                spec,
                rank: self.ranked,
            });
        }
    }
}

impl List<'_> {
    fn traversal(&self, spec: &ScheduleSpec) -> Result<KTraversal, String> {
        let span = self.arithmetic.step.span();
        KTraversal::new(spec, self.problem.k, span, TileOfD::ONLY)
    }

    /// A traversal that computes the same, in the form that all such have.
    fn canonical(&self, mut traversal: KTraversal) -> KTraversal {
        let empty = |part: &Node| part.chains().iter().all(|chain| chain.indices.is_empty());
        let Node::Sum(sum) = &mut traversal.root else {
            return traversal;
        };
        if sum.role != Role::Split {
            // A level inside of a part that all of K is in computes what a split does.
            if !matches!(sum.role, Role::Promotion { scaled: true }) {
                sum.role = Role::Split;
            }
            return traversal;
        }
        match &mut sum.merge {
            Merge::Sum {
                start: Start::Zero,
                partials,
                ..
            } => {
                // +0 more changes no sum that starts from +0.
                sum.parts.retain(|part| !empty(part));
                if self.result == Format::Fp32 {
                    *partials = Partials::F32;
                }
            }
            merge => {
                // +0 changes a sum once at the most.
                let mut empties = 0;
                sum.parts.retain(|part| {
                    empties += usize::from(empty(part));
                    !empty(part) || empties == 1
                });
                if *merge == (Merge::InPlace {}) && self.result == Format::Fp32 {
                    *merge = Merge::serial(Start::First);
                }
            }
        }
        if sum.parts.len() == 1 && sum.merge == Merge::serial(Start::First) {
            traversal.root = sum.parts.remove(0);
        }
        traversal
    }
}

/// What shares a scale, told by the shapes of scales in f32: of A and of B, in rows and columns.
pub fn granularity([a, b]: [[usize; 2]; 2], problem: &Problem) -> Option<Per> {
    let block = Per::Block {
        rows: 1,
        columns: 128,
        k: 128,
    };
    [Per::Tensor, Per::Row, block].into_iter().find(|per| {
        let want = crate::emu::schedule::scale_shapes(*per, problem.m, problem.n, problem.k);
        want == [a, b]
    })
}

impl Candidate {
    /// The same arithmetic under a schedule.
    pub fn under(&self, guess: Guess, result: Format) -> Candidate {
        Candidate {
            convert_to: (result != self.arithmetic.accumulator).then_some(result),
            schedule: Some(guess),
            ..self.clone()
        }
    }
}
