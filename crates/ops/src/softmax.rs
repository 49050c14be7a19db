//! Softmax over the last axis.

use std::ops::Range;

use super::arrays::{Rows, needed, only};
use super::float32::{Arith, Exponential, MINUS_INFINITY, divide, expf_parts, exponential, max};
use super::row_kernel::{Inputs, OpError, Planned, RowKernel};
use super::rule::{Lanes, Softmax};
use super::sums::lanes;

pub struct Kernel<'a> {
    rule: &'a Softmax,
    x: Rows<'a>,
}

pub fn plan<'a>(rule: &'a Softmax, inputs: &Inputs<'a>) -> Result<Planned<Kernel<'a>>, OpError> {
    only(inputs, &["x"])?;
    let x = needed(inputs, "x")?;
    let way = Way::of(rule, x.columns);
    let about = match way {
        Way::Warp => format!("rows of {}, a warp each", x.columns),
        Way::Registers | Way::Vectors => format!(
            "rows of {}, a block of {} threads each{}",
            x.columns,
            threads(rule, x.columns),
            if way == Way::Registers {
                ", in registers"
            } else {
                ""
            }
        ),
    };
    if way == Way::Vectors {
        let vector = rule.vector_bytes / x.format.bytes();
        if !x.columns.is_multiple_of(vector) {
            let reason = format!(
                "rows of {} elements are not a multiple of {vector}, so not all begin aligned; how the kernel treats \
                 their first elements is not modelled",
                x.columns
            );
            return Err(OpError::new("x", reason));
        }
    }
    Ok(Planned::like(&x, about, Kernel { rule, x }))
}

/// Who has a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A warp.
    Warp,
    /// A block, element by element.
    Registers,
    /// A block, vector by vector.
    Vectors,
}

impl Way {
    fn of(rule: &Softmax, columns: usize) -> Way {
        match columns {
            _ if columns <= rule.longest_of_warp => Way::Warp,
            _ if columns.div_ceil(threads(rule, columns)) <= rule.registers => Way::Registers,
            _ => Way::Vectors,
        }
    }
}

fn threads(rule: &Softmax, columns: usize) -> usize {
    columns.min(rule.most_threads).next_multiple_of(32)
}

impl RowKernel for Kernel<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let columns = self.x.columns;
        for (row, out) in rows.zip(out.chunks_mut(columns)) {
            let x = self.x.row(a, row);
            let largest = x.iter().fold(MINUS_INFINITY, |largest, &x| max(largest, x));
            a.noted(|| "the largest of the row".to_owned(), largest);
            match Way::of(self.rule, columns) {
                Way::Warp => self.by_warp(a, x, largest, out),
                Way::Registers => self.by_block(a, x, largest, (1, columns), out),
                Way::Vectors => {
                    let bytes = self.x.format.bytes();
                    let vector = self.rule.vector_bytes / bytes;
                    let whole = if columns * bytes < self.rule.shared_bytes {
                        columns
                    } else {
                        columns - columns % (vector * threads(self.rule, columns))
                    };
                    self.by_block(a, x, largest, (vector, whole), out);
                }
            }
        }
    }
}

impl Kernel<'_> {
    /// Lane l has elements l, l + 32, ...; exponentials are kept, so they are rounded before they are added.
    fn by_warp<A: Arith>(&self, a: A, x: Vec<u32>, largest: u32, out: &mut [u32]) {
        let width = x.len().next_power_of_two().min(32);
        a.stage(format_args!("e^(x - max)"));
        let how = self.rule.exponential;
        let powers = x
            .into_iter()
            .map(|x| exponential(a, how, a.sub(x, largest), false));
        let powers: Vec<u32> = powers.collect();
        a.stage(format_args!("added by {width} lanes"));
        let mut sums = vec![0; width];
        for (i, &power) in powers.iter().enumerate() {
            let sum = &mut sums[i % width];
            *sum = a.add(*sum, power);
        }
        let sum = lanes(a, &Lanes::Exchange, &sums);
        self.divided(a, powers, sum, out);
    }

    /// Vectors in turn, and single elements after the first `whole`.
    fn by_block<A: Arith>(
        &self,
        a: A,
        x: Vec<u32>,
        largest: u32,
        (vector, whole): (usize, usize),
        out: &mut [u32],
    ) {
        let threads = threads(self.rule, x.len());
        let how = self.rule.exponential;
        a.stage(format_args!("e^(x - max), added by {threads} threads"));
        let mut sums = vec![0; threads];
        for (i, &x) in x.iter().enumerate() {
            let thread = if i < whole {
                i / vector % threads
            } else {
                (i - whole) % threads
            };
            let (sum, shifted) = (&mut sums[thread], a.sub(x, largest));
            *sum = match (self.rule.fused_sum, how) {
                (true, Exponential::Expf) => {
                    let [significand, power] = expf_parts(a, shifted);
                    a.fma(significand, power, *sum)
                }
                _ => a.add(*sum, exponential(a, how, shifted, false)),
            };
        }
        a.stage(format_args!("lanes, then warps"));
        let mut warps: Vec<u32> = sums
            .chunks(32)
            .map(|warp| lanes(a, &Lanes::Down, warp))
            .collect();
        warps.resize(32, 0);
        let sum = lanes(a, &Lanes::Down, &warps);
        a.stage(format_args!("e^(x - max) again"));
        let powers = x.into_iter().enumerate().map(|(i, x)| {
            a.column(i);
            exponential(a, how, a.sub(x, largest), false)
        });
        self.divided(a, powers.collect(), sum, out);
    }

    fn divided<A: Arith>(&self, a: A, powers: Vec<u32>, sum: u32, out: &mut [u32]) {
        a.stage(format_args!("divided by the sum"));
        for (i, (out, power)) in out.iter_mut().zip(powers).enumerate() {
            a.column(i);
            let value = divide(a, self.rule.divide, power, sum, false);
            *out = a.round(value, self.x.format) as u32;
        }
    }
}
