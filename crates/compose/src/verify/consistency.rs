//! Whether the figures of a report can all be true of each other, for who reads one without its files.

use crate::report::{Merged, Mismatch, Outcome, Report, Verdict};

/// What no check could have written, as sentences, without a look at any file: a verdict that is not that of the
/// figures, or figures that cannot be shown. Nothing if there is none of that; the report may still be false.
pub fn contradictions(report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut unless = |so: bool, sentence: &str| {
        if !so {
            wrong.push(sentence.to_owned());
        }
    };
    let differs = match &report.outcome {
        Outcome::Elements { comparison, .. } => comparison.mismatches > 0,
        Outcome::Digest {
            expected_payload_sha256: expected,
        } => report.reproduced.payload_sha256.as_ref() != Some(expected),
    };
    unless(
        differs == (report.verdict == Verdict::Different),
        "the verdict contradicts the figures",
    );
    let part = report.reproduced.sample.is_some();
    unless(
        report.verdict != Verdict::Identical || !part,
        "it reports a part of D as all of D",
    );
    let merged = report.merged.as_ref();
    unless(
        merged.is_none_or(Merged::is_sound),
        "it does not list each of its parts exactly once",
    );
    unless(
        report.verdict != Verdict::Identical || merged.is_none_or(|of| of.trusted.is_empty()),
        "it reports a trusted part as verified",
    );
    let ranges = report.reproduced.sample.iter();
    let mut ranges: Vec<_> = ranges.flat_map(|part| [part.rows, part.columns]).collect();
    let omitted = report
        .rule
        .product()
        .and_then(|rule| rule.schedule.as_ref())
        .into_iter()
        .flat_map(|schedule| &schedule.omitted_k);
    ranges.extend(omitted);
    unless(
        ranges.iter().all(|[first, end]| first < end),
        "a range ends before it begins",
    );
    let found = report.ambiguity.as_ref();
    let known = found.is_none_or(|found| found.same.len() as u64 <= found.others);
    unless(known, "it reports more agreeing arithmetics than exist");
    let (shape, width) = (
        &report.reproduced.shape,
        2 * report.reproduced.format.bytes(),
    );
    let elements = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
    unless(
        shape.len() >= 2 && elements.is_some(),
        &format!("no D has the shape {shape:?}"),
    );
    let Some(c) = report.comparison() else {
        return wrong;
    };
    unless(
        c.first.len() as u64 <= c.mismatches && c.mismatches <= c.elements,
        "the counts of mismatches contradict each other",
    );
    unless(
        c.histogram.iter().all(|bucket| bucket.count > 0),
        "the histogram has buckets that do not exist",
    );
    let code = |hex: &String| hex.len() == width && u64::from_str_radix(hex, 16).is_ok();
    let inside =
        |index: &[usize]| index.len() == shape.len() && index.iter().zip(shape).all(|(i, n)| i < n);
    let known =
        |m: &Mismatch| inside(&m.index) && [&m.reproduced, &m.given, &m.xor].into_iter().all(code);
    unless(
        c.first.iter().all(known),
        "it lists a mismatch that D cannot have",
    );
    wrong
}
