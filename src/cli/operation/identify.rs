//! `tcverify identify --op`: which variants give a captured result.

use anyhow::Result;
use clap::Args;

use super::args::CompareArgs;
use super::{OperationArgs, RuleArgs, said};
use crate::check::{Fit, Operation, shell_line};
use crate::cli::args::MemoryArgs;
use crate::cli::{Ending, show};
use crate::io::escaped;
use crate::ops;

/// Find the variants of an operation that give a result
///
/// Computes every variant that takes these arrays, and compares it with the captured result.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify identify --op silu_and_mul --dtype bf16 x.npy y.npy

Exit codes: 0 at least one variant gives the result, 1 none does, 2 anything else.")]
pub struct Identify {
    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    compare: CompareArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

impl Identify {
    /// Every variant, and whether it gives the result.
    pub fn run(self) -> Result<Ending> {
        let mut asked = self.operation.asked(&RuleArgs::default())?;
        self.compare.fill(&mut asked)?;
        let files = self.memory.files();
        let all = ops::of(asked.operation.as_deref().unwrap_or_default());
        // The first variant that takes these arrays; why the default does not, if none does.
        let mut prepared = asked.prepare_in(&files);
        for variant in all.unwrap_or_default() {
            if prepared.is_ok() {
                break;
            }
            let other = Operation {
                variant: Some(variant.name.clone()),
                ..asked.clone()
            };
            if let Ok(found) = other.prepare_in(&files) {
                prepared = Ok(found);
            }
        }
        let prepared = said(prepared)?;
        let found = said(prepared.identify())?;
        if !self.quiet {
            show::print(|out| {
                for (variant, fit) in &found {
                    let name = escaped(&variant.name);
                    writeln!(
                        out,
                        "{:<22} {name:<24} {:<11} {}",
                        fit.to_string(),
                        variant.evidence,
                        variant.title
                    )?;
                }
                let fits = found.iter().filter(|(_, fit)| fit.is_whole()).count();
                match fits {
                    0 => writeln!(out, "\nNo variant gives this result."),
                    1 => Ok(()),
                    _ => {
                        let all = found.iter().all(|(_, fit)| !matches!(fit, Fit::Tested(_)));
                        let place = if all {
                            "everywhere in it"
                        } else {
                            "in all that was tested of it"
                        };
                        writeln!(
                            out,
                            "\nThese {fits} cannot be told apart by this result: their bits agree {place}."
                        )
                    }
                }?;
                let asked = |name: &str| Operation {
                    variant: Some(name.to_owned()),
                    ..prepared.asked().clone()
                };
                match found.iter().find(|(_, fit)| fit.is_whole()) {
                    Some((variant, _)) => {
                        let words = asked(&variant.name).command_line();
                        writeln!(out, "\n{}", escaped(&shell_line(words)))
                    }
                    None => Ok(()),
                }
            })?;
        }
        Ok(match found.iter().any(|(_, fit)| fit.is_whole()) {
            true => Ending::Done,
            false => Ending::Different,
        })
    }
}
