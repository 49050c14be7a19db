//! `tcverify shard`: one check in parts that run anywhere.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;

use super::args::{CheckArgs, MemoryArgs, in_options, signer};
use super::progress::Bar;
use super::reports::ReportArgs;
use super::{Ending, refuted, show};
use crate::check::Check;
use crate::compose::Examined;
use crate::forms::View;
use crate::io::Outputs;
use crate::shard::{Part, Plan, ShardError, merge};
use crate::sign::{PublicKey, Signer};

commands! {
    /// Split one check into parts that run anywhere, and merge their findings
    ///
    /// The merged report equals that of 'check --tree', and lists its parts. It is IDENTICAL only if each part was signed
    /// by a key that the plan names, or run again. docs/parts.md specifies plans and parts.
    #[command(after_long_help = "\
Examples:
  tcverify shard plan -n 64 --arch h100 --dtype bf16 a.npy b.npy d.npy -o plan.json
  tcverify shard run plan.json 0 -o part-0.json            # ... 63, each where you like
  tcverify shard merge plan.json part-*.json -o report.json
  tcverify shard audit plan.json --parts 5 --seed 20261121 part-*.json

Parts that nobody else can supply:
  openssl genpkey -algorithm ed25519 -out node.pem && openssl pkey -in node.pem -pubout -out node.pub.pem
  tcverify shard plan -n 64 --signer node.pub.pem --arch h100 --dtype bf16 a.npy b.npy d.npy -o plan.json
  tcverify shard run plan.json 0 --sign node.pem -o part-0.json

Exit codes: plan and run: 0 done, 2 anything else; merge: 0 identical or trusted to be, 1 different,
2 anything else; audit: 0 the parts that were run again match those supplied, 1 one does not, 2
anything else.")]
    pub enum Shard {
        Plan(Box<MakePlan>),
        Run(RunPart),
        Merge(Merge),
        Audit(Audit),
    }
}

/// Read and hash all files, and assign the rows of D to parts
#[derive(Args)]
pub struct MakePlan {
    /// Number of parts
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shards: u64,

    /// Accept only parts signed by this key: a public Ed25519 key, as 'openssl pkey -pubout' writes it.
    /// Repeat to allow several keys
    #[arg(long, value_name = "PUBLIC.pem")]
    signer: Vec<PathBuf>,

    /// Where to write the plan
    #[arg(long, short, value_name = "PLAN.json")]
    output: PathBuf,

    #[command(flatten)]
    check: CheckArgs,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// Replay and compare one part; reads its rows of A, C and D, and all of B
#[derive(Args)]
pub struct RunPart {
    /// Plan of 'tcverify shard plan'; paths in it are relative to the current directory
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Number of the part, counted from 0
    #[arg(value_name = "I")]
    shard: usize,

    /// Sign the findings with this private Ed25519 key, as 'openssl genpkey -algorithm ed25519' writes it; the
    /// plan must name its public key
    #[arg(long, value_name = "PRIVATE.pem")]
    sign: Option<PathBuf>,

    /// Where to write the findings
    #[arg(long, short, value_name = "PART.json")]
    output: PathBuf,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// Merge all parts of a plan into the report of the whole
#[derive(Args)]
pub struct Merge {
    /// Plan of 'tcverify shard plan'
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Every part of it, once, in any order
    #[arg(value_name = "PART.json", required = true)]
    parts: Vec<PathBuf>,

    /// Run this many parts again, drawn by the seed; a part that is neither run again nor signed is
    /// trusted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "seed")]
    audit: Option<u64>,

    /// Seed of the draw; nobody must have known it before all parts were supplied
    #[arg(long, value_name = "S", requires = "audit")]
    seed: Option<u64>,

    /// Where to write the report; "-" is standard output, instead of the text
    #[arg(long, short, value_name = "REPORT.json", conflicts_with = "json")]
    output: Option<PathBuf>,

    #[command(flatten)]
    report: ReportArgs,

    /// Write the report as one page for a browser, without the map of 'check --html'. It loads nothing from
    /// elsewhere
    #[arg(long, value_name = "PATH", help_heading = "Report")]
    html: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// Run randomly drawn parts again, and report what that proves
///
/// Draw after all parts were supplied, with a seed that nobody could know before: a part that is not drawn
/// is trusted.
#[derive(Args)]
pub struct Audit {
    /// Plan of 'tcverify shard plan'
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Number of parts to run again
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    parts: u64,

    /// Seed of the draw
    #[arg(long, value_name = "S")]
    seed: u64,

