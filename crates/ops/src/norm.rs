//! RMSNorm and LayerNorm: a row at a time.

use std::ops::Range;

use super::arrays::{Rows, needed, only, optional, per_column, same_format, same_shape};
use super::float32::{Arith, Divide, Flushing, ONE, code, divide, negated, rsqrt_approx};
use super::row_kernel::{Inputs, OpError, Parameters, Planned, RowKernel};
use super::rule::{Fused, LayerNorm, Mean, NormOutput, RmsNorm};
use super::sums::{Block, joined};
use crate::num::Format;

pub struct Rms<'a> {
    rule: &'a RmsNorm,
    x: Rows<'a>,
    weight: Rows<'a>,
    residual: Option<Rows<'a>>,
    block: Block,
    eps: u32,
    /// The residual's sum is the result.
    sum: bool,
}

fn eps(parameters: &Parameters) -> Result<u32, OpError> {
    let missing = || {
        OpError::new(
            "eps",
            "`eps` is missing: the number that is added to the variance",
        )
    };
    let eps = parameters.eps.ok_or_else(missing)?;
    if f32::from_bits(eps) >= 0.0 && f32::from_bits(eps).is_finite() {
        Ok(eps)
    } else {
        Err(OpError::new("eps", "`eps` must be zero or positive"))
    }
}

pub fn rms<'a>(
    rule: &'a RmsNorm,
    inputs: &Inputs<'a>,
    parameters: &Parameters,
) -> Result<Planned<Rms<'a>>, OpError> {
    let names: &[_] = if rule.residual {
        &["x", "residual", "weight"]
    } else {
        &["x", "weight"]
    };
    only(inputs, names)?;
    let (x, weight) = (needed(inputs, "x")?, needed(inputs, "weight")?);
    per_column(&x, "weight", &weight)?;
    let residual = if rule.residual {
        let residual = needed(inputs, "residual")?;
        same_shape(&x, "residual", &residual)?;
        same_format(&x, "residual", &residual)?;
        Some(residual)
    } else {
        None
    };
    same_format(&x, "weight", &weight)?;
    let block = Block::of(&rule.sum.threads, x.rows, x.columns, x.format.bytes())?;
    let sum = parameters.output.as_deref() == Some("residual");
    let about = format!(
        "rows of {}, {} threads per row, {} at a time",
        x.columns, block.threads, block.vector
    );
    let kernel = Rms {
        rule,
        x,
        weight,
        residual,
        block,
        eps: eps(parameters)?,
        sum,
    };
    Ok(Planned {
        output: if sum { "residual" } else { "y" },
        ..Planned::like(&x, about, kernel)
    })
}

impl RowKernel for Rms<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        if self.rule.ftz {
            self.rows(Flushing(a), rows, out)
        } else {
            self.rows(a, rows, out)
        }
    }
}

impl Rms<'_> {
    fn rows<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let to = self.x.format;
        let weight = self.weight.row(a, 0);
        for (row, out) in rows.zip(out.chunks_mut(self.x.columns)) {
            let mut x = self.x.row(a, row);
            if let Some(residual) = &self.residual {
                a.stage(format_args!("x + residual, rounded to {to}"));
                for (i, (x, r)) in x.iter_mut().zip(residual.row(a, row)).enumerate() {
                    if self.sum {
                        a.column(i);
                    }
                    *x = a.through(a.add(*x, r), to);
                }
            }
            if self.sum {
                for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
                    a.column(i);
                    *out = a.round(x, to) as u32;
                }
                continue;
            }
            a.stage(format_args!(
                "squares, added by {} threads",
                self.block.threads
            ));
            let sums = self.block.squares(a, &self.rule.square, &x);
            let sum = joined(a, &self.rule.sum, sums);
            a.stage(format_args!("mean, plus eps, its reciprocal root"));
            let scale = self.scale(a, sum);
            a.stage(format_args!("x times that, times weight"));
            for (i, ((out, x), w)) in out.iter_mut().zip(x).zip(&weight).enumerate() {
                a.column(i);
                let scaled = a.mul(x, scale);
                let scaled = match self.rule.output {
                    NormOutput::RoundedTwice => a.through(scaled, to),
                    NormOutput::RoundedOnce => scaled,
                };
                *out = a.round(a.mul(scaled, *w), to) as u32;
            }
        }
    }

    fn scale<A: Arith>(&self, a: A, sum: u32) -> u32 {
        let n = code(self.x.columns as f32);
        let ftz = self.rule.ftz;
        let variance = match (&self.rule.mean, self.rule.fused_eps) {
            // The host has the factor.
            (Mean::Factor, false) => a.mul(sum, a.div(ONE, n)),
            (Mean::Factor, true) => {
                let sum = a.fma(sum, a.div(ONE, n), self.eps);
                return rsqrt_approx(a, sum, ftz);
            }
            (Mean::DivideFull, true) => {
                let reciprocal = divide(a, Divide::Full, ONE, n, ftz);
                let sum = a.fma(sum, reciprocal, self.eps);
                return rsqrt_approx(a, sum, ftz);
            }
            (Mean::Divide, _) => a.div(sum, n),
            (Mean::DivideFull, false) => divide(a, Divide::Full, sum, n, ftz),
        };
        rsqrt_approx(a, a.add(variance, self.eps), ftz)
    }
}

