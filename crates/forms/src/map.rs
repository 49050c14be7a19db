//! Where mismatches lie, in memory that does not grow with D.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tcverify_report::Observer;
use tcverify_tensor::Tensor;

/// Bins along either side, at most.
const BINS: usize = 256;
/// Bins of a margin, at most: finer, since there are only two.
const MARGIN: usize = 4096;
/// Fewer mismatches gather by chance.
const FEW: u64 = 8;
/// The longest period within which positions are counted.
pub const PERIOD: usize = 128;

/// Mismatches by place. Rows of a batch count on from matrix to matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MismatchMap {
    pub rows: usize,
    pub columns: usize,
    /// Rows of one matrix of the batch.
    pub matrix_rows: usize,
    /// Rows and columns of a bin: powers of two, so that bins lie within tiles.
    pub bin: [usize; 2],
    /// Mismatches in each bin, row by row of bins.
    pub bins: Vec<u64>,
    /// Elements that were compared in each bin, if it was not all of them.
    pub compared: Option<Vec<u64>>,
    pub by_row: Margin,
    pub by_column: Margin,
    /// By row mod `PERIOD` within a matrix, and by column mod `PERIOD`.
    pub within: [Vec<u64>; 2],
}

/// Mismatches along one side of D.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    /// Rows or columns that are counted together.
    pub step: usize,
    pub counts: Vec<u64>,
}

/// A period in which mismatches gather.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// 0 for rows, 1 for columns.
    pub side: usize,
    pub period: usize,
    /// Mismatches at the positions that have four times their share or more.
    pub held: u64,
    /// Mismatches by position within the period.
    pub counts: Vec<u64>,
}

impl MismatchMap {
    /// Rows and columns of bins.
    pub fn grid(&self) -> [usize; 2] {
        let [rows, columns] = self.bin;
        [self.rows.div_ceil(rows), self.columns.div_ceil(columns)]
    }

    /// The rows and columns of a bin: first, and one past the last.
    pub fn span(&self, bin: usize) -> [[usize; 2]; 2] {
        let [_, across] = self.grid();
        let side =
            |index: usize, step: usize, all: usize| [index * step, all.min((index + 1) * step)];
        [
            side(bin / across, self.bin[0], self.rows),
            side(bin % across, self.bin[1], self.columns),
        ]
    }

    /// Elements of a bin that were compared.
    pub fn elements(&self, bin: usize) -> u64 {
        match &self.compared {
            Some(compared) => compared[bin],
            None => {
                let [rows, columns] = self.span(bin);
                ((rows[1] - rows[0]) * (columns[1] - columns[0])) as u64
            }
        }
    }

    /// Counts by position within 8, 16, 32, 64 and 128 rows or columns: of each side the period in
    /// which mismatches gather most, if they do: some positions, each with four times its share or
    /// more, together hold half of them.
    pub fn gathered(&self) -> Vec<Gathered> {
        (0..2)
            .filter_map(|side| self.gathered_along(side))
            .collect()
    }

    fn gathered_along(&self, side: usize) -> Option<Gathered> {
        let length = [self.matrix_rows, self.columns][side];
        let all: u64 = self.within[side].iter().sum();
        let mut best = (0.0, None);
        // Within less than two periods, a position is a single row or column.
        for period in [8, 16, 32, 64, PERIOD] {
            if 2 * period > length || all < FEW || !self.returns(side, period) {
                continue;
            }
            let mut counts = vec![0; period];
            for (position, count) in self.within[side].iter().enumerate() {
                counts[position % period] += count;
            }
            let hot = |count: &&u64| **count * period as u64 >= 4 * all;
            let (positions, held) = counts
                .iter()
                .filter(hot)
                .fold((0, 0), |(positions, held), count| {
                    (positions + 1, held + count)
                });
            if 2 * held < all {
                continue;
            }
            // How many times their share the hot positions hold.
            let times = held as f64 / all as f64 * period as f64 / f64::from(positions);
            // A longer period must concentrate clearly more than a shorter one.
            if times > 1.5 * best.0 {
                let gathered = Gathered {
                    side,
                    period,
                    held,
                    counts,
                };
                best = (times, Some(gathered));
            }
        }
        best.1
    }

    /// Whether there are mismatches in several periods of a side, not one block: nothing else repeats.
    fn returns(&self, side: usize, period: usize) -> bool {
        let (length, margin) = match side {
            0 => (self.matrix_rows, &self.by_row),
            _ => (self.columns, &self.by_column),
        };
        let hit = margin.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        // Rows count on from matrix to matrix.
        let mut periods: Vec<_> = hit
            .map(|(i, _)| i * margin.step)
            .map(|at| (at / length, at % length / period))
            .collect();
        periods.dedup();
        periods.len() >= 3 || (periods.len() == 2 && length < 3 * period)
    }
}

/// The positions of the largest counts, the first of equals first; none that is 0.
pub fn largest(counts: &[u64], most: usize) -> Vec<usize> {
    let mut positions: Vec<_> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
    positions.sort_by_key(|&i| std::cmp::Reverse(counts[i]));
    positions.truncate(most);
    positions
}

