//! How one element of D comes about, step by step, and where a different one may come from.
//!
//! Nothing here computes a step: [`Step::run_observed`](crate::emu::step::Step::run_observed) does, and
//! tells what happens while it does.

mod chain;
mod document;
mod dyadic;
mod element;
mod kernel;
mod kernel_text;
mod number;
mod search;
mod table;
mod text;
mod trace;
mod value;

pub use chain::{Entry, Folded, Wish};
pub use document::{Exact, Explanation, Given, KernelTrace, Question, SCHEMA};
pub use dyadic::Dyadic;
pub use element::{Change, Element};
pub use kernel::{Chain, Event, Operation};
pub use number::Number;
pub use search::{Found, Hypothesis, LONGEST, Search};
pub use text::write;
pub use trace::{Events, Of, Product, Stage, Step, Term};
pub use value::Value;
