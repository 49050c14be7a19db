//! Constants that steps have in common, and what they may be.

use serde::{Deserialize, Serialize};

use crate::num::{Format, Formats, Rounding, Scale};

/// A code written in JSON as hexadecimal text (`"7fffffff"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u64);

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
        let text = String::deserialize(deserializer)?;
        let code = u64::from_str_radix(&text, 16)
            .map_err(|_| serde::de::Error::custom(format!("{text:?} is not hexadecimal")))?;
        // One spelling only, so that equal models have equal digests.
        if format!("{code:x}") != text {
            let message = format!("write {text:?} as \"{code:x}\"");
            return Err(serde::de::Error::custom(message));
        }
        Ok(Code(code))
    }
}

pub fn check_nan(nan: Code, format: Format) -> Result<(), String> {
    if nan.0 <= format.max_code() && format.unpack(nan.0).is_nan() {
        Ok(())
    } else {
        Err(format!("nan {:x} is not a NaN of {format}", nan.0))
    }
}

pub fn check_group(group: usize) -> Result<(), String> {
    if (1..=1024).contains(&group) {
        Ok(())
    } else {
        Err(format!("group is {group}; it must be 1 to 1024"))
    }
}

/// A format that accumulates, and the code of a NaN result.
pub fn check_accumulator(format: Format, nan: Code) -> Result<(), String> {
    if format.infinity(false).is_none() {
        return Err(format!("{format} cannot accumulate: it has no infinity"));
    }
    check_nan(nan, format)
}

/// A rounding that ends a step: of zeros, and of infinity, no other is known.
pub fn check_rounding(name: &str, rounding: Rounding) -> Result<(), String> {
    match rounding {
        Rounding::NearestEven | Rounding::TowardZero => Ok(()),
        _ => Err(format!("{name} must be rne or rz")),
    }
}

pub fn check_zero_exponent(exponent: i32) -> Result<(), String> {
    match exponent {
        -4096..=4096 => Ok(()),
        _ => Err(format!(
            "zero_exponent is {exponent}; it must lie within 4096 of 0"
        )),
    }
}

/// Significant bits of a result.
pub fn check_precision(precision: u32, accumulator: Format) -> Result<(), String> {
    let most = accumulator.fraction_bits() + 1;
    if (1..=most).contains(&precision) {
        Ok(())
    } else {
        Err(format!(
            "precision is {precision}; {accumulator} has 1 to {most} bits"
        ))
    }
}

/// Operands of which sums of products are small integers of a fixed unit.
pub fn check_narrow_operands(formats: Formats) -> Result<(), String> {
    let wide = |format: &Format| format.infinity(false).is_some() || format.exponent_bits() > 3;
    match [formats.a, formats.b].into_iter().find(wide) {
        None => Ok(()),
        Some(format) => Err(format!(
            "operands must be finite narrow formats, unlike {format}"
        )),
    }
}

/// Products that are added before they are scaled: groups and the blocks of a scale hold whole numbers of them.
pub fn check_part(name: &str, part: usize, group: usize, scale: Scale) -> Result<(), String> {
    let divides = |whole: usize| part != 0 && whole.is_multiple_of(part);
    if divides(group) && divides(scale.block) {
        return Ok(());
    }
    Err(format!(
        "{name} is {part}; it must divide group, {group}, and scale.block, {}",
        scale.block
    ))
}

/// The formats of units that add integers.
pub fn check_integers(formats: Formats) -> Result<(), String> {
    let wide = |format: &Format| format.width() > 8;
    if let Some(format) = [formats.a, formats.b].into_iter().find(wide) {
        return Err(format!("operands must have up to 8 bits, unlike {format}"));
    }
    match formats.accumulator {
        Format::Int32 => Ok(()),
        other => Err(format!(
            "the accumulator of integers must be int32, not {other}"
        )),
    }
}
