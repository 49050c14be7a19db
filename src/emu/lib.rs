//! Models as data, and the exact engine that runs them.
//!
//! This crate knows no files, no terminal, no GPU names and no fast engine ([`engine`] says what one is). An architecture is a file of the catalogue
//! ([`Catalogue`]) in the vocabulary of [`model`]; the code knows only kinds of arithmetic
//! ([`step`]).

mod catalogue;
pub mod engine;
mod exact;
mod gathered;
mod known;
pub mod layout;
pub mod model;
mod replay;
pub mod schedule;
#[cfg(feature = "schemars")]
mod schemas;
mod sparse;
pub mod step;

use tcverify_common as common;
use tcverify_num as num;
use tcverify_tensor as tensor;

pub use crate::tensor::Block;
pub use crate::tensor::{Problem, ScalePlanes, ShapeError, shape_text};
pub use catalogue::{
    Catalogue, Choice, NoRule, NotModelled, UnknownArchitecture, Wanted, WantedScale, is_called,
};
pub use engine::{DeviceUse, Engine, Engines, FastEngine, Progress};
pub use exact::{Gathered, blocks, gather, initial, scales};
pub use gathered::GatheredRows;
pub use known::{known_by, validate_known};
pub use model::{Architecture, Arithmetic, Evidence, Instruction, KnownBy, Rule, Scale, Sparse};
pub use replay::{Band, Element, ExactShare, Replay};
pub use sparse::{Metadata, Pattern, SparseLayout};
