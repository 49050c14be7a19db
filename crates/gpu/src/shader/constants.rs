//! The constants of a shader, in WGSL.

use std::fmt::Write as _;

use tcverify_num::{Format, Formats, Rounding};

use crate::device::FLAG;
use crate::plan::{CutRule, FewUnit, FloorUnit, FusedUnit, QUAD};

/// Exponents that are none: of a zero, of an infinity or NaN. Their sums with any others stay apart.
pub const ZERO: i32 = -4096;
pub const SPECIAL: i32 = 16384;

/// Far below every exponent, and far above.
const NEVER: i32 = -8192;
const ALWAYS: i32 = 8192;

pub fn fused(text: &mut String, unit: &FusedUnit, formats: Formats) {
    accumulator(text, formats.accumulator, unit.minus_zero, false);
    grid(text, unit.fraction_bits, unit.up(formats), formats);
    let constants = [
        ("ZERO_EXPONENT", unit.zero_exponent.to_string()),
        ("PRECISION", unit.precision.to_string()),
        (
            "NEAREST",
            (unit.rounding == Rounding::NearestEven).to_string(),
        ),
        ("SUM_BITS", unit.sum_bits.unwrap_or(32).min(32).to_string()),
    ];
    write(text, &constants);
}

pub fn floor(text: &mut String, unit: &FloorUnit, formats: Formats) {
    // A negative total that is rounded to zero gives -0.
    accumulator(text, formats.accumulator, true, false);
    grid(text, unit.fraction_bits, unit.up(formats), formats);
    let window = unit.addend_window.map_or(ALWAYS, |window| window as i32);
    let constants = [
        ("ZERO_EXPONENT", unit.zero_exponent.to_string()),
        (
            "MORE",
            (unit.sum_fraction_bits - unit.fraction_bits).to_string(),
        ),
        ("RESULT_BITS", unit.result_fraction_bits.to_string()),
        ("WINDOW", window.to_string()),
        ("SUMS", format!("{}u", unit.sums)),
        ("SUM_QUADS", format!("{}u", unit.group / unit.sums / QUAD)),
    ];
    write(text, &constants);
}

pub fn few(text: &mut String, unit: &FewUnit, formats: Formats) {
    let upper = formats.accumulator == Format::Bf16;
    // BF16 is the upper half of an FP32.
    let format = if upper {
        Format::Fp32
    } else {
        formats.accumulator
    };
    let (flush, vanishing) = match unit.rule {
        CutRule::Complement { flush_sums, .. } => (flush_sums, None),
        CutRule::Floored { vanishing_c } => (false, vanishing_c),
    };
    accumulator(text, format, false, flush);
    let constants = [
        ("UPPER", upper.to_string()),
        ("SIZE", format!("{}u", unit.size)),
        ("PRODUCT_BITS", unit.product_bits.to_string()),
        ("PRODUCT_DOWN", (-unit.up(formats)).max(0).to_string()),
        ("LEADING_BITS", unit.leading_bits.to_string()),
        ("LEAST", unit.least_leading.unwrap_or(NEVER).to_string()),
        ("VANISHING", vanishing.unwrap_or(NEVER).to_string()),
    ];
    write(text, &constants);
}

/// Those of a format in which sums are kept.
fn accumulator(text: &mut String, c: Format, minus_zero: bool, flush: bool) {
    let top = (1u32 << c.exponent_bits()) - 1;
    let constants = [
        ("FLAG", format!("{FLAG:#x}u")),
        ("ZERO", ZERO.to_string()),
        ("SPECIAL", SPECIAL.to_string()),
        ("SOME_ZERO", (ZERO / 2).to_string()),
        ("SOME_SPECIAL", (SPECIAL / 2).to_string()),
        ("C_FRACTION", format!("{}u", c.fraction_bits())),
        ("C_TOP", format!("{top}u")),
        ("C_SIGN", format!("{:#x}u", c.sign_mask())),
        ("C_BIAS", c.bias().to_string()),
        ("C_MIN_EXPONENT", c.min_exponent().to_string()),
        ("C_MAX_EXPONENT", c.max_exponent().to_string()),
        ("C_FLUSH", flush.to_string()),
        ("MINUS_ZERO", minus_zero.to_string()),
    ];
    write(text, &constants);
}

/// Those of a grid so many bits below the largest exponent, above which a product lies by `up`.
fn grid(text: &mut String, bits: u32, up: i32, formats: Formats) {
    let c_up = bits as i32 - formats.accumulator.fraction_bits() as i32;
    let constants = [
        ("C_UP", format!("{}u", c_up.max(0))),
        ("C_DOWN", (-c_up).max(0).to_string()),
        ("PRODUCT_DOWN", (-up).max(0).to_string()),
        ("FRACTION_BITS", bits.to_string()),
    ];
    write(text, &constants);
}

fn write(text: &mut String, constants: &[(&str, String)]) {
    for (name, value) in constants {
        let kind = match value.as_str() {
            "true" | "false" => "bool",
            value if value.ends_with('u') => "u32",
            _ => "i32",
        };
        let _ = writeln!(text, "const {name}: {kind} = {value};");
    }
}