/// A map that is being filled while a result is compared, by many threads at once.
#[derive(Debug)]
pub struct Mapping {
    rows: usize,
    columns: usize,
    matrix_rows: usize,
    bin: [usize; 2],
    step: [usize; 2],
    bins: Vec<AtomicU64>,
    compared: OnceLock<Vec<AtomicU64>>,
    margins: [Vec<AtomicU64>; 2],
    within: [Vec<AtomicU64>; 2],
}

/// The smallest power of two by which a length falls into at most so many steps.
fn step(length: usize, most: usize) -> usize {
    length.div_ceil(most).next_power_of_two()
}

fn zeros(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

fn values(counts: Vec<AtomicU64>) -> Vec<u64> {
    counts.into_iter().map(AtomicU64::into_inner).collect()
}

impl Mapping {
    /// Of a captured result.
    pub fn of(given: &Tensor) -> Mapping {
        let planes = given.planes();
        Mapping::new(planes.batches(), planes.rows(), planes.columns())
    }

    fn new(matrices: usize, matrix_rows: usize, columns: usize) -> Mapping {
        let rows = matrices * matrix_rows;
        let sides = [rows, columns];
        let bin = sides.map(|side| step(side, BINS));
        let steps = sides.map(|side| step(side, MARGIN));
        Mapping {
            rows,
            columns,
            matrix_rows,
            bin,
            step: steps,
            bins: zeros(rows.div_ceil(bin[0]) * columns.div_ceil(bin[1])),
            compared: OnceLock::new(),
            margins: [0, 1].map(|side| zeros(sides[side].div_ceil(steps[side]))),
            within: [zeros(PERIOD), zeros(PERIOD)],
        }
    }

    fn bin(&self, row: usize, column: usize) -> usize {
        row / self.bin[0] * self.columns.div_ceil(self.bin[1]) + column / self.bin[1]
    }

    pub fn finish(self) -> MismatchMap {
        let [by_row, by_column] = self.margins.map(values);
        MismatchMap {
            rows: self.rows,
            columns: self.columns,
            matrix_rows: self.matrix_rows,
            bin: self.bin,
            bins: values(self.bins),
            compared: self.compared.into_inner().map(values),
            by_row: Margin {
                step: self.step[0],
                counts: by_row,
            },
            by_column: Margin {
                step: self.step[1],
                counts: by_column,
            },
            within: self.within.map(values),
        }
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Observer for Mapping {
    fn examined(&self, row: usize, column: usize) {
        let compared = self.compared.get_or_init(|| zeros(self.bins.len()));
        add(&compared[self.bin(row, column)]);
    }

    fn differs(&self, row: usize, column: usize) {
        add(&self.bins[self.bin(row, column)]);
        add(&self.margins[0][row / self.step[0]]);
        add(&self.margins[1][column / self.step[1]]);
        add(&self.within[0][row % self.matrix_rows % PERIOD]);
        add(&self.within[1][column % PERIOD]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_every_element_has_a_bin() {
        for (matrices, rows, columns) in [
            (1, 1, 1),
            (3, 257, 1),
            (1, 1 << 40, 1 << 20),
            (7, 100, 4097),
        ] {
            let filling = Mapping::new(matrices, rows, columns);
            let last = [matrices * rows - 1, columns - 1];
            filling.differs(0, 0);
            filling.differs(last[0], last[1]);
            let map = filling.finish();
            let [down, across] = map.grid();
            assert!(down <= BINS && across <= BINS);
            assert_eq!(map.bins.len(), down * across);
            assert_eq!(map.span(map.bins.len() - 1).map(|side| side[1] - 1), last);
            assert!(map.by_row.counts.len() <= MARGIN && map.by_column.counts.len() <= MARGIN);
            for counts in [&map.bins, &map.by_row.counts, &map.by_column.counts] {
                assert_eq!(counts.iter().sum::<u64>(), 2);
            }
        }
    }

    #[test]
    fn periods_are_found_where_mismatches_gather_and_only_there() {
        let found = |marks: &[(usize, usize)]| {
            let filling = Mapping::new(1, 512, 512);
            marks
                .iter()
                .for_each(|&(row, column)| filling.differs(row, column));
            let gathered = filling.finish().gathered();
            gathered
                .into_iter()
                .map(|g| (g.side, g.period))
                .collect::<Vec<_>>()
        };
        // Every 128th row, in all columns.
        let marks: Vec<_> = (0..4)
            .flat_map(|i| (0..512).map(move |j| (5 + 128 * i, j)))
            .collect();
        assert_eq!(found(&marks), [(0, 128)]);
        // Column 3 of every 16.
        let marks: Vec<_> = (0..512)
            .flat_map(|i| (0..32).map(move |j| (i, 3 + 16 * j)))
            .collect();
        assert_eq!(found(&marks), [(1, 16)]);
        // Everywhere.
        let marks: Vec<_> = (0..512).map(|i| (i, (7 * i) % 512)).collect();
        assert_eq!(found(&marks), []);
    }

    #[test]
    fn a_part_knows_what_was_compared() {
        let filling = Mapping::new(1, 4, 4);
        filling.examined(1, 1);
        filling.differs(1, 1);
        let map = filling.finish();
        assert_eq!((map.elements(5), map.elements(0)), (1, 0));
        assert_eq!(largest(&map.bins, 3), [5]);
    }
}
