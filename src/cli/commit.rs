//! `tcverify commit`: commits to a product by digests, proves parts of it, and checks such proofs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::args::{
    MemoryArgs, OperationHint, ProductArgs, RequestArgs, in_options, in_options_of, is_npy,
};
use super::log::LoggingArgs;
use super::show::{self, write_pretty};
use super::values::result_format;
use super::{Ending, refuted};
use crate::check::{Check, takes_axes};
use crate::commit::Proof;
use crate::compose::{Request, commitment, read_commitment};

use crate::io::npy::write_npy;
use crate::io::tree::Hash;
use crate::io::{MappedFile, Outputs, Source, escaped_path};
use crate::num::Format;

/// The command, or one of its own commands.
pub enum Commit {
    Make(Box<Make<WholeArgs>>),
    About(About),
}

commands! {
    pub enum About {
        Prove(Prove),
        Verify(Verify),
    }
}

/// Commit to a product by digests of its operands, model and D
///
/// The commitment holds the root of a Merkle tree over blocks of D's rows, so that single blocks can
/// later be proven to belong to D. Nothing is replayed: 'check --against' judges the arithmetic of a
/// committed product. docs/commitment-format.md specifies the files.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  Commit to a product, and publish c.json or its SHA-256:
    tcverify commit --arch h100 --dtype bf16 a.npy b.npy d.npy -o c.json

  Judge it later, elsewhere:
    tcverify check --arch h100 --dtype bf16 --against c.json a.npy b.npy d.npy

  Prove blocks 3 and 7 of D to someone who has only the commitment:
    tcverify commit prove --commitment c.json --blocks 3,7 d.npy -o proof.json --rows rows.npy
    tcverify commit verify --commitment c.json proof.json rows.npy

  Add it to a log that witnesses cosign, to prove its time to others ('tcverify log'):
    tcverify commit --arch h100 --dtype bf16 a.npy b.npy d.npy -o c.json \\
        --checkpoint example.com/log --log log.txt --log-key key.pem --proof c.tlog-proof

Exit codes: 0 done, or proven; 1 differs from the commitment; 2 anything else.")]
pub struct Make<A: RequestArgs> {
    /// Rows of D per block; by default about 4 KiB of rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    block_rows: Option<u64>,

    /// Where to write the commitment; "-" is standard output
    #[arg(long = A::OUTPUT, short = 'o', value_name = "C.json", default_value = "-")]
    file: PathBuf,

    /// Do not print the digest of the commitment
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    args: A,

    #[command(flatten)]
    logging: LoggingArgs,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// A product and its D.
#[derive(Args)]
pub struct WholeArgs {
    #[command(flatten)]
    _operation: OperationHint,

    #[command(flatten)]
    product: ProductArgs,

    /// D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy", help_heading = None::<&str>)]
    d: PathBuf,

    /// Format of D, as for check
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
    d_dtype: Option<Format>,
}

impl RequestArgs for WholeArgs {
    fn request(&self) -> Result<Request> {
        let fields = self.product.naming(Some(&self.d), self.d_dtype);
        in_options(fields.and_then(Check::try_from)).map(Request::from)
    }
}

// By hand: derived, it would require operands for the subcommands, too.
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
        About::augment_subcommands(Make::<WholeArgs>::augment_args(command))
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
            Commit::Make(command) => command.run().map(Ending::from),
            Commit::About(command) => command.run(),
        }
    }
}

impl<A: RequestArgs> Make<A> {
    pub fn run(self) -> Result<()> {
        let request = self.args.request()?;
        let prepared = self.memory.prepare(&request)?;
        let mut outputs = Outputs::new();
        request.protect(&mut outputs);
        let signer = self.logging.read(&mut outputs)?;
        let output = outputs.open("the commitment", &self.file)?;
        let logging = self.logging.open(&mut outputs, signer)?;
        let commitment = in_options_of(&request, commitment(&*prepared, self.block_rows))?;
        in_options_of(&request, prepared.confirm_unchanged())?;
        let mut text = Vec::new();
        write_pretty(&commitment, &mut text)?;
        output.commit(|out| out.write_all(&text))?;
        show::written(&self.file, Hash::of([&text[..]]), self.quiet)?;
        if let Some(logging) = logging {
            logging.add(&text, self.quiet || show::is_stdout(&self.file))?;
        }
        Ok(())
    }
}

/// Prove that blocks of rows belong to the committed D
#[derive(Args)]
pub struct Prove {
    /// The whole D: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "D.npy")]
    d: PathBuf,

