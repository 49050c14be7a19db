//! A GPU as an engine, trusted only as far as it is checked: it must agree with the exact engine before its first use, and
//! the CPU recomputes randomly drawn tiles of every product. One difference ends the work.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use tcverify_common::deadline;
use tcverify_emu::engine::{DeviceUse, Engine, FastEngine, OpenedDevice, Promotion, Work};
use tcverify_emu::{Arithmetic, blocks};
use tcverify_num::random::SplitMix64;
use tcverify_tensor::{Block, Problem, Vectors};

use super::chains::by_chains;
use super::device::DeviceInfo;
use super::fill::{self, Vetted};
use super::models::shader;
use super::plan::ShaderPlan;
use super::shader::TILE;

/// One tile of a product in so many is computed again, but at least this many, or all.
const ONE_IN: usize = 1000;
const AT_LEAST: usize = 16;

/// A GPU at work on one check.
pub struct Gpu {
    vetted: Arc<Vetted>,
    /// Computes everything else, and some tiles again.
    on_cpu: Engine<'static>,
    /// Draws the tiles that are computed again.
    seed: u64,
    products: AtomicU64,
    multiply_adds: AtomicU64,
    tiles: AtomicU64,
    twice: AtomicU64,
    failure: OnceLock<String>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gpu({})", self.info())
    }
}

impl Gpu {
    /// A device that computes what it has a shader for; an engine of the CPU computes everything else. Nobody should have
    /// known the seed when D was made.
    pub fn new(vetted: Arc<Vetted>, on_cpu: Engine<'static>, seed: u64) -> Gpu {
        Gpu {
            vetted,
            on_cpu,
            seed,
            products: AtomicU64::new(0),
            multiply_adds: AtomicU64::new(0),
            tiles: AtomicU64::new(0),
            twice: AtomicU64::new(0),
            failure: OnceLock::new(),
        }
    }

    /// The device, for whoever has an engine of the CPU and a seed later.
    pub fn ready(vetted: Arc<Vetted>) -> OpenedDevice {
        Box::new(move |on_cpu, seed| Box::new(Gpu::new(vetted, on_cpu, seed)))
    }

    /// The adapter of this number, in the order of `tcverify engines`, or the first.
    ///
    /// # Errors
    /// If there is none, its driver refuses, or this program was built without feature `gpu`.
    #[cfg(feature = "wgpu")]
    pub fn open(number: Option<u8>) -> Result<Arc<Vetted>, String> {
        use std::sync::Mutex;

        // Opened once a process: drivers take long, and shaders are kept with their device. No driver's threads survive a
        // fork.
        static OPENED: Mutex<Vec<([usize; 2], Arc<Vetted>)>> = Mutex::new(Vec::new());
        let number = usize::from(number.unwrap_or(0));
        let key = [number, std::process::id() as usize];
        let mut opened = OPENED.lock().expect("nothing panics with it");
        if let Some((_, vetted)) = opened.iter().find(|(known, _)| *known == key) {
            return Ok(vetted.clone());
        }
        let adapters = super::adapters();
        let adapter = adapters.get(number).ok_or_else(|| match adapters.len() {
            0 => Gpu::NONE.to_owned(),
            count => format!("there is no adapter {number}: `tcverify engines` lists {count}"),
        })?;
        let info = &adapter.info;
        let device = adapter.open();
        let device = device.map_err(|reason| format!("{info} cannot be opened: {reason}"))?;
        let vetted = Arc::new(Vetted::new(device));
        opened.push((key, vetted.clone()));
        Ok(vetted)
    }

    /// The adapter of this number, in the order of `tcverify engines`, or the first.
    ///
    /// # Errors
    /// If there is none, its driver refuses, or this program was built without feature `gpu`.
    #[cfg(not(feature = "wgpu"))]
    pub fn open(_: Option<u8>) -> Result<Arc<Vetted>, String> {
        Err(Gpu::MISSING.to_owned())
    }

    /// The error of a program that was built without GPUs.
    pub const MISSING: &'static str = "this tcverify was built without GPUs: build one with `cargo build --release --features gpu`";

    /// The error where there is no GPU.
    pub const NONE: &'static str =
        "no GPU was found: no driver of Vulkan, Metal or Direct3D 12 shows one";

    /// The GPUs of this machine; none if this program was built without them.
    pub fn list() -> Option<Vec<DeviceInfo>> {
        #[cfg(feature = "wgpu")]
        return Some(
            super::adapters()
                .into_iter()
                .map(|adapter| adapter.info)
                .collect(),
        );
        #[cfg(not(feature = "wgpu"))]
        None
    }

    pub fn info(&self) -> &DeviceInfo {
        self.vetted.device.info()
    }

    /// The shader for a product, if it has one and is worth it.
    fn plan(&self, arithmetic: &Arithmetic, problem: &Problem) -> Option<ShaderPlan> {
        let possible = problem.selected.is_none() && !fill::is_small(problem);
        let plan = possible.then(|| shader(arithmetic)).flatten();
        plan.filter(|plan| plan.takes(problem.k))
    }

