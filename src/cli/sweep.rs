//! `tcverify sweep`: a function of all 32-bit patterns: digests by the model, compared with those of a GPU.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::{RuleArgs, in_operation_options};
use super::progress::Bar;
use super::show::write_pretty;
use super::values::{ranges, word};
use super::{Ending, show};
use crate::check::{EngineChoice, Verb, shell_line};
use crate::compose::Request;
use crate::engines;
use crate::io::{MAX_DOCUMENT, Outputs, escaped, escaped_path, read_text};
use crate::operation::{Operation, Sweep as Digests};

/// Judge a function on all 2^32 inputs, by digests
///
/// Compares the output of scripts/capture/sweep.cu on a GPU, one SHA-256 per block of 2^24 patterns, with the rule
/// of 'tcverify ops' (docs/layers.md).
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify sweep ex2_approx --variant ptx-ftz --against gpu.json
  tcverify sweep expf --blocks 62-65 --write expf.json

Exit codes: 0 identical (or done), 1 different, 2 anything else.")]
pub struct Sweep {
    /// A unary function: expf, ex2_approx, sqrt ... ('tcverify ops')
    #[arg(value_name = "FUNCTION")]
    function: String,

    #[command(flatten)]
    rule: RuleArgs,

    /// Judge digests that scripts/capture/sweep.cu wrote on a GPU
    #[arg(long, value_name = "GPU.json")]
    against: Option<PathBuf>,

    /// Write the digests of the rule's results
    #[arg(long, value_name = "FILE.json", conflicts_with = "against")]
    write: Option<PathBuf>,

    /// Only these blocks, such as 62-65,190: the patterns with these first bytes
    #[arg(long, value_name = "LIST", value_parser = blocks)]
    blocks: Option<Blocks>,

    /// Engine: "fast" ("auto", too) or "exact", which give the same bits; "gpu" is refused here
    #[arg(long, value_name = "ENGINE", default_value = "fast", value_parser = word::<EngineChoice>())]
    engine: EngineChoice,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

/// Numbers of blocks, ascending.
#[derive(Clone, Debug)]
struct Blocks(Vec<u8>);

fn blocks(text: &str) -> Result<Blocks, String> {
    let all = ranges(text).ok_or("give numbers from 0 to 255 and ranges, such as 62-65,190")?;
    let all: BTreeSet<u8> = all.into_iter().flatten().collect();
    Ok(Blocks(all.into_iter().collect()))
}

impl Sweep {
    pub fn run(self) -> Result<Ending> {
        let mut request = Operation {
            operation: Some(self.function.replace('-', "_")),
            engine: Some(self.engine),
            ..Operation::default()
        };
        in_operation_options(self.rule.fill(&mut request))?;
        let request = request.without_defaults();
        match (&self.write, &self.against) {
            (Some(path), _) => self.write(&request, path).map(Ending::from),
            (_, Some(path)) => self.judge(&request, path),
            _ => bail!("choose one of --write (write a sweep) and --against (judge one)"),
        }
    }

    fn write(&self, request: &Operation, path: &Path) -> Result<()> {
        let mut outputs = Outputs::new();
        Request::from(request.clone()).protect(&mut outputs);
        let output = outputs.open("the digests", path)?;
        let chosen = self.blocks.as_ref();
        let chosen = chosen.map_or_else(|| (0..=255).collect(), |blocks| blocks.0.clone());
        let sweep = in_operation_options(request.sweep(engines::here(), chosen, &Bar::new()))?;
        output.commit(|out| write_pretty(&sweep, out))?;
        Ok(())
    }

    fn judge(&self, request: &Operation, path: &Path) -> Result<Ending> {
        let name = || escaped_path(path).to_string();
        let text = read_text(path, "sweep", MAX_DOCUMENT)?;
        let mut given = Digests::from_json(&text).map_err(anyhow::Error::msg);
        if let (Ok(given), Some(chosen)) = (&mut given, &self.blocks) {
            given.blocks.retain(|block, _| chosen.0.contains(block));
        }
        let given = given.with_context(|| format!("{} is not a usable sweep", name()))?;
        ensure!(
            !given.blocks.is_empty(),
            "{} has none of these blocks",
            name()
        );
        let operation = request.operation.as_deref().unwrap_or_default();
        ensure!(
            given.operation == operation,
            "{} is a sweep of {}, but the request is for {operation}",
            name(),
            escaped(&given.operation)
        );
        let own = in_operation_options(request.sweep(
            engines::here(),
            given.blocks.keys().copied(),
            &Bar::new(),
        ))?;
        let differing = given.differing(&own);
        let count = given.blocks.len();
        let rule = format!("{} {}", own.operation, own.variant);
        show::unless(self.quiet, |out| {
            let passed = if count == 256 {
                "IDENTICAL"
            } else {
                "IDENTICAL IN PART"
            };
            match differing.len() {
                0 => writeln!(
                    out,
                    "{passed}  {count} of 256 blocks of 2^24 patterns: the digests of {rule}"
                )?,
                n => writeln!(
                    out,
                    "DIFFERENT  {n} of {count} blocks of 2^24 patterns have digests that differ from {rule}"
                )?,
            }
            if given.variant != own.variant {
                writeln!(
                    out,
                    "  the file calls its function {}",
                    escaped(&given.variant)
                )?;
            }
            for &block in differing.iter().take(16) {
                writeln!(
                    out,
                    "  block {block}: patterns {block:02x}000000 to {block:02x}ffffff"
                )?;
            }
            if differing.len() > 16 {
                writeln!(out, "  ... and {} more", differing.len() - 16)?;
            }
            if let Some(block) = differing.first() {
                let mut words = Request::from(request.clone()).command_line(Verb::Check);
                words.push(format!("x={block}.x.npy").into());
                words.push(format!("y={block}.y.npy").into());
                writeln!(
                    out,
                    "\n  To see the first differing patterns, save a block on the GPU and judge it:\n  ./sweep \
                         {} {} --save {block}\n  {}",
                    escaped(&given.operation),
                    escaped(&given.variant),
                    escaped(&shell_line(words))
                )?;
            }
            Ok(())
        })?;
        Ok(Ending::of(differing.is_empty()))
    }
}
