//! Schedules of kernels that could have computed a D, for one K.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::emu::schedule::{
    AddendAt, BoundSchedule, KTraversal, Merge, Node, Order, OrderChoice, Overrides, Partials,
    PartialsChoice, Per, PromoteChoice, ResidueChoice, Role, Schedule, ScheduleSpec, SplitChoice,
    Start, TileOfD, WithoutC,
};
use crate::emu::{Arithmetic, Problem};
use crate::num::Format;
use crate::tensor::Tensor;

/// A schedule to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// The preset it comes from, or the schedule that a kernel's plan is.
    pub preset: Cow<'static, Schedule>,
    /// What takes the place of the preset's constants.
    pub overrides: Overrides,
    pub spec: ScheduleSpec,
    /// How far down the list: the smaller, the commoner the kernel.
    pub rank: usize,
    /// The number of the caller's plan that it is, if it is one.
    pub plan: Option<usize>,
}

impl std::fmt::Display for Guess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.preset.name)?;
        if self.overrides.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.overrides)
        }
    }
}

/// k of a tile of cuBLAS's own kernels, the commonest first.
const CUBLAS_TILES: [usize; 3] = [64, 32, 128];
/// Slices of cuBLAS's own kernels.
const CUBLAS_SLICES: std::ops::RangeInclusive<usize> = 2..=64;
/// That of the presets first, so that it needs no override.
const TILES: [usize; 4] = [32, 64, 128, 16];
/// The cost of a schedule of the list, in multiply-adds.
const LISTED: u64 = 64;
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

/// What a schedule is tried for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub arithmetic: &'a Arithmetic,
    pub problem: &'a Problem<'a>,
    /// D's format.
    pub result: Format,
    /// What shares a scale of the kernel's, if there are scales.
    pub scales: Option<Per>,
    /// Whether D can tell sums to which +0 was added ([`tells_zeros`]).
    pub zeros: bool,
    /// Spends so many multiply-adds on one more schedule; where it refuses, the list ends.
    pub afford: &'a dyn Fn(u64) -> bool,
}

/// Every schedule of these families that differs from the plain chain and from the others of the list on
/// a product like this one, the likely ones first: cuBLAS's kernels without slices, others' main loops,
/// sliced-K, promotion, permutations, 3xTF32, then slices, of cuBLAS's kernels first; with scales, the
/// kernels that take such scales.
pub fn guesses(request: &Wanted) -> Vec<Guess> {
    let mut list = List {
        request: *request,
        seen: HashSet::new(),
        ranked: 0,
        ended: false,
        guesses: Vec::new(),
    };
    // The bare chain has been tried; without products it is none.
    if request.scales.is_none()
        && request.problem.k > 0
        && let Ok(plain) = list.traversal(&ScheduleSpec::plain())
    {
        list.is_new(&plain, "");
    }
    match (request.arithmetic.step.own_schedules(), request.scales) {
        (Some(names), _) => {
            for name in names {
                list.preset(name, Overrides::default());
            }
        }
        (None, None) => list.unscaled(),
        (None, Some(per)) => list.scaled(per),
    }
    list.guesses
}

/// Whether zeros of D may tell sums to which an epilogue has added +0: it has some.
pub fn tells_zeros(d: &Tensor) -> bool {
    let format = d.format();
    if format.bytes() > 4 || format.is_integer() {
        return false;
    }
    let sign = 1u32 << (8 * format.bytes() - 1);
    let planes = d.planes();
    let mut row = vec![0; planes.columns()];
    (0..planes.batches()).any(|batch| {
        let plane = planes.plane(batch);
        (0..planes.rows()).any(|index| {
            plane.read_row(index, 0, &mut row);
            row.iter().any(|&code| code & !sign == 0)
        })
    })
}

struct List<'a> {
    request: Wanted<'a>,
    /// Digests of traversals, with what else decides the result.
    seen: HashSet<[u64; 2]>,
    /// Presets that were examined, whether or not they are in the list.
    ranked: usize,
    /// Whether no more may be spent.
    ended: bool,
    guesses: Vec<Guess>,
}

