//! The special function unit: a row of a table, and a quadratic polynomial in fixed point.
//!
//! `A << s0 + B*x + (C*sq(x)) << s2 + bias`, shifted right; x is the low part of the significand and `sq` a square whose
//! partial products are cut off before they are added.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::{INFINITY, NAN, SIGN};

/// A function of the unit that is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// 1/x.
    Rcp,
    /// 1/sqrt(x).
    Rsq,
    /// 2^x.
    Ex2,
}

impl Function {
    /// As SASS names it.
    pub fn name(self) -> &'static str {
        match self {
            Function::Rcp => "MUFU.RCP",
            Function::Rsq => "MUFU.RSQ",
            Function::Ex2 => "MUFU.EX2",
        }
    }
}

/// One function's table and constants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub name: Function,
    pub index_bits: u32,
    pub low_bits: u32,
    /// Of the value, of the slope's product and of the curvature's.
    pub shifts: [u32; 3],
    /// How far x is shifted up before it is squared.
    pub square_input_shift: u32,
    pub bias: i64,
    pub out_shift: u32,
    /// Value, slope and curvature.
    pub rows: Vec<[i64; 3]>,
}

/// All tables, and where they come from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    pub source: String,
    pub licence: String,
    pub tables: Vec<Table>,
    /// Value, slope and curvature of the sine, by the top six of 23 bits of a quarter turn.
    pub quarter_turn: Vec<[i64; 3]>,
}

/// The tables, as `tables.json` has them.
///
/// # Panics
/// If the built-in file is malformed, which a test rules out.
pub fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES
        .get_or_init(|| serde_json::from_str(include_str!("tables.json")).expect("built-in tables"))
}

pub(super) fn table(function: Function) -> &'static Table {
    static BY_FUNCTION: OnceLock<[&Table; 3]> = OnceLock::new();
    let by_function = BY_FUNCTION.get_or_init(|| {
        let find = |function| tables().tables.iter().find(|table| table.name == function);
        [Function::Rcp, Function::Rsq, Function::Ex2].map(|f| find(f).expect("a table of each"))
    });
    by_function[function as usize]
}

/// The square of 17 bits, every partial product cut before the sum.
pub(super) fn square(x: i64) -> i64 {
    let ones = (0..17).filter(|i| x >> i & 1 == 1);
    ones.map(|i| x >> (18 - i)).sum::<i64>() >> 1
}

impl Table {
    /// The significand of a result, 2^23 to 2^24, for index and low bits side by side.
    pub(super) fn value(&self, argument: u32) -> u32 {
        self.value_by(argument, square)
    }

    /// The same by another way to square.
    #[inline(always)]
    pub(super) fn value_by(&self, argument: u32, square: impl Fn(i64) -> i64) -> u32 {
        let x = i64::from(argument & ((1 << self.low_bits) - 1));
        let [a, b, c] = self.rows[(argument >> self.low_bits) as usize];
        let [s0, s1, s2] = self.shifts;
        let squared = square(x << self.square_input_shift);
        let sum = (a << s0) + ((b * x) << s1) + ((c * squared) << s2) + self.bias;
        (sum >> self.out_shift) as u32
    }
}

/// What the unit returns. Subnormal operands count as zeros, subnormal results become zeros.
pub fn mufu(function: Function, x: u32) -> u32 {
    with(function, x, |argument| table(function).value(argument))
}

/// What the unit returns with another way to look the significand up.
#[inline(always)]
pub(super) fn with(function: Function, x: u32, value: impl Fn(u32) -> u32) -> u32 {
    match function {
        Function::Rcp => rcp(x, value),
        Function::Rsq => rsq(x, value),
        Function::Ex2 => ex2(x, value),
    }
}

const FRACTION: u32 = 0x007f_ffff;

/// `MUFU.SIN` of 0 to 1 turn, and as many quarters of a turn: one makes it `MUFU.COS`. What the unit makes of other turns is
/// not known. The sum has 37 fraction bits, is normalised and cut to 24.
pub fn sine(turns: u32, quarters: u32) -> u32 {
    let turns = f32::from_bits(turns);
    debug_assert!((0.0..=1.0).contains(&turns));
    let fixed = (f64::from(turns) * f64::from(1 << 25)) as u32;
    let quadrant = (fixed >> 23) + quarters;
    // The one's complement of the fraction, falling.
    let fraction = FRACTION & if quadrant & 1 == 1 { !fixed } else { fixed };
    let [a, b, c] = tables().quarter_turn[(fraction >> 17) as usize];
    let x = i64::from(fraction & 0x1_ffff);
    let sum = (a << 11) + b * x + c * square(x);
    let sign = (quadrant & 2) << 30;
    if sum <= 0 {
        return sign;
    }
    let top = 63 - sum.leading_zeros() as i32;
    let significand = match top {
        24.. => sum >> (top - 23),
        _ => sum << (23 - top),
    };
    sign | ((127 + top - 37) as u32) << 23 | significand as u32 & FRACTION
}

#[inline(always)]
fn rcp(x: u32, value: impl Fn(u32) -> u32) -> u32 {
    let (sign, exponent) = (x & SIGN, (x >> 23 & 0xff) as i32);
    if exponent == 0 {
        return sign | INFINITY;
    }
    if exponent == 0xff {
        return if x & FRACTION == 0 { sign } else { NAN };
    }
    // A carry out of the fraction goes on into the exponent.
    let code = ((253 - exponent) << 23) + (value(x & FRACTION) as i32 - (1 << 23));
    match code {
        ..0x0080_0000 => sign,
        _ => sign | code as u32,
    }
}

#[inline(always)]
fn rsq(x: u32, value: impl Fn(u32) -> u32) -> u32 {
    let exponent = (x >> 23 & 0xff) as i32;
    if exponent == 0 {
        return x & SIGN | INFINITY;
    }
    if x & !SIGN > INFINITY || x & SIGN != 0 {
        return NAN;
    }
    if x == INFINITY {
        return 0;
    }
    let half = (exponent - 127) >> 1;
    let parity = (exponent - 127) as u32 & 1;
    if parity == 0 && x & FRACTION == 0 {
        return ((127 - half) as u32) << 23; // a power of four, exactly
    }
    let significand = value(parity << 23 | x & FRACTION);
    (((126 - half) << 23) + (significand as i32 - (1 << 23))) as u32
}

#[inline(always)]
fn ex2(x: u32, value: impl Fn(u32) -> u32) -> u32 {
    let (negative, exponent) = (x & SIGN != 0, (x >> 23 & 0xff) as i32);
    if x & !SIGN > INFINITY {
        return NAN;
    }
    if exponent >= 127 + 7 {
        return if negative { 0 } else { INFINITY };
    }
    // |x| with 23 fraction bits, truncated.
    let significand = if exponent == 0 {
        0
    } else {
        x & FRACTION | 1 << 23
    };
    let fixed = match exponent - 127 {
        up @ 0.. => significand << up,
        down @ -31..0 => significand >> -down,
        _ => 0,
    };
    let (whole, fraction) = ((fixed >> 23) as i32, fixed & FRACTION);
    let (whole, fraction) = match (negative, fraction) {
        (false, _) => (whole, fraction),
        (true, 0) => (-whole, 0),
        // The one's complement of the fraction.
        (true, _) => (-whole - 1, !fraction & FRACTION),
    };
    let code = ((127 + whole) << 23) + (value(fraction) as i32 - (1 << 23));
    match code {
        ..0x0080_0000 => 0,
        0x7f80_0000.. => INFINITY,
        _ => code as u32,
    }
}
