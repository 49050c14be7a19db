//! `tcverify kernels`: what a library's words say about the order of its sums.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::{Ending, show};
use crate::emu::Catalogue;
use crate::io::{Output, printable, same_file};
use crate::kernel::{
    self, Capability, FAMILIES, Family, How, KernelError, KernelReading, KernelTable, Options,
    Partition, Plan, Said, Scheme, Settings, Shape, TableQuery, citation,
};
use crate::num::Format;

/// Read what a GPU library says of its kernels, and plan the order of their sums
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify kernels list
  tcverify kernels explain 'algo=66,stages=35,splitK=5,reduction=2'
  tcverify kernels explain nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT
  tcverify kernels explain --log cublaslt.log
  tcverify kernels plan 'algo=66,stages=35,splitK=9,reduction=2' --dtype fp16 --shape 32x32x8648
  tcverify kernels plan ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn \\
      --shape 100x2560x9728 --split-k 5 --reduction OUTPUT_TYPE --schedule order.json")]
pub struct Kernels {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Explain(Explain),
    Plan(Box<PlanArgs>),
    List(List),
}

/// Show what every word of a text means
#[derive(Args)]
struct Explain {
    /// A cuBLASLt log line, a configuration (algo=66,stages=35,splitK=3), JSON of its attributes or of a
    /// GEMMDesc, or a kernel's name
    #[arg(value_name = "TEXT", required_unless_present = "log")]
    text: Option<String>,

    /// A file written by CUBLASLT_LOG_FILE: one line for each of its products
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    log: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print slices, chains, residues and the order of additions for a product
#[derive(Args)]
struct PlanArgs {
    /// As for 'kernels explain'
    #[arg(value_name = "TEXT", required_unless_present = "kernel_table")]
    text: Option<String>,

    /// Rows of D, columns of D and k, row-major; a log line says it by itself
    #[arg(long, value_name = "MxNxK", value_parser = parse_shape)]
    shape: Option<Shape>,

    /// A table recorded on a GPU by scripts/capture/record_kernels.py, in place of a text
    #[arg(
        long,
        value_name = "FILE.json",
        conflicts_with = "text",
        requires = "shape"
    )]
    kernel_table: Option<PathBuf>,

    /// Bytes of workspace that the library was given, to choose among answers of a table
    #[arg(long, value_name = "BYTES", requires = "kernel_table")]
    workspace: Option<u64>,

    #[command(flatten)]
    open: OpenArgs,

    /// Write the order as a schedule for --schedule-file
    #[arg(long, value_name = "FILE.json")]
    schedule: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a text may leave open.
#[derive(Args, Clone)]
#[command(next_help_heading = "What the text leaves open")]
pub struct OpenArgs {
    /// Architecture, compute capability or GPU
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,

    /// Format of A and B
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    dtype: Option<Format>,

    /// Format of B, where it differs from A's
    #[arg(long, value_name = "FORMAT", requires = "dtype", value_parser = parse_format)]
    dtype_b: Option<Format>,

    /// Format of D
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    d_dtype: Option<Format>,

    /// Slices of K (SPLITK_NUM, numSplitsK)
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// How slices meet: NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4
    #[arg(long, value_name = "SCHEME", value_parser = parse_scheme)]
    reduction: Option<Scheme>,

    /// How CUTLASS cuts K: universal (cuBLAS too), serial-tiles, parallel-tiles
    #[arg(long, value_name = "HOW", value_parser = parse_partition)]
    partition: Option<Partition>,

    /// k of a tile
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    /// k of an instruction
    #[arg(long, value_name = "K")]
    instruction_k: Option<usize>,

    /// CUSTOM_OPTION of the configuration
    #[arg(long, value_name = "N")]
    custom: Option<u32>,

    /// FP8 accumulation
    #[arg(long, value_name = "HOW")]
    accumulation: Option<Accumulation>,

    /// Multiprocessors of the GPU
    #[arg(long, value_name = "N")]
    multiprocessors: Option<u32>,

    /// Turns by which a workgroup's loop over K is rotated (AMD, StaggerU)
    #[arg(long, value_name = "TURNS")]
    rotation: Option<usize>,

