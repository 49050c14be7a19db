//! `tcverify screen record`: a suite of a workload's own products.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use super::progress::Bar;
use super::{Ending, show};
use crate::batch;
use crate::compose::Request;
use crate::io::{Output, Outputs, escaped_path, printable};
use crate::screen::{order, record};

/// Reasons that are listed.
const SHOWN: usize = 8;

/// Make a suite of a workload's own products
///
/// Takes what 'tcverify.torch.capture' recorded on a GPU (or any manifest with A, B and D in files). Operands go to a folder
/// beside the suite, each under its SHA-256, and belong with it on the nodes. D is replayed; a product whose captured D is not
/// what the model computes stays out, and the command exits with 1.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  tcverify screen record captured/manifest.json -o recorded.json
  scp -r recorded.json recorded.json.operands node17:
  python3 tcverify_screen.py recorded.json --device cuda:0 --seconds 600 -o results/node17-0.json    # on the node
  tcverify screen judge --suite recorded.json results")]
pub struct Record {
    /// Manifest of products with A, B and D
    #[arg(value_name = "MANIFEST.json")]
    manifest: PathBuf,

    /// The most products, evenly drawn from those that fit
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    products: u32,

    /// Where to write the suite; operands go to the folder SUITE.json.operands
    #[arg(long, short, value_name = "SUITE.json")]
    output: PathBuf,

    /// Do not say what was written
    #[arg(long, short)]
    quiet: bool,
}

impl Record {
    pub fn run(self) -> Result<Ending> {
        ensure!(
            !show::is_stdout(&self.output),
            "-o: operands belong beside the suite: name a file"
        );
        let read = batch::read(&self.manifest, None)?.whole()?;
        let mut outputs = Outputs::new();
        batch::protect(&mut outputs, &self.manifest, (&read.cases, &read.own), None);
        let output = outputs.open("the suite", &self.output)?;
        let name = self
            .output
            .file_name()
            .ok_or_else(|| anyhow!("-o: name a file"))?;
        let mut folder = name.to_owned();
        folder.push(".operands");
        let beside = self.output.with_file_name(&folder);
        outputs.claim("the operands", &beside)?;
        let products = read
            .cases
            .into_iter()
            .filter_map(|case| match case.request {
                Request::Product(check) => Some((case.name, *check)),
                Request::Operation(_) => None,
            });
        let recording = record(products.collect(), self.products as usize, &Bar::new())?;
        let (left_out, different) = (recording.left_out.clone(), recording.different);
        let passed_over = recording.passed_over;
        std::fs::create_dir_all(&beside)
            .map_err(|error| anyhow!("{}: cannot be made: {error}", escaped_path(&beside)))?;
        let mut bytes = 0;
        let mut kept = BTreeSet::new();
        let suite = recording.stored(|digest, payload| -> Result<PathBuf> {
            let file = format!("{digest}.npy");
            if kept.insert(digest.0) {
                bytes += payload.len();
                Output::prepare(&beside.join(&file))?.commit(|out| out.write_all(payload))?;
            }
            Ok(Path::new(&folder).join(file))
        })?;
        let text = suite.text()?;
        output.commit(|out| out.write_all(&text))?;
        show::unless(self.quiet, |out| {
            writeln!(
                out,
                "{} recorded: {} products, {} operands of {bytes} bytes  {} {}",
                suite.arch,
                suite.products.len(),
                kept.len(),
                escaped_path(&self.output),
                escaped_path(&beside)
            )?;
            writeln!(out, "\n  suite  {}\n", suite.id())?;
            for product in &suite.products {
                let [m, n] = product.shape();
                let (name, k) = (&product.name, product.k);
                writeln!(out, "  {name}  {m}x{n}x{k}, right by {}", order(product))?;
            }
            if passed_over > 0 {
                writeln!(
                    out,
                    "\n  {passed_over} more fit and were not drawn: --products"
                )?;
            }
            for (i, (name, why)) in left_out.iter().take(SHOWN).enumerate() {
                let space = if i == 0 { "\n" } else { "" };
                writeln!(out, "{space}  left out  {}: {why}", printable(name))?;
            }
            match left_out.len().saturating_sub(SHOWN) {
                0 => Ok(()),
                more => writeln!(out, "  left out  {more} more"),
            }
        })?;
        Ok(Ending::of(different == 0))
    }
}
