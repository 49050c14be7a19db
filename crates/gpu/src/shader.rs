//! The text of a shader: constants of a plan, how its formats are taken apart, and the template of its kind
//! (`shader/*.wgsl`), in which a line that begins with `each` stands for as many as a group has fours of k.

use std::fmt::Write as _;

use tcverify_num::{Format, Formats, Kind, Rounding, Scale, Specials};

use super::device::FLAG;
use super::plan::{FusedUnit, QUAD, ShaderPlan, Unit};

/// Rows and columns of D that a workgroup computes.
pub const TILE: usize = 32;

/// Exponents that are none: of a zero, of an infinity or NaN. Their sums with any others stay apart.
const ZERO: i32 = -4096;
const SPECIAL: i32 = 16384;

/// The shader of a plan, in WGSL.
pub fn source(plan: &ShaderPlan) -> String {
    let Formats { a, b, scale, .. } = plan.formats;
    let mut text = format!("// {}\n", plan.name());
    let step = plan.step();
    let (up, template) = match &plan.unit {
        Unit::Fused(unit) => {
            fused_constants(&mut text, unit, plan.formats);
            let template = include_str!("shader/fused.wgsl").to_owned();
            let step = "\nfn step(code: u32, row: u32, column: u32, quad: u32) -> u32 { return fused(code, row, column, quad); }\n";
            (unit.up(plan.formats), template + step)
        }
        Unit::Halves { half, .. } => {
            fused_constants(&mut text, half, plan.formats);
            let fused = include_str!("shader/fused.wgsl").to_owned();
            let template = fused + "\n" + include_str!("shader/halves.wgsl");
            (half.up(plan.formats), template)
        }
        Unit::Integers { clamped } => {
            let _ = writeln!(text, "const CLAMPED: bool = {};", clamped.is_some());
            let template = include_str!("shader/integers.wgsl").to_owned();
            (0, template)
        }
    };
    let _ = writeln!(text, "const STEP_QUADS: u32 = {}u;\n", step / QUAD);
    if scale.is_some() {
        text += "@group(0) @binding(4) var<storage, read> a_scales: array<u32>;\n";
        text += "@group(0) @binding(5) var<storage, read> b_scales: array<u32>;\n\n";
    }
    text += include_str!("shader/main.wgsl");
    text += "\n";
    // The products lie on their grid if A does.
    take_apart(&mut text, ("a", "rows"), a, scale, up.max(0));
    take_apart(&mut text, ("b", "columns"), b, scale, 0);
    let (group, parts) = match &plan.unit {
        Unit::Fused(unit) | Unit::Halves { half: unit, .. } => {
            let parts = unit.parts(plan.formats).expect("it suits");
            (unit.group, parts)
        }
        Unit::Integers { .. } => (step, 1),
    };
    unroll(&mut text, &template, group / QUAD, parts);
    text
}

/// The template, each of its repeated lines as often as it is meant.
fn unroll(text: &mut String, template: &str, quads: usize, parts: usize) {
    let half = quads / parts;
    for line in template.lines() {
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        let (range, bare) = match bare.split_once(' ') {
            Some(("each", rest)) => (0..quads, rest),
            Some(("part0", rest)) => (0..half, rest),
            Some(("part1", rest)) => (half..quads, rest),
            _ => {
                let _ = writeln!(text, "{line}");
                continue;
            }
        };
        for quad in range {
            let _ = writeln!(text, "{indent}{}", bare.replace('$', &quad.to_string()));
        }
    }
}

fn fused_constants(text: &mut String, unit: &FusedUnit, formats: Formats) {
    let c = formats.accumulator;
    let c_up = unit.fraction_bits as i32 - c.fraction_bits() as i32;
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
        ("C_UP", format!("{}u", c_up.max(0))),
        ("C_DOWN", (-c_up).max(0).to_string()),
        ("PRODUCT_DOWN", (-unit.up(formats)).max(0).to_string()),
        ("ZERO_EXPONENT", unit.zero_exponent.to_string()),
        ("FRACTION_BITS", unit.fraction_bits.to_string()),
        ("PRECISION", unit.precision.to_string()),
        (
            "NEAREST",
            (unit.rounding == Rounding::NearestEven).to_string(),
        ),
        ("SUM_BITS", unit.sum_bits.unwrap_or(32).min(32).to_string()),
        ("MINUS_ZERO", unit.minus_zero.to_string()),
    ];
    for (name, value) in constants {
        let kind = match value.as_str() {
            "true" | "false" => "bool",
            value if value.ends_with('u') => "u32",
            _ => "i32",
        };
        let _ = writeln!(text, "const {name}: {kind} = {value};");
    }
}

/// How four codes of an operand are brought into a workgroup's memory.
fn take_apart(
    text: &mut String,
    (side, lines): (&str, &str),
    format: Format,
    scale: Option<Scale>,
    up: i32,
) {
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
        Kind::Float => float(format, scaled.is_some()),
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
fn float(format: Format, scaled: bool) -> (String, String) {
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
    let significands = vec4<i32>(fractions | whole);
    let numbers = select(significands, -significands, (bare & vec4<u32>({sign}u)) != vec4<u32>(0u));
    let special = {special};
    let exponents = vec4<i32>(max(fields, vec4<u32>(1u))) - vec4<i32>({bias});",
        hidden = 1u32 << fraction,
        bias = format.bias(),
    );
    let (moved, nan) = if scaled {
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
