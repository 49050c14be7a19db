//! Options that choose a part of D, and its replay.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use sha2::Digest;

use super::progress::Meter;
use crate::emu::{Problem, Replay};
use crate::io::hex;
use crate::report::{Differ, Sampled};
use crate::sample::Region;

/// Which elements of D.
#[derive(Args)]
#[command(next_help_heading = "Part of D")]
pub struct PartArgs {
    /// Compare N random elements instead of all; the report says what that proves
    #[arg(long, value_name = "N", conflicts_with = "d_digest", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,

    /// Seed of the draw. Choose it after D has been handed over: who knows it before can spare the
    /// sample
    #[arg(long, value_name = "S", requires = "sample", default_value_t = 0)]
    seed: u64,

    /// Only these rows of D, counted from 0, the end excluded: 128..256, 128.. or 7
    #[arg(long, value_name = "ROWS", conflicts_with = "d_digest")]
    rows: Option<String>,

    /// Only these columns of D
    #[arg(long, value_name = "COLUMNS", conflicts_with = "d_digest")]
    cols: Option<String>,

    /// Only this rectangle of D: ROWS,COLUMNS, such as 0..128,64..
    #[arg(long, value_name = "ROWS,COLUMNS", conflicts_with_all = ["d_digest", "rows", "cols"])]
    region: Option<String>,
}

/// A part of D to compare.
pub struct Part {
    region: Region,
    /// How many of its elements, and the seed.
    draw: Option<(u64, u64)>,
}

/// Elements that are computed at a time.
const AT_ONCE: usize = 1 << 20;

impl PartArgs {
    /// The part, if not all of D is wanted.
    pub fn part(&self, problem: &Problem) -> Result<Option<Part>> {
        let (rows, columns) = match &self.region {
            Some(text) => {
                let (rows, columns) = text.split_once(',').with_context(|| {
                    format!("--region {text:?}: expected ROWS,COLUMNS, such as 0..128,64..")
                })?;
                (Some(rows), Some(columns))
            }
            None => (self.rows.as_deref(), self.cols.as_deref()),
        };
        if self.sample.is_none() && rows.is_none() && columns.is_none() {
            return Ok(None);
        }
        let all = Region::all(problem);
        let region = Region {
            rows: rows.map_or(Ok(all.rows), |text| range(text, "rows", problem.m))?,
            columns: columns.map_or(Ok(all.columns), |text| range(text, "columns", problem.n))?,
            ..all
        };
        let draw = match self.sample {
            None => None,
            Some(count) => {
                let most = region.len();
                ensure!(
                    count <= most,
                    "--sample {count}: there are {most} elements to draw from"
                );
                Some((count, self.seed))
            }
        };
        Ok(Some(Part { region, draw }))
    }
}

/// `128..256`, `128..`, `..256` or `7` of `count` rows or columns.
fn range(text: &str, what: &str, count: usize) -> Result<Range<usize>> {
    let number = |text: &str| -> Result<usize> {
        text.parse().with_context(|| {
            format!("{text:?} is no number of {what}: expected 128..256, 128.. or 7")
        })
    };
    let range = match text.split_once("..") {
        Some((start, end)) => {
            let start = if start.is_empty() { 0 } else { number(start)? };
            let end = if end.is_empty() { count } else { number(end)? };
            start..end
        }
        None => {
            let one = number(text)?;
            one..one.saturating_add(1)
        }
    };
    if range.start >= range.end || range.end > count {
        bail!(
            "{what} {text}: D has {what} 0 to {}, and at least one is needed",
            count - 1
        );
    }
    Ok(range)
}

impl Part {
    /// Multiply-adds of it.
    pub fn work(&self, problem: &Problem) -> u64 {
        let elements = self.draw.map_or(self.region.len(), |(count, _)| count);
        elements.saturating_mul(problem.k as u64)
    }

    /// Replays and compares it.
    pub fn compare(&self, replay: &Replay, differ: &mut Differ, meter: &Meter) -> Sampled {
        let mut hash = sha2::Sha256::new();
        let width = replay.format().bytes();
        let mut see = |elements: &[_], codes: &[u64]| {
            differ.compare_some(elements, codes);
            for code in codes {
                hash.update(&code.to_le_bytes()[..width]);
            }
        };
        let count = match self.draw {
            Some((count, seed)) => {
                let elements = self.region.sample(count, seed);
                for elements in elements.chunks(AT_ONCE / 16) {
                    see(elements, &replay.elements(elements));
                    meter.add((elements.len() * replay.problem.k) as u64);
                }
                count
            }
            None => {
                // Rows at a time, by whichever engine is asked for.
                for batch in 0..self.region.batches {
                    let rows = self.region.rows.clone();
                    let step = (AT_ONCE / self.region.columns.len()).max(1);
                    for start in rows.clone().step_by(step) {
                        let part = Region {
                            batches: 1,
                            rows: start..rows.end.min(start + step),
                            columns: self.region.columns.clone(),
                        };
                        let mut elements: Vec<_> = part.elements().collect();
                        elements
                            .iter_mut()
                            .for_each(|element| element.batch = batch);
                        let codes =
                            replay.part(batch, part.rows, part.columns, &|work| meter.add(work));
                        see(&elements, &codes);
                    }
                }
                self.region.len()
            }
        };
        let seed = self.draw.map(|(_, seed)| seed);
        Sampled::of(&self.region, count, seed, hex(&hash.finalize()))
    }
}
