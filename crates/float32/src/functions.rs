//! What PTX and libdevice make of the unit's functions. Literals are f32 codes, as the compiler's output has them.

use serde::{Deserialize, Serialize};

use super::{Arith, Function, NAN, ONE, SIGN, is_nan, max, min, negated};

const MAGNITUDE: u32 = 0x7fff_ffff;
/// 2^-126, the smallest normal number.
const SMALLEST: u32 = 0x0080_0000;
/// 2^126.
const LARGE: u32 = 0x7e80_0000;
const HALF: u32 = 0x3f00_0000;
const QUARTER: u32 = 0x3e80_0000;
/// 2^24, 2^12.
const TWO_24: u32 = 0x4b80_0000;
const TWO_12: u32 = 0x4580_0000;
/// log2(e) to 24 bits.
const LOG2_E: u32 = 0x3fb8_aa3b;

/// `rcp.approx.f32`; with `ftz`, `rcp.approx.ftz.f32`.
#[inline(always)]
pub fn rcp_approx<A: Arith>(a: A, x: u32, ftz: bool) -> u32 {
    if ftz {
        return a.mufu(Function::Rcp, x);
    }
    let scale = match x & MAGNITUDE {
        0..SMALLEST => TWO_24,
        large if large > LARGE && !is_nan(x) => QUARTER,
        _ => ONE,
    };
    let scaled = a.mul(scale, x);
    a.mul(scale, a.mufu(Function::Rcp, scaled))
}

/// `rsqrt.approx.f32`, or with `.ftz`.
#[inline(always)]
pub fn rsqrt_approx<A: Arith>(a: A, x: u32, ftz: bool) -> u32 {
    match x & MAGNITUDE {
        0..SMALLEST if !ftz => {
            let scaled = a.mul(x, TWO_24);
            a.mul(a.mufu(Function::Rsq, scaled), TWO_12)
        }
        _ => a.mufu(Function::Rsq, x),
    }
}

/// `ex2.approx.f32`, or with `.ftz`.
#[inline(always)]
pub fn ex2_approx<A: Arith>(a: A, x: u32, ftz: bool) -> u32 {
    // Below -126; the code of -126 is c2fc0000.
    let below = x > 0xc2fc_0000 && !is_nan(x);
    if below && !ftz {
        let root = a.mufu(Function::Ex2, a.mul(x, HALF));
        return a.mul(root, root);
    }
    a.mufu(Function::Ex2, x)
}

/// -127, and 2^23 + 2^22: in f32, what is added to that rounds to integers.
const MINUS_127: u32 = 0xc2fe_0000;
const INTEGERS: u32 = 0x4b40_0000;

/// 2^x without the unit: the integer below x as an exponent, and a polynomial of the rest, whose constant is 1.
#[inline(always)]
pub fn ex2_polynomial<A: Arith>(a: A, coefficients: &[u32], x: u32) -> u32 {
    let x = max(x, MINUS_127);
    let integer = a.fma_down(x, ONE, INTEGERS);
    let fraction = a.sub(x, a.sub(integer, INTEGERS));
    let mut factors = coefficients.iter().rev().copied().chain([ONE]);
    let highest = factors.next().unwrap_or(ONE);
    let power = factors.fold(highest, |power, c| a.fma(power, fraction, c));
    // As integers: into the exponent.
    power.wrapping_add(integer << 23)
}

/// libdevice's `exp2f`.
#[inline(always)]
pub fn exp2f<A: Arith>(a: A, x: u32, ftz: bool) -> u32 {
    ex2_approx(a, x, ftz)
}

/// The two factors of libdevice's `expf`, the unit's result and a power of two: code that adds something to their
/// product gets one fused operation from the compiler.
#[inline(always)]
pub fn expf_parts<A: Arith>(a: A, x: u32) -> [u32; 2] {
    let t = a.fma(x, 0x3bbb_989d, HALF);
    // Saturation makes a NaN zero.
    let t = if is_nan(t) { 0 } else { min(max(t, 0), ONE) };
    let j = scaled_floor(a, t);
    let n = a.sub(j, 0x4b40_007f);
    let r = a.fma(x, 0x32a5_7060, a.fma(x, LOG2_E, negated(n)));
    [a.mufu(Function::Ex2, r), j << 23]
}

/// `t * 252 + 12582913` rounded down, of a t from 0 to 1.
#[inline(always)]
fn scaled_floor<A: Arith>(a: A, t: u32) -> u32 {
    a.fma_down(t, 0x437c_0000, 0x4b40_0001)
}

/// libdevice's `expf`.
#[inline(always)]
pub fn expf<A: Arith>(a: A, x: u32) -> u32 {
    let [significand, power] = expf_parts(a, x);
    a.mul(significand, power)
}

/// libdevice's `tanhf`.
#[inline(always)]
pub fn tanhf<A: Arith>(a: A, x: u32) -> u32 {
    if is_nan(x) {
        return NAN;
    }
    let magnitude = x & MAGNITUDE;
    if magnitude >= 0x3f19_999a {
        let value = if magnitude >= 0x4110_2cb4 {
            ONE
        } else {
            let e = ex2_approx(a, a.mul(magnitude, 0x4038_aa3b), true);
            let r = rcp_approx(a, a.add(ONE, e), true);
            a.fma(r, 0xc000_0000, ONE)
        };
        return value | x & SIGN;
    }
    let q = a.mul(x, x);
    let coefficients = [0xbd56_3cae, 0x3e08_5941, 0xbeaa_a9ed, 0];
    let p = coefficients
        .into_iter()
        .fold(0x3c80_f082, |p, c| a.fma(p, q, c));
    a.fma(p, x, x)
}

/// How a kernel divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Divide {
    /// Correctly rounded (`div.rn`).
    Ieee,
    /// `div.full`: times the reciprocal, both scaled where that would leave the range.
    Full,
    /// `div.approx`: times the reciprocal.
    Approx,
    /// Times the correctly rounded reciprocal.
    ByReciprocal,
}

/// `x / y`. With `ftz` the approximations take subnormals for zeros, as `a` then does.
#[inline(always)]
pub fn divide<A: Arith>(a: A, how: Divide, x: u32, y: u32, ftz: bool) -> u32 {
    let scale = match (how, y & MAGNITUDE) {
        (Divide::Ieee, _) => return a.div(x, y),
        (Divide::ByReciprocal, _) => return a.mul(x, a.div(ONE, y)),
        (_, 0..SMALLEST) if !ftz => TWO_24,
        (Divide::Full, large) if large > LARGE && !is_nan(y) => QUARTER,
        _ => ONE,
    };
    let (x, y) = match scale {
        ONE => (x, y),
        scale => (a.mul(x, scale), a.mul(y, scale)),
    };
    a.mul(x, a.mufu(Function::Rcp, y))
}

/// How a kernel computes e^x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exponential {
    /// libdevice's `expf`.
    Expf,
    /// `__expf`: `ex2.approx` of x times log2(e), rounded.
    Fast,
}

/// e^x in full, rounded once.
#[inline(always)]
pub fn exponential<A: Arith>(a: A, how: Exponential, x: u32, ftz: bool) -> u32 {
    match how {
        Exponential::Expf => expf(a, x),
        Exponential::Fast => ex2_approx(a, a.mul(x, LOG2_E), ftz),
    }
}
