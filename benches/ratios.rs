//! What a product costs beside another one, measured in turn: kernels' schedules beside the bare chain over K, and other
//! shapes beside a square.
//!
//! ```sh
//! cargo bench --bench ratios -- schedules --size 2048 --threads 1
//! cargo bench --bench ratios -- shapes --json > run.json
//! ```

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use tcverify::cli::measured::{Random, Rounds, Settings, ones, threads};
use tcverify::emu::schedule::{BoundSchedule, Schedule, Values, scale_shapes};
use tcverify::emu::{Arithmetic, Catalogue, Choice, Problem, Replay, Wanted, WantedScale};
use tcverify::kernels::Platform;
use tcverify::num::Format;
use tcverify::random::SplitMix64;
use tcverify::tensor::Tensor;

#[derive(Parser)]
struct Words {
    #[command(subcommand)]
    what: What,
    /// What cargo says to every benchmark
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum What {
    /// Kernels' schedules beside the bare chain over K
    Schedules {
        /// M, N and K
        #[arg(long, default_value_t = 1024)]
        size: usize,
        #[command(flatten)]
        how: How,
    },
    /// Tokens, batches, long sums and ragged shapes beside a square
    Shapes {
        /// One architecture; by default hopper, and a token with other kernels
        #[arg(long)]
        arch: Option<String>,
        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
struct How {
    /// Rounds of a line, at most; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// No further round of a line begins after so many seconds
    #[arg(long, default_value_t = 3.0)]
    budget: f64,
    /// Worker threads; 0 means one a core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[arg(long)]
    json: bool,
}

impl How {
    fn begin(&self) -> Result<(Platform, Rounds)> {
        ensure!(self.rounds > 0, "--rounds is 0; at least one is needed");
        let budget = Duration::try_from_secs_f64(self.budget).context("--budget")?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads);
        pool.build_global()?;
        let platform = Platform::detect().map_err(anyhow::Error::msg)?;
        let most = self.rounds;
        Ok((platform, Rounds { most, budget }))
    }

    /// Every line as it is measured, or all of them as JSON.
    fn show<R: Serialize>(
        &self,
        rows: impl Iterator<Item = Result<R>>,
        line: impl Fn(&R) -> String,
    ) -> Result<()> {
        let mut all = Vec::new();
        for row in rows {
            let row = row?;
            if !self.json {
                println!("{}", line(&row));
            }
            all.push(row);
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&all)?);
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    match Words::parse().what {
        What::Schedules { size, how } => schedules(size, &how),
        What::Shapes { arch, how } => shapes(arch.as_deref(), &how),
    }
}

/// Architecture, operands and schedule; slices where the schedule leaves them open.
const SCHEDULES: [(&str, Format, &str, Option<usize>); 12] = [
    ("hopper", Format::Bf16, "cutlass-sm90", None),
    ("hopper", Format::Bf16, "cublas-workspace", Some(4)),
    ("hopper", Format::Bf16, "cublas-splitk-serial", Some(4)),
    ("hopper", Format::E4m3, "cutlass-fp8-promote", None),
    ("hopper", Format::E4m3, "deepgemm-sm90", None),
    ("hopper", Format::E4m3, "torch-scaled-mm-rowwise", None),
    ("hopper", Format::E4m3, "cublas-nvjet-fp8-splitk", Some(3)),
    ("ada", Format::E4m3, "cublas-ada-fp8-serial", Some(3)),
    ("ada", Format::E4m3, "cublas-ada-fp8-pairwise", Some(5)),
    ("ampere", Format::Bf16, "cublas-sliced", None),
    ("ampere", Format::Bf16, "triton-kwidth8", None),
    ("ampere", Format::Tf32, "cutlass-3xtf32-staged", None),
];

#[derive(Serialize)]
struct Scheduled {
    model: String,
    schedule: String,
    /// Billions of multiply-adds of the instruction a second.
    rate: f64,
    /// The same of one bare chain over K.
    plain_rate: f64,
    #[serde(flatten)]
    measured: Measured,
}

/// How a rate compares, and what that depends on.
#[derive(Serialize)]
struct Measured {
    /// Rate by the other rate, the median of the rounds.
    ratio: f64,
    /// That of the best round.
    best: f64,
    #[serde(flatten)]
    settings: Settings,
}

fn schedules(n: usize, how: &How) -> Result<()> {
    let (platform, rounds) = how.begin()?;
    if !how.json {
        let (threads, kernels) = (threads(), platform.name());
        println!(
            "{n} x {n} x {n}, D in BF16, {threads}, {kernels} kernels; billions of multiply-adds a second\n"
        );
        println!(
            "{:<30} {:<40} {:>8} {:>8} {:>7}",
            "model", "schedule", "rate", "plain", "ratio"
        );
    }
    let rows = SCHEDULES
        .iter()
        .map(|case| scheduled(case, platform, n, rounds));
    how.show(rows, |row| {
        let Scheduled {
            model,
            schedule,
            rate,
            plain_rate,
            measured,
        } = row;
        format!(
            "{model:<30} {schedule:<40} {rate:>8.2} {plain_rate:>8.2} {:>7.3}",
            measured.ratio
        )
    })
}

fn scheduled(
    &(arch, format, name, count): &(&str, Format, &str, Option<usize>),
    platform: Platform,
    n: usize,
    rounds: Rounds,
) -> Result<Scheduled> {
    let choice = Catalogue::builtin()
        .find(arch)?
        .select(None, [format; 2], None)?;
    let arithmetic = &choice.arithmetic;
    let mut spec = Schedule::preset(name)?.spec.clone();
    if let Some(open) = spec.split_count() {
        *open = count;
    }
    let mut random = Random(SplitMix64(n as u64));
    let a = random.matrix(arithmetic.a, n);
    let b = random.matrix(arithmetic.b, n);
    let problem = Problem::new(a.planes(), b.planes(), None)?;
    let mut values = Values::default();
    if let Some(scaling) = &spec.scales {
        let ones_of = |shape: [usize; 2]| ones(Format::Fp32, shape.to_vec());
        let [of_a, of_b] = scale_shapes(scaling.per, n, n, n).map(ones_of);
        values = values.with_scales(scaling.per, [of_a.planes(), of_b.planes()], &problem)?;
    }
    let plain = Replay {
        problem,
        arithmetic,
        convert_to: Some(Format::Bf16),
        engine: platform.engine(),
        kernel: None,
    };
    let kernel = Some(BoundSchedule::new(&spec, &values, &problem));
    let scheduled = Replay { kernel, ..plain };
    let (rates, measured) = in_turn(
        rounds,
        [&scheduled, &plain],
        Settings::of(platform, Some(n)),
    );
    Ok(Scheduled {
        model: model(&choice),
        schedule: match count {
            Some(count) => format!("{name} --split-k {count}"),
            None => name.to_owned(),
        },
        rate: rates[0],
        plain_rate: rates[1],
        measured,
    })
}

/// Matrices of a batch, M, N and K of what the others are compared with.
const SQUARE: [usize; 4] = [1, 1024, 1024, 1024];

const SHAPES: [[usize; 4]; 12] = [
    // A token, or a few, through a layer.
    [1, 1, 8192, 8192],
    [1, 2, 8192, 8192],
    [1, 4, 8192, 8192],
    [1, 8, 8192, 8192],
    [1, 64, 4096, 4096],
    [1, 8192, 1, 8192],
    // Attention heads.
    [512, 128, 128, 64],
    [4096, 16, 16, 128],
    // A gradient's long sums.
    [1, 128, 128, 65536],
    [1, 1, 1, 1 << 22],
    // Ragged.
    [1, 1000, 1000, 1000],
    [1, 129, 8191, 513],
];

const FORMATS: [Format; 2] = [Format::Fp16, Format::E4m3];

/// Architecture, instruction and format of other kernels: a token through a layer.
const TOKENS: [(&str, &str, Format); 4] = [
    ("turing", "mma", Format::Int8),
    ("blackwell", "tcgen05-mxf4", Format::E2m1),
    ("vortex-tfr", "fedp", Format::E4m3),
    ("cdna3", "mfma", Format::Fp16),
];

#[derive(Serialize)]
struct Shaped {
    model: String,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    /// Billions of multiply-adds a second.
    rate: f64,
    /// The same of the square product in the same rounds.
    square_rate: f64,
    #[serde(flatten)]
    measured: Measured,
}

fn shapes(arch: Option<&str>, how: &How) -> Result<()> {
    let (platform, rounds) = how.begin()?;
    let catalogue = Catalogue::builtin();
    let name = arch.unwrap_or("hopper");
    let mut all: Vec<(Choice, &[[usize; 4]])> = Vec::new();
    for format in FORMATS {
        if let Ok(choice) = catalogue.find(name)?.select(None, [format; 2], None) {
            all.push((choice, &SHAPES));
        }
    }
    let [one, other] = FORMATS;
    ensure!(
        !all.is_empty(),
        "{name} multiplies neither {one} nor {other}"
    );
    if arch.is_none() {
        for (name, instruction, format) in TOKENS {
            let architecture = catalogue.find(name)?;
            let scaled = format == Format::E2m1;
            let choice = architecture.choose(&Wanted {
                instruction: Some(instruction),
                operands: [format; 2],
                accumulator: None,
                addend: None,
                scale: scaled.then(WantedScale::default),
            })?;
            all.push((choice, &SHAPES[..1]));
        }
    }
    if !how.json {
        let (threads, kernels) = (threads(), platform.name());
        println!("{threads}, {kernels} kernels; billions of multiply-adds a second\n");
        println!(
            "{:<22} {:>24} {:>8} {:>8} {:>7}",
            "model", "batch x M x N x K", "rate", "square", "ratio"
        );
    }
    let rows = all.iter().flat_map(|(choice, shapes)| {
        let square = Operands::new(&choice.arithmetic, SQUARE);
        let shaped = move |&shape| shaped(choice, platform, &square, shape, rounds);
        shapes.iter().map(shaped)
    });
    how.show(rows, |row| {
        let Shaped {
            model,
            batch,
            m,
            n,
            k,
            rate,
            square_rate,
            measured,
        } = row;
        let shape = format!("{batch} x {m} x {n} x {k}");
        format!(
            "{model:<22} {shape:>24} {rate:>8.2} {square_rate:>8.2} {:>7.3}",
            measured.ratio
        )
    })
}

fn shaped(
    choice: &Choice,
    platform: Platform,
    square: &Operands,
    shape @ [batch, m, n, k]: [usize; 4],
    rounds: Rounds,
) -> Result<Shaped> {
    let arithmetic = &choice.arithmetic;
    let other = Operands::new(arithmetic, shape);
    let replays = [
        other.replay(arithmetic, platform)?,
        square.replay(arithmetic, platform)?,
    ];
    let (rates, measured) = in_turn(rounds, replays.each_ref(), Settings::of(platform, None));
    Ok(Shaped {
        model: model(choice),
        batch,
        m,
        n,
        k,
        rate: rates[0],
        square_rate: rates[1],
        measured,
    })
}

/// Operands of a shape, and their scales with the k that share one.
struct Operands {
    a: Tensor,
    b: Tensor,
    scales: Option<([Tensor; 2], usize)>,
}

impl Operands {
    fn new(arithmetic: &Arithmetic, [batch, m, n, k]: [usize; 4]) -> Operands {
        let mut random = Random(SplitMix64(k as u64));
        let scales = arithmetic.scale.map(|scale| {
            let blocks = k.div_ceil(scale.block);
            let shapes = [vec![batch, m, blocks], vec![batch, blocks, n]];
            (shapes.map(|shape| ones(scale.format, shape)), scale.block)
        });
        Operands {
            a: random.tensor(arithmetic.a, vec![batch, m, k]),
            b: random.tensor(arithmetic.b, vec![batch, k, n]),
            scales,
        }
    }

    fn replay<'a>(&'a self, arithmetic: &'a Arithmetic, platform: Platform) -> Result<Replay<'a>> {
        let mut problem = Problem::new(self.a.planes(), self.b.planes(), None)?;
        if let Some(([a, b], block)) = &self.scales {
            problem = problem.with_scales(a.planes(), b.planes(), *block)?;
        }
        Ok(Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine: platform.engine(),
            kernel: None,
        })
    }
}

fn model(choice: &Choice) -> String {
    let (architecture, instruction) = (&choice.architecture.name, &choice.instruction.name);
    format!("{architecture} {instruction} {}", choice.arithmetic.a)
}

/// Both rates, in billions of multiply-adds a second, and the ratio of the first by the second.
fn in_turn(rounds: Rounds, [one, other]: [&Replay; 2], settings: Settings) -> ([f64; 2], Measured) {
    let times = rounds.in_turn(
        || drop(one.collect(&|_| {})),
        || drop(other.collect(&|_| {})),
    );
    let [work, other] = [one, other].map(|replay| replay.work() as f64);
    let measured = Measured {
        ratio: times.ratio * work / other,
        best: times.best * work / other,
        settings,
    };
    (
        [work / times.first / 1e9, other / times.second / 1e9],
        measured,
    )
}