    /// Commitment written by 'tcverify commit'
    #[arg(long, value_name = "C.json")]
    commitment: PathBuf,

    /// Blocks, counted from 0: 3,7
    #[arg(long, value_name = "BLOCKS", value_delimiter = ',', required = true)]
    blocks: Vec<u64>,

    /// Where to write the proof; "-" is standard output
    #[arg(long, short, value_name = "PROOF.json")]
    output: PathBuf,

    /// Where to write the rows of these blocks, one block after another
    #[arg(long, value_name = "ROWS.npy")]
    rows: Option<PathBuf>,
}

/// Check that a proof leads to the committed root and matches the rows
#[derive(Args)]
pub struct Verify {
    /// Proof written by 'tcverify commit prove'
    #[arg(value_name = "PROOF.json")]
    proof: PathBuf,

    /// The rows of its blocks; without them, only their hashes are checked
    #[arg(value_name = "ROWS.npy")]
    rows: Option<PathBuf>,

    /// Commitment written by 'tcverify commit'
    #[arg(long, value_name = "C.json")]
    commitment: PathBuf,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

impl Prove {
    pub fn run(mut self) -> Result<()> {
        if let Some(rows) = &self.rows {
            is_npy(rows)?;
        }
        let (commitment, _) = read_commitment(&self.commitment)?;
        let rows = commitment.result.rows()?;
        self.blocks.sort_unstable();
        self.blocks.dedup();
        if let Some(block) = self.blocks.iter().find(|&&block| block >= rows.blocks()) {
            bail!(
                "--blocks requests block {block}, but {} has 0 to {}",
                escaped_path(&self.commitment),
                rows.blocks() - 1
            );
        }
        let source = Source::open(&self.d)?;
        let name = escaped_path(&self.d);
        let mut outputs = Outputs::new();
        outputs
            .protect("D", source.path())
            .protect("the commitment", &self.commitment);
        let output = outputs.open("the proof", &self.output)?;
        let beside = outputs.open_if("the rows", self.rows.as_ref())?;
        let have = &source.header().shape;
        if !takes_axes(have, &rows.shape) {
            let shape = &rows.shape;
            return refuted(format!(
                "{name}: is {have:?}, but the commitment has {shape:?}"
            ));
        }
        let tensor = source.tensor(rows.format)?;
        let tensor = tensor.with_axes(&rows.shape).expect("it takes these axes");
        let tree = rows.tree(&tensor);
        let root = rows.root(tree.root());
        source.file().confirm_unchanged()?;
        if root != commitment.result.root {
            let committed = commitment.result.root;
            return refuted(format!(
                "{name}: its root is {root}, but the commitment has {committed}"
            ));
        }
        let proof = Proof::of(root, &tree, &self.blocks);
        if let Some(beside) = beside {
            let gathered = rows.gather(&tensor, &self.blocks)?;
            source.file().confirm_unchanged()?;
            beside.commit(|out| write_npy(&gathered, out))?;
        }
        output.commit(|out| write_pretty(&proof, out))?;
        Ok(())
    }
}

impl Verify {
    pub fn run(self) -> Result<()> {
        let (commitment, _) = read_commitment(&self.commitment)?;
        let cut = commitment.result.rows()?;
        let name = escaped_path(&self.proof);
        let file = MappedFile::open(&self.proof).with_context(|| name.clone())?;
        let proof = Proof::parse(file.bytes()).with_context(|| name.clone())?;
        let rows = self.rows.as_deref().map(Source::open).transpose()?;
        let tensor = rows.as_ref().map(|rows| rows.tensor(cut.format));
        let verdict = proof.check(&commitment.result, tensor.transpose()?.as_ref());
        file.confirm_unchanged()?;
        if let Some(rows) = &rows {
            rows.file().confirm_unchanged()?;
        }
        if let Err(why) = verdict {
            return refuted(format!("{name}: proves nothing: {why:#}"));
        }
        show::unless(self.quiet, |out| {
            for proven in &proof.blocks {
                let range = cut.of_block(proven.block);
                let (block, first, last) = (proven.block, range.start, range.end - 1);
                writeln!(out, "proven  block {block}, rows {first} to {last}")?;
            }
            let blocks = cut.blocks();
            match &self.rows {
                Some(rows) => writeln!(
                    out,
                    "{} has the rows of these blocks of the committed D ({blocks} blocks)",
                    escaped_path(rows)
                ),
                None => writeln!(
                    out,
                    "the hashes of these blocks are in the committed D ({blocks} blocks); no rows were given"
                ),
            }
        })
    }
}
