//! Arm's dot products: a few products added and rounded, then added to C and rounded again, or all of it rounded once.
//!
//! For dot products, matrix multiplies and outer products: BF16 (BFDOT, BFMMLA, BFMOPA), FP8, FP16, and FMMLA of FP32.
//!
//! Optional booleans are false unless given. An operation adds exact terms and rounds their sum once to the accumulator:
//!
//! ```text
//! 1. with_c     d = op(c + Σ a·b · 2^-lscale); nothing else is rounded
//! 2. else       s_i = op(Σ a·b) of every `fused` products; s = op(op(s_0 + s_1) + s_2) ...;  d = op(c + s)
//!               missing products of a step are +0 · +0
//! 3. flush      operands, c and sums that are subnormal in the accumulator's format are zeros of their sign; a sum is
//!               subnormal if its exact value lies below the smallest normal number, before rounding
//! 4. zero       an exact sum of zero has the sign of its terms if all have one; else it is +0, with rd -0
//! 5. overflow   rne: infinity.  rz: the largest number.  ru, rd: infinity in their direction, else the largest number.
//!               odd: infinity.  With osm, a finite sum gives the largest number instead of any infinity
//! 6. special    NaN, Inf · 0 and Inf - Inf give nan
//! 7. payloads   of an operation's c (or the sum so far), a, b: the first signalling NaN, made quiet; else the first
//!               quiet one, with its sign and leading payload bits. Inf · 0 beside a quiet c gives nan
//! ```
//!
//! `odd` cuts toward zero and sets the last bit if anything was lost. `with_c` needs `fused` = `group`, `payloads` `fused` 1. K must be a
//! multiple of `group`, and of the shortest `instruction_k`: `check` refuses another one.
//!
//! *Example* (`group` 2, `fused` 1, odd). 1 · 1 + 2^-24 · 1 with c = 0: the sum loses 2^-24, so its last bit is set: `3f800001`. With rne it is
//! `3f800000`.

use serde::{Deserialize, Serialize};

use super::checks::{Code, check_accumulator, check_group};
use super::fpmr::Fpmr;
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{
    Class, ExactSum, Format, Formats, Overflow, Rounding, Target, Unpacked, result_code,
};

/// Constants of a rounded dot product. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RoundedDot {
    /// Products per step.
    pub group: usize,
    /// Products that are added without loss and rounded once.
    pub fused: usize,
    /// How every operation is rounded, and what an overflow gives.
    pub rounding: Direction,
    /// Whether subnormal numbers count as zeros.
    pub flush: bool,
    /// The code of a NaN result.
    pub nan: Code,
    /// Whether C is added together with the products.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_c: bool,
    /// Whether a NaN operand goes on with its payload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payloads: bool,
    /// What the instruction reads of the register FPMR, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fpmr: Option<Fpmr>,
}

/// A rounding with what it makes of an overflow, as IEEE 754 has it for each direction; to odd, it is infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Direction {
    /// To nearest, ties to even.
    #[serde(rename = "rne")]
    NearestEven,
    /// Toward zero.
    #[serde(rename = "rz")]
    TowardZero,
    /// Toward plus infinity.
    #[serde(rename = "ru")]
    Up,
    /// Toward minus infinity.
    #[serde(rename = "rd")]
    Down,
    /// Toward zero; if anything was lost, the last bit is set.
    #[serde(rename = "odd")]
    Odd,
}

impl Direction {
    fn word(self) -> &'static str {
        match self {
            Direction::NearestEven => "rne",
            Direction::TowardZero => "rz",
            Direction::Up => "ru",
            Direction::Down => "rd",
            Direction::Odd => "to odd",
        }
    }
}

