//! AMD RDNA 4: pairs of products floored to a grid of their own, then added to C on a common one.

use serde::{Deserialize, Serialize};

use super::chained::{Group, Groups, NEVER, Nans, check, largest, round};
use super::kind::{Products, StepKind};
use super::term::{Term, floor_to, leading, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats};

/// Constants of a dot-add of floored pairs. An instruction takes its products in groups; a group's result is the next one's
/// C. One group, with integer significands throughout; *floored* means rounded toward minus infinity:
///
/// 1. Operands are taken apart without normalising. `F` of a product is the sum of its operands' exponents.
/// 2. Products are added in pairs of neighbours: both are floored to multiples of `2^(F - product_bits)`, with
///    `F` the larger of the pair's that are not zero, and added exactly.
/// 3. The grid is `2^g`, with `g` the larger of `F - product_bits` for the largest `F` of the group's products that are not
///    zero, and `lead - leading_bits`, `lead` being the exponent of C's highest bit, but at least `least_leading`.
/// 4. The pairs' sums and C are floored to the grid and added exactly. A C of less than one unit counts as zero; a negative
///    one as -1, as the floor has it, if `vanishing_c` is given and `g` does not exceed it.
/// 5. The sum is rounded to nearest even: to FP32 or directly to FP16, subnormal numbers kept; of BF16 the upper half of the
///    FP32 result is taken. A result of zero is +0.
/// 6. NaNs: `nan.operand` if an operand is one; `nan.invalid` for infinity times zero, or infinities of both signs;
///    otherwise C's, made quiet.
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

    fn has_schedules(&self) -> bool {
        false
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
