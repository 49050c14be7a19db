//! `tcverify shard merge`: what all parts found, as one report.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::commit::keep;
use super::judge::Found;
use super::shard_plan::Plan;
use super::{Ending, sealed, show};
use crate::commit::Hash;
use crate::io::{MappedFile, Output};
use crate::report::{Exporter, Json, Piece, Text, Verdict};

/// Value of the `schema` field of a part.
pub const PART: &str = "tcverify.part/1";

/// Join all parts of a plan to the report of the whole
#[derive(Args)]
pub struct Merge {
    /// Plan of 'tcverify shard plan'
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Every part of it, once, in any order
    #[arg(value_name = "PART.json", required = true)]
    parts: Vec<PathBuf>,

    /// Where to write the report; "-" is standard output, instead of the text
    #[arg(long, short, value_name = "REPORT.json")]
    output: Option<PathBuf>,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

/// What one part found.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// SHA-256 of the plan's file.
    pub plan: Hash,
    pub shard: usize,
    pub rows: [u64; 2],
    /// Of the reproduced D's blocks.
    pub leaves: Vec<Hash>,
    pub found: Piece,
}

impl Merge {
    pub fn run(self) -> Result<Ending> {
        let (plan, digest) = Plan::read(&self.plan)?;
        let judge = plan.judge()?;
        let parts = self.parts(&plan, digest)?;
        let output = match &self.output {
            Some(path) => {
                for input in self.parts.iter().chain([&self.plan]) {
                    keep(path, input)?;
                }
                Some(Output::prepare(path)?)
            }
            None => None,
        };
        let differs = parts.iter().any(|part| part.found.mismatches() > 0);
        let causes = differs && !judge.no_causes;
        // Causes are looked for in the operands; without, only what headers say is needed.
        let looked_at = if causes { None } else { Some(0..0) };
        let report = judge.set_up_rows(&looked_at, |setup| {
            plan.suits(setup)?;
            if let Some(path) = &self.output {
                for operand in setup.files() {
                    keep(path, operand.file.path())?;
                }
            }
            if causes {
                ensure!(
                    setup.inputs() == plan.inputs,
                    "D differs, and what would explain it is looked for in the operands; but these are not \
                     what {} was made of (plan with --no-causes to do without)",
                    self.plan.display()
                );
            }
            let mut differ = judge.differ(setup, false).context("a plan has a D")?;
            let mut leaves = Vec::new();
            for part in parts {
                let shard = part.shard;
                let rows = part.rows[0] as usize..part.rows[1] as usize;
                let joined = differ.join(part.found, rows);
                joined
                    .map_err(anyhow::Error::msg)
                    .with_context(|| format!("part {shard} cannot be of this plan"))?;
                leaves.extend(part.leaves);
            }
            let found = Found::Leaves(plan.rows()?, leaves);
            let inputs = plan.inputs.clone();
            let (report, _) = judge.report(setup, inputs, found, Some(differ.conclude()))?;
            for operand in setup.files() {
                operand.confirm_unchanged()?;
            }
            Ok(report)
        })?;
        if let Some(output) = output {
            output.commit(|out| Json.export(&report, out))?;
        }
        let to_stdout = self.output.as_deref() == Some(Path::new("-"));
        if !self.quiet && !to_stdout {
            show::print(|out| Text.export(&report, out))?;
        }
        Ok(match report.verdict {
            Verdict::Identical => Ending::Done,
            Verdict::Different => Ending::Different,
        })
    }

    /// All parts, in the order of their rows.
    fn parts(&self, plan: &Plan, digest: Hash) -> Result<Vec<Part>> {
        let mut parts: Vec<Option<(Part, &Path)>> = plan.shards.iter().map(|_| None).collect();
        for path in &self.parts {
            let name = || path.display().to_string();
            let read = || -> Result<Part> {
                let file = MappedFile::open(path)?;
                sealed::unseal(PART, file.bytes())
            };
            let part = read().with_context(name)?;
            ensure!(
                part.plan == digest,
                "{}: is part of another plan (of SHA-256 {})",
                name(),
                part.plan
            );
            let share = plan.shards.get(part.shard);
            let share = share.filter(|share| share.rows == part.rows);
            let blocks = part.rows[1]
                .saturating_sub(part.rows[0])
                .div_ceil(plan.block_rows);
            ensure!(
                share.is_some() && part.leaves.len() as u64 == blocks,
                "{}: has rows or blocks that part {} of the plan has not",
                name(),
                part.shard
            );
            let place = &mut parts[part.shard];
            if let Some((_, other)) = place {
                bail!(
                    "{} and {}: both are part {}",
                    other.display(),
                    name(),
                    part.shard
                );
            }
            *place = Some((part, path));
        }
        let missing = parts.iter().enumerate().filter(|(_, part)| part.is_none());
        let missing: Vec<_> = missing.map(|(i, _)| i.to_string()).collect();
        ensure!(
            missing.is_empty(),
            "{} of {} parts are missing: {}",
            missing.len(),
            parts.len(),
            some_of(&missing)
        );
        Ok(parts.into_iter().flatten().map(|(part, _)| part).collect())
    }
}

/// The first few.
fn some_of(all: &[String]) -> String {
    match all.len() {
        0..=16 => all.join(", "),
        _ => format!("{}, ...", all[..16].join(", ")),
    }
}
