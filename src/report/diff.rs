//! Which elements differ, and how.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::classes::{Classes, Kind, kind};
use super::mismatch_sample::{KEPT, MismatchSample, Reach, SampledElement};
use tcverify_emu::layout::{LayoutKind, Units};
use tcverify_emu::{Band, Element};
use tcverify_num::random::mix;
use tcverify_num::{Format, decimal, ulp_distance};
use tcverify_tensor::{Order, Planes, Tensor, unravel};

/// Differences that are not counted as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// Any NaN equals any NaN.
    pub any_nan: bool,
    /// +0 equals -0.
    pub any_zero: bool,
}

impl Tolerance {
    /// Whether two codes count as equal.
    pub fn accepts(self, format: Format, one: u64, other: u64) -> bool {
        one == other || self.accepts_kind(kind(format, one, other))
    }

    /// Whether two codes that differ in this way count as equal.
    fn accepts_kind(self, kind: Kind) -> bool {
        match kind {
            Kind::NanPayload => self.any_nan,
            Kind::ZeroSign => self.any_zero,
            _ => false,
        }
    }
}

/// One differing element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Mismatch {
    /// Counted from 0.
    pub index: Vec<usize>,
    /// The model's code in hexadecimal, as wide as the format.
    pub reproduced: String,
    /// The file's, likewise.
    pub given: String,
    /// The shortest decimal that identifies the number (as FP32; as FP64 for FP64), or `NaN`, `+Inf`, `-Inf`, `-0`.
    pub reproduced_value: String,
    /// The file's, likewise.
    pub given_value: String,
    /// Representable numbers from the reproduced one to the given one; null for NaN.
    pub ulp: Option<i128>,
    /// Exclusive or of the codes.
    pub xor: String,
    /// How it differs.
    pub class: Kind,
}

/// The largest distance and the first element that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Largest {
    pub ulp: i128,
    pub index: Vec<usize>,
}

/// How many elements lie `from` to `to` representable numbers apart, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Bucket {
    pub from: u128,
    pub to: u128,
    pub count: u64,
}

/// The outcome of comparing D with its replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Elements that were compared.
    pub elements: u64,
    /// Elements that differ and are not accepted. The verdict is identical if this is 0.
    pub mismatches: u64,
    /// Rounded to six decimals, so it can be 0.0 with a mismatch.
    pub mismatch_percent: f64,
    /// Elements that differ only as `nan` or `zero` allow.
    pub accepted: u64,
    /// Rows of all matrices of the batch.
    pub rows: u64,
    /// Rows with a mismatch.
    pub rows_touched: u64,
    /// Columns of all matrices of the batch.
    pub columns: u64,
    /// Columns with a mismatch.
    pub columns_touched: u64,
    /// Mismatches by threads, if the kernel tiles D plainly: `layout`, `unit` (`lane`, `warp`, `octet`; RDNA 3's `lane
    /// column` is a lane modulo 16) and `counts`. Null if no layout is known or D is smaller than a tile.
    pub units: Option<Units>,
    /// Mismatches by class.
    pub classes: Classes,
    /// The `ulp` of largest magnitude (signed), and the first `index` that has it. Null if no mismatch has a distance.
    pub largest: Option<Largest>,
    /// Mismatches by absolute distance, without empty buckets.
    pub histogram: Vec<Bucket>,
    /// The first `--max-mismatches` mismatches in index order (C order of D's shape).
    pub first: Vec<Mismatch>,
}

/// Who is told of elements while they are compared, by many threads at once. Rows count on from matrix to matrix.
pub trait Observer: std::fmt::Debug + Sync {
    /// This element is compared, and not all are.
    fn examined(&self, row: usize, column: usize);
    /// This element differs.
    fn differs(&self, row: usize, column: usize);
}

/// Compares a D given whole with a D reproduced band by band.
pub struct Comparator<'a> {
    pub(super) given: Planes<'a>,
    tolerance: Tolerance,
    pub(super) keep: usize,
    pub(super) columns_touched: Vec<AtomicBool>,
    pub(super) compared: u64,
    /// The last row that [`Comparator::compare_some`] counted as touched.
    last_row: Option<usize>,
    pub(super) units: Option<(LayoutKind, Vec<AtomicU64>)>,
    observer: Option<&'a dyn Observer>,
    pub(super) found: Found,
}

/// A comparison, and samples of its elements.
#[derive(Clone, Debug)]
pub struct Conclusion {
    pub comparison: Comparison,
    pub sample: MismatchSample,
}

/// Elements, spread over all rows, that may be kept as samples of equal ones.
const EQUALS: usize = 1024;

/// Counts over some rows, and the first few mismatches by position in C order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Found {
    pub(super) mismatches: u64,
    pub(super) accepted: u64,
    pub(super) rows_touched: u64,
    pub(super) classes: Classes,
    pub(super) largest: Option<(i128, usize)>,
    pub(super) buckets: BTreeMap<u32, u64>,
    pub(super) first: Vec<(usize, u64, u64)>,
    pub(super) reach: Reach,
}

