//! The replay of a part of D, compared as it comes.

use sha2::Digest;

use super::error::CheckError;
use super::progress::Progress;
use super::request::{Draw, Scope};
use crate::emu::{Element, Problem, Replay};
use crate::io::hex;
use crate::report::{Differ, Sampled};
use crate::sample::Region;
use crate::tensor::Tensor;

/// A part of D to compare.
pub(super) struct Part {
    region: Region,
    draw: Option<Draw>,
}

/// Elements that are computed at a time.
const AT_ONCE: usize = 1 << 20;

impl Scope {
    /// The part, if not all of D is asked for.
    pub(super) fn part(&self, problem: &Problem) -> Result<Option<Part>, CheckError> {
        if self.is_all() {
            return Ok(None);
        }
        let fail = |field| move |reason| CheckError::request(field, reason);
        let region = Region {
            rows: self.rows.of("rows", problem.m).map_err(fail("rows"))?,
            columns: self
                .columns
                .of("columns", problem.n)
                .map_err(fail("cols"))?,
            ..Region::all(problem)
        };
        if let Some(Draw { elements, .. }) = self.sample
            && elements > region.len()
        {
            let there = region.len();
            let reason = format!("`sample` {elements}: there are {there} elements to draw from");
            return Err(CheckError::request("sample", reason));
        }
        Ok(Some(Part {
            region,
            draw: self.sample,
        }))
    }
}

impl Part {
    /// Where it lies, and what of it is drawn.
    pub fn of(&self) -> (&Region, Option<Draw>) {
        (&self.region, self.draw)
    }

    /// The elements of a D that is given, hashed as those that are reproduced.
    pub fn digest(&self, d: &Tensor) -> String {
        let mut hash = sha2::Sha256::new();
        let width = d.format().bytes();
        let planes = d.planes();
        let mut see = |at: Element| {
            let code = planes.plane(at.batch).code(at.row, at.column);
            hash.update(&code.to_le_bytes()[..width]);
        };
        match self.draw {
            Some(Draw { elements, seed }) => {
                let drawn = self.region.sample(elements, seed);
                drawn.into_iter().for_each(&mut see);
            }
            None => self.region.elements().for_each(&mut see),
        }
        hex(&hash.finalize())
    }

    /// Multiply-adds of it.
    pub fn work(&self, problem: &Problem) -> u64 {
        let elements = self.draw.map_or(self.region.len(), |draw| draw.elements);
        elements.saturating_mul(problem.k as u64)
    }

    /// Replays and compares it.
    pub fn compare(
        &self,
        replay: &Replay,
        differ: &mut Differ,
        progress: &dyn Progress,
    ) -> Sampled {
        let mut hash = sha2::Sha256::new();
        let width = replay.format().bytes();
        let mut see = |elements: &[_], codes: &[u64]| {
            differ.compare_some(elements, codes);
            for code in codes {
                hash.update(&code.to_le_bytes()[..width]);
            }
        };
        let count = match self.draw {
            Some(Draw { elements, seed }) => {
                let drawn = self.region.sample(elements, seed);
                for drawn in drawn.chunks(AT_ONCE / 16) {
                    see(drawn, &replay.elements(drawn));
                    progress.step((drawn.len() * replay.problem.k) as u64);
                }
                elements
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
                        let codes = replay.part(batch, part.rows, part.columns, &|work| {
                            progress.step(work);
                        });
                        see(&elements, &codes);
                    }
                }
                self.region.len()
            }
        };
        let seed = self.draw.map(|draw| draw.seed);
        Sampled::of(&self.region, count, seed, hex(&hash.finalize()))
    }
}
