//! `tcverify kernels`: what a library's kernel text says about the order of its sums.

mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use serde_json::json;

use super::args::{KernelHints, in_options};
use super::values::{arch_names, operand_format, result_format};
use super::{Ending, show};
use crate::check::RequestFields;
use crate::io::{MAX_DOCUMENT, MAX_LOG, Outputs, escaped_path, read_bytes, read_text};
use crate::libraries::{
    self, FAMILIES, KernelError, KernelReading, KernelTable, Options, Plan, Shape, TableQuery,
    options_of,
};
use crate::num::Format;

commands! {
    /// Read a GPU library's kernel text, and plan the order of its sums
    #[command(after_long_help = "\
Examples:
  tcverify kernels list
  tcverify kernels explain 'algo=66,stages=35,splitK=5,reduction=2'
  tcverify kernels explain nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT
  tcverify kernels explain --log cublaslt.log
  tcverify kernels plan 'algo=66,stages=35,splitK=9,reduction=2' --dtype fp16 --shape 32x32x8648
  tcverify kernels plan ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn \\
      --shape 100x2560x9728 --split-k 5 --reduction OUTPUT_TYPE --schedule order.json
  tcverify kernels plan \"$(cat desc.json)\" --shape 32x32x4096 --gemm-desc written.json
  tcverify kernels same \"$(cat desc.json)\" \"$(cat other.json)\" --shape 32x32x4096 --arch h100")]
    pub enum Kernels {
        Explain(Explain),
        Plan(Box<PlanArgs>),
        Same(Box<Same>),
        List(List),
    }
}

/// Explain every word of a kernel text
#[derive(Args)]
pub struct Explain {
    /// A cuBLASLt log line, a configuration (algo=66,stages=35,splitK=3), JSON of its attributes or of a
    /// GEMMDesc, or a kernel's name
    #[arg(value_name = "TEXT", required_unless_present = "log")]
    text: Option<String>,

    /// A file written by CUBLASLT_LOG_FILE; prints one line per product
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    log: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print the slices, chains, residues and order of additions for a product
#[derive(Args)]
pub struct PlanArgs {
    /// As for 'kernels explain'
    #[arg(value_name = "TEXT", required_unless_present = "kernel_table")]
    text: Option<String>,

    /// Rows of D, columns of D and K, row-major; a log line states it
    #[arg(long, value_name = "MxNxK", value_parser = parse_shape)]
    shape: Option<Shape>,

    /// A table recorded on a GPU by scripts/capture/record_kernels.py, instead of a text
    #[arg(
        long,
        value_name = "FILE.json",
        conflicts_with = "text",
        requires = "shape"
    )]
    kernel_table: Option<PathBuf>,

    /// Workspace of the library in bytes, to choose among the answers of a table
    #[arg(long, value_name = "BYTES", requires = "kernel_table")]
    workspace: Option<u64>,

    #[command(flatten)]
    open: OpenArgs,

    /// Write the order as a schedule for --schedule-file; "-" is standard output, instead of the text
    #[arg(long, value_name = "FILE.json")]
    schedule: Option<PathBuf>,

    /// Write the order as a GEMMDesc of PyTorch; "-" is standard output, instead of the text
    #[arg(long, value_name = "FILE.json")]
    gemm_desc: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// List kernel families, and whether their order is captured, compared, published or unknown
#[derive(Args)]
pub struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_shape(text: &str) -> Result<Shape, String> {
    let sizes: Option<Vec<usize>> = text
        .split(['x', 'X'])
        .map(|size| size.trim().parse().ok())
        .collect();
    match sizes.as_deref() {
        Some(&[m, n, k]) => Ok(Shape { m, n, k }),
        _ => Err("write three numbers such as 128x64x4096".into()),
    }
}

impl Explain {
    pub fn run(self) -> Result<()> {
        if let Some(path) = &self.log {
            return self.log(path);
        }
        let reading = libraries::read(self.text.as_deref().expect("clap asks for one"))?;
        show::either(self.json, &reading, |out| text::explained(&reading, out))
    }

