//! The fused dot product of the Vortex GPGPU (TFR, called Ten-Four, and DRL): aligned and added like
//! a tensor core's, but with a sticky bit and rounded to nearest.
//!
//! Quirks included. The accumulator is FP32; A and B have one format.
//!
//! `lanes` is 4 or 8. `group` is `lanes`/2 for TF32, `lanes` for FP16 and BF16, 2·`lanes` for FP8, 4·`lanes` for FP4. `fraction_bits` is 23 to 48, `width` at most 64,
//! `zero_exponent` at most -253. The accumulator has WA = `width` + 1 + ⌈log2(`lanes` + 1)⌉ bits.
//!
//! Missing products are +0 · +0. f is A's and B's fraction bits.
//!
//! ```text
//! 1. lanes      a product:  x = ± sa·sb · 2^(ea + eb - 2f),  exponent ea + eb
//!               two FP8 products, k even and k + 1: see Pairs
//!               a zero product: x = 0, exponent zero_exponent
//!               C, value:       x = ± sc · 2^(ec - 23),  exponent ec;  zero_exponent if C is zero
//!               C, hidden_bit:  x = ± (2^23 + fraction) · 2^(e - 23),  e = field - 127;  if C is zero,
//!                               e = zero_exponent, hidden bit set
//! 2. exponent   E = the largest exponent of all lanes
//! 3. alignment  t = round(x / q, rz) with q = 2^(E - fraction_bits)
//!               sticky = 1 if t·q ≠ x for any lane, whatever its sign
//! 4. sum        S = Σ t modulo 2^WA, from -2^(WA - 1) to 2^(WA - 1) - 1
//! 5. result     S = 0: +0, whatever sticky is. Else, with p = floor(log2 |S|), e = E + p - fraction_bits:
//!               m = |S| · 2^(23 - p), rounded to nearest even. Sticky makes a remainder larger, by less than any bit of S, if
//!               a bit of S lies below the last of m.
//!               A carry to 2^24 raises e by one.
//!               e > 127: ±Inf.  e < -126: ±0.  Else the code of ± m · 2^(e - 23).
//! ```
//!
//! Line 5 rounds with unbounded exponents, then flushes subnormal results. With 30 bits and 8 lanes, eight products near 4·2^E and a C of the
//! same sign exceed 2^29 and wrap.
//!
//! **Pairs.** p is the product of two FP8 significands in units of 2^-6 (up to 225), e the sum of the exponents. 0 and 1 mark the products of
//! even k and of k + 1. One leads:
//!
//! | `pair` | exponent of a zero operand | 0 leads if | shift d of the other | X, Y | lane |
//! |---|---|---|---|---|---|
//! | `tfr` | 1 - bias | p0 ≠ 0 and p1 = 0, or p1 ≠ 0 and e0 ≥ e1 | \|e0 - e1\|; 32 or more gives Y = 0 | p·2^16, ⌊p·2^16 / 2^d⌋ | ⌊\|X ± Y\| / 2⌋ |
//! | `tfr-565bd0f1` | -bias | the same | the same | the same | the same |
//! | `drl` | -bias | e0 > e1 | \|e0 - e1\| mod 32 | p·2^15, ⌊p·2^15 / 2^d⌋ | \|X ± Y\| |
//!
//! X has the leader's p, Y the other's. The lane's x is that integer times 2^(e - 21), with exponent e + 1, e the leader's. Its sign is the
//! leader's, or the other's if X - Y is negative. Bits that Y and the halving lose do not reach the sticky bit. The exponent counts even if the
//! lane cancels to zero. The lane is zero at `zero_exponent` in these cases:
//!
//! - `tfr`: both products are zero, or signs differ, p0 = p1 and e0 = e1.
//! - `tfr-565bd0f1`: both products are zero, or signs differ and X = Y.
//!
//! With `drl`, a lane whose leader is zero keeps its integer but moves to `zero_exponent`: x = ± integer · 2^(`zero_exponent` - 22).
//!
//! **Special values** are as in `fused`. With `sparse_mask`, a zero operand masks the other, so Inf · 0 is 0; in 8-bit formats -0 does not
//! mask. A pair still sees a masked operand's exponent field.
//!
//! *Example* (`fedp`, C = 0). 1 + 2^-24 - 2^-27: the last product is cut off and sets the sticky bit, whatever its sign. So the tie 1 + 2^-24
//! rounds up: `3f800001`.
//!
//! **FP4** (`e2m1`) needs scales. Four products share a lane and are added exactly; a zero sum is a dead lane.
//!
//! | `scaling` | operands, scales | what happens to a lane |
//! |---|---|---|
//! | `lane_exponent` | FP8, `ue8m0` | its exponent e becomes `zero_exponent` + ((e - `zero_exponent` + x + y - 254) mod 2^10), x and y the scales' codes (`ff` too); a dead lane stays dead |
//! | `mxfp4` | `e2m1`, `ue8m0` | x = ± \|sum in quarters\| · 2^(7 - 22 + e), e = 13 + w; w is x + y - 254, brought into -56 to 7 modulo 64 |
//! | `nvfp4` | `e2m1`, `ue4m3` | x = ± \|sum in quarters\| · mx · my · 2^(7 - 22 + e), e = ex + ey - 7; m = 8 + the low three bits of a scale's code (for every code), e its exponent field |
//!
//! C is cut like any lane: 1 · 1 + (1 + 2^-12) in `mxfp4` is `40000000`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_nan};
use super::kind::{Products, ScaleUse, Scales, StepKind};
use super::pair::{self, Lane, PairRule};
use super::quad::{self, LaneScaling};
use super::special::special;
use super::term::{Term, signed};
use super::trace::{Source, TraceObserver};
use crate::num::{Class, Format, Formats, Rounding, Specials, Unpacked, shift_right};

/// Constants of the step. This file begins with its rules.
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
