//! An epilogue, and whether it gives D.

use std::collections::BTreeMap;

use super::function::Function;
use super::points::{Point, Points};
use crate::diagnose::Case;
use crate::diagnose::estimate::value;
use crate::num::{Format, Rounding, round_code};

/// A number for every row, counted over all matrices, or for every column.
pub type Table = BTreeMap<usize, f32>;

/// An epilogue: factors, scales, biases and a function, in this order, each in f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// It starts from the sum without C, which it adds or leaves out; else from the requested sum.
    pub bare: bool,
    pub alpha: f32,
    pub beta: Option<f32>,
    pub rows: Option<Table>,
    pub columns: Option<Table>,
    /// A number for every column, and one for every row.
    pub bias: Option<Table>,
    pub row_bias: Option<Table>,
    /// The sum and C are rounded after they were multiplied, then added.
    pub apart: bool,
    /// The requested sum is rounded to D's format before anything is added to it.
    pub twice: bool,
    /// It starts from the requested sum with the request's factors and bias.
    pub finished: bool,
    pub function: Option<Function>,
    /// A kernel of its own applies the function, to numbers of D's format.
    pub stored: bool,
}

impl Formula {
    pub fn requested() -> Formula {
        Formula {
            bare: false,
            alpha: 1.0,
            beta: None,
            rows: None,
            columns: None,
            bias: None,
            row_bias: None,
            apart: false,
            twice: false,
            finished: false,
            function: None,
            stored: false,
        }
    }

    pub fn finished() -> Formula {
        Formula {
            finished: true,
            ..Formula::requested()
        }
    }

    pub fn twice() -> Formula {
        Formula {
            twice: true,
            ..Formula::requested()
        }
    }

    pub fn bare() -> Formula {
        Formula {
            bare: true,
            ..Formula::requested()
        }
    }

    /// Whether kernels may round products of several scales in another order.
    fn is_loose(&self) -> bool {
        self.rows.is_some() && self.columns.is_some()
    }

    /// The number before the function.
    pub fn linear(&self, point: &Point) -> f32 {
        let sum = if self.twice {
            point.rounded
        } else if self.finished {
            point.finished
        } else {
            point.sum(self.bare)
        };
        let mut x = match self.beta {
            Some(beta) if self.apart => self.alpha * sum + beta * point.c,
            Some(beta) => self.alpha.mul_add(sum, beta * point.c),
            None if self.alpha == 1.0 => sum,
            None => self.alpha * sum,
        };
        let of =
            |table: &Option<Table>, at: usize| table.as_ref().and_then(|t| t.get(&at).copied());
        if let Some(scale) = of(&self.rows, point.row) {
            x *= scale;
        }
        if let Some(scale) = of(&self.columns, point.at.column) {
            x *= scale;
        }
        if let Some(bias) = of(&self.bias, point.at.column) {
            x += bias;
        }
        if let Some(bias) = of(&self.row_bias, point.row) {
            x += bias;
        }
        x
    }

    /// If it gives every element: how many bit for bit. The others may differ in the last bits, which depend on how a
    /// function is computed.
    pub fn fits(&self, case: &Case, points: &Points) -> Option<usize> {
        let mut exact = 0;
        for point in &points.all {
            let x = self.linear(point);
            let x = if self.stored {
                stored(x, case.replay.format())
            } else {
                x
            };
            exact += usize::from(self.gives(case, x, point)?);
        }
        Some(exact)
    }

    /// The code that it gives an element, and whether D holds that one, or one that differs only in the last bits of a
    /// function's value.
    pub fn code(&self, case: &Case, point: &Point) -> (u64, bool) {
        let x = self.linear(point);
        let x = if self.stored {
            stored(x, case.replay.format())
        } else {
            x
        };
        let y = match self.function {
            None => x,
            Some(function) => {
                let exactly = function.exactly(x);
                exactly.unwrap_or_else(|| function.value(f64::from(x)) as f32)
            }
        };
        let code = case.replay.convert(u64::from(y.to_bits()));
        (code, self.gives(case, x, point).is_some())
    }

    /// Whether the number before the function is as near to the element as a function is computed.
    pub fn is_near(&self, point: &Point) -> bool {
        let x = f64::from(self.linear(point));
        let slack = slack(x, x);
        point
            .range
            .is_some_and(|[low, high]| low - slack <= x && x <= high + slack)
    }

    /// Whether it gives the element bit for bit; none if it is further away than the last bits of f32.
    fn gives(&self, case: &Case, x: f32, point: &Point) -> Option<bool> {
        let same = |y: f32| {
            let code = case.replay.convert(u64::from(y.to_bits()));
            let format = case.replay.format();
            case.tolerance.accepts(format, code, point.given)
        };
        let y = match self.function {
            None if !self.is_loose() => return same(x).then_some(true),
            None => f64::from(x),
            Some(function) => match function.exactly(x) {
                Some(y) => return same(y).then_some(true),
                None => function.value(f64::from(x)),
            },
        };
        if same(y as f32) {
            return Some(true);
        }
        let slack = slack(f64::from(x), y);
        let [low, high] = point.range?;
        (low - slack <= y && y <= high + slack).then_some(false)
    }
}

/// How far a function's computed value may be from its own: some units in the last place of f32.
fn slack(x: f64, y: f64) -> f64 {
    2f64.powi(-21) * y.abs() + 2f64.powi(-22) * x.abs()
}

/// A number rounded to D's format.
fn stored(x: f32, format: Format) -> f32 {
    let code = u64::from(x.to_bits());
    let rounded = round_code(
        Format::Fp32,
        code,
        format,
        Rounding::NearestEven,
        format.sign_mask() - 1,
    );
    value(format, rounded) as f32
}
