//! `tcverify commit prove` and `verify`: blocks of a committed D, shown and checked.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::documents::{pretty, read_json};
use super::{Ending, show};
use crate::check::read_commitment;
use crate::commit::Proof;
use crate::io::npy::write_npy;
use crate::io::{Outputs, Source, escaped_path};

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
    pub fn run(mut self) -> Result<Ending> {
        if let Some(rows) = &self.rows {
            super::args::is_npy(rows)?;
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
        let beside = self.rows.as_deref();
        let beside = beside
            .map(|path| outputs.open("the rows", path))
            .transpose()?;
        let have = &source.header().shape;
        if *have != rows.shape {
            show::different(&format!(
                "{name}: is {have:?}, but the commitment has {:?}",
                rows.shape
            ));
            return Ok(Ending::Different);
        }
        let tensor = source.tensor(rows.format)?;
        let tree = rows.tree(&tensor);
        let root = rows.root(tree.root());
        source.file().confirm_unchanged()?;
        if root != commitment.result.root {
            let committed = commitment.result.root;
            show::different(&format!(
                "{name}: its root is {root}, but the commitment has {committed}"
            ));
            return Ok(Ending::Different);
        }
        let text = pretty(&Proof::of(root, &tree, &self.blocks))?;
        if let Some(beside) = beside {
            let gathered = rows.gather(&tensor, &self.blocks)?;
            source.file().confirm_unchanged()?;
            beside.commit(|out| write_npy(&gathered, out))?;
        }
        output.commit(|out| out.write_all(&text))?;
        Ok(Ending::Done)
    }
}

impl Verify {
    pub fn run(self) -> Result<Ending> {
        let (commitment, _) = read_commitment(&self.commitment)?;
        let cut = commitment.result.rows()?;
        let (file, proof) = read_json(&self.proof, Proof::parse)?;
        let rows = self.rows.as_deref().map(Source::open).transpose()?;
        let tensor = rows.as_ref().map(|rows| rows.tensor(cut.format));
        let verdict = proof.check(&commitment.result, tensor.transpose()?.as_ref());
        file.confirm_unchanged()?;
        if let Some(rows) = &rows {
            rows.file().confirm_unchanged()?;
        }
        if let Err(why) = verdict {
            show::different(&format!(
                "{}: proves nothing: {why:#}",
                escaped_path(&self.proof)
            ));
            return Ok(Ending::Different);
        }
        if !self.quiet {
            show::print(|out| {
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
            })?;
        }
        Ok(Ending::Done)
    }
}
