//! Lists what is worth a try for a D: arithmetics of the catalogue that fit the formats and K, and likely schedules of
//! kernels. Each comes with what a try costs. Nothing is tested here.

mod arithmetics;
pub mod cost;
mod emulations;
mod schedules;

pub use arithmetics::{Candidate, Conditions, Name, candidates};
pub use emulations::{Emulation, emulations};
pub use schedules::{Guess, Wanted, digest, granularity, guesses, tells_zeros};