    /// Plan slices that reach K, as a library without the defect of the lost tail would
    #[arg(long)]
    whole_tail: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Accumulation {
    Fast,
    Slow,
}

/// List families of kernels: whose order is proven, compared, published or unknown
#[derive(Args)]
struct List {
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

fn parse_format(text: &str) -> Result<Format, String> {
    Format::from_name(text).ok_or_else(|| "no such format; 'tcverify archs' lists them".into())
}

fn parse_scheme(text: &str) -> Result<Scheme, String> {
    Scheme::parse(text)
        .ok_or_else(|| "NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4".into())
}

fn parse_partition(text: &str) -> Result<Partition, String> {
    Partition::parse(text).ok_or_else(|| "universal, serial-tiles or parallel-tiles".into())
}

impl OpenArgs {
    /// # Errors
    /// If no GPU is called so.
    pub fn options(&self) -> Result<Options> {
        let mut options = Options {
            operands: self.dtype.map(|a| [a, self.dtype_b.unwrap_or(a)]),
            result: self.d_dtype,
            split_k: self.split_k,
            scheme: self.reduction,
            partition: self.partition,
            tile_k: self.tile_k,
            instruction_k: self.instruction_k,
            custom: self.custom,
            fast_accumulation: self.accumulation.map(|how| how == Accumulation::Fast),
            multiprocessors: self.multiprocessors,
            rotation: self.rotation,
            whole_tail: self.whole_tail,
            ..Options::default()
        };
        let sizes = [
            ("--split-k", self.split_k),
            ("--tile-k", self.tile_k),
            ("--instruction-k", self.instruction_k),
        ];
        if let Some((option, _)) = sizes.iter().find(|(_, size)| *size == Some(0)) {
            bail!("{option} must be at least 1");
        }
        if let Some(name) = &self.arch {
            match Capability::parse(name) {
                Some(capability) => options.capability = Some(capability),
                None => {
                    let architecture = Catalogue::builtin().find(name)?;
                    options.capability = architecture
                        .also
                        .iter()
                        .find_map(|also| Capability::parse(also));
                    if options.capability.is_none() {
                        options.other_gpu = Some(architecture.name.clone());
                    }
                }
            }
        }
        Ok(options)
    }
}

impl Kernels {
    pub fn run(self) -> Result<Ending> {
        match self.command {
            Command::Explain(command) => command.run(),
            Command::Plan(command) => command.run(),
            Command::List(command) => command.run(),
        }
    }
}

impl Explain {
    fn run(self) -> Result<Ending> {
        if let Some(path) = &self.log {
            return self.log(path);
        }
        let reading = kernel::read(self.text.as_deref().expect("clap asks for one"))?;
        show::print(|out| match self.json {
            true => json_line(out, &reading),
            false => explained(&reading, out),
        })?;
        Ok(Ending::Done)
    }

    fn log(&self, path: &Path) -> Result<Ending> {
        let name = || format!("{}", path.display());
        let bytes = fs::read(path).with_context(name)?;
        let text = String::from_utf8_lossy(&bytes);
        let options = Options::default();
        let mut rows = Vec::new();
        for (line, launch) in kernel::launches(&text) {
            let reading = kernel::read(launch);
            let plan = reading.as_ref().map_err(Clone::clone).and_then(|reading| {
                let shape = reading.product.unwrap_or(Shape { m: 0, n: 0, k: 0 });
                reading.plan(&shape, &options)
            });
            rows.push((line, reading, plan));
        }
        ensure!(
            !rows.is_empty(),
            "{} has no line that launches a product (algo=[...]); write it with CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=...",
            name()
        );
        show::print(|out| {
            if self.json {
                let rows = rows.iter().map(|(line, reading, plan)| {
                    json!({
                        "line": line,
                        "reading": reading.as_ref().ok(),
                        "order": plan.as_ref().ok().map(Plan::summary),
                        "error": plan.as_ref().err().map(ToString::to_string),
                    })
                });
                return json_line(out, &rows.collect::<Vec<_>>());
            }
            for (line, reading, plan) in &rows {
                let shape = reading.as_ref().ok().and_then(|reading| reading.product);
                let shape = shape.map_or("?".into(), |shape| shape.to_string());
                let family = reading
                    .as_ref()
                    .map_or("?", |reading| reading.family.value.id);
                let order = match plan {
                    Ok(plan) => plan.summary(),
                    Err(error) => format!("not planned: {error}"),
                };
                writeln!(out, "line {line}: {shape}, {family}: {order}")?;
                if let Some(lost) = plan.as_ref().ok().and_then(|plan| plan.lost) {
                    writeln!(out, "  warning: {}", lost.sentence())?;
                }
            }
            Ok(())
        })?;
        Ok(Ending::Done)
    }
}

impl PlanArgs {
    fn run(self) -> Result<Ending> {
        let mut options = self.open.options()?;
        let reading = self.reading(&mut options)?;
        let Some(shape) = self.shape.or(reading.product) else {
            bail!("the text does not say which product it is about; give --shape MxNxK");
        };
        let plan = reading.plan(&shape, &options).map_err(in_options)?;
        if let Some(path) = &self.schedule {
            let schedule = plan.schedule()?;
            if let Some(table) = self
                .kernel_table
                .as_deref()
                .filter(|table| same_file(table, path))
            {
                bail!(
                    "--schedule would overwrite {}, which it is made of",
                    table.display()
                );
            }
            let text = serde_json::to_string_pretty(&schedule)?;
            Output::prepare(path)?.commit(|out| writeln!(out, "{text}"))?;
        }
        show::print(|out| match self.json {
            true => json_line(out, &document(&reading, &plan)),
            false => planned(&reading, &plan, out),
        })?;
        Ok(Ending::Done)
    }

