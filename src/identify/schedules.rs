//! Which kernels could have computed a D: the schedules that are worth a try for one K.

use std::collections::HashSet;

use super::Candidate;
use crate::emu::schedule::{
    Addend, Kernel, Partial, Partials, Per, Promote, Recipe, Residue, Schedule, Split, Walk,
};
use crate::emu::{Arithmetic, Problem};
use crate::num::Format;

/// A schedule to try.
#[derive(Clone, Debug)]
pub struct Guess {
    /// The preset it comes from.
    pub preset: &'static Schedule,
    pub recipe: Recipe,
    /// The options that name it to `tcverify check`.
    pub options: String,
}

/// What is searched.
/// That of the presets first, so that it needs no option.
const TILES: [usize; 4] = [32, 64, 128, 16];
const SLICES: std::ops::RangeInclusive<usize> = 2..=24;
const WARPS: [usize; 3] = [2, 4, 8];
const STRIPE: usize = 32;
const PROMOTIONS: [usize; 5] = [32, 64, 128, 256, 512];

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
        guesses: Vec::new(),
    };
    // The bare chain has been tried.
    if scales.is_none()
        && let Ok(walk) = Walk::new(&Recipe::plain(), problem.k, ([0, 0], [1, 1]))
    {
        list.seen.insert((walk, String::new()));
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
    /// Walks, and what they do not say.
    seen: HashSet<(Walk, String)>,
    guesses: Vec<Guess>,
}

impl List<'_> {
    fn unscaled(&mut self) {
        for (name, options) in [
            ("triton-kwidth8", ""),
            ("cutlass-3xtf32-staged", ""),
            ("cutlass-3xtf32", ""),
            ("triton-tf32x3", ""),
        ] {
            self.preset(name, options, |_| {});
        }
        for name in ["cutlass-sm80", "cutlass-sm90", "cute-sm80"] {
            for tile in TILES {
                let options = format!(" --tile-k {tile}");
                self.preset(name, &options, |recipe| recipe.tile_k = Some(tile));
            }
        }
        for every in PROMOTIONS {
            let options = format!(" --promote {every}");
            self.preset("cutlass-fp8-promote", &options, |recipe| {
                recipe.promote = Some(Promote { every, first: None });
            });
        }
        for warps in WARPS {
            let tile = warps * STRIPE;
            let options = format!(" --split-k {warps} --tile-k {tile}");
            self.preset("cublas-sliced", &options, |recipe| {
                recipe.tile_k = Some(tile);
                recipe.split = Split::Sliced {
                    warps,
                    stripe: STRIPE,
                };
            });
        }
        for slices in SLICES {
            for (name, kept) in [
                ("cutlass-splitk-parallel", Some(Partials::F32)),
                ("cublas-workspace", Some(Partials::Result)),
                ("cublas-splitk-serial", None),
            ] {
                for tile in TILES {
                    for (residue, option) in [
                        (Residue::First, ""),
                        (Residue::Last, " --residue last"),
                        (Residue::FirstAligned, " --residue first-aligned"),
                    ] {
                        let options = format!(" --split-k {slices} --tile-k {tile}{option}");
                        self.preset(name, &options, |recipe| {
                            recipe.tile_k = Some(tile);
                            recipe.residue = residue;
                            let slices = Some(slices);
                            recipe.split = match kept {
                                Some(partials) => Split::Workspace { slices, partials },
                                None => Split::Serial { slices },
                            };
                        });
                    }
                }
            }
        }
    }

    fn scaled(&mut self, per: Per) {
        match per {
            Per::Block { .. } => {
                for name in ["deepgemm-sm90", "triton-fp8-block"] {
                    self.preset(name, "", |_| {});
                }
            }
            Per::Row => {
                for promote in [Some(128), None] {
                    let options = promote.map_or(" --promote never", |_| "");
                    self.preset("torch-scaled-mm-rowwise", options, |recipe| {
                        recipe.promote = promote.map(|every| Promote { every, first: None });
                    });
                }
            }
            Per::Tensor => {}
        }
    }

    /// Adds a preset as the options change it, unless another one of the list computes the same.
    fn preset(&mut self, name: &str, options: &str, change: impl Fn(&mut Recipe)) {
        let preset = Schedule::preset(name).expect("a preset");
        let mut recipe = preset.recipe.clone();
        change(&mut recipe);
        // What the preset has needs no option.
        let own = preset
            .recipe
            .tile_k
            .filter(|_| recipe.tile_k == preset.recipe.tile_k);
        let own = own.map(|tile| format!(" --tile-k {tile}"));
        let mut options = own.map_or(options.to_owned(), |own| options.replace(&own, ""));
        if recipe == preset.recipe {
            options.clear();
        }
        let product = Problem {
            c: self.problem.c.filter(|_| recipe.addend == Addend::Epilogue),
            ..*self.problem
        };
        let possible = recipe.check().is_ok()
            && Kernel::suits(&recipe, self.arithmetic, &product, self.result).is_ok();
        if !possible {
            return;
        }
        let Ok(walk) = Walk::new(&recipe, self.problem.k, ([0, 0], [1, 1])) else {
            return;
        };
        // An epilogue without C, bias and factors leaves the sum as it is.
        let c = self.problem.c.map(|_| recipe.addend);
        let (walk, split) = self.canonical(&recipe.split, walk);
        let rest = match (&split, c, &recipe.scales, &recipe.passes) {
            (split, None, None, None) => split.clone(),
            (split, c, scales, passes) => format!("{split} {c:?} {scales:?} {passes:?}"),
        };
        if self.seen.insert((walk, rest)) {
            self.guesses.push(Guess {
                preset,
                recipe,
                options: format!("--schedule {name}{options}"),
            });
        }
    }
}

impl List<'_> {
    /// A walk that computes the same, in the form that all such have; and what it does not say.
    fn canonical(&self, split: &Split, mut walk: Walk) -> (Walk, String) {
        let empty = |partial: &Partial| partial.chains.iter().all(|chain| chain.slots.is_empty());
        let Split::Workspace { partials, .. } = split else {
            // +0 changes a sum once at the most.
            let mut empties = 0;
            walk.partials.retain(|partial| {
                empties += usize::from(empty(partial));
                !empty(partial) || empties == 1
            });
            let kind = match split {
                _ if walk.partials.len() == 1 => "",
                Split::Serial { .. } if self.result != Format::Fp32 => "serial",
                _ => "added up",
            };
            return (walk, kind.into());
        };
        // +0 more changes no sum that starts from +0.
        walk.partials.retain(|partial| !empty(partial));
        let kept = *partials == Partials::F32 || self.result == Format::Fp32;
        if kept && walk.partials.iter().all(|partial| !partial.promoted) {
            // The sum in the workspace is a main accumulator.
            let chains = walk.partials.into_iter().flat_map(|partial| partial.chains);
            let partial = Partial {
                chains: chains.collect(),
                promoted: true,
            };
            let partials = vec![partial];
            return (Walk { partials }, String::new());
        }
        (walk, format!("workspace {kept}"))
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
