//! What AMD's RDNA units have in common: an instruction adds its products a few at a time, and each group's
//! result is the next one's C.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_nan};
use super::kind::Products;
use super::special::without_minus_zero;
use super::term::{Term, fraction_bits, leading};
use super::trace::{Source, TraceObserver};
use crate::num::{Format, Formats, Rounding, Target, Unpacked, shift_right};

/// How the products of an instruction are taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Groups {
    /// Products that are added to C at once.
    pub size: usize,
    /// Which group comes when: group `i` is the products `i * size` to `(i + 1) * size - 1`.
    pub order: Vec<usize>,
}

/// The codes of NaN results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Nans {
    /// An operand of the group is a NaN, whichever.
    pub operand: Code,
    /// Infinity times zero, or infinities of both signs.
    pub invalid: Code,
}

/// Products that are added at once, missing ones as +0 times +0.
pub(super) struct Group {
    /// The first product's place in the instruction.
    pub first: usize,
    /// How many of them are not missing.
    pub there: usize,
    pub pairs: Vec<(Unpacked, Unpacked)>,
}

/// With what a zero competes for the grid: nothing lies so low.
pub(super) const NEVER: i32 = -4096;

impl Group {
    /// Its products, counted within the instruction, missing ones left out.
    pub(super) fn k(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.there
    }

    pub(super) fn products(&self, formats: Formats) -> Vec<Term> {
        let bits = fraction_bits(formats);
        let pairs = self.pairs.iter();
        pairs.map(|(a, b)| Term::product(a, b, bits)).collect()
    }

    /// What a trace calls the product of a pair.
    pub(super) fn source(&self, i: usize) -> Source {
        if i < self.there {
            Source::Product(i)
        } else {
            Source::Missing
        }
    }
}

/// The largest exponent of the products that are not zero.
pub(super) fn largest(products: &[Term]) -> Option<i32> {
    let nonzero = products.iter().filter(|product| product.magnitude != 0);
    nonzero.map(|product| product.exponent).max()
}

/// `total * 2^lsb` to the accumulator's format, to nearest even: BF16 is the upper half of the FP32 result,
/// which is not rounded again. An FP32 or FP16 result of zero is +0.
pub(super) fn round(format: Format, total: i128, lsb: i32, flush: bool) -> u64 {
    let through = match format {
        Format::Bf16 => Format::Fp32,
        _ => format,
    };
    let magnitude = total.unsigned_abs();
    let target = Target::full(through, Rounding::NearestEven);
    let code = target.round(total < 0, magnitude, lsb, false);
    let vanishes = flush && is_tiny(through, magnitude, lsb);
    let code = without_minus_zero(through, if vanishes { 0 } else { code });
    if format == Format::Bf16 {
        code >> 16
    } else {
        code
    }
}

/// Whether a number lies below the format's smallest normal one once it is rounded as if exponents had no end.
fn is_tiny(format: Format, magnitude: u128, lsb: i32) -> bool {
    let Some(top) = leading(magnitude, lsb) else {
        return true;
    };
    let quantum = top - format.fraction_bits() as i32;
    let rounded = match u32::try_from(quantum - lsb) {
        Ok(down) => shift_right(magnitude, down, Rounding::NearestEven, false),
        Err(_) => magnitude << (lsb - quantum),
    };
    let carry = rounded >> (format.fraction_bits() + 1) != 0;
    top + i32::from(carry) < format.min_exponent()
}

