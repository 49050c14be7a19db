//! Block-scaled FP4 by the other published rule for Blackwell: a window for products, another where C prevails.
//!
//! Published by sf-tensor/tcgen05, for the instructions `tcgen05-mxf4-window` and `tcgen05-mxf4nvf4-window`. Whether a B200 follows this rule
//! or `block_dot` is unknown; docs/inferring.md says how to find out.
//!
//! `part` and `product_part` divide `group` and the rule's `scale.block`. `product_bits`, `scale_bits` and `addend_bits` are 0 to 64, the last
//! at least c's fraction bits. `least_sum` is -4096 to 4096, or null: no line 5.
//!
//! ```text
//! 1. products   a · b · X · Y, exactly. Over nonzero products: R the largest sum of all four exponents, S that of the
//!               two scales' exponents. C is the exponent of c
//! 2. c prevails if c is not zero and C >= R, or if all products are zero:
//!                 every `part` products are added exactly and cut (rz) to 2^(C - addend_bits)
//! 3. products prevail in all other cases: every `product_part` products are added exactly and cut (rz) to 2^q,
//!                 q = max(R - product_bits, S - scale_bits). With addend_cuts, a part whose own R does not exceed C
//!                 is cut to 2^(C - addend_bits), if that is coarser
//! 4. total      the terms and c, cut to the same grid, are added exactly; d = result(total, rz). Zero is +0
//! 5. subnormal  if products prevail and d is subnormal, the total leaves out parts below 2^least_sum whose scales'
//!               exponents are below S
//! 6. special    as in block_dot
//! ```
//!
//! *Example* (`ue8m0`, `part` 16). 2^-149 in one block, -2^-176 in another, c = 0: d is `00000000`. `block_dot`, whose zeros count with -139,
//! gives `00000001`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group, check_narrow_operands, check_part};
use super::kind::{Products, ScaleUse, StepKind};
use super::special::{special, without_minus_zero};
use super::term::{Term, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Target, Unpacked};

/// Constants of a dot-add with two windows. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockWindow {
    /// Products per step.
    pub group: usize,
    /// Products added before they are cut, where C prevails.
    pub part: usize,
    /// Products added before they are cut, where products prevail.
    pub product_part: usize,
    /// Bits kept below the largest exponent of a product.
    pub product_bits: u32,
    /// Bits kept below the largest exponent of a pair of scales.
    pub scale_bits: u32,
    /// Bits kept below C's exponent.
    pub addend_bits: u32,
    /// Whether C's window also cuts parts that do not exceed it, where other parts do.
    pub addend_cuts: bool,
    /// The least sum of a part that counts beside larger scales in a subnormal result.
    pub least_sum: Option<i32>,
    /// The code of a NaN result.
    pub nan: Code,
}

/// A product of operands and scales, or the exact sum of some.
#[derive(Clone, Copy, Debug)]
pub struct ScaledProduct {
    negative: bool,
    pub magnitude: u128,
    lsb: i32,
    /// The largest sums of exponents of products that are not zero: of all four factors, and of their scales.
    exponents: Option<[i32; 2]>,
}

/// Terms in units of `2^grid`.
#[derive(Clone, Debug)]
pub struct Windows {
    pub grid: i32,
    /// Products of a part.
    count: usize,
    parts: Vec<ScaledProduct>,
    /// What is kept of each part.
    pub kept: Vec<i128>,
    addend: i128,
    /// The largest exponents, where products prevail.
    prevailing: Option<[i32; 2]>,
}

impl StepKind for BlockWindow {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products {
            formats,
            a,
            b,
            scales,
        } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let accumulator = formats.accumulator;
        let scale = formats.scale.expect("checked when the model was read");
        let scales = scales.expect("a problem has the scales of its model");
        let scales = scales.map(|codes| {
            let unpacked = codes.iter().map(|&code| scale.format.unpack(code.into()));
            unpacked.collect::<Vec<_>>()
        });
        let c = accumulator.unpack(c);
        let terms = (&scales[0][..], &scales[1][..], c);
        if let Some(code) = special(terms, |_, _| false, (accumulator, self.nan.0)) {
            return code;
        }

