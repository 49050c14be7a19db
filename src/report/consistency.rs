//! Whether the figures of a comparison can all be true: of each other, of the D that was given, and of what was
//! asked.

use super::diff::{bucket, mismatch, percent, range};
use super::{Bucket, Classes, Comparison, Differ, Outcome, Policy, Report, Verdict};
use crate::emu::Element;
use crate::emu::layout::LayoutKind;
use crate::sample::Region;
use crate::tensor::Tensor;

/// What was compared.
pub struct Compared<'a> {
    /// The D that was given.
    pub d: &'a Tensor,
    /// The part of it, and how many elements of that.
    pub region: Region,
    pub elements: u64,
    pub policy: Policy,
    /// How many mismatches are listed.
    pub keep: usize,
    /// Where mismatches are counted by unit.
    pub layout: Option<LayoutKind>,
}

impl Report {
    /// What no check could have written, as sentences, without a look at any file: a verdict that is not that of the
    /// figures, or figures that cannot be shown. Nothing if there is none of that; the report may still be false.
    pub fn contradictions(&self) -> Vec<String> {
        let mut wrong = Wrong::default();
        let differs = match &self.outcome {
            Outcome::Elements { comparison, .. } => comparison.mismatches > 0,
            Outcome::Digest {
                expected_payload_sha256: expected,
            } => self.reproduced.payload_sha256.as_ref() != Some(expected),
        };
        wrong.unless(differs == (self.verdict == Verdict::Different), || {
            "the verdict is not that of the figures".into()
        });
        let part = self.reproduced.sample.is_some();
        wrong.unless(self.verdict != Verdict::Identical || !part, || {
            "a part of D is said to be all of it".into()
        });
        let ranges = self.reproduced.sample.iter();
        let mut ranges: Vec<_> = ranges.flat_map(|part| [part.rows, part.columns]).collect();
        let omitted = self
            .schedule
            .iter()
            .flat_map(|schedule| &schedule.omitted_k);
        ranges.extend(omitted);
        wrong.unless(ranges.iter().all(|[first, end]| first < end), || {
            "a range ends before it begins".into()
        });
        let told = self.discrimination.as_ref();
        let known = told.is_none_or(|found| found.same.len() as u64 <= found.others);
        wrong.unless(known, || "more arithmetics agree than there are".into());
        let (shape, width) = (&self.reproduced.shape, 2 * self.reproduced.format.bytes());
        let elements = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        wrong.unless(shape.len() >= 2 && elements.is_some(), || {
            format!("no D has the shape {shape:?}")
        });
        let Outcome::Elements { comparison: c, .. } = &self.outcome else {
            return wrong.0;
        };
        wrong.unless(
            c.first.len() as u64 <= c.mismatches && c.mismatches <= c.elements,
            || "the counts of mismatches contradict each other".into(),
        );
        wrong.unless(c.histogram.iter().all(|bucket| bucket.count > 0), || {
            "the histogram has buckets that there are not".into()
        });
        let code = |hex: &String| hex.len() == width && u64::from_str_radix(hex, 16).is_ok();
        let known = |m: &super::Mismatch| {
            element(&m.index, shape).is_some()
                && [&m.reproduced, &m.given, &m.xor].into_iter().all(code)
        };
        wrong.unless(c.first.iter().all(known), || {
            "a mismatch is listed that D cannot have".into()
        });
        wrong.0
    }
}

impl Comparison {
    /// What cannot be, as sentences; nothing if all of it could.
    pub fn contradictions(&self, of: &Compared) -> Vec<String> {
        let mut wrong = Wrong::default();
        let planes = of.d.planes();
        let (batches, m, n) = (
            planes.batches() as u64,
            planes.rows() as u64,
            planes.columns() as u64,
        );
        wrong.unless(self.elements == of.elements, || {
            format!(
                "{} elements are said to be compared; it is {} that were to be",
                self.elements, of.elements
            )
        });
        for (what, said, is) in [
            ("rows", self.rows, batches * m),
            ("columns", self.columns, batches * n),
        ] {
            wrong.unless(said == is, || {
                format!("D is said to have {said} {what}; it has {is}")
            });
        }
        let share = percent(self.mismatches, self.elements);
        wrong.unless(self.mismatch_percent == share, || {
            format!(
                "mismatch_percent is {}; of such counts it is {share}",
                self.mismatch_percent
            )
        });
        let unequal = self.mismatches.checked_add(self.accepted);
        wrong.unless(unequal.is_some_and(|sum| sum <= self.elements), || {
            "more elements differ than were compared".into()
        });
        let Policy { any_nan, any_zero } = of.policy;
        wrong.unless(self.accepted == 0 || any_nan || any_zero, || {
            format!(
                "{} elements are said to be accepted, where nothing is",
                self.accepted
            )
        });
        wrong.unless(!any_nan || self.classes.nan_payload == 0, || {
            "NaNs of other bits are counted as mismatches, and any NaN is accepted".into()
        });
        wrong.unless(!any_zero || self.classes.zero_sign == 0, || {
            "signs of zeros are counted as mismatches, and either is accepted".into()
        });
        wrong.unless(self.classes.sum() == Some(self.mismatches), || {
            "the classes do not add up to the mismatches".into()
        });
        for (what, touched, all, across) in [
            ("rows", self.rows_touched, self.rows, n),
            ("columns", self.columns_touched, self.columns, m),
        ] {
            let most = all.min(self.mismatches);
            let least = self.mismatches.div_ceil(across.max(1));
            wrong.unless((least..=most).contains(&touched), || {
                format!(
                    "{} mismatches cannot touch {touched} {what}",
                    self.mismatches
                )
            });
        }
        self.check_histogram(&mut wrong);
        self.check_units(of, &mut wrong);
        self.check_first(of, &mut wrong);
        wrong.0
    }

