//! The operations of f32 between and after chains, on codes: each rounds once, to nearest even, and
//! every NaN that comes out has one code.
//!
//! [`Exactly`] is the specification, in integers; [`Natively`] is the processor's arithmetic, which IEEE
//! 754 obliges to the same results.

use super::walk::Chain;
use crate::emu::Problem;
use crate::num::{Format, Rounding, Target, fma};

/// Arithmetic on f32 codes.
pub trait Ops: Copy + Send + Sync {
    /// `x + y`.
    fn add(self, x: u32, y: u32) -> u32;
    /// `x * y`.
    fn mul(self, x: u32, y: u32) -> u32;
    /// `x * y + z`, rounded once.
    fn fma(self, x: u32, y: u32, z: u32) -> u32;
    /// What happens around the operations, for whoever explains them.
    #[inline(always)]
    fn told(self, _: Told) {}
}

/// Something that happens on the way to an element of D.
#[derive(Clone, Copy, Debug)]
pub enum Told<'t> {
    /// A partial sum begins, counted from 0.
    Partial { index: usize, count: usize },
    /// A chain of the instruction has ended; the problem has its C, and is not cut to its products.
    Chain {
        chain: &'t Chain,
        problem: &'t Problem<'t>,
        result: u64,
    },
    /// What the operations that follow are for.
    Stage(&'static str),
    /// A rounding to D's format.
    Rounded { from: u32, to: u64 },
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

const ONE: u32 = 0x3f80_0000;

impl Ops for Exactly {
    fn add(self, x: u32, y: u32) -> u32 {
        self.fma(x, ONE, y)
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        // The addend must not decide the sign of a zero product.
        let zero = (x ^ y) & 0x8000_0000;
        self.fma(x, y, zero)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

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

    #[test]
    fn zeros_keep_the_sign_that_ieee_gives_them() {
        let ops = Exactly { nan: 0x7fff_ffff };
        assert_eq!(ops.mul(0x8000_0000, ONE), 0x8000_0000);
        assert_eq!(ops.mul(0, 0x8000_0000), 0x8000_0000);
        assert_eq!(ops.add(0x8000_0000, 0x8000_0000), 0x8000_0000);
        assert_eq!(ops.add(0, 0x8000_0000), 0);
    }
}
