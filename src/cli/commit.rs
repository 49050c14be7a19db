//! `tcverify commit`: fixes a product by digests, proves parts of it, and checks such proofs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use serde::Serialize;

use super::args::{ModelArgs, OperandArgs, result_format};
use super::inputs::{Operand, Operands, read_d};
use super::proof::{Prove, Verify};
use super::schedule::ScheduleArgs;
use super::{Ending, show};
use crate::commit::{
    COMMITMENT, Commitment, CommittedD, CommittedInput, CommittedInputs, CommittedSchedule, Hash,
    Rows,
};
use crate::emu::Choice;
use crate::emu::schedule::Kernel;
use crate::io::{MappedFile, Output, file_sha256, payload_sha256, same_file};
use crate::num::Format;

/// The command, or one of its own commands.
pub enum Commit {
    Make(Box<Make>),
    About(About),
}

#[derive(Subcommand)]
pub enum About {
    Prove(Prove),
    Verify(Verify),
}

/// Fix a product by digests: operands, model and D
///
/// D is fixed by the root of a Merkle tree over blocks of its rows, so that some blocks can be shown to
/// belong to it later without the others. Nothing is replayed; 'check --against' judges the arithmetic
/// of what was committed. docs/commitment-format.md specifies the files.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Commit to a product, and publish c.json or its SHA-256:
    tcverify commit --arch h100 --dtype bf16 a.npy b.npy d.npy -o c.json

  Judge it, later and elsewhere:
    tcverify check --arch h100 --dtype bf16 --against c.json a.npy b.npy d.npy

  Show blocks 3 and 7 of D to someone who has the commitment alone:
    tcverify commit prove --commitment c.json --blocks 3,7 d.npy -o proof.json --rows rows.npy
    tcverify commit verify --commitment c.json proof.json rows.npy

Exit codes: 0 done, or proven; 1 not what was committed; 2 anything else.")]
pub struct Make {
    #[command(flatten)]
    operands: OperandArgs,

    /// D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy")]
    d: PathBuf,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    schedule: ScheduleArgs,

    /// Format of D, as for check
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format())]
    d_dtype: Option<Format>,

    /// Rows of D in a block; by default as many as make about a mebibyte
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    block_rows: Option<u64>,

    /// Where to write the commitment; "-" is standard output
    #[arg(long, short, value_name = "C.json", default_value = "-")]
    output: PathBuf,

    /// Do not print the digest of the commitment
    #[arg(long, short)]
    quiet: bool,
}

// By hand: a derived one would demand operands of the commands under it, too.
impl FromArgMatches for Commit {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Commit, clap::Error> {
        Ok(match matches.subcommand_name() {
            Some(_) => Commit::About(About::from_arg_matches(matches)?),
            None => Commit::Make(Box::new(Make::from_arg_matches(matches)?)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Commit::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Commit {
    fn augment_args(command: Command) -> Command {
        About::augment_subcommands(Make::augment_args(command))
            .subcommand_required(false)
            .arg_required_else_help(false)
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Commit::augment_args(command)
    }
}

impl Commit {
    pub fn run(self) -> Result<Ending> {
        match self {
            Commit::Make(command) => command.run(),
            Commit::About(About::Prove(command)) => command.run(),
            Commit::About(About::Verify(command)) => command.run(),
        }
    }
}

impl Make {
    fn run(self) -> Result<Ending> {
        let schedule = self.schedule.choose()?;
        let choice = self.model.choose(self.operands.scaled(), &schedule)?;
        let operands = Operands::read(
            &self.operands,
            &choice.arithmetic,
            &self.schedule,
            self.model.c_dtype,
            &schedule,
        )?;
        let problem = operands.problem()?;
        let values = operands.values(&problem)?;
        let accumulator = choice.arithmetic.accumulator;
        let d = read_d(&self.d, self.d_dtype, &problem, accumulator, &schedule)?;
        let kernel = schedule.kernel(&values, &choice.arithmetic, &problem, d.tensor.format())?;
        for operand in operands.all().chain([&d]) {
            keep(&self.output, operand.file.path())?;
        }
        let output = Output::prepare(&self.output)?;
        let (format, shape) = (d.tensor.format(), d.tensor.shape());
        let block_rows = self
            .block_rows
            .unwrap_or(Rows::about_a_mebibyte(format, shape));
        let commitment = committed(&choice, kernel.as_ref(), &operands, &d, block_rows)?;
        for operand in operands.all().chain([&d]) {
            operand.confirm_unchanged()?;
        }
        let text = pretty(&commitment)?;
        output.commit(|out| out.write_all(&text))?;
        if !self.quiet && self.output.as_os_str() != "-" {
            let digest = Hash::of([&text[..]]);
            show::print(|out| writeln!(out, "{digest}  {}", self.output.display()))?;
        }
        Ok(Ending::Done)
    }
}

/// The commitment to what is given.
pub fn committed(
    choice: &Choice,
    kernel: Option<&Kernel>,
    operands: &Operands,
    d: &Operand,
    block_rows: u64,
) -> Result<Commitment> {
    let hash = |text: String| Hash::parse(&text).expect("a SHA-256");
    let input = |operand: &Operand| CommittedInput {
        format: operand.tensor.format(),
        shape: operand.tensor.shape().to_vec(),
        payload_sha256: hash(payload_sha256(&operand.tensor)),
    };
    let scales = operands.scales.as_ref();
    let rows = Rows::new(d.tensor.format(), d.tensor.shape().to_vec(), block_rows)?;
    Ok(Commitment {
        schema: COMMITMENT.to_owned(),
        model_sha256: hash(choice.arithmetic.sha256()),
        schedule: kernel.map(|kernel| CommittedSchedule {
            sha256: hash(kernel.spec.sha256()),
            alpha: format!("{:08x}", kernel.values.alpha),
            beta: format!("{:08x}", kernel.values.beta),
        }),
        product: operands.product()?,
        inputs: CommittedInputs {
            a: input(&operands.a),
            b: input(&operands.b),
            c: operands.c.as_ref().map(input),
            scale_a: scales.map(|[a, _]| input(a)),
            scale_b: scales.map(|[_, b]| input(b)),
            bias: operands.bias.as_ref().map(input),
        },
        d: CommittedD {
            root: rows.root(rows.tree(&d.tensor).root()),
            format: rows.format,
            shape: rows.shape,
            block_rows,
        },
    })
}

/// Reads a commitment and hashes its file.
pub fn read_commitment(path: &Path) -> Result<(Commitment, String)> {
    let (file, commitment) = read_json(path, Commitment::parse)?;
    let digest = file_sha256(&file);
    file.confirm_unchanged()?;
    Ok((commitment, digest))
}

pub fn read_json<T>(path: &Path, parse: fn(&[u8]) -> Result<T>) -> Result<(MappedFile, T)> {
    let name = || path.display().to_string();
    let file = MappedFile::open(path).with_context(name)?;
    let parsed = parse(file.bytes()).with_context(name)?;
    Ok((file, parsed))
}

pub fn pretty(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    Ok(text)
}

/// An input is not written over.
pub fn keep(output: &Path, input: &Path) -> Result<()> {
    if same_file(output, input) {
        bail!(
            "{}: is an input, which would be overwritten",
            output.display()
        );
    }
    Ok(())
}
