//! What the places of the differences say by themselves, and what they cannot.

use crate::compare::document::Explained;
use crate::diagnose::Size;
use crate::forms::MismatchMap;
use crate::forms::view::{capital, described_period, grouped, of};
use crate::num::Format;
use crate::report::{Comparison, Conclusion, MismatchSample, Place};

/// How many equal rows before the first difference are worth a sentence.
const PREFIX: usize = 8;

/// So few differences may have a bit in common by chance.
const BY_CHANCE: usize = 4;

/// Sentences, each true of these differences. `explained` is what a search found, if there was one; `caused` is whether
/// a cause is known.
pub fn lines(
    format: Format,
    found: &Conclusion,
    map: &MismatchMap,
    places: &[Place],
    size: Size,
    (explained, caused): (Option<Explained>, bool),
) -> Vec<String> {
    let (c, sample) = (&found.comparison, &found.sample);
    let mut lines = Vec::new();
    if c.classes.zero_sign + c.classes.nan_payload == c.mismatches {
        let what = match (c.classes.zero_sign, c.classes.nan_payload) {
            (_, 0) => "the signs of zeros differ",
            (0, _) => "the bits of NaNs differ",
            _ => "the signs of zeros and the bits of NaNs differ",
        };
        lines.push(format!("The values are equal; only {what}."));
        return lines;
    }
    let prefix = prefix(c, sample, size);
    let rows = whole_rows(c, size).filter(|_| prefix.is_none());
    let bit = bit(format, sample);
    let has_place = prefix.is_some() || rows.is_some() || bit.is_some() || !places.is_empty();
    lines.extend([prefix, rows, bit].into_iter().flatten());
    if !has_place && c.mismatches > 1 && explained != Some(Explained::Both) {
        let gathered = map.gathered().into_iter();
        lines.extend(gathered.map(|at| described_period(&at, c.mismatches) + "."));
        // Differences in too many places were not searched for what they share; no order of additions makes NaNs.
        let scattered = lines.is_empty() && sample.rects.is_some();
        if scattered && !caused && c.classes.nan_against_number == 0 {
            let [rows, columns] = [of(c.rows_touched, c.rows), of(c.columns_touched, c.columns)];
            lines.push(format!(
                "The differences lie in {rows} rows and {columns} columns, and share no row, column, tile or bit. \
                 Another order of additions or another unit gives such differences; a fault in one lane, tile or bit \
                 would show at one place."
            ));
        }
    }
    if explained.is_none() {
        lines.push("Give A and B to learn what computes each result.".to_owned());
    }
    lines
}

/// A row before which all are equal, and from which on most differ.
fn prefix(c: &Comparison, sample: &MismatchSample, size: Size) -> Option<String> {
    let first = *sample.rows_touched.first()?;
    let rest = size.m.checked_sub(first)?;
    let is_boundary =
        size.batches == 1 && first >= PREFIX && rest > 1 && 2 * c.rows_touched >= rest as u64;
    is_boundary.then(|| {
        format!(
            "Rows 0 to {} are equal; from row {first} on, {} rows differ. The order of additions within one product \
             does not change at a row: another kernel, block size or input begins there.",
            first - 1,
            of(c.rows_touched, rest as u64)
        )
    })
}

/// Whether all rows that differ do so in every element, while others are equal.
fn whole_rows(c: &Comparison, size: Size) -> Option<String> {
    let whole = c.mismatches == c.rows_touched * size.n as u64;
    let some = c.rows_touched < c.rows && size.n >= PREFIX;
    (whole && some).then(|| {
        let equal = c.rows - c.rows_touched;
        let equal = match equal {
            1 => "the other one is equal".to_owned(),
            n => format!("the other {} are equal", grouped(n)),
        };
        format!(
            "{} rows differ in every element, {equal}: whole rows of the result, not tiles of a kernel. Different \
             rows of A, such as padding, have this effect: compare A, too (--a2).",
            capital(&of(c.rows_touched, c.rows))
        )
    })
}

/// The one bit in which all examined differences differ.
fn bit(format: Format, sample: &MismatchSample) -> Option<String> {
    let mut flipped = sample
        .different
        .iter()
        .map(|seen| seen.reproduced ^ seen.given);
    let first = flipped.next()?;
    let one = first.is_power_of_two() && flipped.all(|other| other == first);
    let enough = sample.different.len() > BY_CHANCE;
    // Any rounding may change the lowest bit.
    (one && enough && first > 1).then(|| {
        format!(
            "In all {} differences examined, only bit {} of {} differs. Rounding does not do that.",
            sample.different.len(),
            first.trailing_zeros(),
            8 * format.bytes()
        )
    })
}
