//! The operations by the processor, and the unit's functions with squares that the specification fills.

use std::sync::OnceLock;

use super::mufu::{self, Function, Table};
use super::{Arith, NAN};
use crate::emu::schedule::{Natively as Ieee, Ops};
use crate::num::Format;

/// What products share with what stands between them.
const IEEE: Ieee = Ieee { nan: NAN };

/// The processor's arithmetic, which IEEE 754 obliges to the same results.
#[derive(Clone, Copy, Debug)]
pub struct Natively {
    functions: [&'static Table; 3],
    /// The unit's squares of all 17 bits.
    squares: &'static [u32],
}

impl Natively {
    /// Squares on the first call.
    pub fn new() -> Natively {
        static SQUARES: OnceLock<Vec<u32>> = OnceLock::new();
        let all = || (0..1 << 17).map(|x| mufu::square(x) as u32).collect();
        Natively {
            functions: [Function::Rcp, Function::Rsq, Function::Ex2].map(mufu::table),
            squares: SQUARES.get_or_init(all),
        }
    }

    #[inline(always)]
    fn code(self, x: f32) -> u32 {
        if x.is_nan() { NAN } else { x.to_bits() }
    }
}

impl Default for Natively {
    fn default() -> Natively {
        Natively::new()
    }
}

impl Ops for Natively {
    fn add(self, x: u32, y: u32) -> u32 {
        IEEE.add(x, y)
    }

    fn mul(self, x: u32, y: u32) -> u32 {
        IEEE.mul(x, y)
    }

    fn fma(self, x: u32, y: u32, z: u32) -> u32 {
        IEEE.fma(x, y, z)
    }

    fn round(self, x: u32, to: Format) -> u64 {
        IEEE.round(x, to)
    }

    fn widen(self, code: u64, from: Format) -> u32 {
        IEEE.widen(code, from)
    }
}

impl Arith for Natively {
    fn fma_down(self, x: u32, y: u32, z: u32) -> u32 {
        super::Exactly.fma_down(x, y, z)
    }

    fn div(self, x: u32, y: u32) -> u32 {
        self.code(f32::from_bits(x) / f32::from_bits(y))
    }

    fn sqrt(self, x: u32) -> u32 {
        self.code(f32::from_bits(x).sqrt())
    }

    fn mufu(self, function: Function, x: u32) -> u32 {
        let table = self.functions[function as usize];
        let square = |x: i64| i64::from(self.squares[x as usize]);
        mufu::with(function, x, |argument| table.value_by(argument, square))
    }
}

/// Runs `work` compiled for a processor with fused multiply-adds, where this is one: without them each is a call.
#[inline]
pub fn with_fma<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn compiled<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { compiled(work) };
        }
    }
    work()
}
