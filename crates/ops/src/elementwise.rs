//! Operations of single elements.

use std::ops::Range;

use super::arrays::{Rows, needed, only, optional, per_column, same_format, same_shape};
use super::float32::{
    Arith, Exponential, Flushing, ONE, divide, ex2_approx, exp2f, expf, expf_parts, exponential,
    negated, rcp_approx, rsqrt_approx, tanhf,
};
use super::row_kernel::{Inputs, OpError, Planned, RowKernel};
use super::rule::{Rule, Sigmoid, Silu};
use crate::num::Format;

pub struct Elementwise<'a> {
    rule: &'a Rule,
    x: Rows<'a>,
    /// The second operand: as x, or one row for all.
    y: Option<Rows<'a>>,
    /// x and y are halves of one array.
    halves: bool,
}

pub fn plan<'a>(rule: &'a Rule, inputs: &Inputs<'a>) -> Result<Planned<Elementwise<'a>>, OpError> {
    let floats = |x: Rows<'a>| match x.format {
        Format::Fp32 => Ok(x),
        other => Err(OpError::new(
            "x",
            format!("it is {other}; this operation takes fp32"),
        )),
    };
    let mut halves = false;
    let (x, y) = match rule {
        Rule::Add(_) | Rule::Div(_) => {
            only(inputs, &["x", "other"])?;
            let x = needed(inputs, "x")?;
            let x = match rule {
                Rule::Div(_) => floats(x)?,
                _ => x,
            };
            let y = needed(inputs, "other")?;
            same_shape(&x, "other", &y)?;
            same_format(&x, "other", &y)?;
            (x, Some(y))
        }
        Rule::Bias(_) => {
            only(inputs, &["x", "bias"])?;
            let (x, bias) = (needed(inputs, "x")?, needed(inputs, "bias")?);
            per_column(&x, "bias", &bias)?;
            same_format(&x, "bias", &bias)?;
            (x, Some(bias))
        }
        Rule::SiluAndMul(_) => {
            only(inputs, &["x", "up"])?;
            let (x, up) = (needed(inputs, "x")?, optional(inputs, "up")?);
            match &up {
                Some(up) => {
                    same_shape(&x, "up", up)?;
                    same_format(&x, "up", up)?;
                }
                None if x.columns.is_multiple_of(2) => halves = true,
                None => {
                    let reason = "it has an odd number of columns; without `up`, silu of its first half is \
                                  multiplied by its second half";
                    return Err(OpError::new("x", reason));
                }
            }
            (x, up)
        }
        Rule::Silu(_) | Rule::Gelu(_) => {
            only(inputs, &["x"])?;
            (needed(inputs, "x")?, None)
        }
        _ => {
            only(inputs, &["x"])?;
            (floats(needed(inputs, "x")?)?, None)
        }
    };
    let about = if halves {
        "element by element; x holds gate and up side by side"
    } else {
        "element by element"
    };
    let kernel = Elementwise { rule, x, y, halves };
    let mut planned = Planned::like(&x, about.to_owned(), kernel);
    if halves && let Some(columns) = planned.shape.last_mut() {
        *columns /= 2;
    }
    Ok(planned)
}

impl RowKernel for Elementwise<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let ftz = match self.rule {
            Rule::RcpApprox(rule)
            | Rule::RsqrtApprox(rule)
            | Rule::Ex2Approx(rule)
            | Rule::Expf(rule)
            | Rule::Exp2f(rule)
            | Rule::Tanhf(rule)
            | Rule::Sqrt(rule)
            | Rule::Add(rule)
            | Rule::Bias(rule)
            | Rule::Gelu(rule) => rule.ftz,
            Rule::Div(rule) => rule.ftz,
            Rule::Silu(rule) => rule.ftz,
            Rule::SiluAndMul(rule) => rule.silu.ftz,
            _ => false,
        };
        if ftz {
            self.rows(Flushing(a), rows, out, true)
        } else {
            self.rows(a, rows, out, false)
        }
    }
}

impl Elementwise<'_> {
    fn rows<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32], ftz: bool) {
        let columns = if self.halves {
            self.x.columns / 2
        } else {
            self.x.columns
        };
        for (row, out) in rows.zip(out.chunks_mut(columns)) {
            let x = self.x.read(a, row, 0..columns);
            let y = match (&self.y, self.halves) {
                (_, true) => self.x.read(a, row, columns..2 * columns),
                (Some(y), _) if y.rows == 1 => y.row(a, 0),
                (Some(y), _) => y.row(a, row),
                (None, _) => Vec::new(),
            };
            let to = self.x.format;
            macro_rules! each {
                (|$x:ident| $value:expr) => {
                    for (i, (out, $x)) in out.iter_mut().zip(x).enumerate() {
                        a.column(i);
                        *out = a.round($value, to) as u32;
                    }
                };
                (|$x:ident, $y:ident| $value:expr) => {
                    for (i, ((out, $x), $y)) in out.iter_mut().zip(x).zip(y).enumerate() {
                        a.column(i);
                        *out = a.round($value, to) as u32;
                    }
                };
            }
            match self.rule {
                Rule::RcpApprox(_) => each!(|x| rcp_approx(a, x, ftz)),
                Rule::RsqrtApprox(_) => each!(|x| rsqrt_approx(a, x, ftz)),
                Rule::Ex2Approx(_) => each!(|x| ex2_approx(a, x, ftz)),
                Rule::Expf(_) => each!(|x| expf(a, x)),
                Rule::Exp2f(_) => each!(|x| exp2f(a, x, ftz)),
                Rule::Tanhf(_) => each!(|x| tanhf(a, x)),
                Rule::Sqrt(_) => each!(|x| a.sqrt(x)),
                Rule::Div(rule) => each!(|x, y| divide(a, rule.divide, x, y, ftz)),
                Rule::Add(_) | Rule::Bias(_) => each!(|x, y| a.add(x, y)),
                Rule::Silu(rule) => each!(|x| silu(a, rule, x)),
                Rule::Gelu(_) => each!(|x| gelu(a, x)),
                Rule::SiluAndMul(rule) => each!(|x, y| {
                    let gate = silu(a, &rule.silu, x);
                    let gate = if rule.rounded_between {
                        a.through(gate, to)
                    } else {
                        gate
                    };
                    a.mul(gate, y)
                }),
                _ => unreachable!("planned elsewhere"),
            }
        }
    }
}

/// x / (1 + e^-x), not yet rounded to the type.
#[inline(always)]
pub fn silu<A: Arith>(a: A, rule: &Silu, x: u32) -> u32 {
    let minus = negated(x);
    let sum = match (rule.fused_one, rule.exponential) {
        (true, Exponential::Expf) => {
            let [significand, power] = expf_parts(a, minus);
            a.fma(significand, power, ONE)
        }
        (_, how) => a.add(ONE, exponential(a, how, minus, rule.ftz)),
    };
    match rule.form {
        Sigmoid::Quotient => divide(a, rule.divide, x, sum, rule.ftz),
        Sigmoid::Product => a.mul(x, divide(a, rule.divide, ONE, sum, rule.ftz)),
    }
}

/// The form with tanh, not yet rounded to the type.
#[inline(always)]
pub fn gelu<A: Arith>(a: A, x: u32) -> u32 {
    let cube = a.mul(a.mul(x, x), x);
    let inner = a.mul(0x3f4c_422a, a.fma(cube, 0x3d37_2713, x));
    a.mul(a.add(ONE, tanhf(a, inner)), a.mul(0x3f00_0000, x))
}
