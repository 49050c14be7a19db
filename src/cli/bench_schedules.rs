//! `tcverify bench --schedules`: what a kernel's schedule costs beside the bare chain.

use anyhow::Result;
use serde::Serialize;

use super::measured::{Random, timed};
use super::show;
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
}

/// Measures every case, in turn with the bare chain.
pub fn run(n: usize, rounds: usize, json: bool) -> Result<()> {
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
                "{:<30} {:<28} {:>8} {:>8} {:>7}",
                "model", "schedule", "rate", "plain", "ratio"
            )
        })?;
    }
    let mut rows = Vec::new();
    for (arch, format, name, slices) in CASES {
        let choice = Catalogue::builtin()
            .find(arch)?
            .select(None, [format; 2], None)?;
        let row = measure(&choice, name, slices, Engine::Fast(platform), n, rounds)?;
        if !json {
            show::print(|out| {
                writeln!(
                    out,
                    "{:<30} {:<28} {:>8.2} {:>8.2} {:>7.3}",
                    row.model, row.schedule, row.rate, row.plain_rate, row.ratio
                )
            })?;
        }
        rows.push(row);
    }
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
    engine: Engine,
    n: usize,
    rounds: usize,
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
        engine,
        kernel: None,
    };
    let scheduled = Replay {
        kernel: Some(Kernel::new(&spec, &values, &problem)),
        ..plain
    };
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let with =
            timed(|| drop(scheduled.collect(&|_| {}))).as_secs_f64() / scheduled.work() as f64;
        let without = timed(|| drop(plain.collect(&|_| {}))).as_secs_f64() / plain.work() as f64;
        ours.push(1e-9 / with);
        theirs.push(1e-9 / without);
        ratios.push(without / with);
    }
    let median = |mut numbers: Vec<f64>| {
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    Ok(Row {
        model: format!(
            "{} {} {}",
            choice.architecture.name, choice.instruction.name, arithmetic.a
        ),
        schedule: match count {
            Some(count) => format!("{name} --split-k {count}"),
            None => name.to_owned(),
        },
        rate: median(ours),
        plain_rate: median(theirs),
        ratio: median(ratios),
    })
}
