//! Models as data, and the exact engine that runs them.
//!
//! `emu` knows no files, no terminal and no GPU names. An architecture is a file of the catalogue
//! ([`Catalogue`]) in the vocabulary of [`model`]; the code knows only kinds of arithmetic
//! ([`step`]).

pub mod accelerate;
mod catalogue;
mod exact;
mod gathered;
mod gpu;
mod known;
pub mod layout;
pub mod model;

mod replay;
pub mod schedule;
mod sparse;
pub mod step;

pub(crate) use crate::tensor::Block;
pub use crate::tensor::{Problem, ScalePlanes, ShapeError, shape_text};
pub use catalogue::{
    Catalogue, Choice, NoRule, NotModelled, UnknownArchitecture, Wanted, WantedScale, is_called,
};
pub(crate) use exact::{Gathered, gather, initial, scales};
pub(crate) use gathered::GatheredRows;
pub use gpu::{Gpu, GpuWork};
pub use known::{known_by, validate_known};
pub use model::{Architecture, Arithmetic, Evidence, Instruction, KnownBy, Rule, Scale, Sparse};
pub use replay::{Band, Element, Engine, ExactShare, Replay};
pub use sparse::{Metadata, Pattern, SparseLayout};
pub use tcverify_gpu::{
    Device as GpuDevice, DeviceInfo, FusedUnit, ShaderPlan, Unit as ShaderUnit, Vetted as VettedGpu,
};
pub use tcverify_kernels::{Plan, Platform, Progress};
