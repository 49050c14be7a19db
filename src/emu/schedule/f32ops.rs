//! The operations of f32 between and after chains, on codes: each rounds once, to nearest even, and
//! every NaN that comes out has one code.
//!
//! [`Exactly`] is the specification, in integers; [`Natively`] is the processor's arithmetic, which IEEE
//! 754 obliges to the same results.

use super::Function;
use super::traversal::Chain;
use super::values::{ONE, f32_code};
use crate::Problem;
use crate::num::{Format, Rounding, Target, fma, result_code};

/// Arithmetic on f32 codes.
pub trait Ops: Copy + Send + Sync {
    /// Whether [`Ops::observe`] does anything.
    const OBSERVED: bool = true;

    /// `x + y`.
    fn add(self, x: u32, y: u32) -> u32;
    /// `x * y`.
    fn mul(self, x: u32, y: u32) -> u32;
    /// `x * y + z`, rounded once.
    fn fma(self, x: u32, y: u32, z: u32) -> u32;
    /// `x` rounded to nearest even to a result's format.
    fn round(self, x: u32, to: Format) -> u64 {
        round_result(x, to)
    }
    /// A code of a result's format as f32.
    fn widen(self, code: u64, from: Format) -> u32 {
        f32_code(from, code)
    }
    /// Receives what happens around the operations, for explanations.
    #[inline(always)]
    fn observe(self, _: Observed) {}
}

/// Something that happens on the way to an element of D.
#[derive(Clone, Copy, Debug)]
pub enum Observed<'t> {
    /// A partial sum begins, counted from 0.
    Partial { index: usize, count: usize },
    /// A chain of the instruction has ended; the problem has its C, and is not cut to its products.
    Chain {
        chain: &'t Chain,
        problem: &'t Problem<'t>,
        result: u64,
        /// By how much the first step lowers the exponent of C, where no code can say it.
        lowered: u32,
    },
    /// What the operations that follow are for.
    Stage(&'static str),
    /// A rounding to D's format, or to that of sums that are kept.
    Rounded { from: u32, to: u64, format: Format },
    /// An operation on integers, modulo 2^32.
    Integers {
        operation: IntegerOperation,
        operands: [u32; 2],
        result: u32,
    },
    /// An integer as an f32.
    Converted { from: u32, to: u32 },
    /// What the epilogue's function makes of an f32.
    Applied {
        function: Function,
        from: u32,
        to: u32,
    },
}

/// An operation on integers before they become f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerOperation {
    Multiply,
    Subtract,
}

/// An f32 as a code of a result's format.
pub fn round_result(x: u32, to: Format) -> u64 {
    match to {
        Format::Fp32 => x.into(),
        _ => result_code(Format::Fp32, x.into(), to, Rounding::NearestEven),
    }
}

/// In integers.
#[derive(Clone, Copy, Debug)]
pub struct Exactly {
    pub nan: u32,
}

/// In the processor's floating point.
#[derive(Clone, Copy, Debug)]
pub struct Natively {
    pub nan: u32,
}

impl Ops for Exactly {
    fn add(self, x: u32, y: u32) -> u32 {
        self.fma(x, ONE, y)
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        // The zero that decides no sign: -0 stays -0, and +0 stays +0.
        self.fma(x, y, 0x8000_0000)
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        let f32 = Format::Fp32;
        let number = |code: u32| f32.unpack(code.into());
        let target = Target::full(f32, Rounding::NearestEven);
        let product = ([f32, f32], number(x), number(y));
        fma(product, (f32, number(z)), target, self.nan.into()) as u32
    }
}

impl Natively {
    #[inline(always)]
    fn code(self, x: f32) -> u32 {
        if x.is_nan() { self.nan } else { x.to_bits() }
    }
}

impl Ops for Natively {
    const OBSERVED: bool = false;

    #[inline(always)]
    fn add(self, x: u32, y: u32) -> u32 {
        self.code(f32::from_bits(x) + f32::from_bits(y))
    }

    #[inline(always)]
    fn mul(self, x: u32, y: u32) -> u32 {
        self.code(f32::from_bits(x) * f32::from_bits(y))
    }

