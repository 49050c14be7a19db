//! How a shader takes the numbers of operands apart.

use std::fmt::Write as _;

use tcverify_num::{Format, Kind, Scale, Specials};

use super::constants::{SPECIAL, ZERO};
use crate::plan::QUAD;

/// An operand as a shader takes it.
#[derive(Clone, Copy)]
pub struct Operand {
    pub side: &'static str,
    /// What the shader calls the number of its lines.
    pub lines: &'static str,
    pub format: Format,
    pub scale: Option<Scale>,
    /// Bits by which significands are moved up.
    pub up: i32,
    /// Whether subnormal numbers are zeros.
    pub flush: bool,
    /// Whether an exponent is four times itself, and one more where the number is negative: zeros have signs then, and that of
    /// a product is the last bit of its exponents' sum.
    pub signs: bool,
}

/// How four codes of an operand are brought into a workgroup's memory.
pub fn take_apart(text: &mut String, operand: Operand) {
    let Operand {
        side,
        lines,
        format,
        scale,
        up,
        ..
    } = operand;
    let words = format.bytes();
    let codes = match words {
        1 => format!("(vec4<u32>({side}[at]) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu)"),
        2 => format!(
            "vec4<u32>({side}[at] & 0xffffu, {side}[at] >> 16u, {side}[at + 1u] & 0xffffu, {side}[at + 1u] >> 16u)"
        ),
        _ => format!("vec4<u32>({side}[at], {side}[at + 1u], {side}[at + 2u], {side}[at + 3u])"),
    };
    let scaled = scale.map(|scale| {
        let quads = scale.block / QUAD;
        format!("let scale = {side}_scales[line * size.scales + quad / {quads}u];")
    });
    let (number, exponent) = match format.kind() {
        Kind::Float => float(operand),
        _ => (integer(format), "vec4<i32>(0)".to_owned()),
    };
    let _ = writeln!(
        text,
        "// {format}
fn take_apart_{side}(line: u32, quad: u32, place: u32) {{
    var codes = vec4<u32>(0u);
    if (line < size.{lines}) {{
        let at = (line * chunks() * 8u + quad) * {words}u;
        codes = {codes};
    }}
    {number}
    {scaled}
    {side}_numbers[place] = numbers << vec4<u32>({up}u);
    {side}_exponents[place] = {exponent};
}}
",
        scaled = scaled.unwrap_or_default(),
    );
}

/// Statements that make `numbers` of `codes`, and their exponents.
fn float(operand: Operand) -> (String, String) {
    let format = operand.format;
    let (fraction, exponent) = (format.fraction_bits(), format.exponent_bits());
    let ignored = format.ignored_bits();
    let (ones, top) = ((1u32 << fraction) - 1, (1u32 << exponent) - 1);
    let sign = 1u32 << (fraction + exponent);
    let special = match format.specials() {
        Specials::Ieee => format!("fields == vec4<u32>({top}u)"),
        Specials::NanOnly => {
            let nan = top << fraction | ones;
            format!("(bare & vec4<u32>({nan}u)) == vec4<u32>({nan}u)")
        }
        Specials::Fnuz => format!("bare == vec4<u32>({sign}u)"),
        Specials::None => "vec4<bool>(false)".to_owned(),
    };
    let number = format!(
        "let bare = codes >> vec4<u32>({ignored}u);
    let fields = (bare >> vec4<u32>({fraction}u)) & vec4<u32>({top}u);
    let fractions = bare & vec4<u32>({ones}u);
    let whole = select(vec4<u32>({hidden}u), vec4<u32>(0u), fields == vec4<u32>(0u));
    let significands = vec4<i32>({kept});
    let numbers = select(significands, -significands, (bare & vec4<u32>({sign}u)) != vec4<u32>(0u));
    let special = {special};
    let exponents = vec4<i32>(max(fields, vec4<u32>(1u))) - vec4<i32>({bias});",
        hidden = 1u32 << fraction,
        kept = if operand.flush {
            "select(fractions | whole, vec4<u32>(0u), fields == vec4<u32>(0u))"
        } else {
            "fractions | whole"
        },
        bias = format.bias(),
    );
    let (moved, nan) = if operand.scale.is_some() {
        (
            "exponents + vec4<i32>(i32(scale) - 127)",
            "special | vec4<bool>(scale == 255u)",
        )
    } else {
        ("exponents", "special")
    };
    let exponent = format!(
        "select(select({moved}, vec4<i32>({ZERO}), significands == vec4<i32>(0)), vec4<i32>({SPECIAL}), {nan})"
    );
    if operand.signs {
        let sign = fraction + format.exponent_bits();
        let signs = format!("vec4<i32>((bare >> vec4<u32>({sign}u)) & vec4<u32>(1u))");
        return (number, format!("{exponent} * vec4<i32>(4) + {signs}"));
    }
    (number, exponent)
}

fn integer(format: Format) -> String {
    let unused = 32 - format.width();
    match format.kind() {
        Kind::Signed => format!(
            "let numbers = vec4<i32>(codes << vec4<u32>({unused}u)) >> vec4<u32>({unused}u);"
        ),
        _ => format!(
            "let numbers = vec4<i32>((codes << vec4<u32>({unused}u)) >> vec4<u32>({unused}u));"
        ),
    }
}
