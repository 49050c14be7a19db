//! Mismatches that belong together: rectangles, rows, columns, lattices, single elements; the rest is
//! scattered.

pub mod causes;
pub mod findings;
pub mod lines;
pub mod partition;
pub mod sentences;

use crate::report::Rect;

/// In rows or columns shorter than this, all elements may differ by chance.
pub const SHORT: usize = 8;

/// Most single elements that are reported one by one.
pub const FEW: usize = 8;

/// Most rows or columns of a group.
pub const LINES: usize = 4096;

/// Rows, columns and matrices of D.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub m: usize,
    pub n: usize,
    pub batches: usize,
}

/// Rows are side 0 and columns side 1. Both are counted over all matrices.
impl Size {
    /// Rows or columns of one matrix.
    pub(crate) fn count(self, side: usize) -> usize {
        [self.m, self.n][side]
    }

    /// Elements of a row or a column.
    pub(crate) fn length(self, side: usize) -> usize {
        self.count(1 - side)
    }

    /// The row and the column of an element of a line, so far along it.
    pub(crate) fn element(self, side: usize, line: usize, along: usize) -> [usize; 2] {
        match side {
            0 => [line, along],
            _ => [line / self.n * self.m + along, line % self.n],
        }
    }

    /// The name of a matrix in a sentence; empty if there is only one.
    pub(crate) fn of_matrix(self, batch: usize) -> String {
        match self.batches {
            1 => String::new(),
            _ => format!(" of matrix {batch}"),
        }
    }
}

/// Whether an element, by its row and its column, lies in a rectangle.
pub fn inside([row, column]: [usize; 2], rows: [usize; 2], columns: [usize; 2]) -> bool {
    (rows[0]..rows[1]).contains(&row) && (columns[0]..columns[1]).contains(&column)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Most elements of these rows (side 0) or columns (side 1), which are counted over all matrices; fewer if not
    /// `dense`.
    Lines {
        side: usize,
        lines: Vec<usize>,
        dense: bool,
    },
    /// All of a rectangle, or nearly; and the tile size with which its edges coincide.
    Rectangle {
        tile: Option<[usize; 2]>,
    },
    /// Rows and columns at regular distances, from these on.
    Lattice {
        every: [usize; 2],
        first: [usize; 2],
    },
    Element,
    Scattered,
}

/// Mismatches that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    pub shape: Shape,
    pub mismatches: u64,
    /// The smallest rectangle around them; rows are counted over all matrices.
    pub rows: [usize; 2],
    pub columns: [usize; 2],
    /// Rectangles that they cover.
    pub rects: Vec<Rect>,
}

impl Group {
    pub fn new(shape: Shape, rects: Vec<Rect>) -> Group {
        let bound = |side: fn(&Rect) -> [usize; 2]| {
            let sides = || rects.iter().map(side);
            let first = sides().map(|[from, _]| from).min().unwrap_or(0);
            [first, sides().map(|[_, to]| to).max().unwrap_or(0)]
        };
        Group {
            shape,
            mismatches: rects.iter().map(Rect::area).sum(),
            rows: bound(|rect| rect.rows),
            columns: bound(|rect| rect.columns),
            rects,
        }
    }

    /// Whether an element, by its row and its column, is in the rows, the columns or the rectangle of the group,
    /// right or wrong.
    pub fn covers(&self, [row, column]: [usize; 2], size: Size) -> bool {
        let around = inside([row, column], self.rows, self.columns);
        match &self.shape {
            Shape::Lines { side, lines, .. } => {
                let line = [row, row / size.m * size.n + column][*side];
                lines.binary_search(&line).is_ok()
            }
            Shape::Lattice { every, first } => {
                around && row % size.m % every[0] == first[0] && column % every[1] == first[1]
            }
            Shape::Rectangle { .. } | Shape::Element => around,
            Shape::Scattered => self.holds([row, column]),
        }
    }

    /// Whether an element is one of the mismatches.
    pub fn holds(&self, at: [usize; 2]) -> bool {
        let holds = |rect: &Rect| inside(at, rect.rows, rect.columns);
        self.rects.iter().any(holds)
    }

    /// Elements of the area that is covered.
    pub fn area(&self, size: Size) -> u64 {
        match &self.shape {
            Shape::Lines { side, lines, .. } => lines.len() as u64 * size.length(*side) as u64,
            Shape::Rectangle { .. } => {
                (self.rows[1] - self.rows[0]) as u64 * (self.columns[1] - self.columns[0]) as u64
            }
            _ => self.mismatches,
        }
    }

    /// At most `most` mismatches, evenly spread: rows and columns.
    pub fn sample(&self, most: usize) -> Vec<[usize; 2]> {
        let count = self.mismatches.min(most as u64);
        let mut sample = Vec::with_capacity(count as usize);
        let mut passed = 0;
        let mut rects = self.rects.iter();
        let mut rect = rects.next();
        for i in 0..count {
            let wanted = (u128::from(i) * u128::from(self.mismatches) / u128::from(count)) as u64;
            // Not always the same column.
            let step = self.mismatches / count;
            let wanted = wanted + crate::random::mix(i) % step.max(1);
            while let Some(here) = rect
                && wanted >= passed + here.area()
            {
                passed += here.area();
                rect = rects.next();
            }
            let Some(here) = rect else { break };
            let inside = (wanted - passed) as usize;
            sample.push([
                here.rows[0] + inside / here.width(),
                here.columns[0] + inside % here.width(),
            ]);
        }
        sample
    }
}
