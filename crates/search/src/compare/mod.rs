//! Compares two results that should be the same product: where they differ, what gives each of them, and what
//! separates the two. An explanation gives the bits of its side. Without one it does not say which side is right.
//!
//! ```text
//! Compare ──run──> report::Compared
//! ```
//!
//! * `request`: the type; `results`: two arrays as codes of one format; `contents`: whether two arrays hold the same;
//!   `pattern`: what the positions of the differences tell.
//! * `kernels`: what two libraries say of their kernels; `side`: a search for what gives one of them, and what
//!   separates two findings; `exact`: which one is correctly rounded; `traces`: the first difference, step by step.
//! * `run`: all of it in order.
//!
//! * `runs`: two runs of a program, one comparison per step.
//!
//! No search is written here: `identify` looks for what gives a result, `check` for the causes of one that nothing gives.

mod contents;
pub mod document;
mod exact;
mod kernels;
mod pattern;
mod request;
mod results;
mod run;
pub mod runs;
mod side;
mod subnormals;
mod traces;
mod view;

pub use request::{Compare, Held, Hints, Span};
pub use runs::{CompareRuns, RunsError};
