//! Kinds of step: how a unit adds a few products to an accumulator. One file each, in exact
//! integers, written to be read beside the literature rather than to be fast.

mod block_dot;
mod exact_dot;
mod exact_sum;
mod fma_chain;
mod fused;
mod fused_floor;
mod fused_halves;
mod half_chain;
mod integer_sum;
mod pair;
mod pairwise_flush;
mod quad;
mod special;
mod sticky_rne;
mod watch;

use serde::{Deserialize, Serialize};

pub use block_dot::BlockDot;
pub use exact_dot::ExactDot;
pub use exact_sum::ExactSum;
pub use fma_chain::FmaChain;
pub use fused::Fused;
pub use fused_floor::FusedFloor;
pub use fused_halves::FusedHalves;
pub use half_chain::HalfChain;
pub use integer_sum::{IntegerOverflow, IntegerSum};
pub use pair::PairRule;
pub use pairwise_flush::PairwiseFlush;
pub use quad::Scaling;
pub use sticky_rne::{Addend, StickyRne};
pub use watch::{Seen, Source, Watch};

use super::model::Scale;
use crate::num::{self, Class, Format, Kind, Rounding, Unpacked};

/// One step of a model: consumes up to [`Step::span`] products and an accumulator, returns the next
/// accumulator. A dot product is a chain of steps over consecutive k: [`Step::start`], [`Step::run`]
/// as often as needed, [`Step::finish`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    Fused(Fused),
    FusedHalves(FusedHalves),
    FmaChain(FmaChain),
    ExactSum(ExactSum),
    PairwiseFlush(PairwiseFlush),
    FusedFloor(FusedFloor),
    StickyRne(StickyRne),
    ExactDot(ExactDot),
    BlockDot(BlockDot),
    HalfChain(HalfChain),
    IntegerSum(IntegerSum),
}

/// What is carried from step to step.
#[derive(Clone, Debug)]
pub enum Carried {
    /// A number of the accumulator's format.
    Code(u64),
    /// A sum that nothing has rounded yet.
    Exact(num::ExactSum),
}

/// The formats a step works in.
#[derive(Clone, Copy, Debug)]
pub struct Formats {
    pub a: Format,
    pub b: Format,
    /// Of the result.
    pub accumulator: Format,
    /// Of C.
    pub addend: Format,
    /// Of the operands' scales.
    pub scale: Option<Scale>,
}

