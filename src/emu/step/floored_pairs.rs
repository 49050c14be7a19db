//! AMD RDNA 4: pairs of products floored to a grid of their own, then added to C on a common one.
//!
//! The instructions are WMMA and DOT2 of FP16 and BF16. Constants mean what they mean in `complement_dot`; `least_leading` is never null.
//! `vanishing_c` is -4096 to 4096, or null. One group:
//!
//! ```text
//! 1. products   as in complement_dot; subnormal numbers are kept
//! 2. pairs      neighbours are added: F = the larger of the two over nonzero products,
//!                 S = q · Σ floor(p / q), with q = 2^(F - product_bits); if both are zero, S = 0
//! 3. grid       g = max(largest F of the group's nonzero products - product_bits,
//!                       max(lead of c, least_leading) - leading_bits)
//! 4. total      T = Σ floor(S / 2^g) + floor(c / 2^g); c counts 0 if |c| < 2^g,
//!                 unless vanishing_c is given and g <= vanishing_c: then a negative c counts -1
//!                 d = result(T · 2^g, accumulator, f + 1, rne); an fp32 zero is +0; bf16 is its upper half
//! 5. special    as in complement_dot
//! ```
//!
//! *Example* (`groups.size` 4). 1 · 1 with c = -2^-40: g is -24, c counts 0, and the result is `3f800000`. In bf16, 2^-53 · 2^-53 with
//! c = -2^-149: g is -130, and the result is `0a800000`; with `vanishing_c` -126 it is `0a7fffff`.

use serde::{Deserialize, Serialize};

use super::chained::{Group, Groups, NEVER, Nans, check, largest, round};
use super::kind::{Products, StepKind};
use super::term::{Term, floor_to, leading, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats};

/// Constants of a dot-add of floored pairs. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlooredPairs {
    pub groups: Groups,
    /// Fraction bits kept below the largest sum of operands' exponents.
    pub product_bits: u32,
    /// Bits kept below C's highest bit.
    pub leading_bits: u32,
    /// The least that C's highest bit counts as.
    pub least_leading: i32,
    /// The largest grid on which a negative C of less than one unit counts as minus one; null: it counts as zero on all.
    pub vanishing_c: Option<i32>,
    pub nan: Nans,
}

impl StepKind for FlooredPairs {
    fn span(&self) -> usize {
        self.groups.span()
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let formats = products.formats;
        let add = |group: &Group, c, observer: &mut _| self.group(formats, group, c, observer);
        self.groups.chain(products, c, observer, add)
    }

    fn summary(&self) -> String {
        format!(
            "{}: pairs floored to {} bits below the operands' exponents, C to {} below its highest bit, result rounded to \
             nearest even",
            self.groups.summary(),
            self.product_bits,
            self.leading_bits
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        self.groups.check()?;
        let least = Some(self.least_leading);
        check(formats, self.product_bits, self.leading_bits, least)?;
        let vanishing_c = self.vanishing_c.unwrap_or(0);
        if !(-4096..=4096).contains(&vanishing_c) {
            return Err("vanishing_c must lie within 4096 of 0".into());
        }
        self.nan.check(formats.accumulator)
    }

    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }
}

impl FlooredPairs {
    /// Rounds the sum `total * 2^grid` of a group.
    pub fn close(&self, format: Format, total: i128, grid: i32) -> u64 {
        round(format, total, grid, false)
    }

    fn group<O: TraceObserver>(
        &self,
        formats: Formats,
        group: &Group,
        code: u64,
        observer: &mut O,
    ) -> u64 {
        let format = formats.accumulator;
        if let Some(code) = self.nan.special(format, &group.pairs, code) {
            observer.stage("group", || group.k().collect());
            return code;
        }
        let products = group.products(formats);
        let c = Term::addend(format, format.unpack(code));

        let exponent = largest(&products);
        let lead = leading(c.magnitude, c.lsb);
        let lead = lead.map_or(self.least_leading, |lead| lead.max(self.least_leading));
        let by_c = lead - self.leading_bits as i32;
        let grid = exponent.map_or(by_c, |exponent| {
            by_c.max(exponent - self.product_bits as i32)
        });

        let (mut total, mut sums) = (0, Vec::new());
        for (first, pair) in products.chunks(2).enumerate() {
            let first = 2 * first;
            let Some(exponent) = largest(pair) else {
                continue;
            };
            let own = exponent - self.product_bits as i32;
            let here = first.min(group.there)..(first + 2).min(group.there);
            observer.stage("pair", || here.map(|i| group.first + i).collect());
            observer.aligned(exponent, own);
            let mut sum = 0;
            for (i, product) in (first..).zip(pair) {
                let value = signed(product.negative, product.magnitude);
                let kept = floor_to(value, product.lsb, own);
                let source = match group.source(i) {
                    Source::Product(i) => Source::Product(i - first),
                    missing => missing,
                };
                observer.term(|| product.or_zero(NEVER).kept(source, kept, own));
                sum += kept;
            }
            observer.sum(sum, own, false);
            let kept = floor_to(sum, own, grid);
            sums.push((first, Term::sum(sum, own, exponent), kept));
            total += kept;
        }
        // In units of products' exponents.
        let competes = by_c + self.product_bits as i32;
        let most = exponent.map_or(competes, |exponent| exponent.max(competes));
        observer.stage("group", || group.k().collect());
        observer.aligned(most, grid);
        for (first, sum, kept) in sums {
            let count = group.there.saturating_sub(first).min(2);
            let source = match count {
                0 => Source::Missing,
                _ => Source::Products { first, count },
            };
            observer.term(|| sum.kept(source, kept, grid));
        }
        let value = signed(c.negative, c.magnitude);
        let vanishes = floor_to(value.abs(), c.lsb, grid) == 0;
        let kept = match self.vanishing_c {
            _ if !vanishes => floor_to(value, c.lsb, grid),
            Some(from) if grid <= from => floor_to(value, c.lsb, grid),
            _ => 0,
        };
        let c = Term {
            exponent: competes,
            ..c
        };
        observer.term(|| c.kept(Source::Addend, kept, grid));
        let total = total + kept;
        observer.sum(total, grid, false);
        self.close(format, total, grid)
    }
}
