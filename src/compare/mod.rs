//! Two results of what should be one product: where they differ, what gives each of them, and what separates the two.
//!
//! ```text
//! Compare ──run──> report::Compared
//! ```
//!
//! * `request`: the type; `results`: two arrays as codes of one format; `pattern`: what the places of the differences say.
//! * `side`: what gives one of them, by a search; `relation`: what separates two that were found; `exact`: which of them is
//!   the correctly rounded one.
//! * `run`: all of it in order.
//!
//! No search is written here: `identify` looks for what gives a result, `check` for the causes of one that nothing gives.

mod exact;
mod pattern;

mod relation;
mod request;
mod results;
mod run;
mod side;

pub use request::{Compare, Hints, Span};
