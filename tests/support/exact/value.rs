//! What a code means, by other people's code: native floats, `half`, `float8`, and short tables.

use tcverify::num::Format;

/// The number as an `f64`, which holds every number of every format here exactly.
pub fn value(format: Format, code: u64) -> f64 {
    match format {
        Format::Fp64 => f64::from_bits(code),
        Format::Fp32 => f32::from_bits(code as u32).into(),
        // The unit sees a register without its low 13 bits.
        Format::Tf32 | Format::Xf32 => f32::from_bits(code as u32 & !0x1fff).into(),
        Format::Fp16 => half::f16::from_bits(code as u16).to_f64(),
        Format::Bf16 => half::bf16::from_bits(code as u16).to_f64(),
        Format::E4m3 => float8::F8E4M3::from_bits(code as u8).to_f64(),
        Format::E5m2 => float8::F8E5M2::from_bits(code as u8).to_f64(),
        // 0x80, which would be -0, is the only NaN.
        Format::E4m3fnuz | Format::E5m2fnuz if code == 0x80 => f64::NAN,
        Format::E4m3fnuz => signed(code, 0x80, 8, |e| f64::from(1 << e) / 2f64.powi(10)),
        Format::E5m2fnuz => signed(code, 0x80, 4, |e| f64::from(1 << e) / 2f64.powi(17)),
        Format::E3m2 => signed(code, 0x20, 4, |e| f64::from(1 << e) / 16.0),
        Format::E2m3 => signed(code, 0x20, 8, |e| f64::from(1 << e) / 8.0),
        Format::E2m1 => {
            let magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
            let magnitude = magnitudes[code as usize & 7];
            if code & 8 == 0 { magnitude } else { -magnitude }
        }
        Format::Ue8m0 if code == 0xff => f64::NAN,
        Format::Ue8m0 => 2f64.powi(code as i32 - 127),
        Format::Ue4m3 => value(Format::E4m3, code & 0x7f),
        Format::Int8 => (code as u8 as i8).into(),
        Format::Int32 => (code as u32 as i32).into(),
        Format::Uint8 | Format::Uint4 => code as f64,
        Format::Int4 => {
            [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1][code as usize].into()
        }
    }
}

/// A format without specials whose exponent field 1 has the spacing `spacing(0)`, field 2 that of
/// `spacing(1)`, and whose subnormals go on with the spacing of field 1.
fn signed(code: u64, sign: u64, steps: u64, spacing: impl Fn(u32) -> f64) -> f64 {
    let (field, step) = ((code & (sign - 1)) / steps, code % steps);
    let magnitude = match field {
        0 => step as f64 * spacing(0),
        _ => (steps + step) as f64 * spacing(field as u32 - 1),
    };
    if code & sign == 0 {
        magnitude
    } else {
        -magnitude
    }
}
