//! Which elements differ, exactly, in memory that does not grow with D: as rectangles.

use serde::{Deserialize, Serialize};

/// Rectangles that are kept. Mismatches that make more are too scattered to have a place.
pub const MAX_RECTS: usize = 1 << 14;

/// The same run of columns in consecutive rows, which count on from matrix to matrix: first, and one
/// past the last. It is as wide and as high as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rect {
    pub rows: [usize; 2],
    pub columns: [usize; 2],
}

impl Rect {
    pub fn height(&self) -> usize {
        self.rows[1] - self.rows[0]
    }

    pub fn width(&self) -> usize {
        self.columns[1] - self.columns[0]
    }

    pub fn area(&self) -> u64 {
        self.height() as u64 * self.width() as u64
    }
}

/// Rects of the elements marked so far. How they were divided among several makes no difference to
/// their join.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "Option<Vec<Rect>>", into = "Option<Vec<Rect>>")]
pub(super) struct Rects {
    too_many: bool,
    /// As high as can be, in order.
    settled: Vec<Rect>,
    /// Runs of single rows, the last one perhaps not finished.
    fresh: Vec<Rect>,
}

/// Null is too many.
impl From<Option<Vec<Rect>>> for Rects {
    fn from(rects: Option<Vec<Rect>>) -> Rects {
        Rects {
            too_many: rects.is_none(),
            settled: rects.unwrap_or_default(),
            fresh: Vec::new(),
        }
    }
}

impl From<Rects> for Option<Vec<Rect>> {
    fn from(rects: Rects) -> Option<Vec<Rect>> {
        rects.finish()
    }
}

impl Rects {
    /// Adds an element; they come row by row, from left to right.
    pub fn mark(&mut self, row: usize, column: usize) {
        if self.too_many {
            return;
        }
        let same_row = match self.fresh.last_mut() {
            Some(run) if run.rows[0] == row && run.columns[1] == column => {
                run.columns[1] += 1;
                return;
            }
            last => last.is_some_and(|run| run.rows[0] == row),
        };
        if !same_row && self.fresh.len() > MAX_RECTS {
            self.settle();
        }
        self.fresh.push(Rect {
            rows: [row, row + 1],
            columns: [column, column + 1],
        });
        // One row alone has too many.
        if self.fresh.len() > 2 * MAX_RECTS + 1 {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        *self = Rects {
            too_many: true,
            ..Rects::default()
        };
    }

    /// Puts runs on top of each other. Only between rows.
    pub fn settle(&mut self) {
        if self.too_many {
            return;
        }
        let mut all = std::mem::take(&mut self.settled);
        all.append(&mut self.fresh);
        all.sort_unstable_by_key(|rect| (rect.columns, rect.rows));
        all.dedup_by(|next, rect| {
            let on_top = rect.columns == next.columns && rect.rows[1] == next.rows[0];
            if on_top {
                rect.rows[1] = next.rows[1];
            }
            on_top
        });
        all.sort_unstable();
        if all.len() > MAX_RECTS {
            self.give_up()
        } else {
            self.settled = all
        }
    }

    /// Adds those of later rows.
    pub fn join(&mut self, mut right: Rects) {
        self.settle();
        right.settle();
        if self.too_many || right.too_many {
            self.give_up()
        } else {
            self.fresh = right.settled;
            self.settle();
        }
    }

    pub fn finish(mut self) -> Option<Vec<Rect>> {
        self.settle();
        (!self.too_many).then_some(self.settled)
    }

    /// Whether these can be what some marks in these rows of `n` columns made, so many in all.
    pub fn is_of(&self, rows: &std::ops::Range<usize>, n: usize, marks: u64) -> bool {
        let rects = &self.settled;
        if self.too_many {
            return marks > MAX_RECTS as u64;
        }
        let inside = |rect: &Rect| {
            let [[top, bottom], [left, right]] = [rect.rows, rect.columns];
            rows.start <= top && top < bottom && bottom <= rows.end && left < right && right <= n
        };
        let sorted = rects.is_sorted_by(|x, y| x < y);
        let inside = rects.len() <= MAX_RECTS && sorted && rects.iter().all(inside);
        // Of rects elsewhere there may be none.
        let area = || rects.iter().map(|rect| u128::from(rect.area()));
        inside && area().sum::<u128>() == marks.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcverify_num::random::mix;

    fn of(rows: std::ops::Range<usize>, n: usize, wrong: &dyn Fn(usize, usize) -> bool) -> Rects {
        let mut rects = Rects::default();
        for row in rows {
            (0..n)
                .filter(|&column| wrong(row, column))
                .for_each(|column| rects.mark(row, column));
        }
        rects
    }

    #[test]
    fn stacks_cover_every_mark_once_however_divided() {
        for seed in 0..40u64 {
            let share = 1 + seed % 7;
            let wrong = |row: usize, column: usize| {
                let word = mix(seed << 32 | (row / 3 * 64 + column / 5) as u64);
                word % 8 < share
            };
            let whole = of(0..60, 50, &wrong).finish().unwrap();
            let mut seen = vec![0; 60 * 50];
            for rect in &whole {
                for row in rect.rows[0]..rect.rows[1] {
                    (rect.columns[0]..rect.columns[1]).for_each(|c| seen[row * 50 + c] += 1);
                }
            }
            let marked = |i: usize| i32::from(wrong(i / 50, i % 50));
            assert!((0..3000).all(|i| seen[i] == marked(i)), "seed {seed}");
            for cut in [1, 7, 30, 59] {
                let mut left = of(0..cut, 50, &wrong);
                left.join(of(cut..60, 50, &wrong));
                assert_eq!(
                    left.finish().as_ref(),
                    Some(&whole),
                    "seed {seed}, cut {cut}"
                );
            }
        }
    }

    #[test]
    fn a_d_that_is_all_wrong_is_one_stack_and_too_many_are_none() {
        let all = of(0..100_000, 2, &|_, _| true).finish().unwrap();
        assert_eq!(
            all,
            [Rect {
                rows: [0, 100_000],
                columns: [0, 2]
            }]
        );
        assert_eq!(of(0..4, 5 * MAX_RECTS, &|_, c| c % 2 == 0).finish(), None);
        let checked = |i: usize, j: usize| (i + j).is_multiple_of(2);
        assert_eq!(of(0..2 * MAX_RECTS, 2, &checked).finish(), None);
        let few = of(0..MAX_RECTS, 2, &checked).finish().unwrap();
        assert_eq!(few.len(), MAX_RECTS);
        // Too many of a part are too many of the whole.
        let mut left = of(0..3, 2, &checked);
        left.join(of(3..2 * MAX_RECTS, 2, &checked));
        assert_eq!(left.finish(), None);
    }
}
