//! `tcverify bench`: how long checks take on this machine.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;
use serde::Serialize;

use super::measured::{Random, Rounds, Settings, ones};
use super::progress::Bar;
use super::show;
use super::show::write_pretty;
use crate::check::Progress;
use crate::emu::{Arithmetic, Catalogue, Choice, Engine, Problem, Replay};
use crate::gpu::{self, Gpu};
use crate::kernels::{self, Platform};
use crate::random::SplitMix64;

/// Measure how fast this machine replays products
///
/// Prints billions of multiply-adds per second for each model, next to an FP32 matrix product (the
/// matrixmultiply crate) of the same shape, measured alternately. M*N*K divided by the rate is the time of a
/// check. With --threads 1 it measures CPU time where the system reports it, so that other load matters little.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify bench
  tcverify bench --arch h100 --size 2048
  tcverify bench --threads 1 --json")]
pub struct Bench {
    /// Architecture, compute capability or GPU; by default every distinct arithmetic with a vector
    /// kernel, and with --exact all others too
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,

    /// M, N and K
    #[arg(long, value_name = "N", default_value_t = 1024)]
    size: usize,

    /// Greatest number of rounds per line; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,

    /// Start no further round of a line after so many seconds; at least one is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    budget: f64,

    /// Also measure the exact engine
    #[arg(long)]
    exact: bool,

    /// Measure the GPU of this number in the list of `tcverify engines` as well, the first without a number
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, default_missing_value = "0")]
    gpu: Option<u8>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    model: String,
    engine: &'static str,
    /// Billions of multiply-adds per second.
    rate: f64,
    /// Billions of multiply-adds per second of the FP32 product.
    gemm_rate: f64,
    ratio: f64,
    /// That of the best round.
    best: f64,
    #[serde(flatten)]
    settings: Settings,
}

impl Bench {
    pub fn run(self) -> Result<()> {
        ensure!(
            (1..=16384).contains(&self.size),
            "--size is {}; it must be 1 to 16384",
            self.size
        );
        ensure!(self.rounds > 0, "--rounds is 0; it must be at least 1");
        ensure!(
            (0.0..=3600.0).contains(&self.budget),
            "--budget is {}; it must be 0 to 3600 seconds",
            self.budget
        );
        let rounds = Rounds {
            most: self.rounds,
            budget: Duration::from_secs_f64(self.budget),
        };
        let platform = Platform::detect().map_err(anyhow::Error::msg)?;
        let device = self.gpu.map(|number| Gpu::open(Some(number))).transpose();
        let device = device.map_err(anyhow::Error::msg)?;
        let gpu = device.map(|device| Gpu::new(device, platform.engine(), 0));
        let choices = self.choices()?;
        if !self.json {
            show::print(|out| {
                writeln!(
                    out,
                    "{0} x {0} x {0}, {1}, {2} kernels; billions of multiply-adds per second\n",
                    self.size,
                    super::measured::threads(),
                    platform.name()
                )?;
                writeln!(
                    out,
                    "{:<58} {:<7} {:>8} {:>10} {:>7}",
                    "model", "engine", "rate", "FP32 gemm", "ratio"
                )
            })?;
        }
        let mut rows = Vec::new();
        let bar = Bar::new();
        bar.begin(choices.len() as u64);
        for choice in &choices {
            let fast = kernels::plan(&choice.arithmetic).is_some();
            let engines = [
                fast.then_some(("fast", platform.engine())),
                (self.exact || !fast).then_some(("exact", Engine::Exact)),
                gpu.as_ref()
                    .filter(|_| gpu::shader(&choice.arithmetic).is_some())
                    .map(|gpu| ("gpu", Engine::With(gpu))),
            ];
            for engine in engines.into_iter().flatten() {
                let settings = Settings::of(platform, Some(self.size));
                let row = self.measure(choice, engine, rounds, settings);
                bar.aside(|| self.print(&row))?;
                rows.push(row);
            }
            bar.advance(1);
        }
        drop(bar);
        if self.json {
            show::print(|out| write_pretty(&rows, out))?;
        }
        Ok(())
    }

