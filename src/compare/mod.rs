//! Two results of what should be one product: where they differ, what gives each of them, and what separates the two.
//!
//! ```text
//! Compare ──run──> report::Compared
//! ```
//!
//! * `request`: the type; `results`: two arrays as codes of one format; `pattern`: what the places of the differences say.
//! * `kernels`: what two libraries say of their kernels; `side`: what gives one of them, by a search; `relation`: what separates two that were found; `exact`: which of them is
//!   the correctly rounded one; `traces`: the first that differs, step by step.
//! * `run`: all of it in order.
//!
//! * `runs`: two runs of a program, a comparison for every step.
//!
//! No search is written here: `identify` looks for what gives a result, `check` for the causes of one that nothing gives.

mod exact;
mod kernels;
mod pattern;
mod relation;
mod request;
mod results;
mod run;
mod runs;
mod side;
mod traces;

pub use request::{Compare, Held, Hints, Span};
pub use runs::{CompareRuns, RunsError};
