//! Operands that make trouble, the same on every run.

use tcverify::num::Format;

use crate::support::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Exponents near 0: most sums round.
    Normal,
    /// Any finite code.
    Wide,
    /// Large numbers whose products cancel along k, with small ones between them.
    Cancelling,
    /// NaNs, infinities, subnormal numbers, zeros of both signs among others; few, so that most
    /// elements of D are numbers.
    Special,
    /// Nothing but subnormal numbers and zeros of both signs.
    Tiny,
}

pub const KINDS: [Kind; 5] = [
    Kind::Normal,
    Kind::Wide,
    Kind::Cancelling,
    Kind::Special,
    Kind::Tiny,
];

/// A code of `format`; `at` is where along k.
pub fn code(format: Format, kind: Kind, at: usize, random: &mut Random) -> u64 {
    let bits = random.bits();
    match format {
        Format::Int8 | Format::Uint8 => return bits & 0xff,
        Format::Int32 => return bits & 0xffff_ffff,
        _ => {}
    }
    match kind {
        Kind::Normal => near(format, -3, 3, random),
        Kind::Wide => loop {
            let code = any(format, random);
            if !beyond(format, code) {
                return code;
            }
        },
        Kind::Cancelling if at.is_multiple_of(5) => {
            let high = format.max_exponent().min(6);
            near(format, high, high, random)
        }
        Kind::Cancelling => near(format, -4, 0, random),
        Kind::Special if random.once_in(40) => {
            let negative = format.sign_mask() * (bits & 1);
            match (bits >> 8) % 5 {
                // Of formats without infinities, their largest numbers or NaNs.
                0 => format
                    .infinity(bits & 1 == 1)
                    .unwrap_or(format.sign_mask() - 1),
                1 => negative | (format.sign_mask() - 1),
                2 => any(format, random),
                3 => negative,
                _ => tiny(format, random),
            }
        }
        Kind::Special if random.once_in(3) => tiny(format, random),
        Kind::Special => near(format, -2, 6, random),
        Kind::Tiny => {
            if random.once_in(2) {
                tiny(format, random)
            } else {
                format.sign_mask() * (bits & 1)
            }
        }
    }
}

fn any(format: Format, random: &mut Random) -> u64 {
    random.bits() & (2 * format.sign_mask() - 1)
}

fn beyond(format: Format, code: u64) -> bool {
    let number = format.unpack(code);
    number.is_nan() || number.is_infinite()
}

/// Subnormal, either sign.
fn tiny(format: Format, random: &mut Random) -> u64 {
    let fraction = (1u64 << fraction_width(format)) - 1;
    random.bits() & (format.sign_mask() | fraction)
}

/// Bits of the fraction as stored: TF32 has the code of an FP32 number.
fn fraction_width(format: Format) -> u32 {
    match format {
        Format::Tf32 | Format::Xf32 | Format::Fp32 => 23,
        Format::Fp16 => 10,
        Format::Bf16 => 7,
        Format::E4m3 | Format::E4m3fnuz => 3,
        Format::E5m2 | Format::E5m2fnuz => 2,
        other => panic!("no operand is {other} here"),
    }
}

/// A normal number with an exponent between two, all bits of its fraction random.
fn near(format: Format, low: i32, high: i32, random: &mut Random) -> u64 {
    let width = fraction_width(format);
    // The exponent field of 1 is the bias.
    let bias = 1 - format.min_exponent();
    let exponent = random
        .between(low, high)
        .clamp(format.min_exponent(), format.max_exponent());
    let field = ((exponent + bias) as u64) << width;
    let fraction = random.bits() & ((1 << width) - 1);
    let code = field | fraction;
    let code = if beyond(format, code) { field } else { code };
    code | (format.sign_mask() * (random.bits() & 1))
}
