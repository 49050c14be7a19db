//! What was found in some rows of D, and how it is joined with the rest.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::diff::{Found, bucket};
use super::{Comparator, KEPT};
use tcverify_num::Format;

/// What was found in some rows, to be joined with what was found in the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartialComparison {
    compared: u64,
    found: Found,
    /// Columns with a mismatch, counted on from matrix to matrix: first, and one past the last, of every
    /// run of them.
    columns: Vec<[usize; 2]>,
    /// Mismatches by unit.
    units: Option<Vec<u64>>,
}

impl PartialComparison {
    pub fn mismatches(&self) -> u64 {
        self.found.mismatches
    }

    /// Elements with other bits than the replay's, those that a policy accepts among them.
    pub fn unequal(&self) -> u64 {
        self.found.mismatches.saturating_add(self.found.accepted)
    }

    /// The positions in D of those mismatches that it names.
    pub fn named(&self) -> impl Iterator<Item = usize> {
        let first = self.found.first.iter().map(|(position, _, _)| *position);
        first.chain(self.found.reach.different.positions())
    }
}

impl Comparator<'_> {
    /// What was found so far, to be joined elsewhere.
    pub fn piece(self) -> PartialComparison {
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
        PartialComparison {
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
    pub fn join(
        &mut self,
        piece: PartialComparison,
        rows: Range<usize>,
    ) -> Result<(), &'static str> {
        let n = self.given.columns();
        let PartialComparison {
            compared,
            found,
            columns,
            units,
        } = piece;
        if compared != (rows.len() * n) as u64 {
            return Err("the number of compared elements does not match its rows");
        }
        if !found.is_of(&rows, n) {
            return Err("it names elements outside its rows");
        }
        if !found.adds_up(self.format(), rows.len(), compared, self.keep) {
            return Err("its counts do not agree with each other");
        }
        let runs_on = columns.is_sorted_by(|one, next| one[1] < next[0]);
        let touched = columns
            .iter()
            .map(|[from, to]| to.saturating_sub(*from) as u64);
        let touched: u64 = touched.fold(0, u64::saturating_add);
        if !runs_on || touched > found.mismatches || (touched == 0) != (found.mismatches == 0) {
            return Err("its counts do not agree with its columns");
        }
        let counted = units
            .as_ref()
            .map(|units| units.iter().try_fold(0, |sum: u64, n| sum.checked_add(*n)));
        if counted.is_some_and(|sum| sum != Some(found.mismatches)) {
            return Err("its counts do not agree with those of units");
        }
        for [from, to] in columns {
            let flags = self.columns_touched.get(from..to);
            let flags = flags.ok_or("it names columns that D does not have")?;
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
            _ => return Err("it counts by different units"),
        }
        self.compared += compared;
        let so_far = std::mem::take(&mut self.found);
        self.found = so_far.join(found, self.keep);
        Ok(())
    }
}

impl Found {
    /// Whether what it counts can have been counted together, over so many elements.
    fn adds_up(&self, format: Format, rows: usize, elements: u64, keep: usize) -> bool {
        let n = self.mismatches;
        let any = n > 0;
        let at_most = |most: usize| n.min(most as u64) as usize;
        let distances = self.buckets.values().try_fold(0, |sum: u64, count| {
            sum.checked_add(*count).filter(|_| *count > 0)
        });
        // A NaN has no distance.
        let numbers = self
            .classes
            .nan_payload
            .checked_add(self.classes.nan_against_number)
            .and_then(|nan| n.checked_sub(nan));
        let farthest = self.largest.map(|(ulp, _)| bucket(ulp.unsigned_abs()));
        let code = |code: u64| code <= format.max_code();
        let pair = |(_, one, other): &(usize, u64, u64)| one != other && code(*one) && code(*other);
        let places = self.first.iter().map(|(position, _, _)| position);
        n.checked_add(self.accepted).is_some_and(|n| n <= elements)
            && self.classes.sum() == Some(n)
            && distances.is_some()
            && distances == numbers
            && farthest == self.buckets.last_key_value().map(|(bucket, _)| *bucket)
            && (self.rows_touched > 0) == any
            && self.rows_touched <= n.min(rows as u64)
            && self.first.len() == at_most(keep)
            && places.is_sorted_by(|one, next| one < next)
            && self.first.iter().all(pair)
            && self.reach.adds_up(at_most(KEPT), self.rows_touched, code)
    }

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

#[cfg(test)]
mod tests;