    fn check_histogram(&self, wrong: &mut Wrong) {
        let Classes {
            nan_payload,
            nan_against_number,
            ..
        } = self.classes;
        let without = nan_payload.saturating_add(nan_against_number);
        let counts = self.histogram.iter().map(|bucket| bucket.count);
        let sum = counts.clone().try_fold(0, u64::checked_add);
        wrong.unless(sum == Some(self.mismatches.saturating_sub(without)), || {
            "the histogram does not hold the mismatches that have a distance".into()
        });
        let known =
            |one: &Bucket| bucket(one.to) <= 66 && *one == range((bucket(one.to), one.count));
        let sound = self.histogram.iter().all(|one| one.count > 0 && known(one));
        let ordered = self.histogram.is_sorted_by(|one, next| one.to < next.from);
        wrong.unless(sound && ordered, || {
            "the histogram has buckets that there are not".into()
        });
        let last = self.histogram.last();
        let largest = self
            .largest
            .as_ref()
            .map(|largest| largest.ulp.unsigned_abs());
        let fits = match (last, largest) {
            (Some(last), Some(ulp)) => (last.from..=last.to).contains(&ulp),
            (None, None) => true,
            _ => false,
        };
        wrong.unless(fits, || {
            "the largest distance is not in the last bucket".into()
        });
    }

    fn check_units(&self, of: &Compared, wrong: &mut Wrong) {
        let fits = match (&self.units, of.layout) {
            (None, None) => true,
            (Some(units), Some(layout)) => {
                units.layout == layout
                    && units.unit == layout.unit()
                    && units.counts.len() == layout.units()
                    && units.counts.iter().copied().try_fold(0, u64::checked_add)
                        == Some(self.mismatches)
            }
            _ => false,
        };
        wrong.unless(fits, || {
            "the counts by unit are not those of the mismatches".into()
        });
    }

    /// The mismatches that are listed are there, and counts are what they make; all of them, if all are listed.
    fn check_first(&self, of: &Compared, wrong: &mut Wrong) {
        let listed = self.first.len() as u64;
        let expected = self.mismatches.min(of.keep as u64);
        wrong.unless(listed == expected, || {
            format!(
                "{listed} mismatches are listed; of {} it would be {expected}",
                self.mismatches
            )
        });
        let shape = of.d.shape();
        let mut elements = Vec::new();
        let mut codes = Vec::new();
        for one in &self.first {
            let place = format!("mismatch at {:?}", one.index);
            let Some(at) = element(&one.index, shape) else {
                return wrong.push(format!("{place}: D has no such element"));
            };
            let there = of.region.rows.contains(&at.row) && of.region.columns.contains(&at.column);
            wrong.unless(there, || format!("{place}: it was not compared"));
            let format = of.d.format();
            let given = of.d.planes().plane(at.batch).code(at.row, at.column);
            let code = u64::from_str_radix(&one.reproduced, 16).ok();
            let code = code.filter(|_| one.reproduced.len() == 2 * format.bytes());
            let Some(reproduced) = code else {
                return wrong.push(format!(
                    "{place}: {:?} is no code of {format}",
                    one.reproduced
                ));
            };
            let differs = !of.policy.accepts(format, reproduced, given);
            let said = mismatch(format, one.index.clone(), reproduced, given);
            wrong.unless(differs && said == *one, || {
                format!(
                    "{place}: D holds {}, and not all that is said follows from it",
                    said.given
                )
            });
            elements.push(at);
            codes.push(reproduced);
        }
        let order = |at: &Element| (at.batch, at.row, at.column);
        if !elements.is_sorted_by(|one, next| order(one) < order(next)) {
            return wrong.push("the mismatches are not listed in their order".into());
        }
        let mut differ = Differ::new(of.d, of.policy, of.keep).counting(of.layout);
        differ.compare_some(&elements, &codes);
        let counted = differ.finish();
        if counted.mismatches == self.mismatches {
            let same = counted.classes == self.classes
                && counted.histogram == self.histogram
                && counted.largest == self.largest
                && counted.units == self.units
                && counted.rows_touched == self.rows_touched
                && counted.columns_touched == self.columns_touched;
            wrong.unless(same, || {
                "the counts are not those of the mismatches, all of which are listed".into()
            });
        }
    }
}

/// The element at an index of such a shape.
fn element(index: &[usize], shape: &[usize]) -> Option<Element> {
    let inside = index.len() == shape.len() && index.iter().zip(shape).all(|(i, n)| i < n);
    let (batch, row, column) = match index {
        _ if !inside => return None,
        [batch @ .., row, column] => (batch, row, column),
        // One axis is one row; no D has so few.
        [column] => (&[][..], &0, column),
        [] => return None,
    };
    let batches = batch.iter().zip(shape);
    Some(Element {
        batch: batches.fold(0, |flat, (i, n)| flat * n + i),
        row: *row,
        column: *column,
    })
}

#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn push(&mut self, sentence: String) {
        self.0.push(sentence);
    }

    fn unless(&mut self, so: bool, sentence: impl FnOnce() -> String) {
        if !so {
            self.push(sentence());
        }
    }
}

#[cfg(test)]
mod tests;
