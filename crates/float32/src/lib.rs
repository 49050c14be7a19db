//! Operations on f32 codes as NVIDIA's cores between the tensor cores compute them: IEEE 754 to nearest even,
//! and the special function unit (MUFU).
//!
//! [`Exactly`] is the specification, in integers; [`Natively`] is the processor's arithmetic and tables made of the
//! specification, bit for bit the same. [`Flushing`] around either is `.ftz`. Every NaN that comes out has one code.

mod exact;
mod functions;
mod mufu;
mod native;
mod perturbation;
pub mod randn;
mod trace;

use std::fmt;

use tcverify_emu as emu;
use tcverify_num as num;

pub use exact::Exactly;
pub use functions::{
    Divide, Exponential, divide, ex2_approx, ex2_polynomial, exp2f, expf, expf_parts, exponential,
    rcp_approx, rsqrt_approx, tanhf,
};
pub use mufu::{Function, mufu, sine, tables};
pub use native::{Natively, with_fma};
pub use perturbation::{Perturbed, UlpPerturbation};
pub use trace::{Event, Log, Tracing};

use crate::num::Format;

pub use crate::emu::schedule::Ops;

/// The code of every NaN that an operation returns (PTX ISA).
pub const NAN: u32 = 0x7fff_ffff;
/// 1.
pub const ONE: u32 = 0x3f80_0000;
/// Minus infinity.
pub const MINUS_INFINITY: u32 = 0xff80_0000;
const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// What is computed between products on f32 codes, beside what chains need ([`Ops`]).
pub trait Arith: Ops {
    /// `x * y + z`, rounded once, toward minus infinity.
    fn fma_down(self, x: u32, y: u32, z: u32) -> u32;
    /// `x / y`.
    fn div(self, x: u32, y: u32) -> u32;
    /// The square root.
    fn sqrt(self, x: u32) -> u32;
    /// A function of the special function unit, bare.
    fn mufu(self, function: Function, x: u32) -> u32;
    /// The purpose of the operations that follow, for explanations.
    #[inline(always)]
    fn stage(self, _: fmt::Arguments) {}
    /// What follows in this stage is for this element of the row alone.
    #[inline(always)]
    fn column(self, _: usize) {}
    /// A value that other means computed: a product of the tensor core, a maximum.
    #[inline(always)]
    fn noted(self, _: impl FnOnce() -> String, _: u32) {}

    /// `x - y`.
    #[inline(always)]
    fn sub(self, x: u32, y: u32) -> u32 {
        self.add(x, negated(y))
    }

    /// `x` rounded to a 16-bit (or other) format and back: what a store and a load do to it.
    #[inline(always)]
    fn through(self, x: u32, format: Format) -> u32 {
        match format {
            Format::Fp32 => x,
            _ => self.widen(self.round(x, format), format),
        }
    }
}

/// `-x`, of a NaN too: nobody sees its sign.
#[inline(always)]
pub fn negated(x: u32) -> u32 {
    x ^ SIGN
}

#[inline(always)]
pub fn is_nan(x: u32) -> bool {
    x & !SIGN > INFINITY
}

/// The number of a code that orders as the number does; -0 below +0. Not for NaNs.
#[inline(always)]
pub fn ordered(x: u32) -> i32 {
    let x = x as i32;
    x ^ ((x >> 31) as u32 >> 1) as i32
}

/// The larger one; of a number and a NaN the number (`fmaxf`, `max.f32`).
#[inline(always)]
pub fn max(x: u32, y: u32) -> u32 {
    match (is_nan(x), is_nan(y)) {
        (true, true) => NAN,
        (true, false) => y,
        (false, true) => x,
        (false, false) if ordered(x) >= ordered(y) => x,
        (false, false) => y,
    }
}

/// The smaller one; of a number and a NaN the number.
#[inline(always)]
pub fn min(x: u32, y: u32) -> u32 {
    match (is_nan(x), is_nan(y)) {
        (false, false) if ordered(x) >= ordered(y) => y,
        (false, false) => x,
        _ => max(x, y),
    }
}

/// A subnormal as the zero of its sign.
#[inline(always)]
pub fn flushed(x: u32) -> u32 {
    match x & INFINITY {
        0 => x & SIGN,
        _ => x,
    }
}

/// An f32 as a code.
pub fn code(x: f32) -> u32 {
    x.to_bits()
}

/// With subnormal operands and results as zeros of their sign (`.ftz`). A result is flushed once it is rounded.
#[derive(Clone, Copy, Debug)]
pub struct Flushing<A>(pub A);

impl<A: Arith> Ops for Flushing<A> {
    fn add(self, x: u32, y: u32) -> u32 {
        flushed(self.0.add(flushed(x), flushed(y)))
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        flushed(self.0.mul(flushed(x), flushed(y)))
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        flushed(self.0.fma(flushed(x), flushed(y), flushed(z)))
    }

    fn round(self, x: u32, to: Format) -> u64 {
        self.0.round(x, to)
    }

    fn widen(self, code: u64, from: Format) -> u32 {
        self.0.widen(code, from)
    }
}

impl<A: Arith> Arith for Flushing<A> {
    fn fma_down(self, x: u32, y: u32, z: u32) -> u32 {
        flushed(self.0.fma_down(flushed(x), flushed(y), flushed(z)))
    }

    fn div(self, x: u32, y: u32) -> u32 {
        flushed(self.0.div(flushed(x), flushed(y)))
    }

    fn sqrt(self, x: u32) -> u32 {
        self.0.sqrt(flushed(x))
    }

    fn mufu(self, function: Function, x: u32) -> u32 {
        self.0.mufu(function, x)
    }

    fn stage(self, what: fmt::Arguments) {
        self.0.stage(what);
    }

    fn column(self, column: usize) {
        self.0.column(column);
    }

    fn noted(self, what: impl FnOnce() -> String, code: u32) {
        self.0.noted(what, code);
    }
}

#[cfg(test)]
mod tests;
