//! The replay of a part of D, compared as it comes.

use sha2::Digest;

use super::error::CheckError;
use super::progress::Progress;
use super::request::{Scope, Seed};
use crate::emu::{Element, Problem, Replay};
use crate::io::hex;
use crate::report::{Committed, Differ, Drawn, Sampled};
use crate::sample::{PublicDraw, Region};
use crate::tensor::Tensor;

/// A part of D to compare.
pub(super) struct Part {
    region: Region,
    /// How many elements of it, and how they are drawn.
    draw: Option<(u64, Drawn)>,
}

/// Elements that are computed at a time.
const AT_ONCE: usize = 1 << 20;

impl Scope {
    /// The part, if not all of D is asked for.
    pub(super) fn part(
        &self,
        problem: &Problem,
        committed: Option<&Committed>,
    ) -> Result<Option<Part>, CheckError> {
        let committed = committed.map(|committed| committed.file_sha256.as_str());
        self.part_of(&Region::all(problem), committed)
    }

    /// The same of any result; a commitment is known by its file's SHA-256.
    pub(super) fn part_of(
        &self,
        all: &Region,
        committed: Option<&str>,
    ) -> Result<Option<Part>, CheckError> {
        if self.is_all() {
            return Ok(None);
        }
        let fail = |field| move |reason| CheckError::request(field, reason);
        let region = Region {
            batches: all.batches,
            rows: self.rows.of("rows", all.rows.len()).map_err(fail("rows"))?,
            columns: self
                .columns
                .of("columns", all.columns.len())
                .map_err(fail("cols"))?,
        };
        let elements = self.sample.as_ref().map(|draw| draw.elements);
        if let Some(elements) = elements
            && elements > region.len()
        {
            let there = region.len();
            let reason = format!("`sample` {elements}: there are {there} elements to draw from");
            return Err(CheckError::request("sample", reason));
        }
        let drawn = match self.sample.as_ref().map(|draw| &draw.seed) {
            None => None,
            Some(Seed::Number(seed)) => Some(Drawn::by_seed(*seed)),
            Some(Seed::Beacon { beacon, .. }) => {
                let commitment = committed.unwrap_or_default();
                let draw = PublicDraw::new(commitment, beacon).map_err(fail("beacon"))?;
                Some(Drawn::by_beacon(commitment, beacon, &draw))
            }
        };
        Ok(Some(Part {
            region,
            draw: elements.zip(drawn),
        }))
    }
}

impl Part {
    /// Where it lies, and what of it is drawn.
    pub fn of(&self) -> (&Region, Option<&(u64, Drawn)>) {
        (&self.region, self.draw.as_ref())
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
        match self.drawn() {
            Some(drawn) => drawn.into_iter().for_each(&mut see),
            None => self.region.elements().for_each(&mut see),
        }
        hex(&hash.finalize())
    }

    /// Multiply-adds of it.
    pub fn work(&self, problem: &Problem) -> u64 {
        self.elements().saturating_mul(problem.k as u64)
    }

    /// Elements of it.
    pub fn elements(&self) -> u64 {
        let drawn = self.draw.as_ref();
        drawn.map_or(self.region.len(), |(elements, _)| *elements)
    }

    pub fn is_drawn(&self) -> bool {
        self.draw.is_some()
    }

    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Those that are drawn; none if all of the region is compared.
    pub fn drawn(&self) -> Option<Vec<Element>> {
        let (elements, by) = self.draw.as_ref()?;
        Some(self.region.sample(*elements, by.seed))
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
        let count = match &self.draw {
            Some((elements, by)) => {
                let drawn = self.region.sample(*elements, by.seed);
                for drawn in drawn.chunks(AT_ONCE / 16) {
                    see(drawn, &replay.elements(drawn));
                    progress.step((drawn.len() * replay.problem.k) as u64);
                }
                *elements
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
        let drawn = self.draw.as_ref().map(|(_, drawn)| drawn.clone());
        Sampled::of(&self.region, count, drawn, hex(&hash.finalize()))
    }
}