impl StepKind for RoundedDot {
    fn span(&self) -> usize {
        self.group
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.group);
        let format = formats.accumulator;
        if self.with_c {
            let sum = self.operation(formats, Some(c), (a, b), self.group);
            observer.stage("products and C added", || (0..a.len()).collect());
            observer.result(format, sum);
            return sum;
        }
        let mut total: Option<u64> = None;
        for first in (0..self.group).step_by(self.fused) {
            let part =
                |all: &'_ [Unpacked]| first.min(all.len())..(first + self.fused).min(all.len());
            let (k, own) = (part(a), (&a[part(a)], &b[part(b)]));
            let sum = self.operation(formats, None, own, self.fused);
            let stage = ["product", "products added"][usize::from(self.fused > 1)];
            observer.stage(stage, || k.collect());
            observer.result(format, sum);
            total = Some(match total {
                None => sum,
                Some(total) => {
                    let total = self.sum(format, total, sum);
                    observer.stage("sums added", Vec::new);
                    observer.result(format, total);
                    total
                }
            });
        }
        let sum = total.map_or(c, |total| self.sum(format, c, total));
        observer.stage("added to C", Vec::new);
        observer.result(format, sum);
        sum
    }

    fn summary(&self) -> String {
        let rounding = self.rounding.word();
        let scale = match self.fpmr {
            Some(Fpmr { lscale, .. }) if lscale != 0 => format!(", times 2^-{lscale}"),
            _ => String::new(),
        };
        let sums = match (self.with_c, self.fused) {
            (true, 1) => format!("chain of fused multiply-adds{scale}, {rounding}"),
            (true, _) => format!(
                "exact sum of {} products{scale}, and C, rounded once {rounding}",
                self.group
            ),
            (false, fused) if fused == self.group => format!(
                "exact sum of {fused} products{scale}, rounded once {rounding}, then added to C, {rounding}"
            ),
            (false, 1) => format!(
                "{} products{scale}, each rounded {rounding}, then their sum, then that with C",
                self.group
            ),
            (false, fused) => format!(
                "{} products{scale}, each {fused} of them added and rounded {rounding}, then their sum, then that with C",
                self.group
            ),
        };
        let when = |yes: bool, words: &'static str| if yes { words } else { "" };
        let flush = when(self.flush, ", subnormals flushed to zero");
        let nan = when(self.payloads, "; NaNs keep their payload");
        let largest = "; an overflow gives the largest finite number";
        let osm = when(self.fpmr.is_some_and(|fpmr| fpmr.osm), largest);
        format!("{sums}{flush}{nan}{osm}")
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_group(self.group)?;
        if self.fused == 0 || !self.group.is_multiple_of(self.fused) {
            return Err(format!(
                "fused is {}; it must divide group, {}",
                self.fused, self.group
            ));
        }
        let accumulator = formats.accumulator;
        // One spelling only, so that equal models have equal digests.
        if self.with_c && self.fused != self.group {
            return Err("with_c adds all products at once: fused must be group".into());
        }
        let operands = [formats.a, formats.b];
        let narrow = |format: &Format| {
            format.infinity(false).is_some()
                && format.ignored_bits() == 0
                && format.fraction_bits() <= accumulator.fraction_bits()
        };
        if self.payloads && (self.fused > 1 || !operands.iter().all(narrow)) {
            return Err(format!(
                "payloads need one product an operation, and operands with infinities and at most the fraction bits \
                 of {accumulator}"
            ));
        }
        if let Some(fpmr) = self.fpmr {
            fpmr.check(accumulator)?;
        }
        // The last bit of a code is that of a number.
        if accumulator.ignored_bits() != 0 {
            return Err(format!(
                "{accumulator} cannot accumulate: it has ignored bits"
            ));
        }
        check_accumulator(accumulator, self.nan)
    }

    /// BFCVT and FCVT: a NaN keeps its sign and the leading bits of its payload.
    fn converted(&self, from: Format, code: u64, to: Format) -> u64 {
        let number = from.unpack(code);
        let lost = from.fraction_bits().checked_sub(to.fraction_bits());
        match (lost, to.infinity(number.negative)) {
            (Some(lost), Some(infinity)) if number.is_nan() => {
                infinity | number.significand >> lost | 1 << (to.fraction_bits() - 1)
            }
            _ => result_code(from, code, to, Rounding::NearestEven),
        }
    }

    fn notices_zeros(&self, _: Formats) -> bool {
        false // K is whole steps.
    }

    fn takes_whole_steps(&self) -> bool {
        true
    }

    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        Some(&["openblas-neoverse-n2", "openblas-neoverse-v1"])
    }

    fn fpmr(&self) -> Option<Fpmr> {
        self.fpmr
    }

    fn set_fpmr(&mut self, fpmr: Fpmr) {
        self.fpmr = Some(fpmr);
    }
}

/// What an operation adds: whether its terms are negative, and the sum.
struct Terms {
    sum: ExactSum,
    negative: bool,
    positive: bool,
}

impl Terms {
    fn note(&mut self, negative: bool) {
        self.negative |= negative;
        self.positive |= !negative;
    }
}

impl RoundedDot {
    /// The sum of `count` products, of which those that are missing are +0 times +0, and of C.
    fn operation(
        &self,
        formats: Formats,
        c: Option<u64>,
        (a, b): (&[Unpacked], &[Unpacked]),
        count: usize,
    ) -> u64 {
        let format = formats.accumulator;
        let lscale = self.fpmr.map_or(0, |fpmr| fpmr.lscale);
        let mut terms = Terms {
            sum: ExactSum::scaled(formats.a, formats.b, format, lscale),
            negative: false,
            positive: a.len() < count,
        };
        let c = c.map(|c| self.flushed(format, format.unpack(c), format));
        if let Some(c) = c {
            terms.note(c.negative);
            terms.sum.add(format, c);
        }
        for (&a, &b) in a.iter().zip(b) {
            let a = self.flushed(formats.a, a, format);
            let b = self.flushed(formats.b, b, format);
            if let Some(nan) = self.payload(
                format,
                [
                    c.map(|c| (format, c)),
                    Some((formats.a, a)),
                    Some((formats.b, b)),
                ],
            ) {
                return nan;
            }
            terms.note(a.negative != b.negative);
            let moved = Unpacked {
                exponent: a.exponent - lscale as i32,
                ..a
            };
            terms.sum.add_product([formats.a, formats.b], moved, b);
        }
        self.rounded(format, &terms)
    }

