//! A few of the elements that were compared, and how far the differing ones reach: what guesses at a
//! cause are tested on.

use serde::{Deserialize, Serialize};

use super::rects::{Rect, Rects};
use tcverify_num::random::mix;

/// Elements of a kind that are kept, and touched rows and columns that are listed.
pub const KEPT: usize = 64;

/// An element of D: its position in C order, and its two codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SampledElement {
    /// Random, and of no two elements the same.
    key: u64,
    pub position: usize,
    pub reproduced: u64,
    pub given: u64,
}

impl SampledElement {
    pub(super) fn new(position: usize, reproduced: u64, given: u64) -> SampledElement {
        SampledElement {
            key: mix(position as u64 ^ 0x6a09_e667_f3bc_c908),
            position,
            reproduced,
            given,
        }
    }
}

/// The elements of smallest keys: a random sample that does not depend on the order of arrival.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub(super) struct ElementSample(Vec<SampledElement>);

impl ElementSample {
    #[inline]
    pub fn add(&mut self, seen: SampledElement) {
        let full = self.0.len() == KEPT;
        if full && self.0[KEPT - 1].key <= seen.key {
            return;
        }
        let place = self.0.partition_point(|other| other.key < seen.key);
        if self.0.get(place).is_some_and(|other| other.key == seen.key) {
            return;
        }
        self.0.insert(place, seen);
        self.0.truncate(KEPT);
    }

    pub fn positions(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|seen| seen.position)
    }

    /// Whether its elements are alike or not, as they must be, and have codes.
    fn holds(&self, equal: bool, code: impl Fn(u64) -> bool) -> bool {
        self.0.iter().all(|seen| {
            let [one, other] = [seen.reproduced, seen.given];
            (one == other) == equal && code(one) && code(other)
        })
    }

    pub fn join(&mut self, other: ElementSample) {
        other.0.into_iter().for_each(|seen| self.add(seen));
    }
}

/// How far some mismatches reach. Rows and columns of a batch count on from matrix to matrix.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Reach {
    /// First and one past the last; none yet if empty.
    rows: Option<[usize; 2]>,
    columns: Option<[usize; 2]>,
    touched: Vec<usize>,
    pub rects: Rects,
    pub different: ElementSample,
    pub equal: ElementSample,
}

impl Reach {
    /// Whether all places it names are in these rows of `n` columns.
    pub fn is_of(&self, rows: &std::ops::Range<usize>, n: usize, mismatches: u64) -> bool {
        let within = |[from, to]: &[usize; 2], all: &std::ops::Range<usize>| {
            all.start <= *from && from < to && *to <= all.end
        };
        let elements = rows.start * n..rows.end * n;
        let sketch = |sketch: &ElementSample| {
            let sorted = sketch.0.is_sorted_by(|x, y| x.key < y.key);
            let known = |seen: &SampledElement| {
                *seen == SampledElement::new(seen.position, seen.reproduced, seen.given)
            };
            let mut seen = sketch.0.iter();
            sorted
                && sketch.0.len() <= KEPT
                && seen.all(|seen| known(seen) && elements.contains(&seen.position))
        };
        self.rows.iter().all(|side| within(side, rows))
            && self.columns.iter().all(|side| within(side, &(0..n)))
            && self.touched.len() <= KEPT
            && self.touched.is_sorted_by(|x, y| x < y)
            && self.touched.iter().all(|row| rows.contains(row))
            && self.rects.is_of(rows, n, mismatches)
            && sketch(&self.different)
            && sketch(&self.equal)
    }

    /// Whether it tells of so many mismatches that are kept, in so many rows.
    pub fn adds_up(&self, kept: usize, rows_touched: u64, code: impl Fn(u64) -> bool) -> bool {
        let any = kept > 0;
        self.rows.is_some() == any
            && self.columns.is_some() == any
            && self.touched.len() as u64 == rows_touched.min(KEPT as u64)
            && self.different.0.len() == kept
            && self.different.holds(false, &code)
            && self.equal.holds(true, &code)
    }

    #[inline]
    pub fn mark(&mut self, row: usize, column: usize) {
        let wider = |side: &mut Option<[usize; 2]>, at: usize| {
            let [from, to] = side.unwrap_or([at, at + 1]);
            *side = Some([from.min(at), to.max(at + 1)]);
        };
        wider(&mut self.rows, row);
        wider(&mut self.columns, column);
        self.rects.mark(row, column);
        if self.touched.len() < KEPT && self.touched.last() != Some(&row) {
            self.touched.push(row);
        }
    }

    pub fn join(&mut self, right: Reach) {
        let both = |left: Option<[usize; 2]>, right: Option<[usize; 2]>| match (left, right) {
            (Some(l), Some(r)) => Some([l[0].min(r[0]), l[1].max(r[1])]),
            (one, other) => one.or(other),
        };
        self.rows = both(self.rows, right.rows);
        self.columns = both(self.columns, right.columns);
        for row in right.touched {
            if self.touched.len() < KEPT && self.touched.last() != Some(&row) {
                self.touched.push(row);
            }
        }
        self.rects.join(right.rects);
        self.different.join(right.different);
        self.equal.join(right.equal);
    }

    pub fn finish(self, columns_touched: Vec<usize>) -> MismatchSample {
        MismatchSample {
            rows: self.rows.unwrap_or_default(),
            columns: self.columns.unwrap_or_default(),
            rows_touched: self.touched,
            columns_touched,
            rects: self.rects.finish(),
            different: self.different.0,
            equal: self.equal.0,
        }
    }
}

/// Where mismatches are, and samples of the elements that were compared. The same whoever computed
/// what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MismatchSample {
    /// The smallest rectangle around all mismatches, rows counted on from matrix to matrix, columns
    /// within one: first, and one past the last.
    pub rows: [usize; 2],
    pub columns: [usize; 2],
    /// The first [`KEPT`] rows with a mismatch, counted on.
    pub rows_touched: Vec<usize>,
    /// The first [`KEPT`] columns, counted on from matrix to matrix.
    pub columns_touched: Vec<usize>,
    /// All mismatches, if they are not too scattered: not of a part of D's elements.
    pub rects: Option<Vec<Rect>>,
    /// At most [`KEPT`] mismatches, and at most so many elements of equal codes.
    pub different: Vec<SampledElement>,
    pub equal: Vec<SampledElement>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_does_not_depend_on_the_order() {
        let all: Vec<_> = (0..1000).map(|i| SampledElement::new(i, 0, 1)).collect();
        let of = |order: &mut dyn Iterator<Item = &SampledElement>| {
            let mut sketch = ElementSample::default();
            order.for_each(|seen| sketch.add(*seen));
            sketch.0
        };
        let forward = of(&mut all.iter());
        assert_eq!(forward.len(), KEPT);
        assert_eq!(forward, of(&mut all.iter().rev()));
        let (mut left, mut right) = (ElementSample::default(), ElementSample::default());
        all.iter().step_by(2).for_each(|seen| left.add(*seen));
        all.iter()
            .skip(1)
            .step_by(2)
            .for_each(|seen| right.add(*seen));
        left.join(right);
        assert_eq!(forward, left.0);
    }
}
