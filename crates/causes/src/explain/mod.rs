//! Explains how one element of D is computed, step by step, and what could give a different one.
//!
//! Nothing here computes a step: [`Step::run_observed`](crate::emu::step::Step::run_observed) does, and
//! reports what happens.

mod chain;
mod chain_text;
mod document;
mod kernel;
pub mod picture;
mod text;
mod trace;

pub use chain::{Entry, Folded, Wish};
pub use document::{Exact, Explanation, Given, KernelTrace, Question, SCHEMA, position};
pub use kernel::{Chain, Event, Operation};
pub use text::write;
pub use trace::{Events, Of, Product, Stage, Step, Term};

pub use crate::diagnose::{Change, Element, Found, Hypothesis, MAX_SEARCHED_K, Search};
pub use crate::num::{Dyadic, Number, Value};