    fn log(&self, path: &Path) -> Result<()> {
        let name = || escaped_path(path);
        let bytes = read_bytes(path, "log", MAX_LOG)?;
        let text = String::from_utf8_lossy(&bytes);
        let options = Options::default();
        let mut rows = Vec::new();
        for (line, launch) in libraries::launches(&text) {
            let reading = libraries::read(launch);
            let plan = match reading.as_ref().map(|reading| (reading, reading.product)) {
                Err(error) => Err(error.to_string()),
                Ok((_, None)) => Err("the line does not state the product's shape".into()),
                Ok((reading, Some(shape))) => {
                    let plan = reading.plan(&shape, &options);
                    plan.map_err(|error| error.to_string())
                }
            };
            rows.push((line, reading, plan));
        }
        ensure!(
            !rows.is_empty(),
            "{} has no line that launches a product (algo=[...]); write the log with CUBLASLT_LOG_LEVEL=2 \
            CUBLASLT_LOG_FILE=...",
            name()
        );
        let document = rows.iter().map(|(line, reading, plan)| {
            json!({
                "line": line,
                "reading": reading.as_ref().ok(),
                "order": plan.as_ref().ok().map(Plan::summary),
                "error": plan.as_ref().err(),
            })
        });
        show::either(self.json, &document.collect::<Vec<_>>(), |out| {
            for (line, reading, plan) in &rows {
                let shape = reading.as_ref().ok().and_then(|reading| reading.product);
                let shape = shape.map_or("?".into(), |shape| shape.to_string());
                let family = reading
                    .as_ref()
                    .map_or("?", |reading| reading.family.value.id);
                let order = match plan {
                    Ok(plan) => plan.summary(),
                    Err(error) => format!("no plan: {error}"),
                };
                writeln!(out, "line {line}: {shape}, {family}: {order}")?;
                if let Some(lost) = plan.as_ref().ok().and_then(|plan| plan.lost) {
                    writeln!(out, "  warning: {}", lost.sentence())?;
                }
            }
            Ok(())
        })
    }
}

impl PlanArgs {
    pub fn run(self) -> Result<()> {
        let mut options = self.open.options()?;
        let reading = self.reading(&mut options)?;
        let Some(shape) = self.shape.or(reading.product) else {
            bail!("the text does not state the product's shape; give --shape MxNxK");
        };
        let plan = reading.plan(&shape, &options).map_err(kernel_error)?;
        let mut outputs = Outputs::new();
        if let Some(table) = &self.kernel_table {
            outputs.protect("the kernel table", table);
        }
        let [schedule, gemm_desc] = [&self.schedule, &self.gemm_desc].map(Option::as_deref);
        let to_stdout = [schedule, gemm_desc]
            .into_iter()
            .flatten()
            .any(show::is_stdout);
        ensure!(
            !(to_stdout && self.json),
            "--json and an order to \"-\" cannot both use standard output"
        );
        let schedule = outputs.open_if("the schedule", schedule)?;
        let gemm_desc = outputs.open_if("the GEMMDesc", gemm_desc)?;
        let mut texts = Vec::new();
        if let Some(output) = schedule {
            texts.push((output, serde_json::to_string_pretty(&plan.schedule()?)?));
        }
        if let Some(output) = gemm_desc {
            let fields = plan.gemm_desc().map_err(kernel_error)?;
            texts.push((output, serde_json::to_string_pretty(&fields)?));
        }
        for (output, text) in texts {
            output.commit(|out| writeln!(out, "{text}"))?;
        }
        if !to_stdout {
            let document = text::document(&reading, &plan);
            show::either(self.json, &document, |out| {
                text::planned(&reading, &plan, out)
            })?;
        }
        Ok(())
    }

    fn reading(&self, options: &mut Options) -> Result<KernelReading> {
        let Some(path) = &self.kernel_table else {
            return Ok(libraries::read(
                self.text.as_deref().expect("clap asks for one"),
            )?);
        };
        let name = || escaped_path(path);
        let text = read_text(path, "kernel table", MAX_DOCUMENT)?;
        let table = KernelTable::from_json(&text).with_context(name)?;
        let query = TableQuery {
            shape: self.shape.expect("clap asks for it"),
            operands: options.operands,
            result: options.result,
            fast_accumulation: options.fast_accumulation,
            workspace: self.workspace,
        };
        table.find(&query).with_context(name)
    }
}

