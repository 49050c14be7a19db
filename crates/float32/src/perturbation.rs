//! An arithmetic in which one operation gives the next number instead.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Arith, Function, Ops};
use crate::num::Format;

/// Which operation of a computation, and in which direction.
#[derive(Debug)]
pub struct UlpPerturbation {
    /// Counted from 0, in the order of a trace.
    pub at: u64,
    /// Away from zero, or toward it.
    pub up: bool,
    seen: AtomicU64,
}

impl UlpPerturbation {
    pub fn new(at: u64, up: bool) -> UlpPerturbation {
        UlpPerturbation {
            at,
            up,
            seen: AtomicU64::new(0),
        }
    }

    /// Operations so far.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Whether it is this operation's turn.
    #[inline(always)]
    fn now(&self) -> bool {
        self.seen.fetch_add(1, Ordering::Relaxed) == self.at
    }
}

/// The next code away from zero or toward it; none of what is not finite, and none that is NaN.
fn neighbour(code: u64, format: Format, up: bool) -> Option<u64> {
    let number = format.unpack(code);
    let next = match up {
        _ if number.is_nan() || number.is_infinite() => return None,
        true => code + 1,
        false if number.is_zero() => return None,
        false => code - 1,
    };
    (!format.unpack(next).is_nan()).then_some(next)
}

/// An arithmetic with one result moved. What is not a sum, product, quotient, root, function or rounding is left alone.
#[derive(Clone, Copy, Debug)]
pub struct Perturbed<'b, A> {
    pub inner: A,
    pub perturbation: &'b UlpPerturbation,
}

impl<A> Perturbed<'_, A> {
    #[inline(always)]
    fn moved(self, x: u32) -> u32 {
        if !self.perturbation.now() {
            return x;
        }
        neighbour(x.into(), Format::Fp32, self.perturbation.up).map_or(x, |moved| moved as u32)
    }
}

impl<A: Arith> Ops for Perturbed<'_, A> {
    fn add(self, x: u32, y: u32) -> u32 {
        self.moved(self.inner.add(x, y))
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        self.moved(self.inner.mul(x, y))
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        self.moved(self.inner.fma(x, y, z))
    }

    fn round(self, x: u32, to: Format) -> u64 {
        let code = self.inner.round(x, to);
        if to == Format::Fp32 || !self.perturbation.now() {
            return code;
        }
        neighbour(code, to, self.perturbation.up).unwrap_or(code)
    }

    fn widen(self, code: u64, from: Format) -> u32 {
        self.inner.widen(code, from)
    }
}

impl<A: Arith> Arith for Perturbed<'_, A> {
    fn fma_down(self, x: u32, y: u32, z: u32) -> u32 {
        // An integer in disguise: its neighbour is another power of two.
        self.perturbation.now();
        self.inner.fma_down(x, y, z)
    }

    fn div(self, x: u32, y: u32) -> u32 {
        self.moved(self.inner.div(x, y))
    }

    fn sqrt(self, x: u32) -> u32 {
        self.moved(self.inner.sqrt(x))
    }

    fn mufu(self, function: Function, x: u32) -> u32 {
        self.moved(self.inner.mufu(function, x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exactly, ONE, SIGN};

    #[test]
    fn one_operation_moves_and_no_other() {
        let run = |at, up| {
            let perturbation = UlpPerturbation::new(at, up);
            let a = Perturbed {
                inner: Exactly,
                perturbation: &perturbation,
            };
            let codes = [a.add(ONE, ONE), a.mul(ONE, ONE), a.add(ONE, ONE | SIGN)];
            (codes, a.round(ONE, Format::Bf16), perturbation.seen())
        };
        let two = 0x4000_0000;
        assert_eq!(run(9, true), ([two, ONE, 0], 0x3f80, 4));
        assert_eq!(run(0, true), ([two + 1, ONE, 0], 0x3f80, 4));
        assert_eq!(run(1, false), ([two, ONE - 1, 0], 0x3f80, 4));
        // There is nothing below zero's magnitude.
        assert_eq!(run(2, false), ([two, ONE, 0], 0x3f80, 4));
        assert_eq!(run(2, true), ([two, ONE, 1], 0x3f80, 4));
        assert_eq!(run(3, true), ([two, ONE, 0], 0x3f81, 4));
    }
}
