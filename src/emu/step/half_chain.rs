//! GPGPU-Sim's `wmma.mma`: a chain of FP32 operations whose running sum is cut to FP16 after each.
//!
//! Operands are FP16, C and D FP16 or FP32.
//!
//! ```text
//! cut(x)   an FP32 number as FP16: toward zero; ±Inf from 65536 on; the zero of its sign below 2^-24
//! d = +0;  for every product, missing ones +0 · +0:   d = cut(d + a·b),  the sum rounded to FP32, rne
//! C and D of FP32:  D = d + c;  else D = cut(d + c), widened if D is FP32;  both sums FP32, rne
//! ```
//!
//! Special values are IEEE 754's. The first NaN operand is passed on, made quiet; an invalid operation gives `ffc00000` (`fe00`). `cut` keeps a
//! NaN's sign and leading payload bits. A NaN of A or B counts as the quiet NaN without payload.

use serde::{Deserialize, Serialize};

use super::checks::check_group;
use super::kind::{Products, StepKind};
use super::trace::TraceObserver;
use crate::num::{Class, Format, Formats, Rounding, Target, Unpacked, fma};

/// Constants of the chain. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HalfChain {
    /// Products of one instruction.
    pub span: usize,
}

/// What x86 returns for an invalid operation.
const INVALID: u64 = 0xffc0_0000;

const QUIET: u64 = 0x0040_0000;

impl StepKind for HalfChain {
    fn span(&self) -> usize {
        self.span
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let Products { formats, a, b, .. } = products;
        debug_assert!(a.len() == b.len() && a.len() <= self.span);
        let zero = Format::Fp16.unpack(0);
        let mut d = 0; // FP16
        for k in 0..self.span {
            let [x, y] = [a, b].map(|x| x.get(k).copied().unwrap_or(zero));
            let sum = multiply_add(x, y, widen(d));
            d = cut(sum);
            if k < a.len() {
                observer.stage("product added", || vec![k]);
                observer.result(Format::Fp32, sum);
                observer.result(Format::Fp16, d);
            }
        }
        let c = match formats.addend {
            Format::Fp16 => widen(c),
            _ => c,
        };
        let sum = add(widen(d), c);
        observer.stage("C added", Vec::new);
        observer.result(Format::Fp32, sum);
        match (formats.addend, formats.accumulator) {
            (Format::Fp32, Format::Fp32) => sum,
            (_, Format::Fp32) => widen(cut(sum)),
            _ => cut(sum),
        }
    }

    fn summary(&self) -> String {
        format!(
            "chain of {} FP32 additions, each truncated to FP16; C added last",
            self.span
        )
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_group(self.span)?;
        if (formats.a, formats.b) != (Format::Fp16, Format::Fp16) {
            return Err("operands must be fp16".into());
        }
        for format in [formats.addend, formats.accumulator] {
            if !matches!(format, Format::Fp16 | Format::Fp32) {
                return Err(format!("C and D must be fp16 or fp32, not {format}"));
            }
        }
        Ok(())
    }

    fn takes_other_addends(&self) -> bool {
        true
    }
}

/// `d + a*b` in FP32. A product of FP16 numbers is exact, so that one rounding is all there is.
fn multiply_add(a: Unpacked, b: Unpacked, d: u64) -> u64 {
    fused(([Format::Fp16; 2], a, b), d, &[d, nan_of(a), nan_of(b)])
}

fn add(x: u64, y: u64) -> u64 {
    let format = Format::Fp32;
    let product = ([format; 2], format.unpack(x), Unpacked::one(format));
    fused(product, y, &[x, y])
}

/// A product plus `d` in FP32; or the first NaN of these codes.
fn fused(product: ([Format; 2], Unpacked, Unpacked), d: u64, codes: &[u64]) -> u64 {
    let format = Format::Fp32;
    let nan = codes.iter().find(|&&code| format.unpack(code).is_nan());
    if let Some(nan) = nan {
        return nan | QUIET;
    }
    let target = Target::full(format, Rounding::NearestEven);
    fma(product, (format, format.unpack(d)), target, INVALID)
}

/// The FP32 code of a NaN operand; +0 of a number. An operand is taken apart before it comes here,
/// so that its payload is lost: it counts as the quiet NaN of its sign.
fn nan_of(x: Unpacked) -> u64 {
    match x.class {
        Class::Nan => Format::Fp32.sign(x.negative) | 0x7fc0_0000,
        Class::Finite | Class::Infinite => 0,
    }
}

/// FP32 to FP16 as the `half` library does where no rounding is chosen.
fn cut(code: u64) -> u64 {
    let number = Format::Fp32.unpack(code);
    let sign = Format::Fp16.sign(number.negative);
    match number.class {
        Class::Nan => sign | 0x7c00 | (code >> 13 & 0x3ff),
        Class::Infinite => sign | 0x7c00,
        Class::Finite => {
            let target = Target::full(Format::Fp16, Rounding::TowardZero);
            let lsb = number.exponent - Format::Fp32.fraction_bits() as i32;
            target.round(number.negative, number.significand.into(), lsb, false)
        }
    }
}

fn widen(code: u64) -> u64 {
    let exact = crate::num::convert_exact(Format::Fp16, code, Format::Fp32);
    exact.expect("FP32 holds every FP16 number")
}