    #[inline(always)]
    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        self.code(f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z)))
    }

    #[inline(always)]
    fn round(self, x: u32, to: Format) -> u64 {
        match to {
            Format::Bf16 => to_bf16(x).into(),
            Format::Fp16 => to_fp16(x).into(),
            _ => round_result(x, to),
        }
    }

    #[inline(always)]
    fn widen(self, code: u64, from: Format) -> u32 {
        match from {
            Format::Fp32 => code as u32,
            Format::Bf16 => (code as u32) << 16,
            _ => f32_code(from, code),
        }
    }
}

/// An f32 as BF16: a carry out of the fraction belongs into the exponent, up to infinity.
#[inline(always)]
pub fn to_bf16(x: u32) -> u16 {
    let even = x >> 16 & 1;
    let rounded = (x.wrapping_add(0x7fff + even) >> 16) as u16;
    if x << 1 > 0xff00_0000 {
        0x7fff
    } else {
        rounded
    }
}

/// An f32 as FP16.
#[inline(always)]
pub fn to_fp16(x: u32) -> u16 {
    let sign = (x >> 16 & 0x8000) as u16;
    let magnitude = x & 0x7fff_ffff;
    // Adding a half leaves a sum whose last bit is FP16's smallest number.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let even = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + even) >> 13;
    let code = match magnitude {
        0..0x3880_0000 => subnormal,
        0x3880_0000..0x4780_0000 => normal,
        0x4780_0000..=0x7f80_0000 => 0x7c00,
        _ => return 0x7fff,
    };
    sign | code as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcverify_num::random::SplitMix64;

    /// Any codes, codes of like exponents, and what is at the edges.
    #[test]
    fn both_give_the_same_bits() {
        let nan = 0x7fff_ffff;
        let (exactly, natively) = (Exactly { nan }, Natively { nan });
        let mut random = SplitMix64(1);
        let edges = [
            0,
            0x8000_0000,
            1,
            0x8000_0001,
            0x007f_ffff,
            0x0080_0000,
            ONE,
            ONE | 0x8000_0000,
            0x3f7f_ffff,
            0x3f80_0001,
            0x7f7f_ffff,
            0xff7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7f80_0001,
            0x2000_0000,
            0x1f80_0000,
        ];
        let mut operand = || {
            let word = random.word();
            match word % 4 {
                0 => edges[(word >> 32) as usize % edges.len()],
                1 => (word >> 32) as u32,
                // Near one, so that sums cancel and round.
                2 => 0x3f00_0000 | (word >> 32) as u32 & 0x80ff_ffff,
                // Products that leave the range at the low end.
                _ => 0x1f00_0000 | (word >> 32) as u32 & 0x81ff_ffff,
            }
        };
        for _ in 0..200_000 {
            let (x, y, z) = (operand(), operand(), operand());
            assert_eq!(exactly.add(x, y), natively.add(x, y), "{x:x} + {y:x}");
            assert_eq!(exactly.mul(x, y), natively.mul(x, y), "{x:x} * {y:x}");
            assert_eq!(
                exactly.fma(x, y, z),
                natively.fma(x, y, z),
                "{x:x} * {y:x} + {z:x}"
            );
        }
    }

    /// Every upper half with lower ones around all the boundaries, and any codes.
    #[test]
    fn both_round_to_the_same_bits() {
        let natively = Natively { nan: 0x7fff_ffff };
        let mut random = SplitMix64(2);
        let lower = [
            0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x7fff, 0x8000, 0x8001, 0xffff,
        ];
        let uppers = 0..1u32 << 16;
        let mut codes: Vec<u32> = uppers.flat_map(|x| lower.map(|y| x << 16 | y)).collect();
        codes.extend((0..500_000).map(|_| random.word() as u32));
        for x in codes {
            for to in [Format::Bf16, Format::Fp16] {
                assert_eq!(natively.round(x, to), round_result(x, to), "{x:x} to {to}");
            }
        }
        for code in 0..1u64 << 16 {
            for from in [Format::Bf16, Format::Fp16] {
                assert_eq!(natively.widen(code, from), f32_code(from, code), "{code:x}");
            }
        }
    }

    #[test]
    fn zeros_keep_the_sign_that_ieee_gives_them() {
        let ops = Exactly { nan: 0x7fff_ffff };
        assert_eq!(ops.mul(0x8000_0000, ONE), 0x8000_0000);
        assert_eq!(ops.mul(0, 0x8000_0000), 0x8000_0000);
        assert_eq!(ops.add(0x8000_0000, 0x8000_0000), 0x8000_0000);
        assert_eq!(ops.add(0, 0x8000_0000), 0);
    }
}
