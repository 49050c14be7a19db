//! What codes mean, written down here a second time, and independently.

use tcverify::num::Format::{self, *};

/// Formats that are also stored wider, with their exponent and fraction bits.
pub const NARROW: [(Format, u32, u32); 7] = [
    (Fp16, 5, 10),
    (Bf16, 8, 7),
    (E4m3, 4, 3),
    (E5m2, 5, 2),
    (E3m2, 3, 2),
    (E2m3, 2, 3),
    (E2m1, 2, 1),
];

/// The number that a code of such a format encodes.
pub fn value(format: Format, code: u64) -> f64 {
    let row = NARROW.iter().find(|row| row.0 == format);
    let &(_, exponent_bits, fraction_bits) = row.expect("a narrow format");
    let fraction = (code & ((1 << fraction_bits) - 1)) as f64;
    let top = (1 << exponent_bits) - 1;
    let field = (code >> fraction_bits) as i32 & top;
    let bias = top / 2;
    let scale = 2.0_f64.powi(-(fraction_bits as i32));
    let ieee = matches!(format, Fp16 | Bf16 | E5m2);
    let magnitude = match field {
        _ if format == E4m3 && code & 0x7f == 0x7f => f64::NAN,
        _ if ieee && field == top && fraction != 0.0 => f64::NAN,
        _ if ieee && field == top => f64::INFINITY,
        0 => fraction * scale * 2.0_f64.powi(1 - bias),
        _ => (1.0 + fraction * scale) * 2.0_f64.powi(field - bias),
    };
    if code >> (exponent_bits + fraction_bits) == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// Every code of a format.
pub fn all(format: Format) -> impl Iterator<Item = u64> {
    let row = NARROW.iter().find(|row| row.0 == format);
    let &(_, exponent_bits, fraction_bits) = row.expect("a narrow format");
    0..1 << (1 + exponent_bits + fraction_bits)
}

#[test]
fn spot_checks() {
    assert_eq!(value(Fp16, 0x3c00), 1.0);
    assert_eq!(value(Fp16, 0x7bff), 65504.0);
    assert_eq!(value(Bf16, 0x4049), 3.140625);
    assert_eq!(value(E4m3, 0x7e), 448.0);
    assert_eq!(value(E5m2, 0x7b), 57344.0);
    assert_eq!(value(E3m2, 0x1f), 28.0);
    assert_eq!(value(E2m3, 0x1f), 7.5);
    assert_eq!(value(E2m1, 0x0f), -6.0);
    assert_eq!(value(E2m1, 0x01), 0.5);
}
