//! Block floating point: elements of a row that share an exponent, as Tenstorrent's packer makes them.

use std::ops::Range;

use super::arrays::{Rows, needed, only};
use super::float32::Arith;
use super::row_kernel::{Inputs, OpError, Planned, RowKernel};
use super::rule::BlockFloat;
use crate::emu::step::packed;
use crate::num::Format;

/// Fraction bits of BF16, and its largest fraction.
const FRACTION: u32 = 7;
const MAGNITUDE: u32 = 0x7f;

pub struct Kernel<'a> {
    rule: &'a BlockFloat,
    x: Rows<'a>,
}

pub fn plan<'a>(rule: &'a BlockFloat, inputs: &Inputs<'a>) -> Result<Planned<Kernel<'a>>, OpError> {
    only(inputs, &["x"])?;
    let x = needed(inputs, "x")?;
    if !matches!(x.format, Format::Fp32 | Format::Bf16) {
        let reason = format!(
            "it is {}; the packer makes block floats from fp32 and bf16 sums",
            x.format
        );
        return Err(OpError::new("x", reason));
    }
    let about = format!(
        "{} elements of a row share an exponent, {} magnitude bits each",
        rule.shared, rule.magnitude_bits
    );
    Ok(Planned {
        format: Format::Bf16,
        ..Planned::like(&x, about, Kernel { rule, x })
    })
}

impl BlockFloat {
    /// The magnitude that the packer makes of its BF16 number under a shared exponent field. Infinity is a number.
    fn magnitude(&self, code: u32, shared: u32) -> u32 {
        let field = exponent(code);
        let down = shared - field + 1;
        if code == 0 || down > FRACTION + 1 {
            return 0;
        }
        let significand = code & MAGNITUDE | 1 << FRACTION;
        let rounded = (significand + (1 << (down - 1))) >> down;
        let cut = FRACTION - self.magnitude_bits;
        rounded.min(MAGNITUDE) >> cut << cut
    }

    /// BF16 that a magnitude of seven bits under a shared exponent is.
    fn value(negative: u32, magnitude: u32, shared: u32) -> u32 {
        if magnitude == 0 {
            return 0;
        }
        let zeros = magnitude.leading_zeros() - (u32::BITS - FRACTION);
        let fraction = magnitude << (zeros + 1) & MAGNITUDE;
        negative | (shared - zeros) << FRACTION | fraction
    }
}

/// A BF16 code's exponent field.
fn exponent(code: u32) -> u32 {
    code >> FRACTION & 0xff
}

impl RowKernel for Kernel<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let columns = self.x.columns;
        let mut codes = vec![0; columns];
        for (row, out) in rows.zip(out.chunks_mut(columns)) {
            self.x.codes(row, 0..columns, &mut codes);
            for (i, (group, out)) in codes
                .chunks(self.rule.shared)
                .zip(out.chunks_mut(self.rule.shared))
                .enumerate()
            {
                for (&code, out) in group.iter().zip(&mut *out) {
                    *out = packed(self.x.format, code.into()) as u32;
                }
                let shared = out.iter().map(|&code| exponent(code)).max().unwrap_or(0);
                a.stage(format_args!(
                    "BF16, ties away from zero, then {} magnitude bits under the exponent field {shared}",
                    self.rule.magnitude_bits
                ));
                for (j, out) in out.iter_mut().enumerate() {
                    a.column(i * self.rule.shared + j);
                    a.noted(|| "as BF16".to_owned(), *out << 16);
                    let magnitude = self.rule.magnitude(*out, shared);
                    *out = BlockFloat::value(*out & 0x8000, magnitude, shared);
                    a.noted(
                        || format!("magnitude {magnitude:#04x} of 7 bits"),
                        *out << 16,
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(magnitude_bits: u32) -> BlockFloat {
        BlockFloat {
            shared: 16,
            magnitude_bits,
        }
    }

    #[test]
    fn magnitudes() {
        let eight = rule(7);
        // 1 under its own exponent, under the next, and where its half rounds up.
        assert_eq!(eight.magnitude(0x3f80, 127), 0x40);
        assert_eq!(eight.magnitude(0x3f80, 133), 1);
        assert_eq!(eight.magnitude(0x3f80, 134), 1);
        assert_eq!(eight.magnitude(0x3f80, 135), 0);
        // The largest fraction saturates instead of carrying.
        assert_eq!(eight.magnitude(0x3fff, 127), 0x7f);
        assert_eq!(rule(3).magnitude(0x3fff, 127), 0x70);
        assert_eq!(rule(1).magnitude(0x3f80, 128), 0);
        assert_eq!(eight.magnitude(0, 0), 0);
    }

    #[test]
    fn a_value_is_its_magnitude() {
        for shared in 1..=255_u32 {
            for magnitude in 1..=MAGNITUDE {
                let zeros = magnitude.leading_zeros() - 25;
                if zeros >= shared {
                    continue;
                }
                let value = BlockFloat::value(0, magnitude, shared);
                let significand = value & MAGNITUDE | 1 << FRACTION;
                assert_eq!(
                    significand << (exponent(value) + 8 - shared),
                    magnitude << 9
                );
                // What was packed once stays.
                assert_eq!(rule(7).magnitude(value, shared), magnitude);
            }
        }
    }
}
