//! AMD RDNA 3 and 3.5: two products and C cut to one grid, terms of the sign that C does not have as one's complements.

use serde::{Deserialize, Serialize};

use super::chained::{Group, Groups, NEVER, Nans, check, largest, round};
use super::kind::{Products, StepKind};
use super::term::{Term, leading};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Unpacked};

/// Constants of a dot-add in one's complement. An instruction takes its products in groups; a group's result is the next
/// one's C. One group, with integer significands throughout:
///
/// 1. Operands are taken apart without normalising; with `flush_operands` subnormal ones count as zeros, with `flush_sums`
///    a subnormal C does. Signs stay. `F` of a product is the sum of its operands' exponents.
/// 2. If C and all products are zero, the result is +0.
/// 3. The grid is `2^g`, with `g` the larger of `max F - product_bits` over products that are not zero, and
///    `max lead - leading_bits` over C and the products, `lead` being the exponent of a number's highest bit; C's counts at
///    least `least_leading`, if that is given.
/// 4. Every term is truncated toward zero to `n` units of the grid. Terms of C's sign count `n`, the others `-n - 1`:
///    zeros, too, by their signs.
/// 5. The sum, negated if C is negative, is rounded to nearest even: to FP32 or directly to FP16; of BF16 the
///    upper half of the FP32 result is taken. With `flush_sums` a result below the smallest normal number is +0, as a
///    sum of zero always is.
/// 6. NaNs: `nan.operand` if an operand is one; `nan.invalid` for infinity times zero, or infinities of both signs;
///    otherwise C's, made quiet.
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

    fn has_schedules(&self) -> bool {
        false
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