/// Codes of the scales of some operands: one an operand, or none at all.
pub type Scales<'a> = Option<[&'a [u8]; 2]>;

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
            Step::ExactSum(step) => step.group,
            Step::PairwiseFlush(step) => step.span,
            Step::FusedFloor(step) => step.group,
            // Any number would do: only all of them together are a step.
            Step::ExactDot(_) => 1,
            Step::StickyRne(step) => step.group,
            Step::BlockDot(step) => step.group,
            Step::HalfChain(step) => step.span,
            Step::IntegerSum(step) => step.group,
        }
    }

    /// Whether a scale, a power of two, only moves the exponents of its operands: [`scaled`] ones
    /// then are all that [`Step::run`] has to be given.
    pub fn scales_operands(&self) -> bool {
        matches!(self, Step::Fused(_))
    }

    /// Whether a chain is rounded on its way, so that it can be read and taken up again anywhere between
    /// two steps.
    pub fn rounds(&self) -> bool {
        !matches!(self, Step::ExactDot(_))
    }

    /// The chain's beginning.
    pub fn start(&self, formats: Formats, c: u64) -> Carried {
        match self {
            Step::ExactDot(step) => Carried::Exact(step.start(formats, c)),
            _ => Carried::Code(c),
        }
    }

    /// Adds the products of `a` and `b`, at most [`Step::span`] of them; missing ones are zero
    /// products. `carried` is what [`Step::start`] of the same step gave.
    pub fn run(&self, formats: Formats, a: &[Unpacked], b: &[Unpacked], carried: &mut Carried) {
        self.run_scaled(formats, a, b, None, carried);
    }

    /// As [`Step::run`], of operands with scales that do not only move exponents.
    pub fn run_scaled(
        &self,
        formats: Formats,
        a: &[Unpacked],
        b: &[Unpacked],
        scales: Scales,
        carried: &mut Carried,
    ) {
        self.run_watched(formats, a, b, scales, carried, &mut ());
    }

    /// As [`Step::run_scaled`], telling `watch` what happens.
    pub fn run_watched(
        &self,
        formats: Formats,
        a: &[Unpacked],
        b: &[Unpacked],
        scales: Scales,
        carried: &mut Carried,
        watch: &mut impl Watch,
    ) {
        match (self, carried) {
            (Step::Fused(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, *c, watch)
            }
            (Step::FusedHalves(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, *c, watch)
            }
            (Step::FmaChain(step), Carried::Code(c)) => *c = step.run(formats, a, b, *c),
            (Step::ExactSum(step), Carried::Code(c)) => *c = step.run(formats, a, b, *c),
            (Step::PairwiseFlush(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, *c, watch)
            }
            (Step::FusedFloor(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, *c, watch)
            }
            (Step::StickyRne(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, scales, *c, watch)
            }
            (Step::BlockDot(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, scales, *c, watch)
            }
            (Step::HalfChain(step), Carried::Code(c)) => {
                *c = step.run_watched(formats, a, b, *c, watch)
            }
            (Step::IntegerSum(step), Carried::Code(c)) => *c = step.run(a, b, *c),
            (Step::ExactDot(step), Carried::Exact(sum)) => step.run(formats, a, b, sum),
            (Step::ExactDot(_), Carried::Code(_)) | (_, Carried::Exact(_)) => {
                unreachable!("carried by another kind of step")
            }
        }
    }

    /// The chain's result, a code of the accumulator's format.
    pub fn finish(&self, formats: Formats, carried: &Carried) -> u64 {
        match (self, carried) {
            (Step::ExactDot(step), Carried::Exact(sum)) => step.finish(formats, sum),
            (_, Carried::Code(code)) => *code,
            (_, Carried::Exact(_)) => unreachable!("carried by another kind of step"),
        }
    }

    /// One line for people: kind and meaning.
    pub fn summary(&self) -> String {
        match self {
            Step::Fused(step) => step.summary(),
            Step::FusedHalves(step) => step.summary(),
            Step::FmaChain(step) => step.summary(),
            Step::ExactSum(step) => step.summary(),
            Step::PairwiseFlush(step) => step.summary(),
            Step::FusedFloor(step) => step.summary(),
            Step::ExactDot(step) => step.summary(),
            Step::StickyRne(step) => step.summary(),
            Step::BlockDot(step) => step.summary(),
            Step::HalfChain(step) => step.summary(),
            Step::IntegerSum(step) => step.summary(),
        }
    }

    pub(super) fn check(&self, formats: Formats) -> Result<(), String> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        if !matches!(self, Step::HalfChain(_)) && formats.addend != accumulator {
            let addend = formats.addend;
            return Err(format!(
                "C is {addend} and D {accumulator}; this step has one format"
            ));
        }
        let integers = matches!(self, Step::IntegerSum(_));
        for format in [a, b, accumulator] {
            if format.is_integer() != integers || format.kind() == Kind::Scale {
                let wanted = if integers { "integers" } else { "floats" };
                return Err(format!("this step takes {wanted}, not {format}"));
            }
        }
        match (self, formats.scale) {
            (Step::Fused(_), Some(scale)) if scale.format != Format::Ue8m0 => {
                return Err(format!(
                    "this step takes scales of ue8m0, not {}",
                    scale.format
                ));
            }
            (Step::Fused(_), _) | (Step::BlockDot(_) | Step::StickyRne(_), _) | (_, None) => {}
            (_, Some(_)) => return Err("this step takes no scales".into()),
        }
        match self {
            Step::Fused(step) => step.check(accumulator),
            Step::FusedHalves(step) => step.check(accumulator),
            Step::FmaChain(step) => step.check(accumulator),
            Step::ExactSum(step) => step.check(accumulator),
            Step::PairwiseFlush(step) => step.check(accumulator),
            Step::FusedFloor(step) => step.check(accumulator),
            Step::ExactDot(step) => step.check(accumulator),
            Step::StickyRne(step) => step.check(formats),
            Step::BlockDot(step) => step.check(formats),
            Step::HalfChain(step) => step.check(formats),
            Step::IntegerSum(step) => step.check(formats),
        }
    }

    /// Every constant of the step, in order of its JSON.
    pub fn constants(&self) -> Vec<Constant> {
        let mut constants =
            constants_of(&serde_json::to_value(self).expect("a step is plain data"));
        constants.retain(|c| c.name != "kind");
        constants
    }
}

/// The leaves of a tree of constants, in its order.
pub fn constants_of(value: &serde_json::Value) -> Vec<Constant> {
    let mut constants = Vec::new();
    collect("", value, &mut constants);
    constants
}

/// An operand times its scale, a power of two. A scale that is NaN makes it NaN.
pub fn scaled(x: Unpacked, scale: Unpacked) -> Unpacked {
    debug_assert!(scale.is_nan() || scale.significand == 1);
    if scale.is_nan() {
        Unpacked {
            class: Class::Nan,
            significand: 0,
            ..x
        }
    } else {
        Unpacked {
            exponent: x.exponent + scale.exponent,
            ..x
        }
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

fn check_group(group: usize) -> Result<(), String> {
    if (1..=1024).contains(&group) {
        Ok(())
    } else {
        Err(format!("group is {group}; it must be 1 to 1024"))
    }
}

fn check_accumulator(format: Format) -> Result<(), String> {
    match format.infinity(false) {
        Some(_) => Ok(()),
        None => Err(format!("{format} cannot accumulate: it has no infinity")),
    }
}

/// A rounding that ends a step: of zeros, and of infinity, no other is known.
fn check_rounding(name: &str, rounding: Rounding) -> Result<(), String> {
    match rounding {
        Rounding::NearestEven | Rounding::TowardZero => Ok(()),
        _ => Err(format!("{name} must be rne or rz")),
    }
}
