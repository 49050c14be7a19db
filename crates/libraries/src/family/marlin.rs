//! Marlin: 16-bit operands times weights of 4 or 8 bits. Blocks take stripes of K across columns of tiles, warps share the
//! tiles of K.

use super::{Coverage, Family, Issues, Library, Request};
use crate::emu::Evidence::Published;
use crate::emu::schedule::{
    AddendAt, BiasAdded, Empty, Epilogue, Grain, Group, Level, Merge, Multiply, Order, Partials,
    Parts, Per, Raster, ScaledAt, Scaling, ScheduleSpec, Start,
};
use crate::multiprocessors;
use crate::num::Format;
use crate::settings::{Generation, Marlin};
use crate::words::Word as _;
use crate::{
    Capability, Fact, How, IfKnown, KernelError, Open, Plan, Scheme, Settings, Sourced, Weights,
};

pub static FAMILY: Family = Family {
    id: "marlin",
    title: "Marlin: 16-bit operands, weights of 4 or 8 bits",
    kernels: "Marlin<...>; marlin-vllm, marlin-original",
    facts: &[
        Fact::new(
            "stripes of K of ceil(tiles of K / SMs) across columns of tiles, in whole groups; the slices of a column \
             are added from the last k to the first",
            Published,
            "marlin",
        ),
        Fact::new(
            "warp groups share a tile of K, g0 + (g1 + (g3 + g2)); scales of groups before the product, of columns after it",
            Published,
            "marlin",
        ),
        Fact::new(
            "tiles and launches by M, N, K and SMs; without act_order, which permutes A beforehand",
            Published,
            "vllm-marlin",
        ),
    ],
    coverage: &[Coverage {
        gpus: "sm_80 and later",
        evidence: Some(Published),
        what: "read in both sources; no captured result has been compared",
        source: "vllm-marlin",
    }],
    library: Library::Described,
    names: &["marlin", "Marlin"],
    never_split: true,
    // The first ones take the tile that the shapes and the GPU's memory choose.
    tried_unnamed: &[
        "marlin-vllm",
        "marlin-original",
        "marlin-vllm,128x128x256",
        "marlin-vllm,64x256x256",
        "marlin-vllm,64x128x128",
        "marlin-vllm,128x64x128",
    ],
    of_weights: true,
    oldest: Some(Capability::new(8, 0)),
    issues: Issues::Named("mma"),
    needs,
    plan,
    ..Family::CUBLAS
};

fn needs(settings: &Settings) -> Vec<Open> {
    let mut open = Vec::new();
    if settings.operands.is_none() {
        let why = "it is that of D, and of the scales";
        open.push(Open::new("the operands' format", "dtype", why));
    }
    if settings.multiprocessors.is_none() {
        let why = format!("stripes are cut by it ({})", multiprocessors::listed());
        open.push(Open::new(
            "the number of multiprocessors",
            "multiprocessors",
            why,
        ));
    }
    open
}

/// k and columns of a tile, and threads.
type TileSize = [usize; 3];

const WIDE: TileSize = [64, 256, 256];
const DEEP: TileSize = [128, 128, 256];
const SMALL: TileSize = [64, 128, 128];
const NARROW: TileSize = [128, 64, 128];

/// Rows of D that blocks take at most.
const ROWS: usize = 64;

/// What decides the plan of a launch.
struct Product<'a> {
    request: &'a Request<'a>,
    text: Marlin,
    vllm: bool,
    weights: Weights,
    /// k of a group; none if a column has one scale.
    group: Option<usize>,
    sms: usize,
}

fn plan(request: &Request) -> Result<Plan, KernelError> {
    let product = Product::of(request)?;
    let mut plan = request.plan(&FAMILY);
    plan.assumed = vec![
        "the multiprocessors that the kernel was given: with sums in f32 few elements show another number".into(),
    ];
    if request.gpus().is_empty() && product.text.tile.is_none() {
        plan.assumed
            .push("tiles fit the GPU's shared memory".into());
    }
    plan.order = Some(product.spec()?);
    let known = Marlin {
        weights: Some(product.weights),
        group: Some(product.group),
        tile: Some(product.tile(product.launches()?[0])?),
        ..product.text
    };
    let operand = request.settings.operand();
    let result = operand.map(|format| Sourced::new(format, How::Derived, "that of A"));
    plan.settings.result = plan.settings.result.or(result);
    plan.settings.marlin = Some(Sourced::new(known, How::Derived, ""));
    Ok(plan)
}

