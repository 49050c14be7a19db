//! What was found in some rows of D, and how it is joined with the rest.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Differ;
use super::diff::Found;

/// What was found in some rows, to be joined with what was found in the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Piece {
    compared: u64,
    found: Found,
    /// Columns with a mismatch, counted on from matrix to matrix: first, and one past the last, of every
    /// run of them.
    columns: Vec<[usize; 2]>,
    /// Mismatches by unit.
    units: Option<Vec<u64>>,
}

impl Piece {
    pub fn mismatches(&self) -> u64 {
        self.found.mismatches
    }
}

impl Differ<'_> {
    /// What was found so far, to be joined elsewhere.
    pub fn piece(self) -> Piece {
        let flags = self.columns_touched.iter().enumerate();
        let touched = flags.filter(|(_, flag)| flag.load(Ordering::Relaxed));
        let mut columns: Vec<[usize; 2]> = Vec::new();
        for (column, _) in touched {
            match columns.last_mut() {
                Some(run) if run[1] == column => run[1] += 1,
                _ => columns.push([column, column + 1]),
            }
        }
        let counts = |counts: Vec<AtomicU64>| counts.into_iter().map(AtomicU64::into_inner);
        Piece {
            compared: self.compared,
            found: self.found,
            columns,
            units: self.units.map(|(_, all)| counts(all).collect()),
        }
    }

    /// Adds what was found in the rows that follow those compared so far; `rows` are theirs.
    ///
    /// # Errors
    /// If it cannot have been found in these rows of this D.
    pub fn join(&mut self, piece: Piece, rows: Range<usize>) -> Result<(), &'static str> {
        let n = self.given.columns();
        let Piece {
            compared,
            found,
            columns,
            units,
        } = piece;
        if compared != (rows.len() * n) as u64 {
            return Err("it compared another number of elements than its rows have");
        }
        if !found.is_of(&rows, n) {
            return Err("it names elements that are none of its rows");
        }
        for [from, to] in columns {
            let flags = self.columns_touched.get(from..to);
            let flags = flags.ok_or("it names columns that D has not")?;
            flags
                .iter()
                .for_each(|flag| flag.store(true, Ordering::Relaxed));
        }
        match (&self.units, units) {
            (None, None) => {}
            (Some((_, all)), Some(more)) if all.len() == more.len() => {
                for (all, more) in all.iter().zip(more) {
                    all.fetch_add(more, Ordering::Relaxed);
                }
            }
            _ => return Err("it counts by other units"),
        }
        self.compared += compared;
        let so_far = std::mem::take(&mut self.found);
        self.found = so_far.join(found, self.keep);
        Ok(())
    }
}

impl Found {
    /// Whether all places it names are in these rows of `n` columns.
    fn is_of(&self, rows: &Range<usize>, n: usize) -> bool {
        let elements = rows.start * n..rows.end * n;
        let largest = self.largest.iter().map(|(_, position)| position);
        let mut positions = self
            .first
            .iter()
            .map(|(position, _, _)| position)
            .chain(largest);
        positions.all(|position| elements.contains(position))
            && self.reach.is_of(rows, n, self.mismatches)
            && self.mismatches <= elements.len() as u64
    }
}