        let products = self.products(products);
        let mut windows = self.windows(formats, &products, c);
        let sum = self.sum(accumulator, &mut windows);
        self.show(&windows, a.len(), accumulator, c, observer);
        observer.sum(sum, windows.grid, false);
        self.close(accumulator, sum, windows.grid)
    }

    fn summary(&self) -> String {
        format!(
            "dot-add of {} products in two windows: exact sums of {}, truncated {} bits below the products and {} \
             below the scales; if C dominates, exact sums of {}, truncated {} bits below it; result truncated",
            self.group,
            self.product_part,
            self.product_bits,
            self.scale_bits,
            self.part,
            self.addend_bits
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        let accumulator = formats.accumulator;
        let scale = formats.scale.ok_or("this step needs scales")?;
        check_group(self.group)?;
        check_part("part", self.part, self.group, scale)?;
        check_part("product_part", self.product_part, self.group, scale)?;
        check_narrow_operands(formats)?;
        for (name, bits) in [
            ("product_bits", self.product_bits),
            ("scale_bits", self.scale_bits),
            ("addend_bits", self.addend_bits),
        ] {
            if bits > 64 {
                return Err(format!("{name} is {bits}; it must be at most 64"));
            }
        }
        let least = accumulator.fraction_bits();
        if self.addend_bits < least {
            return Err(format!(
                "addend_bits is {}; it must be at least {least}, or C alone would be truncated",
                self.addend_bits
            ));
        }
        if self
            .least_sum
            .is_some_and(|least| !(-4096..=4096).contains(&least))
        {
            return Err("least_sum must lie within 4096 of 0".into());
        }
        check_accumulator(accumulator, self.nan)
    }

    fn scaling(&self) -> ScaleUse {
        ScaleUse::Given
    }
}

impl BlockWindow {
    /// Step 1: the products, exactly.
    pub fn products(&self, products: Products) -> Vec<ScaledProduct> {
        let formats = products.formats;
        let scale = formats.scale.expect("checked when the model was read");
        let scales = products
            .scales
            .expect("a problem has the scales of its model");
        let [x, y] = scales.map(|codes| codes.iter().map(|&code| scale.format.unpack(code.into())));
        let operands = products.a.iter().zip(products.b);
        let factors = operands.zip(x.zip(y));
        let all = factors.map(|((a, b), (x, y))| ScaledProduct::new(formats, [a, b], [&x, &y]));
        all.collect()
    }

    /// Steps 2 to 4: parts and C, cut to the grid.
    pub fn windows(&self, formats: Formats, products: &[ScaledProduct], c: Unpacked) -> Windows {
        let by_addend = c.exponent - self.addend_bits as i32;
        let most = largest(products);
        let prevailing = most.filter(|[all, _]| c.is_zero() || c.exponent < *all);
        let (count, grid) = match prevailing {
            Some([all, scales]) => {
                let by_products = all - self.product_bits as i32;
                let by_scales = scales - self.scale_bits as i32;
                (self.product_part, by_products.max(by_scales))
            }
            None => (self.part, by_addend),
        };
        let parts: Vec<_> = products.chunks(count).map(ScaledProduct::of).collect();
        let cut = |part: &ScaledProduct| {
            let reached = |[all, _]: [i32; 2]| !c.is_zero() && c.exponent >= all;
            let own = if self.addend_cuts && part.exponents.is_some_and(reached) {
                grid.max(by_addend)
            } else {
                grid
            };
            part.term(0).align(own, Rounding::TowardZero) << (own - grid)
        };
        Windows {
            grid,
            count,
            kept: parts.iter().map(cut).collect(),
            parts,
            addend: Term::addend(formats.accumulator, c).align(grid, Rounding::TowardZero),
            prevailing,
        }
    }