    fn print(&self, row: &Row) -> Result<()> {
        if self.json {
            return Ok(());
        }
        show::print(|out| {
            writeln!(
                out,
                "{:<58} {:<7} {:>8.2} {:>10.2} {:>7.3}",
                row.model, row.engine, row.rate, row.gemm_rate, row.ratio
            )
        })
    }

    /// Every rule's first operands, each arithmetic once.
    fn choices(&self) -> Result<Vec<Choice<'static>>> {
        let catalogue = Catalogue::builtin();
        let architectures = match &self.arch {
            Some(name) => vec![catalogue.find(name)?],
            None => catalogue.architectures().iter().collect(),
        };
        let mut choices: Vec<Choice> = Vec::new();
        for architecture in architectures {
            for (instruction, rule) in architecture.rules() {
                let arithmetic = Arithmetic::of(rule, rule.operands[0]);
                let all = self.arch.is_some() || self.exact;
                // A chain of one step, by a model whose D is not a C, does not show the speed.
                let long = arithmetic.longest_k().is_none();
                if long
                    && (all || kernels::plan(&arithmetic).is_some())
                    && choices.iter().all(|c| c.arithmetic != arithmetic)
                {
                    choices.push(Choice {
                        architecture,
                        instruction,
                        rule,
                        arithmetic,
                        compressed: false,
                    });
                }
            }
        }
        Ok(choices)
    }

    fn measure(
        &self,
        choice: &Choice,
        (name, engine): (&'static str, Engine),
        rounds: Rounds,
        settings: Settings,
    ) -> Row {
        let arithmetic = &choice.arithmetic;
        // The exact engine takes a hundred times as long; a smaller product gives the same rate.
        let n = match engine {
            Engine::Exact => self.size.min(192),
            Engine::With(_) => self.size,
        };
        let mut random = Random(SplitMix64(n as u64));
        let a = random.matrix(arithmetic.a, n);
        let b = random.matrix(arithmetic.b, n);
        let mut problem = Problem::new(a.planes(), b.planes(), None).expect("square matrices");
        let scales = arithmetic.scale.map(|scale| {
            let blocks = n.div_ceil(scale.block);
            let ones = |shape| ones(scale.format, shape);
            (ones(vec![n, blocks]), ones(vec![blocks, n]), scale.block)
        });
        if let Some((a, b, block)) = &scales {
            let scaled = problem.with_scales(a.planes(), b.planes(), *block);
            problem = scaled.expect("a scale for every block");
        }
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        let mut gemm = Gemm::new(n);
        let times = rounds.in_turn(|| drop(replay.collect(&|_| {})), || gemm.run());
        let rate = |seconds: f64| (n as f64).powi(3) / seconds / 1e9;
        Row {
            model: format!(
                "{} {} {}*{}{} -> {}",
                choice.architecture.name,
                choice.instruction.name,
                arithmetic.a,
                arithmetic.b,
                match arithmetic.scale {
                    Some(scale) => format!(" ({scale})"),
                    None => String::new(),
                },
                arithmetic.accumulator
            ),
            engine: name,
            rate: rate(times.first),
            gemm_rate: rate(times.second),
            ratio: times.ratio,
            best: times.best,
            settings,
        }
    }
}

/// An FP32 product of ndarray (the matrixmultiply crate) on as many threads as the replay has.
struct Gemm {
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    d: Vec<f32>,
}

impl Gemm {
    fn new(n: usize) -> Gemm {
        let numbers = |step: usize| (0..n * n).map(|i| (i * step % 64) as f32 - 32.0).collect();
        Gemm {
            n,
            a: numbers(7),
            b: numbers(11),
            d: vec![0.0; n * n],
        }
    }

    fn run(&mut self) {
        let n = self.n;
        let rows = n.div_ceil(rayon::current_num_threads());
        let b = ArrayView2::from_shape((n, n), &self.b).expect("n rows of n");
        let blocks = self
            .a
            .par_chunks(rows * n)
            .zip(self.d.par_chunks_mut(rows * n));
        blocks.for_each(|(a, d)| {
            let shape = (d.len() / n, n);
            let a = ArrayView2::from_shape(shape, a).expect("whole rows");
            let mut d = ArrayViewMut2::from_shape(shape, d).expect("whole rows");
            general_mat_mul(1.0, &a, &b, 0.0, &mut d);
        });
    }
}
