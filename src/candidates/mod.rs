//! What could have computed a D: arithmetics of the catalogue that formats and K allow, and schedules of
//! kernels that are worth a try. Nothing is tested here.

mod arithmetics;
mod schedules;

pub use arithmetics::{Candidate, Conditions, Name, candidates};
pub use schedules::{Asked, Guess, granularity, guesses, tells_zeros};
