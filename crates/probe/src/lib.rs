//! Finds out how a machine computes: directed probes, the models that explain its answers, and the table of numerical
//! features from the literature. An inferred model gives every answer. Whether another arithmetic does, too, is known only
//! as far as constants were varied.
//!
//! ```text
//! formats -> suite (families of cases) -> files -> a machine -> answers -> infer / features
//! ```
//!
//! * [`number`]: codes of numbers given as integers, and products of a wanted value and exponent.
//! * [`suite`]: cases; `builder` builds them, `families` has one file for each question.
//! * [`replay`]: what a model answers to a case.
//! * [`here`]: the answers of this machine's CPU.
//! * [`folder`]: a directory of probes, written and read back.
//! * [`infer`]: from answers to the constants of a step.
//! * [`features`]: from answers to a table.
//!
//! Nothing here knows a GPU: a suite depends on its formats alone.

mod builder;
mod families;
pub mod features;
pub mod folder;
pub mod here;
pub mod infer;
pub mod number;
pub mod replay;
pub mod suite;

use tcverify_common::words;
use tcverify_emu as emu;
use tcverify_io as io;
use tcverify_num as num;
#[cfg(test)]
use tcverify_num::random;
use tcverify_tensor as tensor;

pub use replay::Prepared;
pub use suite::{Case, Suite, Tag};
