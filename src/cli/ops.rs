//! `tcverify ops`: which operations between products are modelled, and with what evidence.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::schedules::{constants, notes};
use super::show;
use super::show::write_pretty;
use crate::io::{MAX_DOCUMENT, escaped_path, read_text};
use crate::ops::{self, Variant, refused, variants};

/// List the operations between products and their variants
///
/// A name shows the variants of one operation, with the evidence and source of each constant.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify ops
  tcverify ops rms_norm
  tcverify ops --raw rms_norm vllm > mine.json   # a start for 'check --op --variant-file'
  tcverify ops --file mine.json                  # check your own file")]
pub struct Ops {
    /// One operation
    #[arg(value_name = "OPERATION")]
    operation: Option<String>,

    /// One of its variants
    #[arg(value_name = "VARIANT")]
    variant: Option<String>,

    /// Your own variant
    #[arg(long, value_name = "FILE.json", conflicts_with = "operation")]
    file: Option<PathBuf>,

    /// Print the variant's file
    #[arg(long, requires = "variant")]
    raw: bool,

    /// Print JSON
    #[arg(long, conflicts_with = "raw")]
    json: bool,
}

impl Ops {
    pub fn run(self) -> Result<()> {
        let own = match &self.file {
            Some(path) => {
                let text = read_text(path, "variant", MAX_DOCUMENT)?;
                let read = Variant::from_json(&text).map_err(anyhow::Error::msg);
                let read = read.with_context(|| {
                    format!("{} is not a usable variant file", escaped_path(path))
                })?;
                // Its own words, or what they are worth.
                Some(if self.raw { read } else { read.claimed() })
            }
            None => None,
        };
        let all = || variants().iter().collect();
        let chosen: Vec<&Variant> = match (&own, &self.operation, &self.variant) {
            (Some(own), ..) => vec![own],
            (None, None, _) => all(),
            (None, Some(name), None) => {
                ops::of(&name.replace('-', "_")).map_err(anyhow::Error::msg)?
            }
            (None, Some(name), variant) => {
                let found = ops::find(&name.replace('-', "_"), variant.as_deref());
                vec![found.map_err(anyhow::Error::msg)?]
            }
        };
        let some = own.is_some() || self.operation.is_some();
        if self.raw {
            show::print(|out| write_pretty(chosen[0], out))?;
            return Ok(());
        }
        show::either(self.json, &chosen, |out| {
            if some {
                chosen.iter().try_for_each(|variant| describe(variant, out))
            } else {
                list(&chosen, out)
            }
        })
    }
}

fn list(all: &[&Variant], out: &mut dyn Write) -> io::Result<()> {
    let mut before = "";
    for variant in all {
        let operation = variant.rule.operation();
        if operation != before {
            let arrays = variant.rule.arrays().join(", ");
            writeln!(out, "{operation} ({arrays})")?;
            before = operation;
        }
        writeln!(
            out,
            "  {:<23} {:<11} {}",
            variant.name, variant.evidence, variant.title
        )?;
    }
    writeln!(out, "\nNot supported, and why:")?;
    for one in refused() {
        writeln!(out, "  {:<29} {}", one.name, one.why)?;
    }
    Ok(())
}

fn describe(variant: &Variant, out: &mut dyn Write) -> io::Result<()> {
    let operation = variant.rule.operation();
    writeln!(out, "{operation} {}: {}\n", variant.name, variant.title)?;
    writeln!(
        out,
        "  {}, {} ({})",
        variant.library, variant.versions, variant.evidence
    )?;
    writeln!(out, "  arrays {}", variant.rule.arrays().join(", "))?;
    writeln!(out, "  sha256 {}\n", variant.sha256())?;
    let known = |constant: &str| variant.known_by(constant);
    constants(&variant.constants(), known, [28, 16], out)?;
    notes(&variant.notes, &variant.sources, out)?;
    writeln!(out)
}
