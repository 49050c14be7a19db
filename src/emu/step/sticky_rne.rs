//! The fused dot product of the Vortex GPGPU (TFR, called Ten-Four, and DRL): aligned and added like
//! a tensor core's, but with a sticky bit and rounded to nearest.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_nan};
use super::kind::{Products, ScaleUse, Scales, StepKind};
use super::pair::{self, Lane, PairRule};
use super::quad::{self, LaneScaling};
use super::special::special;
use super::term::{Term, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Class, Format, Formats, Rounding, Specials, Unpacked, shift_right};

/// Constants of the step. What the unit does, stage by stage, with integers throughout:
///
/// 1. `read`: special values, and elements masked because an operand is zero.
/// 2. `products`: one product a lane, not normalised, or two FP8 products added by `pair`, or four
///    of FP4; `scaling` moves or multiplies the lane; `addend`: C is one more lane.
/// 3. `align`: every magnitude is shifted right to the largest exponent, keeping
///    `fraction_bits`. A lane that loses a one sets the sticky bit, whatever its sign.
/// 4. `accumulate`: the lanes are added modulo 2^WA,
///    WA = `width` + 1 + ceil(log2(`lanes` + 1)): large sums wrap.
/// 5. `finish`: normalised, rounded to nearest even with the sticky bit, flushed to a
///    signed zero below the normal range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StickyRne {
    /// 16-bit lanes of the unit, C's not counted.
    pub lanes: usize,
    /// Products per step: what fits the lanes.
    pub group: usize,
    /// W of the design, from which the accumulator's width follows.
    pub width: u32,
    /// Fraction bits kept below the largest exponent.
    pub fraction_bits: u32,
    /// The exponent with which a zero lane takes part in the maximum.
    pub zero_exponent: i32,
    /// How C is read.
    pub addend: Addend,
    /// How two FP8 products share a lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairRule>,
    /// How scales enter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<LaneScaling>,
    /// Whether elements with a zero operand are masked, so that infinity or NaN times zero is zero.
    pub sparse_mask: bool,
    /// Whether E4M3's largest exponent field means infinity and NaN, as in IEEE 754.
    pub ieee_top: bool,
    /// The code of a NaN result.
    pub nan: Code,
}

/// How the unit reads C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Addend {
    /// As the number it is.
    Value,
    /// With the hidden bit set and the exponent field as it stands, even if that is 0: a subnormal
    /// has a wrong value, and zero is a 1 at `zero_exponent`, which is always shifted out and so
    /// always sets the sticky bit.
    HiddenBit,
}

/// The most lanes of a unit, C's not counted, and the most products.
const LANES: usize = 8;
const PRODUCTS: usize = 4 * LANES;

impl StepKind for StickyRne {
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
        let format = formats.a;
        let mut x = [format.unpack(0); PRODUCTS];
        let mut y = x;
        for (k, (a, b)) in a.iter().zip(b).enumerate() {
            (x[k], y[k]) = self.read(format, *a, *b);
        }
        let c = Format::Fp32.unpack(c);
        let nan = self.nan.0;
        if let Some(code) = special((&x, &y, c), |_, _| false, (Format::Fp32, nan)) {
            return code;
        }

        let mut lanes = [Lane::dead(self.zero_exponent); LANES + 1];
        self.products(format, &x, &y, scales, &mut lanes);
        lanes[LANES] = self.addend(c);
        let (terms, exponent, sticky) = self.align(lanes);
        let sum = self.accumulate(terms);
        self.show(&lanes, &terms, exponent, a.len(), observer);
        observer.sum(sum, exponent - self.fraction_bits as i32, sticky);
        self.finish(sum, exponent, sticky)
    }

    fn summary(&self) -> String {
        let pairs = if self.pair.is_some() {
            ", added in pairs,"
        } else {
            ""
        };
        format!(
            "fused dot product of {} products{pairs} in {} lanes: aligned RZ with sticky to {} fraction bits, \
             summed modulo 2^{}, result RNE, flushed to zero",
            self.group,
            self.lanes,
            self.fraction_bits,
            self.accumulator_bits()
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        if a != b {
            return Err(format!("the unit multiplies one format, not {a} and {b}"));
        }
        if accumulator != Format::Fp32 {
            return Err(format!("the unit accumulates fp32, not {accumulator}"));
        }
        if !matches!(self.lanes, 4 | 8) {
            return Err(format!("lanes is {}; it must be 4 or 8", self.lanes));
        }
        let (group, pairs) = match a {
            Format::Tf32 => (self.lanes / 2, false),
            Format::Fp16 | Format::Bf16 => (self.lanes, false),
            Format::E4m3 | Format::E5m2 => (2 * self.lanes, true),
            Format::E2m1 => (4 * self.lanes, false),
            _ => return Err(format!("the unit does not multiply {a}")),
        };
        if self.group != group {
            return Err(format!(
                "group is {}; {} lanes hold {group} products of {a}",
                self.group, self.lanes
            ));
        }
        if self.pair.is_some() != pairs {
            let how = if pairs { "needs" } else { "has no" };
            return Err(format!("{a} {how} pair"));
        }
        match (self.scaling, formats.scale) {
            (None, None) if a != Format::E2m1 => {}
            (Some(scaling), Some(scale)) => scaling.check(a, scale)?,
            (None, Some(_)) => return Err("it has scales, but no scaling".into()),
            (_, None) => return Err(format!("scales are missing for {a}")),
        }
        let least = Format::Fp32.fraction_bits();
        if !(least..=48).contains(&self.fraction_bits) {
            return Err(format!(
                "fraction_bits is {}; it must be {least} to 48",
                self.fraction_bits
            ));
        }
        if !(self.fraction_bits..=64).contains(&self.width) {
            return Err(format!(
                "width is {}; it must be fraction_bits to 64",
                self.width
            ));
        }
        // Below every product and every C, so that a zero lane never decides an exponent.
        let lowest = Format::Bf16.min_exponent() * 2 - 1;
        if !(-4096..=lowest).contains(&self.zero_exponent) {
            return Err(format!(
                "zero_exponent is {}; it must be -4096 to {lowest}",
                self.zero_exponent
            ));
        }
        check_nan(self.nan, accumulator)
    }

    fn scaling(&self) -> ScaleUse {
        ScaleUse::Given
    }
}