    /// Steps 4 and 5: the sum in units of `2^grid`, without the parts that count as zero.
    pub fn sum(&self, accumulator: Format, windows: &mut Windows) -> i128 {
        let sum = |windows: &Windows| windows.kept.iter().sum::<i128>() + windows.addend;
        let whole = sum(windows);
        let (Some(least), Some([_, scales])) = (self.least_sum, windows.prevailing) else {
            return whole;
        };
        let rounded = accumulator.unpack(rounded(accumulator, whole, windows.grid));
        if rounded.significand == 0 || rounded.significand >> accumulator.fraction_bits() != 0 {
            return whole;
        }
        let least = 1u128 << (least - windows.grid).clamp(0, 126);
        for (part, kept) in windows.parts.iter().zip(&mut windows.kept) {
            let below = part.exponents.is_some_and(|[_, own]| own < scales);
            if below && kept.unsigned_abs() < least {
                *kept = 0;
            }
        }
        sum(windows)
    }

    /// Rounds the sum `sum * 2^grid`.
    pub fn close(&self, accumulator: Format, sum: i128, grid: i32) -> u64 {
        without_minus_zero(accumulator, rounded(accumulator, sum, grid))
    }

    /// Tells of the parts of `there` products, and of C.
    fn show(
        &self,
        windows: &Windows,
        there: usize,
        accumulator: Format,
        c: Unpacked,
        observer: &mut impl TraceObserver,
    ) {
        let Windows { grid, count, .. } = *windows;
        // Zeros take part in no maximum.
        let exponents = windows.parts.iter();
        let exponents = exponents.filter_map(|part| Some(part.exponents?[0]));
        let exponents = exponents.chain((!c.is_zero()).then_some(c.exponent));
        let (least, most) = (exponents.clone().min(), exponents.max());
        let least = least.unwrap_or(c.exponent);
        observer.aligned(most.unwrap_or(c.exponent), grid);
        for (i, (part, &kept)) in windows.parts.iter().zip(&windows.kept).enumerate() {
            let first = i * count;
            let source = Source::Products {
                first,
                count: count.min(there - first),
            };
            observer.term(|| part.term(least).kept(source, kept, grid));
        }
        let addend = Term::addend(accumulator, c).or_zero(least);
        observer.term(|| addend.trace(Source::Addend, grid, Rounding::TowardZero));
    }
}

/// A sum cut to the accumulator's precision.
fn rounded(accumulator: Format, sum: i128, grid: i32) -> u64 {
    let target = Target::full(accumulator, Rounding::TowardZero);
    target.round(sum < 0, sum.unsigned_abs(), grid, false)
}

impl ScaledProduct {
    fn new(formats: Formats, factors: [&Unpacked; 2], scales: [&Unpacked; 2]) -> ScaledProduct {
        let scale = formats
            .scale
            .expect("checked when the model was read")
            .format;
        let fraction =
            formats.a.fraction_bits() + formats.b.fraction_bits() + 2 * scale.fraction_bits();
        let [a, b] = factors;
        let [x, y] = scales;
        let scales = x.exponent + y.exponent;
        let all = a.exponent + b.exponent + scales;
        let significands = [a, b, x, y].map(|factor| u128::from(factor.significand));
        let magnitude = significands.into_iter().product();
        ScaledProduct {
            negative: a.negative != b.negative,
            magnitude,
            lsb: all - fraction as i32,
            exponents: (magnitude != 0).then_some([all, scales]),
        }
    }

    /// Of neighbours with the same scales.
    fn of(products: &[ScaledProduct]) -> ScaledProduct {
        let nonzero = || products.iter().filter(|product| product.magnitude != 0);
        let lsb = nonzero().map(|product| product.lsb).min().unwrap_or(0);
        let sum: i128 = nonzero()
            .map(|product| signed(product.negative, product.magnitude << (product.lsb - lsb)))
            .sum();
        ScaledProduct {
            negative: sum < 0,
            magnitude: sum.unsigned_abs(),
            lsb,
            exponents: largest(products),
        }
    }

    /// As a term, which counts with the exponent `zero` if all its products are zero.
    fn term(self, zero: i32) -> Term {
        Term {
            negative: self.negative,
            magnitude: self.magnitude,
            lsb: self.lsb,
            exponent: self.exponents.map_or(zero, |[all, _]| all),
        }
    }
}

/// The largest sums of exponents, of all factors and of scales.
fn largest(sums: &[ScaledProduct]) -> Option<[i32; 2]> {
    let exponents = sums.iter().filter_map(|sum| sum.exponents);
    exponents.reduce(|[all, scales], [other, more]| [all.max(other), scales.max(more)])
}
