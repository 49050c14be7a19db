//! Which models of the catalogue give a D: candidates by formats, a growing sample, then everything.

mod candidates;
mod search;
mod separate;

pub use candidates::{Candidate, Conditions, Name, candidates};
pub use search::{Given, Outcome, Sample, Tested, search};
pub use separate::{Separation, comparable, separate};
