//! `tcverify screen coverage`: which faults a suite finds.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;

use super::progress::Bar;
use super::values::word;
use super::{Ending, show};
use crate::screen::{Coverage, Kind, Suite, measure};
use crate::words::Word;

/// Inject faults into the exact engine and count how many a suite finds
#[derive(Args)]
pub struct Measure {
    /// Suite of 'tcverify screen make'
    #[arg(value_name = "SUITE.json")]
    suite: PathBuf,

    /// Number of faults per place and unit, or all if there are fewer
    #[arg(long, value_name = "N", default_value_t = 200)]
    faults: usize,

    /// What a fault does to a number
    #[arg(long, value_name = "KIND", default_value = "stuck", value_parser = word::<Kind>())]
    kind: Kind,

    /// Each fault acts in one of this many steps, at random; 1 means always
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    one_in: u64,

    /// Number of runs of the suite
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rounds: u64,

    /// Seed of the draw
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Only units whose name contains this, such as "mma fp16"
    #[arg(long, value_name = "TEXT", default_value = "")]
    unit: String,
}

impl Measure {
    pub fn run(self) -> Result<Ending> {
        let (mut suite, _) = Suite::read(&self.suite)?;
        let before = suite.products.len();
        suite
            .products
            .retain(|product| crate::screen::unit(product).contains(&self.unit));
        if suite.products.is_empty() {
            let unit = crate::io::printable(&self.unit);
            return Err(anyhow!(
                "the name of no unit of the suite's {before} products contains {unit}"
            ));
        }
        let (one_in, rounds) = (self.one_in, self.rounds);
        let faults = (self.kind, self.faults);
        let coverage = measure(&suite, faults, [one_in, rounds], self.seed, &Bar::new())?;
        show::print(|out| {
            writeln!(
                out,
                "Faults ({}) found by {} {}, {}, {rounds} time(s)\n",
                self.kind.word(),
                suite.arch,
                suite.level.word(),
                match one_in {
                    1 => "always acting".to_owned(),
                    n => format!("acting in one of {n} steps"),
                }
            )?;
            coverage.iter().try_for_each(|coverage| unit(coverage, out))
        })?;
        Ok(Ending::Done)
    }
}

fn unit(coverage: &Coverage, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    writeln!(out, "{}", coverage.unit)?;
    for found in &coverage.found {
        let percent = 100.0 * found.detected as f64 / found.injected.max(1) as f64;
        let families: Vec<_> = found
            .by_family
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        writeln!(
            out,
            "  {:<9} {:>5} of {:>5}  {percent:>5.1} %   {}",
            found.place.word(),
            found.detected,
            found.injected,
            families.join(", ")
        )?;
        if let Some(fault) = found.missed.first() {
            writeln!(out, "            missed: {fault} ...")?;
        }
    }
    Ok(())
}
