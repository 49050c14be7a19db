//! Which elements differ, exactly, in memory that does not grow with D: as rectangles.

use serde::{Deserialize, Serialize};

/// Rectangles that are kept. Mismatches that make more are too scattered to have a place.
pub const STACKS: usize = 1 << 14;

/// The same run of columns in consecutive rows, which count on from matrix to matrix: first, and one
/// past the last. It is as wide and as high as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stack {
    pub rows: [usize; 2],
    pub columns: [usize; 2],
}

impl Stack {
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

/// Stacks of the elements marked so far. How they were divided among several makes no difference to
/// their join.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "Option<Vec<Stack>>", into = "Option<Vec<Stack>>")]
pub(super) struct Stacks {
    too_many: bool,
    /// As high as can be, in order.
    settled: Vec<Stack>,
    /// Runs of single rows, the last one perhaps not finished.
    fresh: Vec<Stack>,
}

/// Null is too many.
impl From<Option<Vec<Stack>>> for Stacks {
    fn from(stacks: Option<Vec<Stack>>) -> Stacks {
        Stacks {
            too_many: stacks.is_none(),
            settled: stacks.unwrap_or_default(),
            fresh: Vec::new(),
        }
    }
}

impl From<Stacks> for Option<Vec<Stack>> {
    fn from(stacks: Stacks) -> Option<Vec<Stack>> {
        stacks.finish()
    }
}

impl Stacks {
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
        if !same_row && self.fresh.len() > STACKS {
            self.settle();
        }
        self.fresh.push(Stack {
            rows: [row, row + 1],
            columns: [column, column + 1],
        });
        // One row alone has too many.
        if self.fresh.len() > 2 * STACKS + 1 {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        *self = Stacks {
            too_many: true,
            ..Stacks::default()
        };
    }

    /// Puts runs on top of each other. Only between rows.
    pub fn settle(&mut self) {
        if self.too_many {
            return;
        }
        let mut all = std::mem::take(&mut self.settled);
        all.append(&mut self.fresh);
        all.sort_unstable_by_key(|stack| (stack.columns, stack.rows));
        all.dedup_by(|next, stack| {
            let on_top = stack.columns == next.columns && stack.rows[1] == next.rows[0];
            if on_top {
                stack.rows[1] = next.rows[1];
            }
            on_top
        });
        all.sort_unstable();
        if all.len() > STACKS {
            self.give_up()
        } else {
            self.settled = all
        }
    }

    /// Adds those of later rows.
    pub fn join(&mut self, mut right: Stacks) {
        self.settle();
        right.settle();
        if self.too_many || right.too_many {
            self.give_up()
        } else {
            self.fresh = right.settled;
            self.settle();
        }
    }

    pub fn finish(mut self) -> Option<Vec<Stack>> {
        self.settle();
        (!self.too_many).then_some(self.settled)
    }

    /// Whether these can be what some marks in these rows of `n` columns made, so many in all.
    pub fn is_of(&self, rows: &std::ops::Range<usize>, n: usize, marks: u64) -> bool {
        let stacks = &self.settled;
        if self.too_many {
            return marks > STACKS as u64;
        }
        let inside = |stack: &Stack| {
            let [[top, bottom], [left, right]] = [stack.rows, stack.columns];
            rows.start <= top && top < bottom && bottom <= rows.end && left < right && right <= n
        };
        let sorted = stacks.is_sorted_by(|x, y| x < y);
        let inside = stacks.len() <= STACKS && sorted && stacks.iter().all(inside);
        // Of stacks elsewhere there may be none.
        let area = || stacks.iter().map(|stack| u128::from(stack.area()));
        inside && area().sum::<u128>() == marks.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    fn of(rows: std::ops::Range<usize>, n: usize, wrong: &dyn Fn(usize, usize) -> bool) -> Stacks {
        let mut stacks = Stacks::default();
        for row in rows {
            (0..n)
                .filter(|&column| wrong(row, column))
                .for_each(|column| stacks.mark(row, column));
        }
        stacks
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
            for stack in &whole {
                for row in stack.rows[0]..stack.rows[1] {
                    (stack.columns[0]..stack.columns[1]).for_each(|c| seen[row * 50 + c] += 1);
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
            [Stack {
                rows: [0, 100_000],
                columns: [0, 2]
            }]
        );
        assert_eq!(of(0..4, 5 * STACKS, &|_, c| c % 2 == 0).finish(), None);
        let checked = |i: usize, j: usize| (i + j).is_multiple_of(2);
        assert_eq!(of(0..2 * STACKS, 2, &checked).finish(), None);
        let few = of(0..STACKS, 2, &checked).finish().unwrap();
        assert_eq!(few.len(), STACKS);
        // Too many of a part are too many of the whole.
        let mut left = of(0..3, 2, &checked);
        left.join(of(3..2 * STACKS, 2, &checked));
        assert_eq!(left.finish(), None);
    }
}
