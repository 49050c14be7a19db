//! `tcverify probe`: directed products that show how a machine computes.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use tcverify_kernels::Native;

use super::values::{accumulator_format, named, operand_format, scale_format};
use super::{Ending, show};
use crate::emu::{Catalogue, Scale};
use crate::num::Format;
use crate::probe::{Suite, folder, here, replay};

/// Write directed products that show how a machine computes
///
/// The directory holds a.npy (n,1,K), b.npy (n,K,1) and c.npy (n,1,1), which are n independent dot
/// products of the same K, and manifest.json, which gives the purpose of each. Compute D = A*B + C on
/// the machine, with one chain of the instruction over K, and save D as (n,1,1). Then 'tcverify infer'
/// finds its arithmetic. The same formats always give the same bytes.
///
/// Integer probes test the limits of sums: whether they wrap around or saturate, at which number, and after how many
/// products. With --run-here an instruction of this computer's CPU answers at once, and its answers are compared with
/// the catalogue's model (exit code 1 if one differs). With --scale-dtype operands have scales, in scale_a.npy
/// (n,1,K/block) and scale_b.npy (n,K/block,1). These probes test every scale code, and the addition of terms far
/// apart.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  FP16 operands, FP32 results:
    tcverify probe --dtype fp16 -o probes

  E5M2 times E4M3 with FP16 accumulation:
    tcverify probe --dtype e5m2 --dtype-b e4m3 --acc f16 -o probes

  INT8 times UINT8 (C and D are INT32):
    tcverify probe --dtype int8 --dtype-b uint8 -o probes

  NVFP4, with scales per block of 16 (MXFP4: ue8m0, blocks of 32):
    tcverify probe --dtype e2m1 --scale-dtype ue4m3 -o probes

  This computer's CPU, compared with its model:
    tcverify probe --run-here vdpbf16ps

  A model instead of the machine, to see what answers look like:
    tcverify replay --arch h100 --dtype fp16 --c probes/c.npy probes/a.npy probes/b.npy -o d.npy
    tcverify infer probes d.npy

Narrow formats are raw codes, one per byte; BF16 is '<V2', TF32 an FP32 register. The directory
appears whole or not at all. docs/probing.md describes each family of cases.")]
pub struct Probe {
    /// Format of A and B
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format(), required_unless_present = "run_here")]
    dtype: Option<Format>,

    /// Format of B, if it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    dtype_b: Option<Format>,

    /// Format of C and D: f32 (default; f64 for FP64 operands, s32 for integers), f16, f64 or s32
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = accumulator_format())]
    acc: Option<Format>,

    /// Format of the scales of A and B: ue8m0 or ue4m3; by default no scales
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = scale_format())]
    scale_dtype: Option<Format>,

    /// Number of consecutive k that share a scale: 16 (default for ue4m3) or 32 (default for ue8m0)
    #[arg(long, value_name = "N", requires = "scale_dtype")]
    scale_block: Option<usize>,

    /// Run an instruction of this computer's CPU, and compare its answers with its model
    #[arg(long, value_name = "INSTRUCTION", value_parser = named(&Native::ALL, |native| native.name().to_owned()), conflicts_with_all = ["dtype", "dtype_b", "acc", "scale_dtype", "output"])]
    run_here: Option<Native>,

    /// Directory to create
    #[arg(long, short, value_name = "DIR", required_unless_present = "run_here")]
    output: Option<PathBuf>,

    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

/// The default accumulator.
pub fn default_accumulator(a: Format, acc: Option<Format>) -> Format {
    acc.unwrap_or(match a {
        Format::Fp64 => Format::Fp64,
        integer if integer.is_integer() => Format::Int32,
        _ => Format::Fp32,
    })
}

/// Runs the CPU's instruction and compares its answers with the model's.
fn run_here(native: Native, quiet: bool) -> Result<Ending> {
    let [a, b, accumulator] = native.formats();
    let suite = Suite::new(a, b, accumulator).map_err(anyhow::Error::msg)?;
    let Some(answers) = here::answers(native, &suite) else {
        bail!(
            "this computer's CPU has no {}: nothing was compared",
            native.name()
        );
    };
    let [arch, instruction] = here::model(native);
    let choice = Catalogue::builtin().find(arch)?;
    let choice = choice.select(Some(instruction), [a, b], Some(accumulator))?;
    let expected = replay::answers(&choice.arithmetic, &suite.cases);
    let differing: Vec<usize> = (0..answers.len())
        .filter(|&i| answers[i] != expected[i])
        .collect();
    show::unless(quiet, |out| {
        let all = answers.len();
        match differing.len() {
            0 => writeln!(
                out,
                "IDENTICAL  all {all} answers of {} equal the model's, bit for bit",
                native.name()
            )?,
            some => writeln!(
                out,
                "DIFFERENT  {some} of {all} answers of {} differ from the model's",
                native.name()
            )?,
        }
        writeln!(
            out,
            "\n  model     {} {}: {}",
            choice.architecture.name,
            choice.instruction.name,
            choice.arithmetic.step.summary()
        )?;
        writeln!(out, "  SHA-256   {}", choice.arithmetic.sha256())?;
        for &i in differing.iter().take(10) {
            let case = &suite.cases[i];
            writeln!(
                out,
                "  case {i:>5}  {}: answer {:x}, model {:x}",
                case.purpose, answers[i], expected[i]
            )?;
        }
        Ok(())
    })?;
    Ok(Ending::of(differing.is_empty()))
}

impl Probe {
    pub fn run(self) -> Result<Ending> {
        if let Some(native) = self.run_here {
            return run_here(native, self.quiet);
        }
        let dtype = self.dtype.context("--dtype is missing")?;
        let output = self.output.context("--output is missing")?;
        let b = self.dtype_b.unwrap_or(dtype);
        let accumulator = default_accumulator(dtype, self.acc);
        let scale = self.scale_dtype.map(|format| Scale {
            format,
            block: self.scale_block.unwrap_or(match format {
                Format::Ue4m3 => 16,
                _ => 32,
            }),
        });
        let suite = Suite::scaled(dtype, b, accumulator, scale);
        let suite = suite.map_err(anyhow::Error::msg)?;
        folder::write(&suite, &output)?;
        show::unless(self.quiet, |out| {
            writeln!(
                out,
                "{} cases for {}, K = {}  {}\n",
                suite.cases.len(),
                suite.formats(),
                suite.k,
                crate::io::escaped_path(&output)
            )?;
            let mut families: Vec<(&str, usize, &str)> = Vec::new();
            for case in &suite.cases {
                match families.last_mut() {
                    Some((family, n, _)) if *family == case.family => *n += 1,
                    _ => families.push((case.family, 1, case.tells)),
                }
            }
            for (family, n, tells) in families {
                writeln!(out, "  {family:<12} {n:>5}  {tells}")?;
            }
            Ok(())
        })?;
        Ok(Ending::Done)
    }
}