impl List {
    pub fn run(self) -> Result<()> {
        let rows = FAMILIES.iter().map(|family| {
            json!({
                "family": family.id,
                "title": family.title,
                "kernels": family.kernels,
                "algo_ids": family.algos,
                "coverage": family.coverage,
                "facts": family.facts,
            })
        });
        show::either(self.json, &rows.collect::<Vec<_>>(), |out| {
            for family in FAMILIES {
                text::listed(family, out)?;
            }
            writeln!(
                out,
                "captured: this project's tests replay captured outputs. compared: outputs of a GPU were compared\n\
                 byte by byte, by the source named. published: written in source code or documentation.\n\
                 'tcverify kernels explain TEXT' reads a log line, a configuration or a name."
            )
        })
    }
}

/// Tell whether two texts give the same bits of a product: exit code 0 if they do, 1 if that is not shown
#[derive(Args)]
pub struct Same {
    /// As for 'kernels explain'
    #[arg(value_name = "TEXT")]
    one: String,

    /// The other text, likewise
    #[arg(value_name = "OTHER")]
    other: String,

    /// Rows of D, columns of D and K, row-major; a log line states it
    #[arg(long, value_name = "MxNxK", value_parser = parse_shape)]
    shape: Option<Shape>,

    #[command(flatten)]
    open: OpenArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Same {
    pub fn run(self) -> Result<Ending> {
        let options = self.open.options()?;
        let readings = [libraries::read(&self.one)?, libraries::read(&self.other)?];
        let stated = readings.iter().find_map(|reading| reading.product);
        let Some(shape) = self.shape.or(stated) else {
            bail!("neither text states the product's shape; give --shape MxNxK");
        };
        let [one, other] = readings
            .each_ref()
            .map(|reading| reading.plan(&shape, &options));
        let plans = [one.map_err(kernel_error)?, other.map_err(kernel_error)?];
        let differing = libraries::differing(&readings, &plans, self.open.gpu())?;
        let same = differing.is_empty();
        let document = json!({ "same_bits": same, "differing": differing });
        show::either(self.json, &document, |out| {
            if same {
                writeln!(
                    out,
                    "same bits for a product of {shape}, with alpha 1 and without C"
                )
            } else {
                writeln!(out, "not shown to be the same: {}", differing.join("; "))
            }
        })?;
        Ok(Ending::of(same))
    }
}

/// Settings that a kernel text may lack.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings that the text lacks")]
struct OpenArgs {
    /// Architecture, compute capability or GPU
    #[arg(long, value_name = "NAME", value_parser = arch_names(), hide_possible_values = true)]
    arch: Option<String>,

    /// Format of A and B
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    dtype: Option<Format>,

    /// Format of B, if it differs from A's
    #[arg(long, value_name = "FORMAT", requires = "dtype", ignore_case = true, value_parser = operand_format())]
    dtype_b: Option<Format>,

    /// Format of D
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format())]
    d_dtype: Option<Format>,

    /// Slices of K (SPLITK_NUM, numSplitsK)
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// K of a tile
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    /// K of an instruction
    #[arg(long, value_name = "K")]
    instruction_k: Option<usize>,

    #[command(flatten)]
    unsaid: KernelHints,
}

impl OpenArgs {
    /// The requested GPU.
    fn gpu(&self) -> Option<&str> {
        self.arch.as_deref()
    }

    fn options(&self) -> Result<Options> {
        let mut fields = RequestFields {
            arch: self.arch.clone(),
            dtype: self.dtype,
            dtype_b: self.dtype_b,
            d_dtype: self.d_dtype,
            split_k: self.split_k,
            tile_k: self.tile_k,
            instruction_k: self.instruction_k,
            ..RequestFields::default()
        };
        let options = self.unsaid.fill(&mut fields);
        in_options(options.and_then(|()| options_of(&fields)))
    }
}

/// An error about the request, in terms of options.
fn kernel_error(error: KernelError) -> anyhow::Error {
    match error {
        KernelError::Missing { what, why, ask } => anyhow!(
            "the text does not state {what}, which the order of the sums depends on: {why}; give --{ask}"
        ),
        error => error.into(),
    }
}