    /// Every part of the plan, once, in any order
    #[arg(value_name = "PART.json", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

impl MakePlan {
    pub fn run(self) -> Result<()> {
        let mut fields = in_options(self.check.fields())?;
        // A plan names D by its tree, whatever the options are.
        fields.tree = Some(true);
        let check = in_options(Check::try_from(fields))?;
        let prepared = in_options(check.prepare(&self.memory.resources()))?;
        let signers = self.signer.iter().map(|path| PublicKey::read(path));
        let signers = signers.collect::<Result<Vec<_>, _>>()?;
        let mut outputs = Outputs::new();
        check.protect(&mut outputs);
        for path in &self.signer {
            outputs.protect("a key", path);
        }
        let output = outputs.open("the plan", &self.output)?;
        let mut plan = match Plan::make(&prepared, self.shards, &Bar::new()) {
            Err(ShardError::Check(error)) => return in_options(Err(error)),
            made => made?,
        };
        plan.signers = signers;
        let text = plan.text()?;
        output.commit(|out| out.write_all(&text))?;
        Ok(())
    }
}

impl RunPart {
    pub fn run(self) -> Result<()> {
        let plan = Plan::read(&self.plan)?;
        let mut outputs = Outputs::new();
        let key = self.sign.as_deref();
        let signer = key.map(|path| signer(path, &mut outputs)).transpose()?;
        let key = signer.as_ref().map(Signer::public);
        // Refused before the work, not when parts are merged.
        let admitted = plan.admits(key.as_ref());
        admitted.map_err(|reason| anyhow!("the part {reason} (--sign; 'shard plan' --signer)"))?;
        plan.check.protect(&mut outputs);
        outputs.protect("the plan", &self.plan);
        let output = outputs.open("the part", &self.output)?;
        let prepared = plan.prepare_part(self.shard, &self.memory.resources())?;
        let part = plan.run_part(self.shard, &prepared, &Bar::new())?;
        let text = part.text(signer.as_ref())?;
        output.commit(|out| out.write_all(&text))?;
        Ok(())
    }
}

/// All parts of a plan, in order.
fn collected(plan: &Plan, files: &[PathBuf]) -> Result<Vec<Part>> {
    let read = |path: &PathBuf| Part::read(path);
    let parts = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let paths = files.iter().map(PathBuf::as_path);
    Ok(plan.collect(parts.into_iter().zip(paths).collect())?)
}

/// The answer about forged parts.
fn not_what_it_says<T>(parts: &str) -> Result<T> {
    refuted(format!(
        "run again, these parts differ from those supplied: {parts}"
    ))
}

impl Audit {
    pub fn run(self) -> Result<()> {
        let plan = Plan::read(&self.plan)?;
        let parts = collected(&plan, &self.files)?;
        let count = usize::try_from(self.parts).unwrap_or(usize::MAX);
        let resources = self.memory.resources();
        let audit = plan.audit(&parts, (count, self.seed), &resources, &Bar::new())?;
        let named = |&part: &usize| match parts[part].signer {
            Some(key) => format!("{part} (signed by {key})"),
            None => part.to_string(),
        };
        let list = |parts: &[usize]| parts.iter().map(named).collect::<Vec<_>>().join(", ");
        if !audit.wrong.is_empty() {
            return not_what_it_says(&list(&audit.wrong));
        }
        show::unless(self.quiet, |out| {
            let (drawn, all, seed) = (audit.drawn.len(), audit.parts, audit.seed);
            let missed = 100.0 * audit.misses(1);
            let caught = audit.caught_99_percent();
            writeln!(
                out,
                "REPRODUCED  {drawn} of {all} parts, seed {seed}: {}",
                list(&audit.drawn)
            )?;
            writeln!(
                out,
                "\n  a single forged part is missed with {missed:.4} %, {caught} or more are detected with at least 99 %,\n  \
                 if nobody who could still change a part knew the seed"
            )
        })
    }
}

impl Merge {
    pub fn run(self) -> Result<Ending> {
        let plan = Plan::read(&self.plan)?;
        let parts = collected(&plan, &self.parts)?;
        let mut outputs = Outputs::new();
        plan.check.protect(&mut outputs);
        outputs.protect("the plan", &self.plan);
        for part in &self.parts {
            outputs.protect("a part", part);
        }
        let to = self.report.with_json(self.output);
        let reports = to.open(&mut outputs, self.html.as_deref())?;
        let resources = self.memory.resources();
        let mut run_again = Vec::new();
        if let (Some(count), Some(seed)) = (self.audit, self.seed) {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let audit = plan.audit(&parts, (count, seed), &resources, &Bar::new())?;
            if !audit.wrong.is_empty() {
                let wrong: Vec<_> = audit.wrong.iter().map(usize::to_string).collect();
                return not_what_it_says(&wrong.join(", "));
            }
            run_again = audit.drawn;
        }
        let prepared = plan.prepare_merge(&parts, &resources)?;
        let report = merge(&plan, &prepared, parts, &run_again)?;
        let mut view = View::of(&report).then(prepared.next_commands(&report));
        // Without causes the page reads no operands.
        if reports.html.is_some() && plan.check.causes {
            view = view.pictured(&in_options(prepared.page(&report, None))?);
        }
        to.forms.tell_report(reports, &view, &report)
    }
}
