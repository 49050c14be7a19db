//! `tcverify bench --shapes`: what a product's shape costs beside a square one.

use anyhow::{Result, ensure};
use serde::Serialize;

use super::measured::{Random, Rounds, Settings};
use super::progress::Bar;
use super::show;
use crate::check::Progress;
use crate::emu::{Arithmetic, Catalogue, Choice, Engine, Platform, Problem, Replay};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

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

#[derive(Serialize)]
struct Row {
    model: String,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    /// Billions of multiply-adds a second.
    rate: f64,
    /// The same of the square product in the same rounds.
    square_rate: f64,
    /// Rate by that, the median of the rounds.
    ratio: f64,
    /// That of the best round.
    best: f64,
    #[serde(flatten)]
    settings: Settings,
}

/// Measures every shape, in turn with the square one.
pub fn run(arch: &str, rounds: Rounds, json: bool) -> Result<()> {
    let platform = Platform::detect().map_err(anyhow::Error::msg)?;
    let architecture = Catalogue::builtin().find(arch)?;
    let choices = FORMATS.map(|format| architecture.select(None, [format; 2], None));
    let choices: Vec<Choice> = choices.into_iter().flatten().collect();
    ensure!(
        !choices.is_empty(),
        "{arch} multiplies neither {} nor {}",
        FORMATS[0],
        FORMATS[1]
    );
    if !json {
        show::print(|out| {
            writeln!(
                out,
                "{}, {} kernels; billions of multiply-adds a second\n",
                super::measured::threads(),
                platform.name()
            )?;
            writeln!(
                out,
                "{:<22} {:>24} {:>8} {:>8} {:>7}",
                "model", "batch x M x N x K", "rate", "square", "ratio"
            )
        })?;
    }
    let mut rows = Vec::new();
    let bar = Bar::new();
    bar.begin((choices.len() * SHAPES.len()) as u64);
    for choice in &choices {
        let format = choice.arithmetic.a;
        let square = Sized::new(format, SQUARE);
        for shape in SHAPES {
            let row = measure(choice, platform, &square, shape, rounds)?;
            if !json {
                let shape = shape.map(|size| size.to_string()).join(" x ");
                let line = |out: &mut dyn std::io::Write| {
                    writeln!(
                        out,
                        "{:<22} {shape:>24} {:>8.2} {:>8.2} {:>7.3}",
                        row.model, row.rate, row.square_rate, row.ratio
                    )
                };
                bar.aside(|| show::print(line))?;
            }
            bar.advance(1);
            rows.push(row);
        }
    }
    drop(bar);
    if json {
        show::print(|out| {
            serde_json::to_writer_pretty(&mut *out, &rows)?;
            writeln!(out)
        })?;
    }
    Ok(())
}

fn measure(
    choice: &Choice,
    platform: Platform,
    square: &Sized,
    shape: [usize; 4],
    rounds: Rounds,
) -> Result<Row> {
    let arithmetic = &choice.arithmetic;
    let other = Sized::new(arithmetic.a, shape);
    let (other, square) = (
        other.replay(arithmetic, platform)?,
        square.replay(arithmetic, platform)?,
    );
    let times = rounds.in_turn(
        || drop(other.collect(&|_| {})),
        || drop(square.collect(&|_| {})),
    );
    let [batch, m, n, k] = shape;
    let work = |replay: &Replay| replay.work() as f64;
    Ok(Row {
        model: format!(
            "{} {} {}",
            choice.architecture.name, choice.instruction.name, arithmetic.a
        ),
        batch,
        m,
        n,
        k,
        rate: work(&other) / times.first / 1e9,
        square_rate: work(&square) / times.second / 1e9,
        ratio: times.ratio * work(&other) / work(&square),
        best: times.best * work(&other) / work(&square),
        settings: Settings::of(platform, None),
    })
}

/// Operands of a shape.
struct Sized {
    a: Tensor,
    b: Tensor,
}

impl Sized {
    fn new(format: Format, [batch, m, n, k]: [usize; 4]) -> Sized {
        let mut random = Random(SplitMix64(k as u64));
        Sized {
            a: random.tensor(format, vec![batch, m, k]),
            b: random.tensor(format, vec![batch, k, n]),
        }
    }

    fn replay<'a>(&'a self, arithmetic: &'a Arithmetic, platform: Platform) -> Result<Replay<'a>> {
        Ok(Replay {
            problem: Problem::new(self.a.planes(), self.b.planes(), None)?,
            arithmetic,
            convert_to: None,
            engine: Engine::Fast(platform),
            kernel: None,
        })
    }
}
