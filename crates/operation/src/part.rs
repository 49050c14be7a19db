//! A part of a result: which of its elements are compared, and what of the operation is computed for them.

use std::ops::Range;

use super::Operation;
use crate::check::CheckError;
use crate::check::Part;
use crate::check::Progress;
use crate::check::Selection;
use crate::emu::Element;
use crate::ops::BoundOp;
use crate::sample::Region;

impl Operation {
    /// Which part of the result is compared.
    pub fn selection(&self) -> Result<Selection, CheckError> {
        let fields = self.judging();
        fields.validate()?;
        let selection = fields.selection()?;
        let excluded = ["sample", "rows", "cols", "region", "tree", "against"];
        match excluded.into_iter().find(|field| self.says(field)) {
            Some(field) if self.y_digest.is_some() => Err(CheckError::exclusive("y_digest", field)),
            _ => Ok(selection),
        }
    }
}

/// Where an element is in the result.
fn row_of(region_rows: usize, at: &Element) -> usize {
    at.batch * region_rows + at.row
}

/// Elements of a part that are handed over at a time.
const AT_ONCE: usize = 1 << 16;

/// Computes what a part needs, and hands over its elements.
pub fn compute(
    part: &Part,
    job: &BoundOp,
    progress: &dyn Progress,
    sink: &mut dyn FnMut(&[Element], &[u64]),
) {
    let in_matrix = Region::of(&job.shape).rows.len();
    let region = part.region();
    let advance = |elements: u64| progress.step(elements);
    match part.drawn() {
        Some(drawn) => {
            for drawn in drawn.chunks(AT_ONCE) {
                let neighbours =
                    drawn.chunk_by(|one, next| row_of(in_matrix, one) == row_of(in_matrix, next));
                let neighbours: Vec<_> = neighbours.collect();
                let rows: Vec<_> = neighbours
                    .iter()
                    .map(|same| row_of(in_matrix, &same[0]))
                    .collect();
                let mut next = neighbours.iter();
                job.some(&rows, &advance, |codes| {
                    let elements = next.next().expect("a row each");
                    let codes: Vec<u64> =
                        elements.iter().map(|at| codes[at.column].into()).collect();
                    sink(elements, &codes);
                });
            }
        }
        None => {
            for batch in 0..region.batches {
                let rows: Range<usize> = region.rows.clone();
                let flat: Vec<_> = rows.clone().map(|row| batch * in_matrix + row).collect();
                let mut rows = rows;
                job.some(&flat, &advance, |codes| {
                    let row = rows.next().expect("as many as were asked for");
                    let at = |column| Element { batch, row, column };
                    let columns = region.columns.clone();
                    let codes = codes[columns.clone()].iter();
                    let codes: Vec<u64> = codes.map(|&code| code.into()).collect();
                    let elements: Vec<_> = columns.map(at).collect();
                    sink(&elements, &codes);
                });
            }
        }
    }
}

/// Elements of a result that are computed for a part: whole rows.
pub fn computed(part: &Part, shape: &[usize]) -> u64 {
    let all = Region::of(shape);
    let rows = match part.drawn() {
        Some(drawn) => drawn
            .chunk_by(|one, next| row_of(all.rows.len(), one) == row_of(all.rows.len(), next))
            .count(),
        None => part.region().batches * part.region().rows.len(),
    };
    rows as u64 * all.columns.len() as u64
}