impl List<'_> {
    /// cuBLAS's kernels that have no slices, as far as this arithmetic may be theirs: nvjet is Hopper's and
    /// later GPUs', whose steps are longer; FP8 kernels of Ada have steps of 16.
    fn cublas(&mut self) {
        let none = Overrides::default;
        match self.family() {
            Cublas::Sixteen { nvjet } => {
                if nvjet {
                    self.preset("cublas-nvjet", none());
                }
                self.tiles("cublas-sm80", &CUBLAS_TILES, none());
                self.preset("cublas-sm80", short_steps(none()));
            }
            Cublas::HopperFp8 => self.fast_and_slow("cublas-nvjet-fp8", none()),
            Cublas::AdaFp8 => self.fast_and_slow("cublas-ada-fp8", none()),
            Cublas::Scalar { vector } => {
                self.preset("cublas-magma", none());
                self.preset("cublas-gemmsn", none());
                if vector {
                    self.preset("cublas-gemv", none());
                }
            }
            Cublas::Other => {}
        }
    }

    /// cuBLAS's kernels with so many slices.
    fn cublas_sliced(&mut self, slices: usize) {
        let sliced = || sliced(slices);
        match self.family() {
            Cublas::Sixteen { nvjet } => {
                if nvjet {
                    self.preset("cublas-nvjet-splitk", sliced());
                    self.preset("cublas-nvjet-dropped-remainder", sliced());
                }
                for name in [
                    "cublas-workspace-f32",
                    "cublas-splitk-serial",
                    "cublas-workspace",
                ] {
                    self.tiles(name, &CUBLAS_TILES, sliced());
                    self.preset(name, short_steps(sliced()));
                }
            }
            Cublas::HopperFp8 => {
                self.fast_and_slow("cublas-nvjet-fp8-splitk", sliced());
                // The defect of split nvjet kernels is known of fast sums; slow ones have blocks beside.
                let tile_k = Some(128);
                self.preset(
                    "cublas-nvjet-dropped-remainder",
                    Overrides { tile_k, ..sliced() },
                );
            }
            Cublas::AdaFp8 => {
                self.fast_and_slow("cublas-ada-fp8-pairwise", sliced());
                self.fast_and_slow("cublas-ada-fp8-serial", sliced());
            }
            Cublas::Scalar { vector: true } => self.preset("cublas-dot", sliced()),
            Cublas::Scalar { vector: false } | Cublas::Other => {}
        }
    }

    /// The cuBLAS kernels that use such an arithmetic.
    fn family(&self) -> Cublas {
        let arithmetic = self.request.arithmetic;
        let span = arithmetic.step.span();
        let fp8 = |format| matches!(format, Format::E4m3 | Format::E5m2);
        let sixteen = |format| matches!(format, Format::Fp16 | Format::Bf16);
        let both = |is: &dyn Fn(Format) -> bool| is(arithmetic.a) && is(arithmetic.b);
        match span {
            1 => Cublas::Scalar {
                vector: self.request.problem.m == 1 || self.request.problem.n == 1,
            },
            _ if both(&sixteen) => Cublas::Sixteen { nvjet: span >= 16 },
            16 if both(&fp8) => Cublas::AdaFp8,
            32.. if both(&fp8) => Cublas::HopperFp8,
            _ => Cublas::Other,
        }
    }

    fn unscaled(&mut self) {
        let none = Overrides::default;
        self.cublas();
        for name in ["cutlass-sm80", "cutlass-sm90", "cute-sm80"] {
            self.tiles(name, &TILES, none());
        }
        for name in [
            "triton-kwidth8",
            "cutlass-3xtf32-staged",
            "cutlass-3xtf32",
            "triton-tf32x3",
        ] {
            self.preset(name, none());
        }
        // Kernels promote sums of FP8; of other formats slices of K are likelier, which may compute the same.
        let fp8 = matches!(self.family(), Cublas::HopperFp8 | Cublas::AdaFp8);
        let slices = PROMOTIONS.map(|every| self.request.problem.k / every);
        for count in slices
            .into_iter()
            .filter(|count| !fp8 && (2..=8).contains(count))
        {
            self.cublas_sliced(count);
        }
        for every in PROMOTIONS {
            let promote = Some(PromoteChoice::Every(every));
            self.preset("cutlass-fp8-promote", Overrides { promote, ..none() });
        }
        for warps in WARPS {
            let tile_k = Some(warps * STRIPE);
            let base = sliced(warps);
            self.preset("cublas-sliced", Overrides { tile_k, ..base });
        }
        for slices in CUBLAS_SLICES {
            self.cublas_sliced(slices);
        }
        for slices in SLICES {
            for name in [
                "cutlass-splitk-parallel",
                "cublas-workspace",
                "cublas-splitk-serial",
            ] {
                self.residues(name, &sliced(slices));
            }
        }
        self.rarer();
    }

    /// Warps that share a tile in other grains, slices of sliced tiles, slices of partial tiles, sums in other orders.
    fn rarer(&mut self) {
        for grain in GRAINS {
            for parts in WARPS {
                let overrides = Overrides {
                    split: Some(SplitChoice::Interleaved),
                    grain: Some(grain),
                    tile_k: Some(parts * grain),
                    ..sliced(parts)
                };
                self.preset("cutlass-sm80", overrides);
            }
        }
        for slices in SLICES {
            for grain in [8, 16] {
                for partials in [PartialsChoice::F32, PartialsChoice::Result] {
                    let overrides = Overrides {
                        grain: Some(grain),
                        partials: Some(partials),
                        ..sliced(slices)
                    };
                    self.preset("cublas-workspace", overrides);
                }
            }
            let workspace = Overrides {
                split: Some(SplitChoice::Workspace),
                ..sliced(slices)
            };
            self.preset("cublas-sliced", workspace);
            // Two slices have the same sum in every order.
            let orders = [
                OrderChoice::Reverse,
                OrderChoice::Adjacent,
                OrderChoice::Pairwise,
            ];
            for order in orders.into_iter().filter(|_| slices > 2) {
                let ordered = Overrides {
                    sum_order: Some(order),
                    ..sliced(slices)
                };
                let overrides = Overrides {
                    partials: Some(PartialsChoice::F32),
                    ..ordered.clone()
                };
                self.preset("cublas-workspace", overrides);
                self.residues("cutlass-splitk-parallel", &ordered);
            }
        }
    }

    /// A preset with these tiles.
    fn tiles(&mut self, name: &str, tiles: &[usize], base: Overrides) {
        for &tile in tiles {
            let tile_k = Some(tile);
            let base = base.clone();
            self.preset(name, Overrides { tile_k, ..base });
        }
    }

    /// A preset with every tile and every place of the partial one.
    fn residues(&mut self, name: &str, base: &Overrides) {
        for tile in TILES {
            for residue in RESIDUES {
                let overrides = Overrides {
                    tile_k: Some(tile),
                    residue: Some(residue),
                    ..base.clone()
                };
                self.preset(name, overrides);
            }
        }
    }

    /// A preset whose sums are not promoted, and as it is.
    fn fast_and_slow(&mut self, name: &str, base: Overrides) {
        let promote = Some(PromoteChoice::Never);
        let fast = base.clone();
        self.preset(name, Overrides { promote, ..fast });
        self.preset(name, base);
    }

    fn scaled(&mut self, per: Per) {
        match per {
            Per::Block { .. } => {
                for name in ["deepgemm-sm90", "triton-fp8-block"] {
                    self.preset(name, Overrides::default());
                }
            }
            Per::Row | Per::RowOrTensor => {
                let promote = Some(PromoteChoice::Never);
                let none = Overrides::default;
                self.preset("torch-scaled-mm-rowwise", none());
                self.preset("torch-scaled-mm-rowwise", Overrides { promote, ..none() });
            }
            Per::Tensor => {
                self.cublas();
                for slices in CUBLAS_SLICES {
                    self.cublas_sliced(slices);
                }
            }
        }
    }

    /// Adds a preset as the overrides change it, unless another one of the list computes the same.
    fn preset(&mut self, name: &str, mut overrides: Overrides) {
        if self.ended {
            return;
        }
        self.ranked += 1;
        let preset = Schedule::preset(name).expect("a preset");
        let mut changed = preset.clone();
        if overrides.apply(&mut changed).is_err() {
            return;
        }
        let spec = changed.spec;
        overrides.forget_own(preset);
        // Scales are the kernel's, or there are none.
        if self.request.scales.is_some() && spec.scales.is_none() {
            return;
        }
        let Wanted {
            arithmetic,
            problem,
            result,
            ..
        } = self.request;
        let product = Problem {
            c: problem.c.filter(|_| spec.addend == AddendAt::Epilogue),
            ..*problem
        };
        if BoundSchedule::check_compatible(&spec, arithmetic, &product, result).is_err() {
            return;
        }
        if problem.k == 0 && (spec.without_products.is_none() || problem.c.is_some()) {
            return;
        }
        // A traversal is listed as it is long.
        self.ended = !(self.request.afford)(LISTED + problem.k as u64 / 8);
        if self.ended {
            return;
        }
        let Ok(traversal) = self.traversal(&spec) else {
            return;
        };
        // An epilogue without C, bias and factors leaves the sum as it is, except what it does to zeros and
        // to numbers that FP8 lacks.
        let c = problem.c.map(|_| spec.addend);
        let traversal = self.canonical(traversal);
        let per = self.request.scales;
        let zeros = self.request.zeros && spec.epilogue.without_c != WithoutC::Multiply;
        let fp8 = spec.epilogue.result_scale.filter(|_| result.bytes() == 1);
        let rest = match (c, per, &spec.split_terms, zeros, fp8) {
            (None, None, None, false, None) => String::new(),
            rest => format!(
                "{rest:?} {:?}",
                spec.scales.as_ref().filter(|_| per.is_some())
            ),
        };
        if self.is_new(&traversal, &rest) {
            self.guesses.push(Guess {
                preset: Cow::Borrowed(preset),
                overrides,
                spec,
                rank: self.ranked,
                plan: None,
            });
        }
    }

    fn traversal(&self, spec: &ScheduleSpec) -> Result<KTraversal, String> {
        let span = self.request.arithmetic.step.span();
        if self.request.problem.k == 0 {
            return Ok(KTraversal::without_products());
        }
        KTraversal::new(spec, self.request.problem.k, span, TileOfD::ONLY)
    }

    /// Whether nothing in the list computes the same; then it is noted.
    fn is_new(&mut self, traversal: &KTraversal, rest: &str) -> bool {
        self.seen.insert(digest((traversal, rest)))
    }

    /// The canonical form of all traversals that compute the same.
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
                // A sum in D's format is an f32 then.
                if self.request.result == Format::Fp32 && *partials == Partials::Result {
                    *partials = Partials::F32;
                }
            }
            // Its additions count the parts.
            Merge::Sum {
                order: Order::Listed(_),
                ..
            } => {}
            merge => {
                // +0 changes a sum once at the most.
                let mut empties = 0;
                sum.parts.retain(|part| {
                    empties += usize::from(empty(part));
                    !empty(part) || empties == 1
                });
                if *merge == (Merge::InPlace {}) && self.request.result == Format::Fp32 {
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

/// 128 bits by which one computation is known again among many.
pub fn digest(of: impl Hash) -> [u64; 2] {
    [0u64, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        (salt, &of).hash(&mut hasher);
        hasher.finish()
    })
}

/// cuBLAS kernels, by the arithmetic that they use.
#[derive(Clone, Copy)]
enum Cublas {
    Sixteen {
        nvjet: bool,
    },
    HopperFp8,
    AdaFp8,
    /// Multiply-adds, of no tensor core; `vector`: D is a row or a column.
    Scalar {
        vector: bool,
    },
    Other,
}

/// So many slices of K.
fn sliced(slices: usize) -> Overrides {
    Overrides {
        split_k: Some(slices),
        ..Overrides::default()
    }
}

/// Kernels of stage 0: tiles of 32 k, instructions of 8.
fn short_steps(overrides: Overrides) -> Overrides {
    Overrides {
        tile_k: Some(32),
        instruction_k: Some(8),
        ..overrides
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
