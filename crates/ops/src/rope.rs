//! Rotary position embedding, from given cosines and sines.

use std::ops::Range;

use super::arrays::{Rows, needed, only};
use super::float32::{Arith, negated};
use super::row_kernel::{Inputs, OpError, Parameters, Planned, RowKernel};
use super::rule::{Fused, Layout, Rope, RopeArithmetic};
use crate::num::Format;
use crate::tensor::shape_text;

pub struct Kernel<'a> {
    rule: &'a Rope,
    x: Rows<'a>,
    cos: Rows<'a>,
    sin: Rows<'a>,
    layout: Layout,
    heads: usize,
    tokens: usize,
    /// Elements of a head that are rotated: twice as many as there are angles.
    rotated: usize,
    interleaved: bool,
    /// Whether there are angles for every batch.
    per_batch: bool,
}

pub fn plan<'a>(
    rule: &'a Rope,
    inputs: &Inputs<'a>,
    parameters: &Parameters,
) -> Result<Planned<Kernel<'a>>, OpError> {
    only(inputs, &["x", "cos", "sin"])?;
    let (x, cos, sin) = (
        needed(inputs, "x")?,
        needed(inputs, "cos")?,
        needed(inputs, "sin")?,
    );
    let layout = parameters.layout.unwrap_or(rule.layout);
    let shape = x.shape();
    let [.., first, second, dim] = *shape else {
        let reason = format!(
            "it is {}; heads, tokens and the head's elements are three axes",
            shape_text(shape)
        );
        return Err(OpError::new("x", reason));
    };
    let (heads, tokens) = match layout {
        Layout::Bhsd => (first, second),
        Layout::Bshd => (second, first),
    };
    if cos.shape() != sin.shape() {
        let reason = format!(
            "cos is {}, sin {}",
            shape_text(cos.shape()),
            shape_text(sin.shape())
        );
        return Err(OpError::new("sin", reason));
    }
    if cos.format != sin.format {
        let reason = format!("cos is {}, sin {}", cos.format, sin.format);
        return Err(OpError::new("sin", reason));
    }
    let batches = x.rows / (heads * tokens).max(1);
    let per_batch = match cos.rows {
        rows if rows == tokens => false,
        rows if rows == tokens * batches => true,
        rows => {
            let reason = format!("there are angles for {rows} tokens, but {tokens} tokens");
            return Err(OpError::new("cos", reason));
        }
    };
    let thrice = rule.arithmetic == RopeArithmetic::RoundedThrice;
    // Hugging Face keeps every angle twice; others once.
    let rotated = if thrice { cos.columns } else { 2 * cos.columns };
    if rotated > dim || !rotated.is_multiple_of(2) || thrice && rotated != dim {
        let reason = format!(
            "{} numbers per token do not fit heads of {dim} (this variant takes {})",
            cos.columns,
            if thrice {
                "as many"
            } else {
                "half as many, or fewer"
            }
        );
        return Err(OpError::new("cos", reason));
    }
    let fits = matches!(cos.format, Format::Fp32) && !thrice || cos.format == x.format;
    if !fits {
        let reason = format!("it is {}; x is {}", cos.format, x.format);
        return Err(OpError::new("cos", reason));
    }
    let interleaved = parameters.interleaved || rule.interleaved;
    let about = format!(
        "{heads} heads of {dim}, {tokens} tokens, {rotated} elements rotated, pairing {}",
        if interleaved { "neighbours" } else { "halves" }
    );
    let kernel = Kernel {
        rule,
        x,
        cos,
        sin,
        layout,
        heads,
        tokens,
        rotated,
        interleaved,
        per_batch,
    };
    Ok(Planned::like(&x, about, kernel))
}

impl RowKernel for Kernel<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let to = self.x.format;
        for (row, out) in rows.zip(out.chunks_mut(self.x.columns)) {
            let (batch, inside) = (
                row / (self.heads * self.tokens),
                row % (self.heads * self.tokens),
            );
            let token = match self.layout {
                Layout::Bhsd => inside % self.tokens,
                Layout::Bshd => inside / self.heads,
            };
            let angle = if self.per_batch {
                batch * self.tokens
            } else {
                0
            } + token;
            let (cos, sin) = (self.cos.row(a, angle), self.sin.row(a, angle));
            let x = self.x.row(a, row);
            // What is not rotated is not touched: a NaN keeps its bits.
            self.x.codes(row, 0..self.x.columns, out);
            let half = self.rotated / 2;
            for i in 0..half {
                let [low, high] = if self.interleaved {
                    [2 * i, 2 * i + 1]
                } else {
                    [i, i + half]
                };
                let (u, v) = (x[low], x[high]);
                let [first, second] = match &self.rule.arithmetic {
                    RopeArithmetic::RoundedThrice => {
                        let sum = |x: u32, other: u32, at: usize| {
                            let straight = a.through(a.mul(x, cos[at]), to);
                            let rotated = a.through(a.mul(other, sin[at]), to);
                            a.add(straight, rotated)
                        };
                        a.column(low);
                        let first = sum(u, negated(v), low);
                        a.column(high);
                        [first, sum(v, u, high)]
                    }
                    RopeArithmetic::Fused { difference, sum } => {
                        let (c, s) = (cos[i], sin[i]);
                        a.column(low);
                        let first = match difference {
                            Fused::First => a.fma(u, c, negated(a.mul(v, s))),
                            Fused::Second => a.fma(negated(v), s, a.mul(u, c)),
                        };
                        a.column(high);
                        let second = match sum {
                            Fused::First => a.fma(v, c, a.mul(u, s)),
                            Fused::Second => a.fma(u, s, a.mul(v, c)),
                        };
                        [first, second]
                    }
                };
                a.column(low);
                out[low] = a.round(first, to) as u32;
                a.column(high);
                out[high] = a.round(second, to) as u32;
            }
        }
    }
}