impl StickyRne {
    /// Tells of the lanes of `count` products, and of C's.
    fn show(
        &self,
        lanes: &[Lane; LANES + 1],
        terms: &[i128; LANES + 1],
        exponent: i32,
        count: usize,
        observer: &mut impl TraceObserver,
    ) {
        let below = |exponent: i32| exponent - self.fraction_bits as i32;
        observer.aligned(exponent, below(exponent));
        let together = self.group.div_ceil(self.lanes);
        for (i, (lane, &kept)) in lanes.iter().zip(terms).enumerate() {
            let first = i * together;
            let source = match (i == LANES, first < count) {
                (true, _) => Source::Addend,
                (false, true) if together == 1 => Source::Product(i),
                (false, true) => Source::Products {
                    first,
                    count: together.min(count - first),
                },
                (false, false) => continue,
            };
            let term = Term {
                negative: lane.negative,
                magnitude: lane.magnitude,
                lsb: below(lane.exponent),
                exponent: lane.exponent,
            };
            observer.term(|| term.kept(source, kept, below(exponent)));
        }
    }

    /// The operands of a product as the unit sees them.
    fn read(&self, format: Format, a: Unpacked, b: Unpacked) -> (Unpacked, Unpacked) {
        let (a, b) = (self.classify(format, a), self.classify(format, b));
        // The mask of an 8-bit element compares all of it with zero, so -0 is none.
        let zero = |x: Unpacked| x.is_zero() && !(format.bytes() == 1 && x.negative);
        if self.sparse_mask && (zero(a) || zero(b)) {
            (as_number(format, a), as_number(format, b))
        } else {
            (a, b)
        }
    }

    fn classify(&self, format: Format, x: Unpacked) -> Unpacked {
        let top = format.specials() == Specials::NanOnly && x.exponent == format.max_exponent();
        if !self.ieee_top || !top || x.class != Class::Finite {
            return x;
        }
        let infinite = x.significand == 1 << format.fraction_bits();
        Unpacked {
            class: if infinite {
                Class::Infinite
            } else {
                Class::Nan
            },
            ..x
        }
    }

    /// One lane for each product, for two or for four.
    fn products(
        &self,
        format: Format,
        a: &[Unpacked],
        b: &[Unpacked],
        scales: Scales,
        lanes: &mut [Lane],
    ) {
        let together = self.group.div_ceil(self.lanes);
        let first = (0..self.group).step_by(together);
        for (lane, k) in lanes.iter_mut().zip(first) {
            // Scales are those of operands that there are; without any the lane is dead.
            let scale = |side: usize| scales.and_then(|codes| codes[side].get(k).copied());
            let scale = scale(0).zip(scale(1));
            *lane = match (self.pair, self.scaling, scale) {
                (_, Some(_), None) => Lane::dead(self.zero_exponent),
                (Some(rule), _, _) => {
                    let pair = |x: &[Unpacked]| [x[k], x[k + 1]];
                    let lane = rule.add(format, pair(a), pair(b), self.zero_exponent);
                    self.widen(lane, pair::FRACTION_BITS)
                }
                (None, Some(scaling), Some(scale)) => {
                    let four = k..k + 4;
                    let lane = scaling.quad(&a[four.clone()], &b[four], scale, self.zero_exponent);
                    self.widen(lane, pair::FRACTION_BITS)
                }
                (None, None, _) => self.product(format, a[k], b[k]),
            };
            if let (Some(LaneScaling::LaneExponent), Some(scale)) = (self.scaling, scale)
                && lane.exponent != self.zero_exponent
            {
                lane.exponent = quad::moved(lane.exponent, scale, self.zero_exponent);
            }
        }
    }

