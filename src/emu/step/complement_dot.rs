//! AMD RDNA 3 and 3.5: two products and C cut to one grid, terms of the sign that C does not have as one's complements.
//!
//! AMD RDNA 3 and 3.5, WMMA and DOT2 of FP16 and BF16. The accumulator is `fp32`, `fp16` or `bf16`.
//!
//! `product_bits` and `leading_bits` are 1 to 64. Flushed operands and c keep their signs; flushed results are +0.
//! Each group's result is the c of the next. One group:
//!
//! ```text
//! 1. products   p = a · b, exactly; F = the sum of the operands' exponents (a subnormal's is the smallest)
//! 2. zeros      c and all products zero: the result is +0
//! 3. grid       g = max(largest F of nonzero products - product_bits,
//!                       largest lead - leading_bits)
//!                 lead = floor(log2 |t|) of c and of every product t; also least_leading, if it is given
//! 4. terms      n(t) = floor(|t| / 2^g); t counts n(t) if it has c's sign, -n(t) - 1 if not.
//!                 Zeros have signs: with c = +0, a product of -0 counts -1
//! 5. total      T = the sum of all terms, negated if c is negative
//!                 d = result(T · 2^g, accumulator, f + 1, rne); for bf16 the upper half of the fp32 result.
//!                 With flush_sums, +0 below the smallest normal number (rounded with unbounded exponents).
//!                 A T of zero is +0
//! 6. special    a NaN among the group's operands gives nan.operand; else Inf · 0, or products Inf and -Inf, nan.invalid;
//!                 else a NaN c itself, made quiet; else Inf and -Inf among c and products nan.invalid; else the infinity
//! ```
//!
//! *Example* (`groups.size` 2). 1 · 1 + (-1) · 0 with c = +0: the zero product counts -1, and the result is `3f7fffff`.

use serde::{Deserialize, Serialize};

use super::chained::{Group, Groups, NEVER, Nans, check, largest, round};
use super::kind::{Products, StepKind};
use super::term::{Term, leading};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Unpacked};

/// Constants of a dot-add in one's complement. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComplementDot {
    pub groups: Groups,
    /// Fraction bits kept below the largest sum of operands' exponents.
    pub product_bits: u32,
    /// Bits kept below the highest bit of any term.
    pub leading_bits: u32,
    /// The least that C's highest bit counts as.
    pub least_leading: Option<i32>,
    /// Whether subnormal operands count as zeros.
    pub flush_operands: bool,
    /// Whether subnormal C and results do.
    pub flush_sums: bool,
    pub nan: Nans,
}

impl StepKind for ComplementDot {
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
            "{}: truncated {} bits below the operands' exponents and {} below the highest bit; terms whose sign \
             differs from C's enter as one's complements; result rounded to nearest even",
            self.groups.summary(),
            self.product_bits,
            self.leading_bits
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        self.groups.check()?;
        check(
            formats,
            self.product_bits,
            self.leading_bits,
            self.least_leading,
        )?;
        self.nan.check(formats.accumulator)
    }

    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }
}

impl ComplementDot {
    /// Rounds the sum `total * 2^grid` of a group.
    pub fn close(&self, format: Format, total: i128, grid: i32) -> u64 {
        round(format, total, grid, self.flush_sums)
    }

    fn group<O: TraceObserver>(
        &self,
        formats: Formats,
        group: &Group,
        code: u64,
        observer: &mut O,
    ) -> u64 {
        let format = formats.accumulator;
        let flushed = |x: Unpacked, format, flush| if flush { x.flushed(format) } else { x };
        let flush = self.flush_operands;
        let pairs = group.pairs.iter();
        let pairs =
            pairs.map(|&(a, b)| (flushed(a, formats.a, flush), flushed(b, formats.b, flush)));
        let group = &Group {
            pairs: pairs.collect(),
            ..*group
        };
        observer.stage("group", || group.k().collect());
        if let Some(code) = self.nan.special(format, &group.pairs, code) {
            return code;
        }
        let c = flushed(format.unpack(code), format, self.flush_sums);
        let of_c = Term::addend(format, c);
        let products = group.products(formats);

        let c_leading = leading(of_c.magnitude, of_c.lsb);
        let exponent = largest(&products);
        if c_leading.is_none() && exponent.is_none() {
            return format.zero(false);
        }
        let leads = products.iter().filter_map(|p| leading(p.magnitude, p.lsb));
        let lead = leads.chain(c_leading).chain(self.least_leading).max();
        let by_leading = lead.map(|lead| lead - self.leading_bits as i32);
        let by_exponent = exponent.map(|exponent| exponent - self.product_bits as i32);
        let grid = by_leading.max(by_exponent).unwrap_or(0);
        // A number whose highest bit alone decides competes as a product of so much lower an exponent.
        let below = self.leading_bits as i32 - self.product_bits as i32;
        let competes = |lead: Option<i32>| lead.map_or(NEVER, |lead| lead - below);
        let of = |p: &Term| p.exponent.max(competes(leading(p.magnitude, p.lsb)));
        let nonzero = products.iter().filter(|product| product.magnitude != 0);
        let most = nonzero.map(of).max().unwrap_or(NEVER);
        observer.aligned(most.max(competes(c_leading)), grid);

        // In the frame of C's sign.
        let term = |negative: bool, units: i128| {
            if negative == c.negative {
                units
            } else {
                !units
            }
        };
        let in_place = |units: i128| if c.negative { -units } else { units };
        let mut total = 0;
        for (i, product) in products.iter().enumerate() {
            let units = term(product.negative, cut(product, grid));
            let competing = Term {
                exponent: of(product),
                ..*product
            };
            let competing = competing.or_zero(NEVER);
            observer.term(|| competing.kept(group.source(i), in_place(units), grid));
            total += units;
        }
        let units = cut(&of_c, grid);
        let exponent = competes(c_leading);
        let of_c = Term { exponent, ..of_c };
        observer.term(|| of_c.kept(Source::Addend, in_place(units), grid));
        let total = in_place(total + units);
        observer.sum(total, grid, false);
        self.close(format, total, grid)
    }
}

/// The units of `2^grid` in a term's magnitude, cut off below.
fn cut(term: &Term, grid: i32) -> i128 {
    let magnitude = Term {
        negative: false,
        ..*term
    };
    magnitude.align(grid, Rounding::TowardZero)
}