    /// Computes the rows of D from `first_row` on that `codes` has room for, or the totals of chains, and some of it again
    /// by the CPU. Returns how many multiply-adds fell to the exact engine. Ends the work ([`deadline::fail`]) if the
    /// device fails or computes wrong.
    fn by_shader(
        &self,
        (arithmetic, plan): (&Arithmetic, &ShaderPlan),
        work: Work,
        promotion: Option<Promotion>,
        first_row: usize,
        codes: &mut [u64],
    ) -> u64 {
        let problem = work.problem;
        let filled = fill::fill(work, plan, &self.vetted, promotion, first_row, codes);
        let exact = filled.unwrap_or_else(|reason| self.fail(&reason));
        let tiles = blocks(problem, first_row, codes.len() / problem.n, TILE);
        let drawn = self.draw(tiles.len());
        let wrong = drawn.par_iter().find_map_any(|&tile| {
            let (
                at,
                Block {
                    batch,
                    rows,
                    columns,
                },
            ) = tiles[tile].clone();
            let part = problem.matrix(batch).part(rows.clone(), columns.clone());
            let mut expected = vec![0; part.m * part.n];
            by_chains(&part, promotion, &mut expected, |part, out| {
                (self.on_cpu).fill(arithmetic, part, 0, out, &deadline::unheard);
            });
            let have = |i: usize| {
                let (row, column) = (i / part.n, i % part.n);
                codes[(at + row) * problem.n + columns.start + column]
            };
            let differs = (0..expected.len()).find(|&i| have(i) != expected[i])?;
            let (row, column) = (
                rows.start + differs / part.n,
                columns.start + differs % part.n,
            );
            let (have, want) = (have(differs), expected[differs]);
            Some(format!(
                "element [{batch}, {row}, {column}] of a product is {have:#x}, by the CPU {want:#x}"
            ))
        });
        if let Some(wrong) = wrong {
            self.fail(&format!("it computes wrong: {wrong}; use `--engine fast`"));
        }
        let count = codes.len() as u64 * problem.k as u64;
        self.multiply_adds
            .fetch_add(count - exact, Ordering::Relaxed);
        self.tiles.fetch_add(tiles.len() as u64, Ordering::Relaxed);
        self.twice.fetch_add(drawn.len() as u64, Ordering::Relaxed);
        exact
    }

    fn cpu(&self) -> Option<&'static dyn FastEngine> {
        match self.on_cpu {
            Engine::With(fast) => Some(fast),
            Engine::Exact => None,
        }
    }

    /// Why it ended the work, if it did: the replay then unwinds, which a check turns into an error.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    fn fail(&self, reason: &str) -> ! {
        let reason = format!("the GPU {}: {reason}", self.info());
        deadline::fail(self.failure.get_or_init(|| reason).clone())
    }

    /// Which of so many tiles are computed again.
    fn draw(&self, tiles: usize) -> Vec<usize> {
        let product = self.products.fetch_add(1, Ordering::Relaxed);
        let mut random = SplitMix64(self.seed ^ SplitMix64(product).word());
        let count = tiles.div_ceil(ONE_IN).max(AT_LEAST).min(tiles);
        let mut drawn = BTreeSet::new();
        // Floyd's: every set of so many is as likely.
        for last in tiles - count..tiles {
            let tile = (random.word() % (last as u64 + 1)) as usize;
            if !drawn.insert(tile) {
                drawn.insert(last);
            }
        }
        drawn.into_iter().collect()
    }
}

impl FastEngine for Gpu {
    fn computes(&self, arithmetic: &Arithmetic) -> bool {
        shader(arithmetic).is_some() || self.on_cpu.computes(arithmetic)
    }

    fn fill(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        first_row: usize,
        out: &mut [u64],
    ) -> Option<u64> {
        match self.plan(arithmetic, work.problem) {
            Some(plan) => Some(self.by_shader((arithmetic, &plan), work, None, first_row, out)),
            None => {
                let Work {
                    problem, progress, ..
                } = work;
                Some((self.on_cpu).fill(arithmetic, problem, first_row, out, progress))
            }
        }
    }

    fn promotes(&self, arithmetic: &Arithmetic) -> bool {
        let by_shader = || shader(arithmetic)?.promoting();
        by_shader().is_some() || self.cpu().is_some_and(|cpu| cpu.promotes(arithmetic))
    }

    fn promoted(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        promotion: Promotion,
    ) -> Option<(Vec<u32>, u64)> {
        let Some(plan) = self.plan(arithmetic, work.problem) else {
            let cpu = self.cpu().filter(|cpu| cpu.promotes(arithmetic))?;
            return cpu.promoted(arithmetic, work, promotion);
        };
        // One chain is what it is; of more, each has whole steps.
        let alone = promotion.ends.len() == 1 && promotion.from_first;
        let (plan, promotion) = if alone {
            (plan, None)
        } else {
            (plan.promoting()?, Some(promotion))
        };
        let takes = |promotion: Promotion| {
            let firsts = [0].into_iter().chain(promotion.ends.iter().copied());
            let mut lengths = firsts.zip(promotion.ends).map(|(first, end)| end - first);
            promotion.merge.is_sum() && lengths.all(|length| plan.takes(length))
        };
        if !promotion.is_none_or(takes) {
            return None;
        }
        let mut codes = vec![0; work.problem.m * work.problem.n];
        let exact = self.by_shader((arithmetic, &plan), work, promotion, 0, &mut codes);
        let totals = codes.into_iter().map(|code| code as u32);
        Some((totals.collect(), exact))
    }

    fn vectors(&self) -> Vectors {
        self.on_cpu.vectors()
    }

    fn on_cpu(&self) -> Option<Engine<'_>> {
        Some(self.on_cpu)
    }

    fn used(&self) -> Option<DeviceUse> {
        let DeviceInfo {
            name,
            driver,
            backend,
            ..
        } = self.info().clone();
        Some(DeviceUse {
            name,
            driver,
            backend,
            multiply_adds: self.multiply_adds.load(Ordering::Relaxed),
            tiles: self.tiles.load(Ordering::Relaxed),
            tiles_computed_twice: self.twice.load(Ordering::Relaxed),
        })
    }
}
