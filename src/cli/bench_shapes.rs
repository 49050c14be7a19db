//! `tcverify bench --shapes`: what a product's shape costs beside a square one.

use anyhow::Result;
use serde::Serialize;

use super::measured::{Random, timed};
use super::show;
use crate::emu::{Catalogue, Engine, Platform, Problem, Replay};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

/// Matrices of a batch, M, N and K; the first is what the others are compared with.
const SHAPES: [[usize; 4]; 12] = [
    [1, 1024, 1024, 1024],
    // A token, or a few, through a layer.
    [1, 1, 8192, 8192],
    [1, 2, 8192, 8192],
    [1, 4, 8192, 8192],
    [1, 8, 8192, 8192],
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
    /// Rate by that of the square product in the same rounds.
    ratio: f64,
}

/// Measures every shape, in turn with the square one.
pub fn run(rounds: usize, json: bool) -> Result<()> {
    let platform = Platform::detect().map_err(anyhow::Error::msg)?;
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
                "{:<22} {:>24} {:>8} {:>7}",
                "model", "batch x M x N x K", "rate", "ratio"
            )
        })?;
    }
    let mut rows = Vec::new();
    for format in FORMATS {
        let choice = Catalogue::builtin()
            .find("hopper")?
            .select(None, [format; 2], None)?;
        let model = format!("hopper {} {format}", choice.instruction.name);
        let replay = |shape| Sized::new(format, shape);
        let square = replay(SHAPES[0]);
        for shape in SHAPES {
            let other = replay(shape);
            let (mut rates, mut ratios) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                let theirs = square.rate(&choice.arithmetic, platform)?;
                let ours = other.rate(&choice.arithmetic, platform)?;
                rates.push(ours);
                ratios.push(ours / theirs);
            }
            let median = |numbers: &mut Vec<f64>| {
                numbers.sort_by(f64::total_cmp);
                numbers[numbers.len() / 2]
            };
            let [batch, m, n, k] = shape;
            let row = Row {
                model: model.clone(),
                batch,
                m,
                n,
                k,
                rate: median(&mut rates),
                ratio: median(&mut ratios),
            };
            if !json {
                let shape = format!("{batch} x {m} x {n} x {k}");
                show::print(|out| {
                    writeln!(
                        out,
                        "{:<22} {shape:>24} {:>8.2} {:>7.3}",
                        row.model, row.rate, row.ratio
                    )
                })?;
            }
            rows.push(row);
        }
    }
    if json {
        show::print(|out| {
            serde_json::to_writer_pretty(&mut *out, &rows)?;
            writeln!(out)
        })?;
    }
    Ok(())
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

    /// Billions of multiply-adds a second.
    fn rate(&self, arithmetic: &crate::emu::Arithmetic, platform: Platform) -> Result<f64> {
        let problem = Problem::new(self.a.planes(), self.b.planes(), None)?;
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine: Engine::Fast(platform),
            kernel: None,
        };
        let time = timed(|| drop(replay.collect(&|_| {})));
        Ok(replay.work() as f64 / time.as_secs_f64() / 1e9)
    }
}