impl<'a> Comparator<'a> {
    /// Will list the first `keep` mismatches.
    pub fn new(given: &'a Tensor, tolerance: Tolerance, keep: usize) -> Comparator<'a> {
        let given = given.planes();
        let columns = given.batches() * given.columns();
        Comparator {
            given,
            tolerance,
            keep,
            columns_touched: (0..columns).map(|_| AtomicBool::new(false)).collect(),
            compared: 0,
            last_row: None,
            units: None,
            observer: None,
            found: Found::default(),
        }
    }

    /// With somebody who is told where mismatches are.
    pub fn observed_by(self, observer: Option<&'a dyn Observer>) -> Comparator<'a> {
        Comparator { observer, ..self }
    }

    /// Also counts mismatches by the unit of the instruction that holds them.
    pub fn counting(self, layout: Option<LayoutKind>) -> Comparator<'a> {
        let counts = |kind: LayoutKind| (0..kind.units()).map(|_| AtomicU64::new(0)).collect();
        Comparator {
            units: layout.map(|kind| (kind, counts(kind))),
            ..self
        }
    }

    /// Compares some rows. Bands must come in order.
    pub fn compare(&mut self, band: &Band) {
        let width = self.format().bytes();
        let (m, n) = (self.given.rows(), self.given.columns());
        let this = &*self;
        let found = band
            .payload
            .par_chunks(n * width)
            .enumerate()
            .fold(Found::default, |mut found, (index, row)| {
                let flat = band.first_row + index;
                let plane = this.given.plane(flat / m);
                let before = found.mismatches;
                let code = |bytes: &[u8]| {
                    let mut code = [0; 8];
                    code[..width].copy_from_slice(bytes);
                    u64::from_le_bytes(code)
                };
                // Most rows are equal, and most lie in memory as in a payload: wider codes are more bytes.
                let lines = plane.lines(flat % m..flat % m + 1, 0..n);
                let equal = lines.is_some_and(|lines| lines.of(0) == row);
                let unequal = if equal { &[][..] } else { row };
                for (column, bytes) in unequal.chunks_exact(width).enumerate() {
                    let reproduced = code(bytes);
                    let given = plane.code(flat % m, column);
                    if given != reproduced
                        && this.record(&mut found, flat * n + column, reproduced, given)
                    {
                        let column = flat / m * n + column;
                        this.columns_touched[column].store(true, Ordering::Relaxed);
                    }
                }
                found.rows_touched += u64::from(found.mismatches > before);
                let rows = this.given.batches() * m;
                for i in 0..(EQUALS / rows).clamp(1, n) {
                    let column = (mix((flat * EQUALS + i) as u64) % n as u64) as usize;
                    let reproduced = code(&row[column * width..(column + 1) * width]);
                    if plane.code(flat % m, column) == reproduced {
                        let seen = SampledElement::new(flat * n + column, reproduced, reproduced);
                        found.reach.equal.add(seen);
                    }
                }
                found
            })
            // Neighbours are joined left to right, so that the result does not depend on who
            // computed what.
            .reduce(Found::default, |left, right| left.join(right, this.keep));
        self.compared += (band.payload.len() / width) as u64;
        let so_far = std::mem::take(&mut self.found);
        self.found = so_far.join(found, self.keep);
    }

    /// Compares some elements, given in index order, instead of whole rows.
    pub fn compare_some(&mut self, elements: &[Element], reproduced: &[u64]) {
        let (m, n) = (self.given.rows(), self.given.columns());
        let mut found = std::mem::take(&mut self.found);
        for (at, &reproduced) in elements.iter().zip(reproduced) {
            let given = self.given.plane(at.batch).code(at.row, at.column);
            let row = at.batch * m + at.row;
            if let Some(observer) = self.observer {
                observer.examined(row, at.column);
            }
            if given == reproduced {
                let seen = SampledElement::new(row * n + at.column, reproduced, given);
                found.reach.equal.add(seen);
            }
            if given != reproduced
                && self.record(&mut found, row * n + at.column, reproduced, given)
            {
                self.columns_touched[at.batch * n + at.column].store(true, Ordering::Relaxed);
                found.rows_touched += u64::from(self.last_row != Some(row));
                self.last_row = Some(row);
            }
        }
        self.compared += elements.len() as u64;
        self.found = found;
    }

    pub(super) fn format(&self) -> Format {
        self.given.tensor().format()
    }

    /// Counts a pair of unequal codes; false if the policy accepts it.
    fn record(&self, found: &mut Found, position: usize, reproduced: u64, given: u64) -> bool {
        let format = self.format();
        let kind = kind(format, reproduced, given);
        if self.tolerance.accepts_kind(kind) {
            found.accepted += 1;
            return false;
        }
        found.mismatches += 1;
        let (row, column) = (
            position / self.given.columns(),
            position % self.given.columns(),
        );
        found.reach.mark(row, column);
        found
            .reach
            .different
            .add(SampledElement::new(position, reproduced, given));
        if let Some(observer) = self.observer {
            observer.differs(row, column);
        }
        if let Some((layout, counts)) = &self.units {
            let (m, n) = (self.given.rows(), self.given.columns());
            let unit = layout.unit_of(position / n % m, position % n);
            counts[unit].fetch_add(1, Ordering::Relaxed);
        }
        found.classes.count(kind);
        if !kind.has_nan() {
            let place = |code| tcverify_num::position(format, code);
            let ulp = place(given) - place(reproduced);
            let bucket = bucket(ulp.unsigned_abs());
            match found.buckets.get_mut(&bucket) {
                Some(count) => *count += 1,
                None => {
                    found.buckets.insert(bucket, 1);
                }
            }
            let larger = |&(most, _): &(i128, usize)| ulp.abs() > most.abs();
            if found.largest.as_ref().is_none_or(larger) {
                found.largest = Some((ulp, position));
            }
        }
        if found.first.len() < self.keep {
            found.first.push((position, reproduced, given));
        }
        true
    }

    /// What was counted, once all of D has been compared.
    pub fn finish(self) -> Comparison {
        self.conclude().comparison
    }

    /// The whole comparison, and where the mismatches are.
    pub fn conclude(self) -> Conclusion {
        let format = self.format();
        let shape = self.given.tensor().shape();
        let found = self.found;
        let elements = self.compared;
        let index = |position| unravel(position, shape, Order::C);
        let touched = |flag: &&AtomicBool| flag.load(Ordering::Relaxed);
        let columns = self.columns_touched.iter().enumerate();
        let columns = columns
            .filter(|(_, flag)| touched(flag))
            .map(|(column, _)| column);
        let sample = found.reach.finish(columns.take(KEPT).collect());
        let comparison = Comparison {
            elements,
            mismatches: found.mismatches,
            mismatch_percent: percent(found.mismatches, elements),
            accepted: found.accepted,
            rows: (self.given.batches() * self.given.rows()) as u64,
            rows_touched: found.rows_touched,
            columns: self.columns_touched.len() as u64,
            columns_touched: self.columns_touched.iter().filter(touched).count() as u64,
            units: self.units.map(|(layout, counts)| Units {
                layout,
                unit: layout.unit().into(),
                counts: counts.into_iter().map(AtomicU64::into_inner).collect(),
            }),
            classes: found.classes,
            largest: found.largest.map(|(ulp, position)| Largest {
                ulp,
                index: index(position),
            }),
            histogram: found.buckets.into_iter().map(range).collect(),
            first: found
                .first
                .into_iter()
                .map(|(position, reproduced, given)| {
                    mismatch(format, index(position), reproduced, given)
                })
                .collect(),
        };
        Conclusion { comparison, sample }
    }
}

impl Found {
    pub(super) fn join(mut self, right: Found, keep: usize) -> Found {
        self.mismatches += right.mismatches;
        self.accepted += right.accepted;
        self.rows_touched += right.rows_touched;
        self.classes.add(right.classes);
        if let Some(other) = right.largest {
            let larger = |most: &(i128, usize)| other.0.abs() > most.0.abs();
            if self.largest.as_ref().is_none_or(larger) {
                self.largest = Some(other);
            }
        }
        for (bucket, count) in right.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.first.extend(right.first);
        self.first.truncate(keep);
        self.reach.join(right.reach);
        self
    }
}

pub(super) fn mismatch(format: Format, index: Vec<usize>, reproduced: u64, given: u64) -> Mismatch {
    let hex = |code: u64| format!("{code:0width$x}", width = 2 * format.bytes());
    Mismatch {
        index,
        reproduced: hex(reproduced),
        given: hex(given),
        reproduced_value: decimal(format, reproduced),
        given_value: decimal(format, given),
        ulp: ulp_distance(format, reproduced, given),
        xor: hex(reproduced ^ given),
        class: kind(format, reproduced, given),
    }
}

/// Bucket 0 holds distance 0, bucket 1 distance 1, bucket b distances 2^(b-2) + 1 to 2^(b-1).
pub(super) fn bucket(distance: u128) -> u32 {
    match distance {
        0 => 0,
        _ => 129 - (distance - 1).leading_zeros(),
    }
}

pub(super) fn range((bucket, count): (u32, u64)) -> Bucket {
    let (from, to) = match bucket {
        0 => (0, 0),
        1 => (1, 1),
        _ => ((1 << (bucket - 2)) + 1, 1 << (bucket - 1)),
    };
    Bucket { from, to, count }
}

/// Rounded to six decimals, so that reports are stable and readable.
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    (part as f64 / whole as f64 * 1e8).round() / 1e6
}

#[cfg(test)]
mod tests;
