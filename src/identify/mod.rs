//! Which models of the catalogue give a D: candidates by formats, a growing sample, then everything.

mod candidates;
mod schedules;
mod search;
mod separate;

pub use candidates::{Candidate, Conditions, Name, candidates};
pub use schedules::{Guess, granularity, guesses};
pub use search::{Given, Outcome, Sample, Tested, search, sort};
pub use separate::{Separation, comparable, separate};