pub struct Layer<'a> {
    rule: &'a LayerNorm,
    x: Rows<'a>,
    weight: Option<Rows<'a>>,
    bias: Option<Rows<'a>>,
    eps: u32,
}

pub fn layer<'a>(
    rule: &'a LayerNorm,
    inputs: &Inputs<'a>,
    parameters: &Parameters,
) -> Result<Planned<Layer<'a>>, OpError> {
    only(inputs, &["x", "weight", "bias"])?;
    let x = needed(inputs, "x")?;
    let (weight, bias) = (optional(inputs, "weight")?, optional(inputs, "bias")?);
    for (name, vector) in [("weight", &weight), ("bias", &bias)] {
        if let Some(vector) = vector {
            per_column(&x, name, vector)?;
            same_format(&x, name, vector)?;
        }
    }
    if !x.columns.is_multiple_of(rule.vector) {
        let reason = format!(
            "rows of {} elements are not a multiple of {}: the kernel for such rows is not modelled",
            x.columns, rule.vector
        );
        return Err(OpError::new("x", reason));
    }
    let about = format!("rows of {}, {} threads per row", x.columns, rule.threads);
    let kernel = Layer {
        rule,
        x,
        weight,
        bias,
        eps: eps(parameters)?,
    };
    Ok(Planned::like(&x, about, kernel))
}

/// Mean, sum of squared deviations, and count.
#[derive(Clone, Copy)]
struct Moments {
    mean: u32,
    squares: u32,
    count: u32,
}

impl Moments {
    fn with<A: Arith>(self, a: A, x: u32) -> Moments {
        let delta = a.sub(x, self.mean);
        let count = a.add(self.count, ONE);
        let mean = a.fma(delta, a.div(ONE, count), self.mean);
        let squares = a.fma(delta, a.sub(x, mean), self.squares);
        Moments {
            mean,
            squares,
            count,
        }
    }

    /// Own moments and those that come in.
    fn merged<A: Arith>(self, a: A, other: Moments, fused: &Fused) -> Moments {
        let count = a.add(other.count, self.count);
        if f32::from_bits(count) <= 0.0 {
            return Moments {
                mean: 0,
                squares: 0,
                count,
            };
        }
        let delta = a.sub(self.mean, other.mean);
        let coefficient = a.div(ONE, count);
        let (na, nb) = (
            a.mul(other.count, coefficient),
            a.mul(self.count, coefficient),
        );
        let mean = match fused {
            Fused::First => a.fma(na, other.mean, a.mul(nb, self.mean)),
            Fused::Second => a.fma(nb, self.mean, a.mul(na, other.mean)),
        };
        let between = a.mul(a.mul(delta, delta), other.count);
        let squares = a.fma(between, nb, a.add(other.squares, self.squares));
        Moments {
            mean,
            squares,
            count,
        }
    }
}

impl RowKernel for Layer<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let to: Format = self.x.format;
        let weight = self.weight.map(|weight| weight.row(a, 0));
        let bias = self.bias.map(|bias| bias.row(a, 0));
        let columns = self.x.columns;
        for (row, out) in rows.zip(out.chunks_mut(columns)) {
            let x = self.x.row(a, row);
            let Moments { mean, squares, .. } = self.moments(a, &x);
            a.stage(format_args!("variance, plus eps, its reciprocal root"));
            let variance = a.div(squares, code(columns as f32));
            let scale = rsqrt_approx(a, a.add(variance, self.eps), false);
            a.stage(format_args!(
                "deviations times that, times weight, plus bias"
            ));
            for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
                a.column(i);
                let deviation = a.add(x, negated(mean));
                let normal = || a.mul(scale, deviation);
                // The last product and the bias are one operation to the compiler.
                let value = match (&weight, &bias) {
                    (Some(w), Some(b)) => a.fma(w[i], normal(), b[i]),
                    (Some(w), None) => a.mul(w[i], normal()),
                    (None, Some(b)) => a.fma(scale, deviation, b[i]),
                    (None, None) => normal(),
                };
                *out = a.round(value, to) as u32;
            }
        }
    }
}

impl Layer<'_> {
    fn moments<A: Arith>(&self, a: A, x: &[u32]) -> Moments {
        let none = Moments {
            mean: 0,
            squares: 0,
            count: 0,
        };
        let mut threads = vec![none; self.rule.threads];
        a.stage(format_args!(
            "Welford's moments of {} threads",
            threads.len()
        ));
        for (i, vector) in x.chunks(self.rule.vector).enumerate() {
            let moments = &mut threads[i % self.rule.threads];
            *moments = vector
                .iter()
                .fold(*moments, |moments, &x| moments.with(a, x));
        }
        a.stage(format_args!("lanes, then warps, merged"));
        let fused = &self.rule.merged_mean;
        let mut warps: Vec<Moments> = Vec::new();
        for warp in threads.chunks_mut(32) {
            for by in [16, 8, 4, 2, 1] {
                for lane in 0..by {
                    warp[lane] = warp[lane].merged(a, warp[lane + by], fused);
                }
            }
            warps.push(warp[0]);
        }
        while warps.len() > 1 {
            let half = warps.len() / 2;
            for i in 0..half {
                warps[i] = warps[i].merged(a, warps[i + half], fused);
            }
            warps.truncate(half);
        }
        warps[0]
    }
}
