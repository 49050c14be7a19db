//! AMD CDNA 2: rounded products added in pairs, then to `c`, subnormals flushed all the way.
//!
//! For FP16 and BF16. `span`, the products of one instruction, is a multiple of `group`, and that a power of two.
//!
//! ```text
//! in(x)  = +0 if x is zero or subnormal, of either sign; else x
//! op(x)  = result(x, accumulator, f + 1, rounding); if that is subnormal, the zero of its sign
//!
//! 1. c' = in(c)
//! 2. p_k = op(in(a_k) · in(b_k)) for every product; missing ones are +0
//! 3. for each group of products in turn:   s = op(op(p0 + p1) + op(p2 + p3)),   c' = op(c' + s)
//! 4. d = c'
//! ```
//!
//! With `group` 2, s is `op(p0 + p1)`. Special values and signs of zeros are IEEE 754's. `in` sees C and the results between spans. Inside a
//! span a -0 stays.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_rounding};
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{Format, Formats, Rounding, Target, Unpacked, fma};

/// Constants of a pairwise sum with flushing. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairwiseFlush {
    /// Products per step, which flushes `c` once.
    pub span: usize,
    /// Products added in pairs before `c`.
    pub group: usize,
    /// How every product and sum is rounded.
    pub rounding: Rounding,
    /// The code of a NaN result.
    pub nan: Code,
}

impl StepKind for PairwiseFlush {
    fn span(&self) -> usize {
        self.span
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.span);
        let format = formats.accumulator;
        let c = self.flushed_addend(format, c);
        let products = a.iter().zip(b);
        let products = products.map(|(a, b)| self.product(formats, a, b, &fma));
        let products: Vec<_> = products.collect();
        observer.stage("C, flushed", Vec::new);
        observer.result(format, c);
        for (k, &product) in products.iter().enumerate() {
            observer.stage("product", || vec![k]);
            observer.result(format, product);
        }
        let sum = products.chunks(self.group).fold(c, |c, group| {
            let sum = self.paired(format, group, observer);
            let sum = self.sum(format, c, sum, &fma);
            observer.stage("added to C", Vec::new);
            observer.result(format, sum);
            sum
        });
        // Groups that are missing altogether add +0, after the first of them nothing new.
        if products.len().next_multiple_of(self.group) == self.span {
            return sum;
        }
        let filled_up = self.sum(format, sum, format.zero(false), &fma);
        if filled_up != sum {
            observer.stage("missing products added", Vec::new);
            observer.result(format, filled_up);
        }
        filled_up
    }

    fn summary(&self) -> String {
        format!(
            "{0} products added in pairs, then to C, each operation {1}, subnormals flushed; \
             C flushed every {2} products",
            self.group, self.rounding, self.span
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        let accumulator = formats.accumulator;
        check_group(self.group)?;
        if !self.group.is_power_of_two() {
            return Err(format!(
                "group is {}; it must be a power of two",
                self.group
            ));
        }
        if !(1..=1024).contains(&self.span) || !self.span.is_multiple_of(self.group) {
            return Err("span must be a multiple of group, at most 1024".into());
        }
        check_rounding("rounding", self.rounding)?;
        check_accumulator(accumulator, self.nan)
    }
}

/// A fused multiply-add: of a product, an addend, a target and the code of NaN.
type Fma<'a> =
    &'a dyn Fn(([Format; 2], Unpacked, Unpacked), (Format, Unpacked), Target, u64) -> u64;

impl PairwiseFlush {
    /// C as a step begins with it.
    pub fn flushed_addend(&self, format: Format, c: u64) -> u64 {
        if format.unpack(c).is_below_normal(format) {
            format.zero(false)
        } else {
            c
        }
    }

    /// A product by `fma`.
    pub fn product(&self, formats: Formats, a: &Unpacked, b: &Unpacked, fma: Fma) -> u64 {
        let a = flushed_operand(formats.a, a);
        let b = flushed_operand(formats.b, b);
        // Adding -0 changes no number, and no zero's sign.
        let format = formats.accumulator;
        let nothing = (format, format.unpack(format.zero(true)));
        self.operation(([formats.a, formats.b], a, b), nothing, format, fma)
    }

    /// The sum of a group's products, added in pairs.
    pub fn paired(&self, format: Format, group: &[u64], observer: &mut impl TraceObserver) -> u64 {
        let mut sums = group.to_vec();
        sums.resize(self.group, format.zero(false));
        while sums.len() > 1 {
            let pairs = sums.chunks(2);
            sums = pairs.map(|p| self.sum(format, p[0], p[1], &fma)).collect();
            observer.stage("added in pairs", Vec::new);
            sums.iter().for_each(|&sum| observer.result(format, sum));
        }
        sums[0]
    }

    /// A sum by `fma`.
    pub fn sum(&self, format: Format, x: u64, y: u64, fma: Fma) -> u64 {
        let x = ([format; 2], format.unpack(x), Unpacked::one(format));
        self.operation(x, (format, format.unpack(y)), format, fma)
    }

    fn operation(
        &self,
        product: ([Format; 2], Unpacked, Unpacked),
        addend: (Format, Unpacked),
        format: Format,
        fma: Fma,
    ) -> u64 {
        let target = Target::full(format, self.rounding);
        let result = fma(product, addend, target, self.nan.0);
        let number = format.unpack(result);
        if number.is_below_normal(format) {
            format.zero(number.negative)
        } else {
            result
        }
    }
}

fn flushed_operand(format: Format, number: &Unpacked) -> Unpacked {
    if number.is_below_normal(format) {
        format.unpack(format.zero(false))
    } else {
        *number
    }
}