    fn product(&self, format: Format, a: Unpacked, b: Unpacked) -> Lane {
        let magnitude = u128::from(a.significand * b.significand);
        if magnitude == 0 {
            return Lane::dead(self.zero_exponent);
        }
        let lane = Lane {
            negative: a.negative != b.negative,
            magnitude,
            exponent: a.exponent + b.exponent,
        };
        self.widen(lane, 2 * format.fraction_bits())
    }

    fn addend(&self, c: Unpacked) -> Lane {
        let format = Format::Fp32;
        let hidden = 1 << format.fraction_bits();
        let subnormal = c.significand < hidden;
        let (significand, exponent) = match self.addend {
            Addend::Value if c.is_zero() => (0, self.zero_exponent),
            Addend::HiddenBit if c.is_zero() => (hidden, self.zero_exponent),
            Addend::HiddenBit if subnormal => (hidden | c.significand, c.exponent - 1),
            Addend::HiddenBit | Addend::Value => (c.significand, c.exponent),
        };
        let lane = Lane {
            negative: c.negative,
            magnitude: significand.into(),
            exponent,
        };
        self.widen(lane, format.fraction_bits())
    }

    /// A lane with fewer fraction bits, filled up to `fraction_bits`.
    fn widen(&self, lane: Lane, fraction_bits: u32) -> Lane {
        Lane {
            magnitude: lane.magnitude << (self.fraction_bits - fraction_bits),
            ..lane
        }
    }

    /// The lanes at the largest exponent, that exponent, and whether any lost a one.
    fn align(&self, lanes: [Lane; LANES + 1]) -> ([i128; LANES + 1], i32, bool) {
        let largest = lanes.iter().map(|lane| lane.exponent).max();
        let largest = largest.expect("C is always there");
        let mut sticky = false;
        let terms = lanes.map(|lane| {
            // A magnitude is below 2^(fraction_bits + 2): at 127 it is long gone.
            let shift = (largest - lane.exponent).min(127);
            let kept = lane.magnitude >> shift;
            sticky |= kept << shift != lane.magnitude;
            signed(lane.negative, kept)
        });
        (terms, largest, sticky)
    }

    /// The sum, wrapped to the accumulator's width.
    fn accumulate(&self, terms: [i128; LANES + 1]) -> i128 {
        let unused = 128 - self.accumulator_bits();
        terms.iter().sum::<i128>() << unused >> unused
    }

    pub fn accumulator_bits(&self) -> u32 {
        self.width + 1 + (self.lanes + 1).next_power_of_two().ilog2()
    }

    /// The code of `sum * 2^(exponent - fraction_bits)`: rounded as if exponents had no end, then
    /// overflow and underflow.
    fn finish(&self, sum: i128, exponent: i32, sticky: bool) -> u64 {
        if sum == 0 {
            return Format::Fp32.zero(false);
        }
        let fraction_bits = Format::Fp32.fraction_bits();
        let negative = sum < 0;
        let magnitude = sum.unsigned_abs();
        let leading = magnitude.ilog2();
        let exponent = exponent + leading as i32 - self.fraction_bits as i32;

        // Far enough below the sum to lie below guard and round bit wherever the leading one is.
        const BELOW: u32 = 32;
        let exact = magnitude << BELOW | u128::from(sticky);
        let shift = leading + BELOW - fraction_bits;
        let rounded = shift_right(exact, shift, Rounding::NearestEven, negative);
        let carry = rounded >> (fraction_bits + 1) != 0;
        let (significand, exponent) = if carry {
            (rounded >> 1, exponent + 1)
        } else {
            (rounded, exponent)
        };

        if exponent > Format::Fp32.max_exponent() {
            Format::Fp32.beyond(negative)
        } else if exponent < Format::Fp32.min_exponent() {
            Format::Fp32.zero(negative)
        } else {
            let field = (exponent + Format::Fp32.bias()) as u64;
            let fraction = significand as u64 & ((1 << fraction_bits) - 1);
            Format::Fp32.zero(negative) | field << fraction_bits | fraction
        }
    }
}

/// An infinity or NaN beside a masking zero: some number with the exponent field it has.
fn as_number(format: Format, x: Unpacked) -> Unpacked {
    if x.class == Class::Finite {
        return x;
    }
    let top = (1 << format.exponent_bits()) - 1;
    Unpacked {
        class: Class::Finite,
        negative: x.negative,
        significand: 1,
        exponent: top - format.bias(),
    }
}
