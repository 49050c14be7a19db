//! `tcverify features`: the table of numerical features of the papers, measured.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::probe::default_accumulator;
use super::show;
use super::values::{accumulator_format, operand_format};
use crate::emu::{Catalogue, Evidence};
use crate::forms::view::grouped;
use crate::io::escaped_path;
use crate::num::Format;
use crate::probe::features::{Feature, FeatureTable, features};
use crate::probe::{Suite, folder, replay};

/// Table the numerical features that papers measure, of models or of a machine's answers
///
/// The named models, which are tcverify's and no GPUs, or a machine whose answers are in a file, answer the probes of
/// 'tcverify probe'. Nothing is read from the models' constants. Rows follow Fasi et al., Numerical Behavior of NVIDIA
/// Tensor Cores (conclusions 1 to 6), and Table III of the Ten-Four paper.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify features --arch v100 --arch a100 --arch h100 --dtype fp16
  tcverify features --arch h100 --dtype e4m3 --acc f16 --json
  tcverify features --arch h100 --answers probes d.npy

If an architecture has several instructions, 'hopper/mma' names one.")]
pub struct Features {
    /// Architecture, compute capability or GPU, optionally with an instruction: hopper/mma. Repeat
    /// for more columns
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,

    /// Probes and a machine's answers: one more column
    #[arg(long, num_args = 2, value_names = ["DIR", "D.npy"])]
    answers: Option<Vec<PathBuf>>,

    /// Format of A and B; with --answers that of the probes
    #[arg(
        long,
        value_name = "FORMAT",
        ignore_case = true,
        value_parser = operand_format(),
        required_unless_present = "answers"
    )]
    dtype: Option<Format>,

    /// Format of B, if it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    dtype_b: Option<Format>,

    /// Format of C and D: f32 (default; f64 for FP64 operands, s32 for integers), f16, f64 or s32
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = accumulator_format())]
    acc: Option<Format>,

    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

/// A machine or model, and its features.
struct Column {
    name: String,
    /// How the model is known that answered; none of a file.
    model: Option<Evidence>,
    features: Vec<Feature>,
}

impl Features {
    pub fn run(self) -> Result<()> {
        let mut columns = Vec::new();
        let suite = match &self.answers {
            Some(paths) => {
                let suite = folder::read(&paths[0])?;
                if let Some(scale) = suite.scale {
                    bail!(
                        "{}: holds probes with scales of {scale}, but the table needs operands without scales; write \
                         probes without --scale-dtype",
                        escaped_path(&paths[0])
                    );
                }
                let formats = [
                    (self.dtype, suite.a),
                    (self.dtype_b, suite.b),
                    (self.acc, suite.accumulator),
                ];
                if formats
                    .iter()
                    .any(|(requested, probed)| requested.is_some_and(|one| one != *probed))
                {
                    bail!(
                        "{}: holds probes for {}*{} -> {}, but the request has other formats",
                        escaped_path(&paths[0]),
                        suite.a,
                        suite.b,
                        suite.accumulator
                    );
                }
                let (answers, _) = folder::read_answers(&suite, &paths[1])?;
                columns.push(Column {
                    name: escaped_path(&paths[1]),
                    model: None,
                    features: features(&suite, &answers),
                });
                suite
            }
            None => {
                let Some(a) = self.dtype else {
                    bail!("--dtype is missing")
                };
                if self.arch.is_empty() {
                    bail!("name what to measure: --arch NAME, or --answers DIR D.npy");
                }
                let b = self.dtype_b.unwrap_or(a);
                let accumulator = default_accumulator(a, self.acc);
                Suite::new(a, b, accumulator).map_err(anyhow::Error::msg)?
            }
        };
        for name in &self.arch {
            let (arch, instruction) = match name.split_once('/') {
                Some((arch, instruction)) => (arch, Some(instruction)),
                None => (name.as_str(), None),
            };
            let architecture = Catalogue::builtin().find(arch)?;
            let operands = [suite.a, suite.b];
            let choice = architecture.select(instruction, operands, Some(suite.accumulator))?;
            let answers = replay::answers(&choice.arithmetic, &suite.cases);
            columns.push(Column {
                name: format!("{} {}", choice.architecture.name, choice.instruction.name),
                model: Some(choice.rule.evidence),
                features: features(&suite, &answers),
            });
        }
        let named = columns.iter().map(|column| {
            (
                column.name.as_str(),
                column.model,
                column.features.as_slice(),
            )
        });
        let table = FeatureTable::of(&suite, named);
        show::either(self.json, &table, |out| text(&suite, &columns, out))
    }
}

fn text(suite: &Suite, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
    let width = |column: &Column| {
        let cells = column.features.iter().map(|f| f.value.chars().count());
        cells
            .chain([column.name.chars().count()])
            .max()
            .unwrap_or(0)
    };
    write!(
        out,
        "{:<28}",
        format!("{}*{} -> {}", suite.a, suite.b, suite.accumulator)
    )?;
    for column in columns {
        write!(out, "  {:<1$}", column.name, width(column))?;
    }
    writeln!(out)?;
    for (row, feature) in columns[0].features.iter().enumerate() {
        write!(out, "{:<28}", feature.title)?;
        for column in columns {
            write!(out, "  {:<1$}", column.features[row].value, width(column))?;
        }
        writeln!(out)?;
    }
    let probes = grouped(suite.cases.len() as u64);
    writeln!(
        out,
        "\nAnswers to {probes} probes; '-' marks what these formats cannot show."
    )?;
    let names = columns.iter().map(|column| column.name.chars().count());
    let wide = names.max().unwrap_or(0);
    for column in columns {
        let whose = match column.model {
            Some(evidence) => format!("tcverify's model, not a GPU ({evidence})"),
            None => "a file of answers".to_owned(),
        };
        writeln!(out, "  {:<wide$}  {whose}", column.name)?;
    }
    Ok(())
}
