//! Quantised weights times few quantised rows, on CUDA cores: threads add integer sums of parts of blocks, each times two
//! scales, then warps and lanes are added.

use std::ops::Range;

use super::arrays::{Rows, needed, only};
use super::float32::{Arith, Flushing, code};
use super::row_kernel::{Inputs, OpError, Planned, RowKernel};
use super::rule::{BlockWeights, MulMatVecQ};
use super::sums::lanes;
use crate::common::deadline;
use crate::num::Format;
use crate::tensor::shape_text;

/// Elements of a row that share a scale.
const BLOCK: usize = 32;
/// Threads of a warp.
const WARP: usize = 32;
/// Consecutive elements that a thread multiplies.
const RUN: usize = 8;

pub struct Kernel<'a> {
    rule: &'a MulMatVecQ,
    x: Rows<'a>,
    scale: Rows<'a>,
    /// Sums of the blocks of x, of weights whose codes have an offset.
    sums: Option<Rows<'a>>,
    weight: Rows<'a>,
    weight_scale: Rows<'a>,
    warps: usize,
}

pub fn plan<'a>(rule: &'a MulMatVecQ, inputs: &Inputs<'a>) -> Result<Planned<Kernel<'a>>, OpError> {
    let names: &[&str] = match rule.weights {
        BlockWeights::Q8_0 => &["x", "scale", "weight", "weight_scale"],
        BlockWeights::Q4_0 => &["x", "scale", "other", "weight", "weight_scale"],
    };
    only(inputs, names)?;
    let x = codes(inputs, "x", Format::Int8)?;
    let weight = codes(inputs, "weight", rule.weights.codes())?;
    if weight.columns != x.columns || !x.columns.is_multiple_of(BLOCK) {
        let reason = format!(
            "it is {}, and x is {}; both have K codes a row, a multiple of {BLOCK}",
            shape_text(weight.shape()),
            shape_text(x.shape())
        );
        return Err(OpError::new("weight", reason));
    }
    let tokens = x.rows;
    let fits = rule.warps.iter().find(|of| tokens <= of.tokens);
    let warps = fits.map(|of| of.warps).ok_or_else(|| {
        let most = rule.warps.last().map_or(0, |of| of.tokens);
        let reason = format!(
            "it has {tokens} rows; more than {most} go to another kernel, whose order is not known"
        );
        OpError::new("x", reason)
    })?;
    let blocks = |name, of: &Rows| {
        let scales = needed(inputs, name)?;
        let wanted = [of.rows, of.columns / BLOCK];
        if [scales.rows, scales.columns] != wanted || scales.format != Format::Fp16 {
            let reason = format!(
                "it is {} of {}; expected {} of fp16, one for {BLOCK} codes",
                shape_text(scales.shape()),
                scales.format,
                shape_text(&wanted)
            );
            return Err(OpError::new(name, reason));
        }
        Ok(scales)
    };
    let kernel = Kernel {
        rule,
        scale: blocks("scale", &x)?,
        sums: match rule.weights {
            BlockWeights::Q8_0 => None,
            BlockWeights::Q4_0 => Some(blocks("other", &x)?),
        },
        weight_scale: blocks("weight_scale", &weight)?,
        x,
        weight,
        warps,
    };
    kernel.confirm_codes()?;
    Ok(Planned {
        output: "y",
        format: Format::Fp32,
        shape: vec![tokens, weight.rows],
        about: format!("{warps} warps, for {tokens} rows of x"),
        kernel,
    })
}

/// A matrix of codes in this format.
fn codes<'a>(inputs: &Inputs<'a>, name: &'static str, format: Format) -> Result<Rows<'a>, OpError> {
    let tensor = inputs
        .get(name)
        .ok_or_else(|| OpError::new(name, format!("`{name}` is missing")))?;
    if tensor.format() != format {
        let reason = format!("it is {}; expected {format}", tensor.format());
        return Err(OpError::new(name, reason));
    }
    match tensor.shape() {
        [rows, columns] if rows * columns > 0 => Ok(Rows::of(tensor)),
        shape => {
            let reason = format!(
                "it is {}; expected rows of K codes, not packed",
                shape_text(shape)
            );
            Err(OpError::new(name, reason))
        }
    }
}

