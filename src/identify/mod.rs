//! Which models of the catalogue give a D, alone and under schedules of kernels.
//!
//! ```text
//! Identify ──prepare──> Prepared ──run──> report::Identification
//! ```
//!
//! * `request`: the type; `readings`: a file as every format that it can be.
//! * `sample`: which elements are examined first; `search`: candidates in lockstep, within a budget; `common`: what
//!   they have in common there.
//! * `schedules`: candidates under schedules; `kernels`: under what a library's words leave open; `separate`: operands on which two candidates differ.
//! * `run`, `result`: all of it in order, and what is said of it.

mod common;
mod epilogues;
mod error;
mod kernels;
mod prepare;
mod readings;
mod request;
mod result;
mod run;
mod sample;
mod schedules;
mod search;
mod separate;

pub use error::IdentifyError;
pub use request::{Formats, Identify, Limits, Schedules};
pub use run::Prepared;
pub use separate::{Separation, comparable, separate};