impl Nans {
    /// What infinities and NaNs make of a group, if there are any. The order decides which NaN it is.
    pub(super) fn special(
        &self,
        format: Format,
        pairs: &[(Unpacked, Unpacked)],
        code: u64,
    ) -> Option<u64> {
        if pairs.iter().any(|(a, b)| a.is_nan() || b.is_nan()) {
            return Some(self.operand.0);
        }
        let infinite = |(a, b): &&(Unpacked, Unpacked)| a.is_infinite() || b.is_infinite();
        let infinite: Vec<_> = pairs.iter().filter(infinite).collect();
        let negative = |(a, b): &(Unpacked, Unpacked)| a.negative != b.negative;
        let first = infinite.first().map(|pair| negative(pair));
        let clash = infinite.iter().any(|pair| Some(negative(pair)) != first);
        if clash || infinite.iter().any(|(a, b)| a.is_zero() || b.is_zero()) {
            return Some(self.invalid.0);
        }
        let c = format.unpack(code);
        if c.is_nan() {
            let quiet = 1 << (format.fraction_bits() - 1);
            return Some(code | quiet);
        }
        let c = c.is_infinite().then_some(c.negative);
        match (c, first) {
            (Some(c), Some(product)) if c != product => Some(self.invalid.0),
            (one, other) => one.or(other).and_then(|negative| format.infinity(negative)),
        }
    }

    pub(super) fn check(&self, format: Format) -> Result<(), String> {
        check_nan(self.operand, format)?;
        check_nan(self.invalid, format)
    }
}

impl Groups {
    /// Products of one instruction.
    pub(super) fn span(&self) -> usize {
        self.size * self.order.len()
    }

    /// Adds the products group by group. `add` takes a group and C's code.
    pub(super) fn chain<O: TraceObserver>(
        &self,
        products: Products,
        c: u64,
        observer: &mut O,
        add: impl Fn(&Group, u64, &mut O) -> u64,
    ) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.span());
        let zeros = (formats.a.unpack(0), formats.b.unpack(0));
        let mut code = c;
        for group in &self.order {
            let first = group * self.size;
            let all = first..first + self.size;
            let pairs = all.map(|k| match (a.get(k), b.get(k)) {
                (Some(&a), Some(&b)) => (a, b),
                _ => zeros,
            });
            let group = Group {
                first,
                there: a.len().saturating_sub(first).min(self.size),
                pairs: pairs.collect(),
            };
            code = add(&group, code, observer);
            observer.result(formats.accumulator, code);
        }
        code
    }

    /// In words: 16 products 4 at a time, 8 to 11 before 4 to 7.
    pub(super) fn summary(&self) -> String {
        let ascending = self.order.iter().copied().eq(0..self.order.len());
        let order = if ascending {
            "in ascending k".to_owned()
        } else {
            let firsts = self.order.iter().map(|group| {
                let first = group * self.size;
                format!("{first} to {}", first + self.size - 1)
            });
            format!("k {}", firsts.collect::<Vec<_>>().join(", "))
        };
        format!("{} products, {} at a time, {order}", self.span(), self.size)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        if sorted.is_empty() || !sorted.iter().copied().eq(0..sorted.len()) {
            return Err("groups.order must name every group once, from 0 on".into());
        }
        if self.size == 0
            || sorted
                .len()
                .checked_mul(self.size)
                .is_none_or(|span| span > 1024)
        {
            return Err(
                "groups must have at least one product each, and at most 1024 together".into(),
            );
        }
        Ok(())
    }
}

/// The formats that these units have, and constants within what 128 bits hold.
pub(super) fn check(
    formats: Formats,
    product_bits: u32,
    leading_bits: u32,
    least_leading: Option<i32>,
) -> Result<(), String> {
    for format in [formats.a, formats.b] {
        if format.fraction_bits() > 10 {
            return Err(format!(
                "operands must have at most 10 fraction bits; {format} has more"
            ));
        }
    }
    let accumulator = formats.accumulator;
    if !matches!(accumulator, Format::Fp32 | Format::Fp16 | Format::Bf16) {
        return Err(format!(
            "the accumulator must be fp32, fp16 or bf16, not {accumulator}"
        ));
    }
    for (name, bits) in [
        ("product_bits", product_bits),
        ("leading_bits", leading_bits),
    ] {
        if !(1..=64).contains(&bits) {
            return Err(format!("{name} is {bits}; it must be 1 to 64"));
        }
    }
    if least_leading.is_some_and(|least| !(-4096..=4096).contains(&least)) {
        return Err("least_leading must lie within 4096 of 0".into());
    }
    Ok(())
}
