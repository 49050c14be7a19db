//! Models as data, and the exact engine that runs them.
//!
//! `emu` knows no files, no terminal and no GPU names: an architecture is a file of the catalogue
//! ([`Catalogue`]) in the vocabulary of [`model`], and code knows kinds of arithmetic ([`step`]).

mod catalogue;
mod exact;
mod fast;
mod formats;
mod gathered;
mod known;
pub mod layout;
pub mod model;

mod problem;
mod replay;
pub mod schedule;
pub mod step;

pub use crate::tensor::shape_text;
pub use catalogue::{
    Catalogue, Choice, NoRule, NotModelled, UnknownArchitecture, Wanted, WantedScale, is_called,
};
pub(crate) use exact::{Block, Gathered, gather, initial, scales};
pub use fast::{Plan, Platform};
pub(crate) use gathered::GatheredRows;
pub use known::{known_by, validate_known};
pub use model::{Architecture, Arithmetic, Evidence, Instruction, KnownBy, Rule, Scale};
pub use problem::{Problem, ScalePlanes, ShapeError};
pub use replay::{Band, Element, Engine, ExactShare, Progress, Replay};