impl Kernel<'_> {
    /// Refuses bytes of two codes each.
    fn confirm_codes(&self) -> Result<(), OpError> {
        if self.rule.weights == BlockWeights::Q8_0 {
            return Ok(());
        }
        let mut row = vec![0; self.weight.columns];
        for i in 0..self.weight.rows {
            self.weight.codes(i, 0..row.len(), &mut row);
            if let Some(code) = row.iter().find(|code| **code > 15) {
                let reason = format!("it holds {code}; codes are 0 to 15, one an element");
                return Err(OpError::new("weight", reason));
            }
        }
        Ok(())
    }

    fn integers(&self, of: &Rows, row: usize) -> Vec<i32> {
        let mut codes = vec![0; of.columns];
        of.codes(row, 0..of.columns, &mut codes);
        let signed = of.format == Format::Int8;
        let integer = |code: u32| {
            if signed {
                i32::from(code as i8)
            } else {
                code as i32
            }
        };
        codes.into_iter().map(integer).collect()
    }

    fn rows<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let columns = self.weight.rows;
        for (row, out) in rows.zip(out.chunks_mut(columns)) {
            let x = self.integers(&self.x, row);
            let scale = self.scale.row(a, row);
            // Each thread takes off half of 8 times the sum of a block.
            let sums = self.sums.as_ref().map(|sums| {
                let sums = sums.row(a, row).into_iter();
                sums.map(|sum| a.mul(code(-4.0), sum)).collect::<Vec<_>>()
            });
            for (column, out) in out.iter_mut().enumerate() {
                deadline::poll();
                a.column(column);
                *out = self.element(a, (&x, &scale, sums.as_deref()), column);
            }
        }
    }

    fn element<A: Arith>(
        &self,
        a: A,
        (x, scale, sums): (&[i32], &[u32], Option<&[u32]>),
        column: usize,
    ) -> u32 {
        let weights = self.integers(&self.weight, column);
        let weight_scale = self.weight_scale.row(a, column);
        // Threads that share a block, each with one or two runs of it.
        let (sharing, second) = match self.rule.weights {
            BlockWeights::Q8_0 => (BLOCK / RUN, None),
            BlockWeights::Q4_0 => (BLOCK / RUN / 2, Some(BLOCK / 2)),
        };
        let threads = WARP * self.warps;
        let mut all = vec![0u32; threads];
        a.stage(format_args!("sums of blocks, by thread"));
        for (block, (&of_x, &of_weight)) in scale.iter().zip(&weight_scale).enumerate() {
            for part in 0..sharing {
                let thread = (block * sharing + part) % threads;
                let first = BLOCK * block + RUN * part;
                let runs = [Some(first), second.map(|second| first + second)];
                let product = |start: usize| -> i32 {
                    let pairs = x[start..start + RUN]
                        .iter()
                        .zip(&weights[start..start + RUN]);
                    pairs.map(|(x, weight)| x * weight).sum()
                };
                let sum: i32 = runs.into_iter().flatten().map(product).sum();
                // At most 16 products of 2^7 by 2^7.
                let sum = code(sum as f32);
                a.noted(|| format!("block {block}, thread {thread}: integers"), sum);
                let sum_of_thread = &mut all[thread];
                *sum_of_thread = match sums {
                    None => a.fma(a.mul(of_weight, of_x), sum, *sum_of_thread),
                    Some(sums) => {
                        let scaled = a.fma(sum, of_x, sums[block]);
                        a.fma(of_weight, scaled, *sum_of_thread)
                    }
                };
            }
        }
        a.stage(format_args!("warps, lane by lane"));
        let (first, others) = all.split_at_mut(WARP);
        for warp in others.chunks(WARP) {
            for (sum, other) in first.iter_mut().zip(warp) {
                *sum = a.add(*sum, *other);
            }
        }
        a.stage(format_args!("lanes"));
        lanes(a, &self.rule.lanes, first)
    }
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
