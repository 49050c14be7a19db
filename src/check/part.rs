//! A part of a result, and the replay of a part of D.

use super::error::CheckError;
use super::product::{Seed, Selection};
use super::progress::Progress;
use crate::emu::{Element, Problem, Replay};
use crate::report::Drawn;
use crate::sample::{PublicDraw, Region};

/// A part of D to compare.
#[derive(Debug)]
pub struct Part {
    region: Region,
    /// How many elements of it, and how they are drawn.
    draw: Option<(u64, Drawn)>,
}

/// Elements that are computed at a time.
const AT_ONCE: usize = 1 << 20;

impl Selection {
    /// The part of a result, if not all of it is requested; a commitment is known by its file's SHA-256.
    pub fn part_of(
        &self,
        all: &Region,
        committed: Option<&str>,
    ) -> Result<Option<Part>, CheckError> {
        if self.is_all() {
            return Ok(None);
        }
        let region = Region {
            batches: all.batches,
            rows: self
                .rows
                .of("rows", all.rows.len())
                .map_err(CheckError::of("rows"))?,
            columns: self
                .columns
                .of("columns", all.columns.len())
                .map_err(CheckError::of("cols"))?,
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
                let draw = PublicDraw::new(commitment, beacon).map_err(CheckError::of("beacon"))?;
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

    /// Replays it.
    pub fn replay(
        &self,
        replay: &Replay,
        progress: &dyn Progress,
        sink: &mut dyn FnMut(&[Element], &[u64]),
    ) {
        if let Some(drawn) = self.drawn() {
            for drawn in drawn.chunks(AT_ONCE / 16) {
                sink(drawn, &replay.elements(drawn));
                progress.step((drawn.len() * replay.problem.k) as u64);
            }
            return;
        }
        // Rows at a time, by whichever engine is chosen.
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
                sink(&elements, &codes);
            }
        }
    }
}
