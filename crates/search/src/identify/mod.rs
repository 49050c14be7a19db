//! Finds the models in the catalogue that give a D, alone and under schedules of kernels. A fit gives every tested element
//! bit for bit, and the result says what was not searched. It cannot find a kernel that no schedule describes.
//!
//! ```text
//! Identify ──prepare──> Prepared ──run──> report::Identification
//! ```
//!
//! * `request`: the type; `readings`: a file in every format that fits it; `weights`: a B that
//!   is held as codes; `captured`: all files of a search.
//! * `sample`: which elements are examined first; `search`: all candidates in lockstep, within a budget; `common`:
//!   the work that they share.
//! * `schedules`: candidates under schedules; `emulations`: those that take operands apart; `kernels`: those that a kernel text
//!   allows; `separate`: operands on which two candidates differ.
//! * `run`, `result`: the whole search in order, and its result; `auto`: the check by what fits first.

pub mod auto;
mod captured;
mod common;
pub mod document;
mod emulations;
mod epilogues;
mod kernels;
mod readings;
mod request;
mod result;
mod run;
mod sample;
mod schedules;
mod search;
mod separate;
mod view;
mod weights;

pub use request::{Formats, Identify, IdentifyError, Limits, Schedules};
pub use run::Prepared;
pub use separate::{Separation, comparable, separate};
