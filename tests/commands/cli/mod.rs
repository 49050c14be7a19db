//! The command line, as a person or a script meets it: every command, option and exit code.

mod ambiguity;
mod archs;
mod by_digest;
mod classes;
mod combinations;
mod digest;
mod formats;
mod generated;
mod layouts;
mod man;
mod names;
mod operands;
mod outputs;
mod policies;
mod replay;
mod report;
mod results;
mod sampling;
mod scales;
mod terminal;
mod tf32;
mod usage;
mod verdict;
