//! The sum over ranks, the first axis: a binary tree of neighbours, every sum rounded to the type.

use std::ops::Range;

use super::arrays::{Rows, needed, only};
use super::float32::{Arith, Flushing};
use super::row_kernel::{Inputs, OpError, Planned, RowKernel};
use super::rule::Plain;
use crate::tensor::shape_text;

pub struct Kernel<'a> {
    rule: &'a Plain,
    x: Rows<'a>,
    ranks: usize,
    /// Rows of one rank.
    rows: usize,
}

pub fn plan<'a>(rule: &'a Plain, inputs: &Inputs<'a>) -> Result<Planned<Kernel<'a>>, OpError> {
    only(inputs, &["x"])?;
    let x = needed(inputs, "x")?;
    let [ranks, rest @ ..] = x.shape() else {
        return Err(OpError::new(
            "x",
            "it is one number; its first axis is of ranks",
        ));
    };
    if rest.is_empty() || !ranks.is_power_of_two() {
        let reason = format!(
            "it is {}; its first axis is of ranks, a power of two, and others follow",
            shape_text(x.shape())
        );
        return Err(OpError::new("x", reason));
    }
    let kernel = Kernel {
        rule,
        x,
        ranks: *ranks,
        rows: x.rows / ranks,
    };
    let about = format!("{ranks} ranks, in {} rounds", ranks.ilog2());
    let mut planned = Planned::like(&x, about, kernel);
    planned.shape = rest.to_vec();
    Ok(planned)
}

impl RowKernel for Kernel<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        if self.rule.ftz {
            self.rows(Flushing(a), rows, out);
        } else {
            self.rows(a, rows, out);
        }
    }
}

impl Kernel<'_> {
    fn rows<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let to = self.x.format;
        for (row, out) in rows.zip(out.chunks_mut(self.x.columns)) {
            if self.ranks == 1 {
                // Nothing is added: the result is a copy.
                self.x.codes(row, 0..self.x.columns, out);
                continue;
            }
            let of_rank = |rank| self.x.row(a, rank * self.rows + row);
            let ranks: Vec<Vec<u32>> = (0..self.ranks).map(of_rank).collect();
            for (column, out) in out.iter_mut().enumerate() {
                a.column(column);
                let mut sums: Vec<u32> = ranks.iter().map(|rank| rank[column]).collect();
                while sums.len() > 2 {
                    let pairs = sums.chunks_exact(2);
                    sums = pairs
                        .map(|pair| a.through(a.add(pair[0], pair[1]), to))
                        .collect();
                }
                *out = a.round(a.add(sums[0], sums[1]), to) as u32;
            }
        }
    }
}
