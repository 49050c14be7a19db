//! Kinds of step: how a unit adds a few products to an accumulator. One file each, in exact
//! integers, written to be read beside the literature rather than to be fast.

mod fma_chain;
mod fused;
mod fused_halves;
mod pair;
mod special;
mod sticky_rne;

use serde::{Deserialize, Serialize};

pub use fma_chain::FmaChain;
pub use fused::Fused;
pub use fused_halves::FusedHalves;
pub use pair::PairRule;
pub use sticky_rne::{Addend, StickyRne};

use crate::num::{Format, Unpacked};

/// One step of a model: consumes up to [`Step::span`] products and an accumulator, returns the next
/// accumulator. A dot product is a chain of steps over consecutive k.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    Fused(Fused),
    FusedHalves(FusedHalves),
    FmaChain(FmaChain),
    StickyRne(StickyRne),
}

/// The formats a step works in.
#[derive(Clone, Copy, Debug)]
pub struct Formats {
    pub a: Format,
    pub b: Format,
    /// Of C and of the result.
    pub accumulator: Format,
}

/// A named constant of a step, for people and for `known_by`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Constant {
    /// Path in the step's JSON, such as `fraction_bits` or `half.group`.
    pub name: String,
    pub value: serde_json::Value,
}

impl Step {
    /// How many products one step takes.
    pub fn span(&self) -> usize {
        match self {
            Step::Fused(step) => step.group,
            Step::FusedHalves(step) => step.span,
            Step::FmaChain(_) => 1,
            Step::StickyRne(step) => step.group,
        }
    }

    /// `c` plus the products of `a` and `b`, at most [`Step::span`] of them; missing ones are zero
    /// products.
    pub fn run(&self, formats: Formats, a: &[Unpacked], b: &[Unpacked], c: u64) -> u64 {
        match self {
            Step::Fused(step) => step.run(formats, a, b, c),
            Step::FusedHalves(step) => step.run(formats, a, b, c),
            Step::FmaChain(step) => step.run(formats, a, b, c),
            Step::StickyRne(step) => step.run(formats, a, b, c),
        }
    }

    /// One line for people: kind and meaning.
    pub fn summary(&self) -> String {
        match self {
            Step::Fused(step) => step.summary(),
            Step::FusedHalves(step) => step.summary(),
            Step::FmaChain(step) => step.summary(),
            Step::StickyRne(step) => step.summary(),
        }
    }

    pub(super) fn check(&self, a: Format, b: Format, accumulator: Format) -> Result<(), String> {
        match self {
            Step::Fused(step) => step.check(accumulator),
            Step::FusedHalves(step) => step.check(accumulator),
            Step::FmaChain(step) => step.check(a, b, accumulator),
            Step::StickyRne(step) => step.check(a, b, accumulator),
        }
    }

    /// Every constant of the step, in order of its JSON.
    pub fn constants(&self) -> Vec<Constant> {
        let value = serde_json::to_value(self).expect("a step is plain data");
        let mut constants = Vec::new();
        collect("", &value, &mut constants);
        constants.retain(|c| c.name != "kind");
        constants
    }
}

fn collect(path: &str, value: &serde_json::Value, into: &mut Vec<Constant>) {
    if let serde_json::Value::Object(fields) = value {
        for (key, inner) in fields {
            let name = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            collect(&name, inner, into);
        }
    } else {
        into.push(Constant {
            name: path.into(),
            value: value.clone(),
        });
    }
}

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

fn check_nan(nan: Code, format: Format) -> Result<(), String> {
    if nan.0 <= format.max_code() && format.unpack(nan.0).is_nan() {
        Ok(())
    } else {
        Err(format!("nan {:x} is not a NaN of {format}", nan.0))
    }
}
