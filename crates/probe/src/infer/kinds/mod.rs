//! What the search for a unit knows of each kind of step: one file a kind. A kind without a file is never found, and works
//! everywhere else.

mod block_dot;
mod block_window;
mod chained;
mod complement_dot;
mod exact_dot;
mod exact_sum;
mod floored_pairs;
mod fma_chain;
mod fused;
mod fused_floor;
mod fused_halves;
mod integer_sum;
mod pairwise_flush;
mod rounded_dot;
mod sliced;
mod sliced_integers;
mod sticky_rne;

use serde_json::{Value, json};

pub use block_dot::{of as block_dot, parts};
pub use fused::guarded;
pub use fused_halves::{Halves, of as fused_halves};

use crate::emu::step::{Code, Step};
use crate::num::Formats;
use crate::num::Rounding::{self, Down, NearestAway, NearestEven, TowardZero};

/// What a machine's answers show of its unit, as each kind of step reads them.
#[derive(Debug)]
pub struct Clues<'a> {
    pub formats: Formats,
    /// Products of the longest case.
    pub k: usize,
    /// Products that met a large pair.
    pub groups: &'a [usize],
    /// The deepest term that survived, and one less for roundings that round it up.
    pub depths: &'a [u32],
    /// The format's, and those of narrower results that are known.
    pub precisions: &'a [u32],
    pub zero_exponent: i32,
    /// Whether any answer is -0.
    pub minus_zero: bool,
    /// Whether infinity times zero is not a number.
    pub infinities: bool,
    /// The code of NaN among the answers, or the commonest.
    pub nan: Code,
    /// Where a NaN C comes back quiet with its payload: what a NaN operand gives, and infinity times zero.
    pub nans: Option<[Code; 2]>,
}

/// A kind of step that `infer` tries.
trait Searched: Sized {
    /// Steps that may explain a machine's answers, likely ones first.
    fn hypotheses(clues: &Clues) -> Vec<Self>;

    /// The plausible values of a constant, where they do not follow from its name; the longest case has `k` products.
    fn values(&self, _constant: &str, _k: usize) -> Option<Vec<Value>> {
        None
    }

    /// Adapts the constants that depend on one that was changed.
    fn follow(&mut self, _changed: &str) {}

    /// The step with other widths, where it adds groups of products to C.
    fn with_widths(&self, _product_bits: u32, _leading_bits: u32) -> Option<Self> {
        None
    }

    /// The steps with other roundings and widths, which compensate one another; `full` bits has the accumulator.
    fn together(&self, _full: u32) -> Vec<Self> {
        Vec::new()
    }
}

macro_rules! searched {
    ($($kind:ident),* $(,)?) => {
        $(use crate::emu::step::$kind;)*

        /// First hypotheses of every kind, in the order of the kinds.
        pub fn hypotheses(clues: &Clues) -> Vec<Vec<Step>> {
            vec![$(steps(<$kind as Searched>::hypotheses(clues))),*]
        }

        /// [`Searched::values`] of its kind.
        pub fn values(step: &Step, constant: &str, k: usize) -> Option<Vec<Value>> {
            match step {
                $(Step::$kind(step) => step.values(constant, k),)*
                _ => None,
            }
        }

        /// [`Searched::follow`] of its kind.
        pub fn follow(step: &mut Step, changed: &str) {
            match step {
                $(Step::$kind(step) => step.follow(changed),)*
                _ => {}
            }
        }

        /// [`Searched::with_widths`] of its kind.
        pub fn with_widths(step: &Step, product_bits: u32, leading_bits: u32) -> Option<Step> {
            match step {
                $(Step::$kind(step) => step.with_widths(product_bits, leading_bits).map(Step::from),)*
                _ => None,
            }
        }

        /// [`Searched::together`] of its kind.
        pub fn together(step: &Step, full: u32) -> Vec<Step> {
            match step {
                $(Step::$kind(step) => steps(step.together(full)),)*
                _ => Vec::new(),
            }
        }
    };
}

// In the order in which `infer` tries them: simpler kinds first.
searched! {
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
    IntegerSum,
    ComplementDot,
    FlooredPairs,
    RoundedDot,
    Sliced,
    SlicedIntegers,
}

/// All roundings that are tried of terms and sums.
pub const MODES: [Rounding; 4] = [TowardZero, NearestEven, NearestAway, Down];

fn steps<T: Into<Step>>(all: Vec<T>) -> Vec<Step> {
    all.into_iter().map(Into::into).collect()
}

/// The values of a rounding that may be any.
fn roundings() -> Vec<Value> {
    ["rz", "rne", "rna", "rd"].map(|word| json!(word)).into()
}

/// The values of a number.
fn numbers(all: impl IntoIterator<Item = usize>) -> Vec<Value> {
    all.into_iter().map(|n| json!(n)).collect()
}