    /// The sum of two results, or of C and one.
    fn sum(&self, format: Format, x: u64, y: u64) -> u64 {
        let mut terms = Terms {
            sum: ExactSum::new(format, format, format),
            negative: false,
            positive: false,
        };
        let [x, y] = [x, y].map(|code| self.flushed(format, format.unpack(code), format));
        if let Some(nan) = self.payload(format, [Some((format, x)), Some((format, y)), None]) {
            return nan;
        }
        for number in [x, y] {
            terms.note(number.negative);
            terms.sum.add(format, number);
        }
        self.rounded(format, &terms)
    }

    /// A zero of its sign in place of a number that is subnormal in the accumulator's format.
    fn flushed(&self, of: Format, number: Unpacked, accumulator: Format) -> Unpacked {
        let leading = number.lsb(of) + 63 - number.significand.leading_zeros() as i32;
        if self.flush && number.class == Class::Finite && leading < accumulator.min_exponent() {
            Unpacked {
                significand: 0,
                ..number
            }
        } else {
            number
        }
    }

    /// The NaN that goes on, if payloads do and one of the operation's numbers is a NaN.
    fn payload(&self, to: Format, numbers: [Option<(Format, Unpacked)>; 3]) -> Option<u64> {
        let numbers = numbers.into_iter().flatten();
        let mut nans = numbers.clone().filter(|(_, number)| number.is_nan());
        let first = self.payloads.then(|| nans.clone().next())??;
        let quiet = |of: Format, nan: Unpacked| nan.significand >> (of.fraction_bits() - 1) == 1;
        let signalling = nans.find(|&(of, nan)| !quiet(of, nan));
        let numbers: Vec<Unpacked> = numbers.map(|(_, number)| number).collect();
        let invalid =
            |[a, b]: [Unpacked; 2]| a.product_class(&b) == Class::Nan && !a.is_nan() && !b.is_nan();
        if let (None, [_, a, b]) = (signalling, &numbers[..])
            && invalid([*a, *b])
        {
            return Some(self.nan.0);
        }
        let (of, nan) = signalling.unwrap_or(first);
        let payload = nan.significand << (to.fraction_bits() - of.fraction_bits());
        Some(to.beyond(nan.negative) | payload | 1 << (to.fraction_bits() - 1))
    }

    /// The sum of an operation, rounded.
    fn rounded(&self, format: Format, terms: &Terms) -> u64 {
        let sum = &terms.sum;
        let to = |rounding, overflow| {
            let target = Target {
                overflow,
                ..Target::full(format, rounding)
            };
            sum.round(target, self.nan.0)
        };
        if sum.class() != Class::Finite {
            return to(Rounding::NearestEven, Overflow::ToInfinity);
        }
        if sum.is_zero() {
            return format.zero(match (terms.negative, terms.positive) {
                (true, true) => self.rounding == Direction::Down,
                (negative, _) => negative,
            });
        }
        let cut = to(Rounding::TowardZero, Overflow::Saturate);
        let number = format.unpack(cut);
        if self.flush && number.is_below_normal(format) {
            return format.zero(number.negative);
        }
        let lost = || {
            let mut rest = sum.clone();
            let negated = Unpacked {
                negative: !number.negative,
                ..number
            };
            rest.add(format, negated);
            !rest.is_zero()
        };
        let overflow = match self.fpmr {
            Some(Fpmr { osm: true, .. }) => Overflow::Saturate,
            _ => Overflow::ToInfinity,
        };
        // The next code is the next number, infinity after the largest.
        let away = |really: bool| match cut + u64::from(really && lost()) {
            beyond if format.unpack(beyond).is_infinite() => match overflow {
                Overflow::Saturate => cut,
                Overflow::ToInfinity => beyond,
            },
            code => code,
        };
        match self.rounding {
            Direction::NearestEven => to(Rounding::NearestEven, overflow),
            Direction::TowardZero => cut,
            Direction::Up => away(!number.negative),
            Direction::Down => away(number.negative),
            Direction::Odd => {
                let cut = to(Rounding::TowardZero, overflow);
                if format.unpack(cut).is_infinite() {
                    cut
                } else {
                    cut | u64::from(lost())
                }
            }
        }
    }
}