    fn reading(&self, options: &mut Options) -> Result<KernelReading> {
        let Some(path) = &self.kernel_table else {
            return Ok(kernel::read(
                self.text.as_deref().expect("clap asks for one"),
            )?);
        };
        let name = || format!("{}", path.display());
        let text = fs::read_to_string(path).with_context(name)?;
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
    fn run(self) -> Result<Ending> {
        show::print(|out| {
            if self.json {
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
                return json_line(out, &rows.collect::<Vec<_>>());
            }
            for family in FAMILIES {
                listed(family, out)?;
            }
            writeln!(
                out,
                "proven: this project's tests replay captured outputs. compared: outputs of a GPU were compared\n\
                 byte by byte, by the source named. published: written in source code or documentation.\n\
                 'tcverify kernels explain TEXT' reads a log line, a configuration or a name."
            )
        })?;
        Ok(Ending::Done)
    }
}

/// An error about the request, in options.
fn in_options(error: KernelError) -> anyhow::Error {
    match error {
        KernelError::Missing { what, why, ask } => anyhow!(
            "{what} is not in the text, and the order of the sums depends on it: {why}; give --{ask}"
        ),
        error => error.into(),
    }
}

fn json_line(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

fn listed(family: &Family, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", family.id, family.title)?;
    writeln!(out, "  kernels   {}", family.kernels)?;
    if !family.algos.is_empty() {
        let algos: Vec<String> = family.algos.iter().map(u32::to_string).collect();
        writeln!(out, "  ALGO_ID   {}", algos.join(", "))?;
    }
    for row in family.coverage {
        let standing = row.standing.name();
        writeln!(
            out,
            "  {standing:<9} {}: {} [{}]",
            row.gpus, row.what, row.source
        )?;
    }
    writeln!(out)
}

fn explained(reading: &KernelReading, out: &mut dyn Write) -> io::Result<()> {
    head(reading, out)?;
    let of = |token: &kernel::Token| match token.value.is_empty() {
        true => token.key.clone(),
        false => format!("{}={}", token.key, token.value),
    };
    let width = reading.tokens.iter().map(|token| of(token).chars().count());
    let width = width.max().unwrap_or(0).clamp(8, 44);
    writeln!(out)?;
    for token in &reading.tokens {
        let known = match (token.known, token.source) {
            (Some(known), Some(source)) => format!(" [{} {source}]", known.letter()),
            _ => String::new(),
        };
        let (word, status) = (of(token), token.status.name());
        writeln!(
            out,
            "  {word:<width$}  {status:<8} {}{known}",
            token.meaning
        )?;
    }
    writeln!(out)?;
    settings(&reading.settings, out)?;
    for note in &reading.notes {
        writeln!(out, "  note: {note}")?;
    }
    let open = reading.open(&Options::default()).unwrap_or_default();
    for open in &open {
        writeln!(
            out,
            "  open: {}: {}; give --{}",
            open.what, open.why, open.ask
        )?;
    }
    if reading.unknown().next().is_some() {
        writeln!(
            out,
            "  words marked UNKNOWN may decide bits of D; nobody here knows them"
        )?;
    }
    if reading.family.value.is_unknown() {
        writeln!(
            out,
            "  the order of this kernel's sums is not known; 'tcverify identify' searches orders that give D"
        )?;
    }
    facts(&reading.facts, out)
}

fn head(reading: &KernelReading, out: &mut dyn Write) -> io::Result<()> {
    let family = reading.family.value;
    writeln!(
        out,
        "{} of {} ({})",
        reading.kind.name(),
        family.title,
        family.id
    )?;
    if let Some(shape) = reading.product {
        writeln!(out, "  product {shape} (M x N x K of D in row-major order)")?;
    }
    if let Some(batch) = reading.batch {
        writeln!(out, "  in a batch of {batch}")?;
    }
    Ok(())
}

/// Every setting that decides bits, and which part was stated, given, assumed.
fn settings(settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    let mut row = |name: &str, value: Option<(String, How, &str)>| match value {
        None => Ok(()),
        Some((value, how, from)) => {
            let from = match from {
                "" => String::new(),
                from => format!(" ({from})"),
            };
            writeln!(out, "  {name:<18} {value:<20} {}{from}", how.name())
        }
    };
    fn of<T>(said: &Option<Said<T>>, show: impl Fn(&T) -> String) -> Option<(String, How, &str)> {
        let said = said.as_ref()?;
        Some((show(&said.value), said.how, &said.from))
    }
    row("GPU", of(&settings.capability, ToString::to_string))?;
    row("ALGO_ID", of(&settings.algo, ToString::to_string))?;
    let pair = |[a, b]: &[Format; 2]| match a == b {
        true => a.to_string(),
        false => format!("{a} * {b}"),
    };
    row("operands", of(&settings.operands, pair))?;
    row("D", of(&settings.result, ToString::to_string))?;
    row("tile k", of(&settings.tile_k, ToString::to_string))?;
    row(
        "instruction k",
        of(&settings.instruction_k, ToString::to_string),
    )?;
    row("slices", of(&settings.split_k, ToString::to_string))?;
    row(
        "reduction",
        of(&settings.scheme, |scheme| scheme.name().into()),
    )?;
    row(
        "partition",
        of(&settings.partition, |how| format!("{how:?}")),
    )?;
    row("warps of a tile", of(&settings.sliced, ToString::to_string))?;
    row("custom option", of(&settings.custom, ToString::to_string))?;
    let fast = |fast: &bool| if *fast { "fast" } else { "slow" }.to_owned();
    row("accumulation", of(&settings.fast_accumulation, fast))?;
    row("epilogue", of(&settings.epilogue, Clone::clone))
}

fn facts(facts: &[kernel::Fact], out: &mut dyn Write) -> io::Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nHow the order is known (B compared, P probed, R read, D derived)"
    )?;
    for fact in facts {
        writeln!(
            out,
            "  {} {} [{}]",
            fact.known.letter(),
            fact.says,
            fact.source
        )?;
    }
    let mut keys: Vec<&str> = facts.iter().map(|fact| fact.source).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        writeln!(out, "  [{key}] {}", citation(key).unwrap_or(""))?;
    }
    Ok(())
}

fn planned(reading: &KernelReading, plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}, {}: {}", plan.family, plan.shape, plan.summary())?;
    if let Some(lost) = plan.lost {
        writeln!(out, "\nwarning: {}", lost.sentence())?;
    }
    writeln!(out)?;
    for line in plan.slice_lines(16) {
        writeln!(out, "  {line}")?;
    }
    if plan.slices.len() > 1 {
        writeln!(out, "  sum: {}", plan.merge_text())?;
    }
    if let Some(sum) = plan.merge_expression() {
        writeln!(out, "       {sum}")?;
    }
    writeln!(out)?;
    settings(&plan.settings, out)?;
    let model = plan.model();
    if let (Some(architecture), Some(instruction)) = (model.architecture, model.instruction) {
        writeln!(
            out,
            "  model              --arch {architecture} --instruction {instruction}"
        )?;
    }
    match plan.spec() {
        Ok(spec) => writeln!(out, "  schedule           {}", spec.sha256())?,
        Err(error) => writeln!(out, "  {error}")?,
    }
    for note in &reading.notes {
        writeln!(out, "  note: {note}")?;
    }
    for what in &plan.assumed {
        writeln!(out, "  assumed: {what}")?;
    }
    facts(&plan.facts, out)
}

fn document(reading: &KernelReading, plan: &Plan) -> serde_json::Value {
    let model = plan.model();
    json!({
        "reading": reading,
        "plan": plan,
        "summary": plan.summary(),
        "warning": plan.lost.map(kernel::LostTail::sentence),
        "model": { "architecture": model.architecture, "instruction": model.instruction },
        "schedule": plan.schedule().ok(),
        "schedule_error": plan.spec().err().map(|error| printable(&error.to_string())),
    })
}
