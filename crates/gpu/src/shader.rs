//! The text of a shader: constants of a plan, how its formats are taken apart, and the template of its kind
//! (`shader/*.wgsl`), in which a line that begins with `each` stands for as many as a sum has fours of k.

mod apart;
mod constants;

use std::fmt::Write as _;

use tcverify_num::Formats;

use super::plan::{CutRule, QUAD, ShaderPlan, Unit};
use apart::{Operand, take_apart};

/// Rows and columns of D that a workgroup computes.
pub const TILE: usize = 32;

/// The shader of a plan, in WGSL.
pub fn source(plan: &ShaderPlan) -> String {
    let Formats { a, b, scale, .. } = plan.formats;
    let mut text = format!("// {}\n", plan.name());
    let Template {
        parts,
        quads,
        in_parts,
        up,
    } = Template::of(&mut text, plan);
    let steps = plan.step().max(QUAD) / QUAD;
    let _ = writeln!(text, "const STEP_QUADS: u32 = {steps}u;\n");
    if scale.is_some() {
        text += "@group(0) @binding(4) var<storage, read> a_scales: array<u32>;\n";
        text += "@group(0) @binding(5) var<storage, read> b_scales: array<u32>;\n\n";
    }
    text += include_str!("shader/main.wgsl");
    text += "\n";
    if plan.promotes || matches!(plan.unit, Unit::Halves { .. }) {
        text += include_str!("shader/sum.wgsl");
        text += "\n";
    }
    text += if plan.promotes {
        include_str!("shader/promoted.wgsl")
    } else {
        include_str!("shader/alone.wgsl")
    };
    text += "\n";
    let rule = match &plan.unit {
        Unit::Few { unit, .. } => Some(unit.rule),
        _ => None,
    };
    let flush = |rule| matches!(rule, CutRule::Complement { flush_operands, .. } if flush_operands);
    // The products lie on their grid if A does.
    let of_a = Operand {
        side: "a",
        lines: "rows",
        format: a,
        scale,
        up: up.max(0),
        flush: rule.is_some_and(flush),
        signs: matches!(rule, Some(CutRule::Complement { .. })),
    };
    take_apart(&mut text, of_a);
    let of_b = Operand {
        side: "b",
        lines: "columns",
        format: b,
        up: 0,
        ..of_a
    };
    take_apart(&mut text, of_b);
    for part in parts {
        unroll(&mut text, part, quads, in_parts);
    }
    text
}

/// What a kind of step adds to the text that all have.
struct Template {
    parts: Vec<&'static str>,
    /// Fours of k of a sum, and the parts in which they are added.
    quads: usize,
    in_parts: usize,
    /// Bits by which products lie above their grid.
    up: i32,
}

impl Template {
    /// Writes the constants of a plan's kind, and says what comes after.
    fn of(text: &mut String, plan: &ShaderPlan) -> Template {
        let formats = plan.formats;
        let terms = include_str!("shader/terms.wgsl");
        match &plan.unit {
            Unit::Fused(unit) | Unit::Halves { half: unit, .. } => {
                constants::fused(text, unit, formats);
                let last = match &plan.unit {
                    Unit::Halves { .. } => include_str!("shader/halves.wgsl"),
                    _ => {
                        "fn step(code: u32, row: u32, column: u32, quad: u32) -> u32 { return fused(code, row, column, quad); }"
                    }
                };
                Template {
                    parts: vec![terms, include_str!("shader/fused.wgsl"), last],
                    quads: unit.group / QUAD,
                    in_parts: unit.parts(formats).expect("it suits"),
                    up: unit.up(formats),
                }
            }
            Unit::Floor { unit, .. } => {
                constants::floor(text, unit, formats);
                Template {
                    parts: vec![terms, include_str!("shader/floor.wgsl")],
                    quads: unit.group / unit.sums / QUAD,
                    in_parts: 1,
                    up: unit.up(formats),
                }
            }
            Unit::Few { unit, .. } => {
                constants::few(text, unit, formats);
                let rule = match unit.rule {
                    CutRule::Floored { .. } => include_str!("shader/floored.wgsl"),
                    CutRule::Complement { .. } => include_str!("shader/complement.wgsl"),
                };
                Template {
                    parts: vec![terms, include_str!("shader/few.wgsl"), rule],
                    quads: 1,
                    in_parts: 1,
                    up: unit.up(formats),
                }
            }
            Unit::Integers { clamped } => {
                let _ = writeln!(text, "const CLAMPED: bool = {};", clamped.is_some());
                Template {
                    parts: vec![include_str!("shader/integers.wgsl")],
                    quads: plan.step() / QUAD,
                    in_parts: 1,
                    up: 0,
                }
            }
        }
    }
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
