//! `tcverify replay`: compute D and keep it.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use sha2::Digest;

use super::args::{ModelArgs, OperandArgs, check_conversion, result_format};
use super::inputs::Operands;
use super::progress::Meter;
use super::schedule::ScheduleArgs;
use super::{Ending, show};
use crate::emu::Replay as Engine;
use crate::io::npy::write_header;
use crate::io::{Output, hex, same_file};
use crate::num::Format;

/// Compute D as the chosen tensor core would, and write it
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify replay --arch h100 --dtype bf16 a.npy b.npy -o d.npy
  tcverify replay --arch rtx4090 --dtype e4m3 --d-dtype bf16 a.npy b.npy -o d.npy
  tcverify replay --arch a100 --dtype bf16 --schedule cublas-splitk-serial --split-k 4 --d-dtype bf16 a.npy b.npy -o d.npy

The file appears whole or not at all. BF16 is written as '<V2', which ml_dtypes reads as bfloat16;
'-o -' writes to standard output.")]
pub struct Replay {
    #[command(flatten)]
    operands: OperandArgs,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    schedule: ScheduleArgs,

    /// Format of D: the accumulator's (default), or from f32 fp16 or bf16 by one rounding; a schedule's
    /// epilogue also has fp8
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format())]
    d_dtype: Option<Format>,

    /// Where to write D
    #[arg(long, short, value_name = "D.npy")]
    output: PathBuf,

    /// Do not print D's digest
    #[arg(long, short)]
    quiet: bool,
}

impl Replay {
    pub fn run(self) -> Result<Ending> {
        let schedule = self.schedule.choose()?;
        let choice = self.model.choose(self.operands.scaled(), &schedule)?;
        let accumulator = choice.arithmetic.accumulator;
        let format = self.d_dtype.unwrap_or(accumulator);
        check_conversion(accumulator, format, &schedule)?;
        let operands = Operands::read(
            &self.operands,
            &choice.arithmetic,
            &self.schedule,
            self.model.c_dtype,
            &schedule,
        )?;
        for operand in operands.all() {
            if same_file(&self.output, operand.file.path()) {
                bail!(
                    "{}: is an input; D would overwrite it",
                    self.output.display()
                );
            }
        }
        let problem = operands.problem()?;
        let values = operands.values(&problem)?;
        let kernel = schedule.kernel(&values, &choice.arithmetic, &problem, format)?;
        let output = Output::prepare(&self.output)?;
        let replay = Engine {
            problem,
            arithmetic: &choice.arithmetic,
            convert_to: (format != accumulator).then_some(format),
            engine: self.operands.engine()?,
            kernel,
        };
        let mut hash = sha2::Sha256::new();
        output.commit(|out| {
            write_header(format, &replay.shape(), out)?;
            let meter = Meter::new(replay.work());
            replay.run(&|work| meter.add(work), |band| {
                hash.update(band.payload);
                out.write_all(band.payload)
            })?;
            drop(meter);
            // Before the file becomes visible.
            let changed = operands.all().find_map(|o| o.confirm_unchanged().err());
            match changed {
                Some(error) => Err(std::io::Error::other(error)),
                None => Ok(()),
            }
        })?;
        let to_stdout = self.output.as_os_str() == "-";
        if !self.quiet && !to_stdout {
            let digest = hex(&hash.finalize());
            show::print(|out| writeln!(out, "{digest}  {}", self.output.display()))?;
        }
        Ok(Ending::Done)
    }
}
