//! Which matrices are multiplied.

use std::ops::Range;

use crate::{Planes, shape_text};

/// `D = A*B + C` over a batch, its shapes checked. A missing C is +0.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    pub a: Planes<'a>,
    pub b: Planes<'a>,
    pub c: Option<Planes<'a>>,
    pub scales: Option<ScalePlanes<'a>>,
    /// Where A is compressed: which rows of B its elements belong to. B then has more rows than `k`.
    pub selected: Option<Selected<'a>>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// The row of B that every element of a compressed A is multiplied by.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'a> {
    /// Row by row, matrix by matrix.
    rows_of_b: &'a [u32],
    /// Elements of a whole row of A, and rows of a whole matrix.
    whole: [usize; 2],
    /// The first row and k of the part that is examined.
    first: [usize; 2],
}

/// The scales of A and B: one for every `block` consecutive k.
#[derive(Clone, Copy, Debug)]
pub struct ScalePlanes<'a> {
    /// M x (K / block), rounded up.
    pub a: Planes<'a>,
    /// (K / block) x N.
    pub b: Planes<'a>,
    pub block: usize,
}

/// Shapes that do not multiply, as a sentence that calls the operands A, B and C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError(pub String);

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ShapeError {}

impl<'a> Problem<'a> {
    /// Pairs operands, which the caller has transposed where needed.
    ///
    /// # Errors
    /// When ranks, batches or inner dimensions do not fit, or C is not of D's shape.
    pub fn new(
        a: Planes<'a>,
        b: Planes<'a>,
        c: Option<Planes<'a>>,
    ) -> Result<Problem<'a>, ShapeError> {
        Problem::of(a, b, c, 1)
    }

    /// As [`Problem::new`], but K may be 0.
    ///
    /// # Errors
    /// As for [`Problem::new`].
    pub fn with_any_k(
        a: Planes<'a>,
        b: Planes<'a>,
        c: Option<Planes<'a>>,
    ) -> Result<Problem<'a>, ShapeError> {
        Problem::of(a, b, c, 0)
    }

    /// The product of a compressed A: every element of it has a row of B in `rows_of_b`. K is that of A.
    ///
    /// # Errors
    /// As for [`Problem::new`], or if there is not one row of B for every element of A.
    pub fn selecting(
        a: Planes<'a>,
        b: Planes<'a>,
        c: Option<Planes<'a>>,
        rows_of_b: &'a [u32],
    ) -> Result<Problem<'a>, ShapeError> {
        let fail = |text: &str| Err(ShapeError(text.to_owned()));
        if a.columns() > b.rows() {
            return fail("a compressed A has fewer columns than B has rows");
        }
        if rows_of_b.len() != a.batches() * a.rows() * a.columns() {
            return fail("a compressed A needs one row of B for each of its elements");
        }
        if rows_of_b.iter().any(|&row| row as usize >= b.rows()) {
            return fail("the metadata of A refer to rows that B does not have");
        }
        let of_same_k = b.part(0..a.columns(), 0..b.columns());
        let selected = Selected {
            rows_of_b,
            whole: [a.columns(), a.rows()],
            first: [0, 0],
        };
        Ok(Problem {
            b,
            selected: Some(selected),
            ..Problem::new(a, of_same_k, c)?
        })
    }

    fn of(
        a: Planes<'a>,
        b: Planes<'a>,
        c: Option<Planes<'a>>,
        smallest_k: usize,
    ) -> Result<Problem<'a>, ShapeError> {
        let fail = |text: String| Err(ShapeError(text));
        for (name, matrix) in [("A", Some(a)), ("B", Some(b)), ("C", c)] {
            let Some(matrix) = matrix else { continue };
            let shape = matrix.tensor().shape();
            if shape.len() < 2 {
                return fail(format!(
                    "{name} has {} dimension{}; a matrix has two, a batch has more (a vector is a matrix of one row or column)",
                    shape.len(),
                    if shape.len() == 1 { "" } else { "s" }
                ));
            }
            let outer = match name {
                "A" => [matrix.batches(), matrix.rows()],
                "B" => [matrix.batches(), matrix.columns()],
                _ => [matrix.rows(), matrix.columns()],
            };
            if outer.contains(&0) || smallest_k > 0 && shape.contains(&0) {
                let sizes = if smallest_k > 0 {
                    "M, N and K"
                } else {
                    "M and N"
                };
                return fail(format!(
                    "{name} is {}: it has no elements, and a product needs {sizes} of at least 1",
                    shape_text(shape)
                ));
            }
        }
        // One B for all matrices of A, as a layer has it.
        let shared = b.batch_shape().is_empty();
        if a.batch_shape() != b.batch_shape() && !shared {
            return fail(format!(
                "the batch dimensions differ: A is {}, B is {} (they must be equal, or B must be one matrix)",
                shape_text(a.tensor().shape()),
                shape_text(b.tensor().shape())
            ));
        }
        let (m, k, n) = (a.rows(), a.columns(), b.columns());
        if k != b.rows() {
            let hint = match (a.rows() == b.rows(), k == b.columns()) {
                (true, true) => {
                    "; A or B would fit if transposed (see `transpose_a`, `transpose_b`)"
                }
                (true, false) => "; A would fit if transposed (see `transpose_a`)",
                (false, true) => "; B would fit if transposed (see `transpose_b`)",
                (false, false) => "",
            };
            return fail(format!(
                "the inner dimensions differ: A is {m}x{k} and B is {}x{n}, so K is {k} for A and {} for B{hint}",
                b.rows(),
                b.rows()
            ));
        }
        let problem = Problem {
            a,
            b,
            c,
            scales: None,
            selected: None,
            m,
            n,
            k,
        };
        if let Some(c) = c {
            let (want, have) = (problem.d_shape(), c.tensor().shape());
            if have != want {
                return fail(format!(
                    "C is {}, but D is {}",
                    shape_text(have),
                    shape_text(&want)
                ));
            }
        }
        Ok(problem)
    }

    /// The product of operands with scales, transposed beforehand as the operands were.
    ///
    /// # Errors
    /// When there is not one scale for every `block` k.
    pub fn with_scales(
        self,
        a: Planes<'a>,
        b: Planes<'a>,
        block: usize,
    ) -> Result<Problem<'a>, ShapeError> {
        let blocks = self.k.div_ceil(block);
        for (name, scales, operand, rows, columns) in [
            ("A", a, self.a, self.m, blocks),
            ("B", b, self.b, blocks, self.n),
        ] {
            let shape = scales.tensor().shape();
            let fits = shape.len() >= 2
                && scales.batch_shape() == operand.batch_shape()
                && (scales.rows(), scales.columns()) == (rows, columns);
            if !fits {
                let mut wanted = operand.batch_shape().to_vec();
                wanted.extend([rows, columns]);
                let have = match shape.len() {
                    0 | 1 => shape_text(shape),
                    _ => {
                        let mut have = scales.batch_shape().to_vec();
                        have.extend([scales.rows(), scales.columns()]);
                        shape_text(&have)
                    }
                };
                return Err(ShapeError(format!(
                    "the scales of {name} are {have}, but one per {block} k of {name} needs {}",
                    shape_text(&wanted)
                )));
            }
        }
        let scales = Some(ScalePlanes { a, b, block });
        Ok(Problem { scales, ..self })
    }

    /// One matrix of the batch.
    pub fn matrix(&self, batch: usize) -> Problem<'a> {
        let one = |planes: Planes<'a>| planes.matrix(batch);
        Problem {
            a: one(self.a),
            b: one(self.b),
            c: self.c.map(one),
            scales: self.scales.map(|scales| ScalePlanes {
                a: one(scales.a),
                b: one(scales.b),
                ..scales
            }),
            selected: self.selected.map(|s| s.moved(batch * s.whole[1], 0)),
            ..*self
        }
    }

    /// Some rows and columns of D.
    pub fn part(&self, rows: Range<usize>, columns: Range<usize>) -> Problem<'a> {
        let across = |planes: Planes<'a>| planes.part(rows.clone(), 0..planes.columns());
        let down = |planes: Planes<'a>| planes.part(0..planes.rows(), columns.clone());
        let selected = self.selected.map(|s| s.moved(rows.start, 0));
        // One row is the product of a row and of the rows of B that it selects.
        let (b, selected) = match selected {
            Some(selected) if rows.len() == 1 && self.a.batch_shape().is_empty() => {
                (down(self.b).picking(selected.row(0, self.k)), None)
            }
            selected => (down(self.b), selected),
        };
        Problem {
            a: across(self.a),
            b,
            selected,
            c: self.c.map(|c| c.part(rows.clone(), columns.clone())),
            scales: self.scales.map(|scales| ScalePlanes {
                a: across(scales.a),
                b: down(scales.b),
                ..scales
            }),
            m: rows.len(),
            n: columns.len(),
            k: self.k,
        }
    }

    /// The elements of D, but only some of their products: C plus those. With scales the range
    /// starts where a block does.
    pub fn part_k(&self, k: Range<usize>) -> Problem<'a> {
        let selected = self.selected.map(|s| s.moved(0, k.start));
        Problem {
            a: self.a.part(0..self.m, k.clone()),
            b: match selected {
                None => self.b.part(k.clone(), 0..self.n),
                Some(_) => self.b,
            },
            selected,
            scales: self.scales.map(|scales| {
                assert!(k.start.is_multiple_of(scales.block), "whole blocks");
                let blocks = k.start / scales.block..k.end.div_ceil(scales.block);
                ScalePlanes {
                    a: scales.a.part(0..self.m, blocks.clone()),
                    b: scales.b.part(blocks, 0..self.n),
                    ..scales
                }
            }),
            k: k.len(),
            ..*self
        }
    }

    /// The rows of D from `first_row` on, matrices of a batch one after another, that `out` has room for: of each
    /// matrix its number, its rows, and their place in `out`.
    pub fn by_matrix<'o>(
        &self,
        first_row: usize,
        mut out: &'o mut [u64],
    ) -> Vec<(usize, Range<usize>, &'o mut [u64])> {
        let Problem { m, n, .. } = *self;
        let mut pieces = Vec::new();
        let mut next = first_row;
        while !out.is_empty() {
            let (batch, row) = (next / m, next % m);
            let count = (m - row).min(out.len() / n);
            let (piece, rest) = out.split_at_mut(count * n);
            (next, out) = (next + count, rest);
            pieces.push((batch, row..row + count, piece));
        }
        pieces
    }

    pub fn batches(&self) -> usize {
        self.a.batches()
    }

    pub fn d_shape(&self) -> Vec<usize> {
        let mut shape = self.a.batch_shape().to_vec();
        shape.extend([self.m, self.n]);
        shape
    }

    /// Multiply-adds of the whole product.
    pub fn work(&self) -> u64 {
        let elements = self.batches() as u64 * self.m as u64 * self.n as u64;
        elements.saturating_mul(self.k as u64)
    }
}

impl<'a> Selected<'a> {
    /// The rows of B for a part that begins so many rows and k later.
    fn moved(self, rows: usize, k: usize) -> Selected<'a> {
        let [row, first] = self.first;
        Selected {
            first: [row + rows, first + k],
            ..self
        }
    }

    /// The rows of B that a row of the part selects.
    pub fn row(&self, row: usize, k: usize) -> &'a [u32] {
        let [above, first] = self.first;
        &self.rows_of_b[(above + row) * self.whole[0] + first..][..k]
    }
}

/// A block of one matrix of D.
#[derive(Clone, Debug)]
pub struct Block {
    pub batch: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}