impl<'a> Product<'a> {
    fn of(request: &'a Request<'a>) -> Result<Product<'a>, KernelError> {
        let options = request.options;
        let text = request.settings.marlin.value().unwrap_or_default();
        let missing = |what, ask, why: &str| KernelError::from(Open::new(what, ask, why));
        let generation = text.generation.ok_or_else(|| {
            let why = "'marlin-vllm' and 'marlin-original' deal k to warps, and stripes to blocks, in different ways";
            missing("whose Marlin it is", "kernel", why)
        })?;
        if let (Some(given), Some(stated)) = (options.weights, text.weights)
            && given != stated
        {
            return Err(KernelError::Contradiction {
                what: "the kind of weights",
                text: stated.word().to_owned(),
                given: given.word().to_owned(),
            });
        }
        let weights = options.weights.or(text.weights).ok_or_else(|| {
            let why = "scales of columns of 4 and 8 bits are applied at different places";
            missing("the kind of weights", "weights", why)
        })?;
        let k = request.k();
        let given = options.groups.map(|groups| match groups {
            1 => None,
            groups => Some(k / groups.max(1)),
        });
        let group = match (given, text.group) {
            (Some(given), Some(stated)) if given != stated => {
                let show = |group: Option<usize>| {
                    group.map_or("one scale a column".into(), |k| format!("{k} k"))
                };
                return Err(KernelError::Contradiction {
                    what: "the group of a scale",
                    text: show(stated),
                    given: show(given),
                });
            }
            (given, stated) => given.or(stated).ok_or_else(|| {
                let why =
                    "stripes are whole groups; a name may have g128, or g-1 for one scale a column";
                missing("the groups of k that share a scale", "scale-b", why)
            })?,
        };
        let vllm = generation == Generation::Vllm;
        let fits = match request.settings.operand() {
            Some(Format::Fp16) => true,
            Some(Format::Bf16) => vllm,
            _ => false,
        };
        if !fits || !vllm && weights != Weights::U4b8 {
            let why = "it multiplies FP16 by u4b8 weights; vLLM's also BF16, and u4, u8 and u8b128 weights";
            return Err(request.wrong(&FAMILY, why));
        }
        let result = request.settings.result.value();
        let operand = request.settings.operand();
        if let (Some(result), Some(operand)) = (result, operand)
            && result != operand
        {
            return Err(KernelError::Contradiction {
                what: "D's format",
                text: operand.to_string(),
                given: result.to_string(),
            });
        }
        let sms = request.settings.multiprocessors.value().unwrap_or(0);
        if sms == 0 {
            return Err(request.wrong(&FAMILY, "there are no multiprocessors"));
        }
        Ok(Product {
            request,
            text,
            vllm,
            weights,
            group,
            sms: sms as usize,
        })
    }

    /// Rows of D by launch.
    fn launches(&self) -> Result<Vec<usize>, KernelError> {
        let shape = self.request.shape;
        let most = match shape.n {
            0..=4096 if self.vllm => 128,
            _ => 16,
        };
        self.request.few(shape.m / (ROWS * most))?;
        let mut all = Vec::new();
        let mut left = shape.m;
        while left > 0 {
            let rows = match left / ROWS {
                0 => left,
                blocks => blocks.min(most) * ROWS,
            };
            all.push(rows);
            left -= rows;
        }
        Ok(all)
    }

    fn divides(&self, [k, n, _]: TileSize) -> bool {
        let shape = self.request.shape;
        shape.k.is_multiple_of(k) && shape.n.is_multiple_of(n)
    }

    /// Whether a pipeline of four stages fits the shared memory of the GPU, as vLLM counts.
    fn fits(&self, [k, n, _]: TileSize, rows: usize) -> bool {
        let rows = rows.div_ceil(16).min(4) * 16;
        let bits = self.weights.bits();
        let (a, b) = (4 * rows * k * 2, 4 * k * n * bits / 8);
        let reduced = rows * (n + 8) * 2;
        let scales = 4 * self.group.map_or(1, |group| k.div_ceil(group)) * n * 2;
        let zeros = match self.weights {
            Weights::U4 => scales / 4,
            Weights::U8 => scales / 2,
            _ => 0,
        };
        let together = (b.min(reduced) + n * 2).max(b).max(reduced);
        let memory = |gpu: &Capability| match (gpu.major, gpu.minor) {
            (8, 0 | 7) => 163,
            (9 | 10, _) => 227,
            _ => 99,
        };
        let least = self.request.gpus().iter().map(memory).min();
        least.is_none_or(|least| together + a + scales + zeros <= least * 1024 - 512)
    }

    fn tile(&self, rows: usize) -> Result<TileSize, KernelError> {
        if let Some(tile) = self.text.tile {
            return if self.divides(tile) {
                Ok(tile)
            } else {
                Err(self.wrong("its tile does not divide K and N"))
            };
        }
        if !self.vllm {
            let tile = if self.request.shape.m <= 16 {
                DEEP
            } else {
                WIDE
            };
            return if self.divides(tile) {
                Ok(tile)
            } else {
                Err(self.wrong(
                    "K and N must be multiples of 128; with more than 16 rows of 64 and 256",
                ))
            };
        }
        let first = if rows <= 16 { DEEP } else { WIDE };
        let possible = |tile: &TileSize| self.divides(*tile) && self.fits(*tile, rows);
        let tile = [first, SMALL, NARROW].into_iter().find(possible);
        let tile = tile.ok_or_else(|| {
            self.wrong("no tile divides it: K must be a multiple of 64 and N of 128, or K of 128 and N of 64")
        })?;
        let blocks = self.request.shape.n / tile[1] * rows.div_ceil(rows.div_ceil(16).min(4) * 16);
        Ok(if blocks * 4 <= self.sms && possible(&NARROW) {
            NARROW
        } else {
            tile
        })
    }

    fn wrong(&self, why: &'static str) -> KernelError {
        self.request.wrong(&FAMILY, why)
    }

    fn spec(&self) -> Result<ScheduleSpec, KernelError> {
        let shape = self.request.shape;
        let in_f32 = match (self.vllm, self.request.settings.scheme.value()) {
            (true, None | Some(Scheme::ComputeType)) => true,
            (_, Some(Scheme::OutputType)) | (false, None) => false,
            (_, Some(scheme)) => {
                let why = "blocks are added in f32 (COMPUTE_TYPE, vLLM's default) or in D's format (OUTPUT_TYPE; always \
                    in the original)";
                return Err(KernelError::unplanned("the reduction scheme", scheme, why));
            }
        };
        let launches = self.launches()?;
        let tile = self.tile(launches[0])?;
        let mut groups = Vec::new();
        let mut before = 0;
        for &rows in &launches {
            if self.tile(rows)? != tile {
                let why = format!(
                    "rows 0..{before} and {before}.. of D are launched with different tiles; check them apart, with \
                     those rows of A"
                );
                return Err(KernelError::Undetermined { why });
            }
            groups.extend(self.columns(rows, tile));
            before += rows;
        }
        self.request.few(groups.len())?;
        // The last group has whatever is left.
        if let Some(last) = groups.last_mut() {
            last.tiles = None;
        }
        let [tile_k, tile_n, threads] = tile;
        // Two warps take 64 columns: the others share k.
        let warps = threads / (tile_n / 2).max(1);
        let steps = tile_k / 16;
        if warps == 0 || !steps.is_multiple_of(warps) || !tile_k.is_multiple_of(16) {
            return Err(self.wrong("its warps cannot share such a tile"));
        }
        let grain = if self.vllm { steps / warps * 16 } else { 16 };
        let merged = |sums| Merge::Sum {
            order: Order::Reverse,
            start: Start::First,
            partials: Partials::F32,
            sums,
        };
        let at = match (self.group, self.weights.bits()) {
            (Some(_), _) => None,
            (None, 8) => Some(ScaledAt::Parts),
            (None, _) => Some(ScaledAt::Result),
        };
        Ok(ScheduleSpec {
            tile_k: Some(tile_k),
            split: Some(Level {
                parts: Parts::Tiles {
                    tile: [ROWS.min(shape.m.max(1)), tile_n],
                    raster: Raster::AlongRows,
                    groups,
                },
                merge: merged(if in_f32 {
                    Partials::F32
                } else {
                    Partials::Result
                }),
            }),
            inner: vec![Level {
                parts: Parts::Interleaved {
                    count: Some(warps),
                    grain: Some(Grain::K(grain)),
                    empty: Empty::Zero,
                },
                merge: merged(Partials::F32),
            }],
            scales: at.map(|at| Scaling {
                per: Per::Row,
                at,
                multiply: Multiply::BAlone,
            }),
            addend: AddendAt::Epilogue,
            epilogue: Epilogue {
                bias: BiasAdded::AfterRounding,
                ..ScheduleSpec::plain().epilogue
            },
            ..ScheduleSpec::plain()
        })
    }

    /// The tiles of D of one launch: those that one block computes, and those that stripes cut.
    fn columns(&self, rows: usize, [tile_k, tile_n, _]: TileSize) -> Vec<Group> {
        let shape = self.request.shape;
        let tiles = shape.n / tile_n * rows.div_ceil(ROWS);
        let cut = match tiles % self.sms {
            _ if !self.vllm || tiles <= self.sms => tiles,
            rest if 3 * rest <= self.sms => rest + self.sms,
            rest => rest,
        };
        let grain = self.group.map_or(1, |group| (group / tile_k).max(1));
        let whole = Group {
            tiles: Some(tiles - cut),
            parts: Parts::Whole {},
        };
        let cut = Group {
            tiles: Some(cut),
            parts: Parts::Shared {
                workers: Some(self.sms),
                grain: Some(grain),
            },
        };
        let groups = [whole, cut].into_iter();
        groups.filter(|group| group.tiles != Some(0)).collect()
    }
}
