//! `tcverify shard`: one check, cut into parts that run anywhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};

use super::commit::keep;
use super::judge::{Judge, Setup};
use super::progress::Meter;
use super::shard_merge::{Merge, PART, Part};
use super::shard_plan::{PLAN, Plan, Share, slices};
use super::{Ending, sealed};
use crate::commit::Growing;
use crate::io::{Output, payload_sha256};

/// Cut one check into parts that run anywhere, and merge what they found
///
/// The merged report is, byte for byte, the one of 'check --tree'. docs/batch.md specifies plans and parts.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify shard plan -n 64 --arch h100 --dtype bf16 a.npy b.npy d.npy -o plan.json
  tcverify shard run plan.json 0 -o part-0.json            # ... 63, each where you like
  tcverify shard merge plan.json part-*.json -o report.json

Exit codes: plan and run: 0 done, 2 anything else; merge: 0 identical, 1 different, 2 anything else.")]
pub struct Shard {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    Plan(Box<MakePlan>),
    Run(RunPart),
    Merge(Merge),
}

/// Read and hash all files, and write who does which rows of D
#[derive(Args)]
struct MakePlan {
    /// How many parts
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shards: u64,

    #[command(flatten)]
    judge: Judge,

    /// Where to write the plan
    #[arg(long, short, value_name = "PLAN.json")]
    output: PathBuf,
}

/// Replay and compare one part: reads its rows of A, C and D, and all of B
#[derive(Args)]
struct RunPart {
    /// Plan of 'tcverify shard plan'; paths in it are relative to the current directory
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Which part, counted from 0
    #[arg(value_name = "I")]
    shard: usize,

    /// Where to write what was found
    #[arg(long, short, value_name = "PART.json")]
    output: PathBuf,
}

impl Shard {
    pub fn run(self) -> Result<Ending> {
        match self.step {
            Step::Plan(command) => command.run(),
            Step::Run(command) => command.run(),
            Step::Merge(command) => command.run(),
        }
    }
}

impl MakePlan {
    fn run(self) -> Result<Ending> {
        let judge = &self.judge;
        ensure!(
            judge.against.path().is_none(),
            "--against is for check: it looks at all of D, which no part does"
        );
        ensure!(
            judge.d.is_some(),
            "a plan needs D itself: no part can be compared with a digest of the whole"
        );
        let words = judge.words();
        judge.set_up(|setup| {
            let problem = &setup.replay.problem;
            ensure!(
                judge.part.part(problem)?.is_none(),
                "a plan is of all of D; --sample, --rows, --cols and --region are for check"
            );
            for operand in setup.files() {
                keep(&self.output, operand.file.path())?;
            }
            let output = Output::prepare(&self.output)?;
            let rows = judge.tree.rows(&setup.replay)?;
            let blocks = rows.blocks();
            ensure!(
                self.shards <= blocks,
                "{} parts of {blocks} blocks of {} rows: ask for at most as many parts as blocks, or cut D \
                 finer with --block-rows",
                self.shards,
                rows.block_rows
            );
            let meter = Meter::new(self.shards);
            let (inputs, shards) = rayon::join(
                || setup.inputs(),
                || {
                    let cut = |i: u64| (u128::from(blocks) * u128::from(i) / u128::from(self.shards)) as u64;
                    let shards = (0..self.shards).map(|i| {
                        let [first, last] = [cut(i), cut(i + 1) - 1].map(|block| rows.of_block(block));
                        let share = slices(judge, setup, first.start..last.end);
                        meter.add(1);
                        share
                    });
                    shards.collect::<Vec<Share>>()
                },
            );
            drop(meter);
            for operand in setup.files() {
                operand.confirm_unchanged()?;
            }
            let plan = Plan {
                check: words,
                model_sha256: setup.replay.arithmetic.sha256(),
                schedule_sha256: setup.replay.kernel.map(|kernel| kernel.spec.sha256()),
                format: rows.format,
                shape: rows.shape.clone(),
                block_rows: rows.block_rows,
                inputs,
                shards,
            };
            let text = sealed::seal(PLAN, &plan)?;
            output.commit(|out| out.write_all(&text))
        })?;
        Ok(Ending::Done)
    }
}

impl RunPart {
    fn run(self) -> Result<Ending> {
        let (plan, digest) = Plan::read(&self.plan)?;
        let count = plan.shards.len();
        let share = plan.shards.get(self.shard).with_context(|| {
            format!(
                "{}: has parts 0 to {}, not {}",
                self.plan.display(),
                count - 1,
                self.shard
            )
        })?;
        let rows = share.rows[0] as usize..share.rows[1] as usize;
        let judge = plan.judge()?;
        keep(&self.output, &self.plan)?;
        let part = judge.set_up_rows(&Some(rows.clone()), |setup| {
            plan.suits(setup)?;
            for operand in setup.files() {
                keep(&self.output, operand.file.path())?;
            }
            let output = Output::prepare(&self.output)?;
            self.confirm(&plan, &judge, setup, share)?;
            let blocks = plan.rows()?;
            let mut growing = Growing::new(&blocks);
            let mut differ = judge.differ(setup, false).context("a plan has a D")?;
            let replay = setup.replay;
            let all = (plan.shape.iter().rev().skip(1).product::<usize>()).max(1);
            let work = u128::from(replay.work()) * rows.len() as u128 / all as u128;
            let meter = Meter::new(work as u64);
            let done = replay.rows(rows.clone(), &|work| meter.add(work), |band| {
                rayon::join(|| differ.compare(&band), || growing.update(band.payload));
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(()) = done;
            drop(meter);
            for operand in setup.files() {
                operand.confirm_unchanged()?;
            }
            let part = Part {
                plan: digest,
                shard: self.shard,
                rows: share.rows,
                leaves: growing.finish(),
                found: differ.piece(),
            };
            let text = sealed::seal(PART, &part)?;
            output.commit(|out| out.write_all(&text))
        });
        part.with_context(|| format!("part {}", self.shard))?;
        Ok(Ending::Done)
    }

    /// Makes sure that what this part reads is what the plan was made of.
    fn confirm(&self, plan: &Plan, judge: &Judge, setup: &Setup, share: &Share) -> Result<()> {
        let changed = |name: &str, path: &Path| {
            format!(
                "{}: {name} is not what {} was made of",
                path.display(),
                self.plan.display()
            )
        };
        let operands = setup.operands;
        let found = slices(judge, setup, share.rows[0]..share.rows[1]);
        let [c, d] = [operands.c.as_ref(), setup.d];
        for (name, operand, same) in [
            ("A", Some(&operands.a), found.a == share.a),
            ("C", c, found.c == share.c),
            ("D", d, found.d == share.d),
        ] {
            if let (Some(operand), false) = (operand, same) {
                bail!(changed(name, operand.file.label()));
            }
        }
        let inputs = &plan.inputs;
        let scales = operands.scales.as_ref();
        for (name, operand, said) in [
            ("B", Some(&operands.b), Some(&inputs.b)),
            ("SA", scales.map(|[a, _]| a), inputs.scale_a.as_ref()),
            ("SB", scales.map(|[_, b]| b), inputs.scale_b.as_ref()),
            ("bias", operands.bias.as_ref(), inputs.bias.as_ref()),
        ] {
            match (operand, said) {
                (None, None) => {}
                (Some(operand), Some(said))
                    if payload_sha256(&operand.tensor) == said.payload_sha256 => {}
                (operand, _) => {
                    let path = operand.map_or(Path::new(name), |operand| operand.file.label());
                    bail!(changed(name, path));
                }
            }
        }
        Ok(())
    }
}
