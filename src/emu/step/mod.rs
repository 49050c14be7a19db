//! Kinds of step: how a unit adds a few products to an accumulator. One file each, in exact
//! integers, written to be read beside the literature rather than to be fast. A step is arithmetic and
//! its trace, nothing else.
//!
//! A new kind is a file with a type that implements `StepKind`, its name in `kinds!` below (in
//! snake case, the `kind` of a model file); its head states its rules, and `docs/steps.md` is made of the heads.

mod block_dot;
mod block_window;
mod blocks;
mod chained;
mod checks;
mod complement_dot;
mod exact_dot;
mod exact_sum;
mod floored_pairs;
mod fma_chain;
mod fpmr;
mod fused;
mod fused_floor;
mod fused_halves;
mod half_chain;
mod integer_sum;
mod kind;
mod ordered_fma;
mod pair;
mod pairwise_flush;
mod quad;
mod rounded_dot;
mod sliced;
mod sliced_integers;
mod special;
mod sticky_rne;
mod term;
#[cfg(test)]
mod tests;
mod trace;

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

pub use block_dot::BlockDot;
pub use block_window::{BlockWindow, ScaledProduct, Windows};
pub use blocks::{Blocks, Reload, added_in_memory, packed};
pub use chained::{Groups, Nans};
pub use checks::Code;
pub use complement_dot::ComplementDot;
pub use exact_dot::ExactDot;
pub use exact_sum::ExactSum;
pub use floored_pairs::FlooredPairs;
pub use fma_chain::FmaChain;
pub use fpmr::Fpmr;
pub use fused::Fused;
pub use fused_floor::FusedFloor;
pub use fused_halves::FusedHalves;
pub use half_chain::HalfChain;
pub use integer_sum::{IntegerOverflow, IntegerSum};
pub use kind::{Carried, KnownFault, Products, ScaleUse, Scales, StepKind, ThroughMemory};
pub use ordered_fma::OrderedFma;
pub use pair::PairRule;
pub use pairwise_flush::PairwiseFlush;
pub use quad::LaneScaling;
pub use rounded_dot::{Direction, RoundedDot};
pub use sliced::{Dropping, Droppings, Sliced};
pub use sliced_integers::SlicedIntegers;
pub use sticky_rne::{Addend, StickyRne};
pub use term::floor_to;
pub use trace::{Source, TermTrace, TraceObserver};

pub use crate::num::Formats;
use crate::num::{Class, Format, Kind, Unpacked};

macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        /// One step of a model: consumes up to [`StepKind::span`] products and an accumulator, returns the
        /// next accumulator. A dot product is a chain of steps over consecutive k: [`StepKind::start`],
        /// [`Step::run`] as often as needed, [`StepKind::finish`].
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Step {
            $($kind($kind)),*
        }

        $(impl From<$kind> for Step {
            fn from(step: $kind) -> Step {
                Step::$kind(step)
            }
        })*

        impl Step {
            /// [`StepKind::add`] of its kind.
            pub fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
                match self { $(Step::$kind(step) => step.add(products, c, observer)),* }
            }

            /// [`StepKind::run`] of its kind.
            fn run_in(&self, products: Products, carried: &mut Carried, observer: &mut impl TraceObserver) {
                match self { $(Step::$kind(step) => step.run(products, carried, observer)),* }
            }
        }

        /// Every other method is that of its kind.
        impl Deref for Step {
            type Target = dyn StepKind;

            fn deref(&self) -> &Self::Target {
                match self { $(Step::$kind(step) => step),* }
            }
        }

        impl DerefMut for Step {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Step::$kind(step) => step),* }
            }
        }
    };
}

kinds! {
    FmaChain,
    ExactDot,
    Fused,
    ExactSum,
    PairwiseFlush,
    FusedHalves,
    FusedFloor,
    BlockDot,
    BlockWindow,
    StickyRne,
    HalfChain,
    IntegerSum,
    ComplementDot,
    FlooredPairs,
    OrderedFma,
    RoundedDot,
    Sliced,
    SlicedIntegers,
}

/// A named constant of a step, for people and for `known_by`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Constant {
    /// Path in the step's JSON, such as `fraction_bits` or `half.group`.
    pub name: String,
    pub value: serde_json::Value,
}

impl Step {
    /// Whether a scale, a power of two, only moves the exponents of its operands: [`scaled`] ones
    /// then are all that [`Step::run`] has to be given.
    pub fn scales_operands(&self) -> bool {
        self.scaling() == ScaleUse::MoveExponents
    }

    /// Adds the products of `a` and `b`, at most [`StepKind::span`] of them; missing ones are zero
    /// products. `carried` is what [`StepKind::start`] of the same step gave.
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
        self.run_observed(formats, a, b, scales, carried, &mut ());
    }

    /// As [`Step::run_scaled`]; `observer` receives what happens.
    pub fn run_observed(
        &self,
        formats: Formats,
        a: &[Unpacked],
        b: &[Unpacked],
        scales: Scales,
        carried: &mut Carried,
        observer: &mut impl TraceObserver,
    ) {
        let products = Products {
            formats,
            a,
            b,
            scales,
        };
        self.run_in(products, carried, observer);
    }

    /// Refuses formats and constants that no machine has.
    pub(super) fn check(&self, formats: Formats) -> Result<(), String> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        if !self.takes_other_addends() && formats.addend != accumulator {
            let addend = formats.addend;
            return Err(format!(
                "C is {addend} and D is {accumulator}; this step needs one format for both"
            ));
        }
        let integers = self.takes_integers();
        for format in [a, b, accumulator] {
            if format.is_integer() != integers || format.kind() == Kind::Scale {
                let wanted = if integers { "integers" } else { "floats" };
                return Err(format!("this step takes {wanted}, not {format}"));
            }
        }
        match (self.scaling(), formats.scale) {
            (ScaleUse::MoveExponents, Some(scale)) if scale.format != Format::Ue8m0 => {
                return Err(format!(
                    "this step takes scales of ue8m0, not {}",
                    scale.format
                ));
            }
            (ScaleUse::None, Some(_)) => return Err("this step takes no scales".into()),
            (ScaleUse::MoveExponents | ScaleUse::Given, _) | (_, None) => {}
        }
        (**self).check(formats)
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
