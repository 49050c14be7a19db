//! `tcverify bench --schedules`: what a kernel's schedule costs beside the bare chain.

use anyhow::Result;
use serde::Serialize;

use super::measured::{Random, Rounds, Settings};
use super::progress::Bar;
use super::show;
use crate::check::Progress;
use crate::emu::schedule::{Kernel, Per, Schedule, Values, scale_shapes};
use crate::emu::{Catalogue, Choice, Engine, Platform, Problem, Replay};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

/// Architecture, operands and schedule; slices where the schedule leaves them open.
const CASES: [(&str, Format, &str, Option<usize>); 12] = [
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
struct Row {
    model: String,
    schedule: String,
    /// Billions of multiply-adds of the instruction a second.
    rate: f64,
    /// The same of one bare chain over K.
    plain_rate: f64,
    /// Rate by plain rate, the median of the rounds.
    ratio: f64,
    /// That of the best round.
    best: f64,
    #[serde(flatten)]
    settings: Settings,
}

/// Measures every case, in turn with the bare chain.
pub fn run(n: usize, rounds: Rounds, json: bool) -> Result<()> {
    let platform = Platform::detect().map_err(anyhow::Error::msg)?;
    if !json {
        show::print(|out| {
            writeln!(
                out,
                "{n} x {n} x {n}, D in BF16, {}, {} kernels; billions of multiply-adds a second\n",
                super::measured::threads(),
                platform.name()
            )?;
            writeln!(
                out,
                "{:<30} {:<40} {:>8} {:>8} {:>7}",
                "model", "schedule", "rate", "plain", "ratio"
            )
        })?;
    }
    let mut rows = Vec::new();
    let bar = Bar::new();
    bar.begin(CASES.len() as u64);
    for (arch, format, name, slices) in CASES {
        let choice = Catalogue::builtin()
            .find(arch)?
            .select(None, [format; 2], None)?;
        let row = measure(&choice, name, slices, platform, n, rounds)?;
        if !json {
            let line = |out: &mut dyn std::io::Write| {
                writeln!(
                    out,
                    "{:<30} {:<40} {:>8.2} {:>8.2} {:>7.3}",
                    row.model, row.schedule, row.rate, row.plain_rate, row.ratio
                )
            };
            bar.aside(|| show::print(line))?;
        }
        bar.advance(1);
        rows.push(row);
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
    name: &str,
    count: Option<usize>,
    platform: Platform,
    n: usize,
    rounds: Rounds,
) -> Result<Row> {
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
        let ones = |shape: [usize; 2]| {
            let codes = vec![0x3f80_0000; shape[0] * shape[1]];
            Tensor::from_codes(Format::Fp32, shape.to_vec(), &codes)
        };
        let per: Per = scaling.per;
        let [of_a, of_b] = scale_shapes(per, n, n, n).map(ones);
        values = values.with_scales(per, [of_a.planes(), of_b.planes()], &problem)?;
    }
    let plain = Replay {
        problem,
        arithmetic,
        convert_to: Some(Format::Bf16),
        engine: Engine::Fast(platform),
        kernel: None,
    };
    let scheduled = Replay {
        kernel: Some(Kernel::new(&spec, &values, &problem)),
        ..plain
    };
    let times = rounds.in_turn(
        || drop(scheduled.collect(&|_| {})),
        || drop(plain.collect(&|_| {})),
    );
    let rate = |replay: &Replay, seconds: f64| replay.work() as f64 / seconds / 1e9;
    let more = scheduled.work() as f64 / plain.work() as f64;
    Ok(Row {
        model: format!(
            "{} {} {}",
            choice.architecture.name, choice.instruction.name, arithmetic.a
        ),
        schedule: match count {
            Some(count) => format!("{name} --split-k {count}"),
            None => name.to_owned(),
        },
        rate: rate(&scheduled, times.first),
        plain_rate: rate(&plain, times.second),
        ratio: times.ratio * more,
        best: times.best * more,
        settings: Settings::of(platform, Some(n)),
    })
}
