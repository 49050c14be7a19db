//! Models as data, and the exact engine that runs them.
//!
//! This crate knows no files, no terminal and no GPU names. An architecture is a file of the catalogue
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
pub use exact::{Gathered, gather, initial, scales};
pub use gathered::GatheredRows;
pub use gpu::{Gpu, GpuWork};
pub use known::{known_by, validate_known};
pub use model::{Architecture, Arithmetic, Evidence, Instruction, KnownBy, Rule, Scale, Sparse};
pub use replay::{Band, Element, Engine, ExactShare, Replay};
pub use sparse::{Metadata, Pattern, SparseLayout};
pub use tcverify_gpu::{
    Device as GpuDevice, DeviceInfo, FusedUnit, ShaderPlan, Unit as ShaderUnit, Vetted as VettedGpu,
};
pub use tcverify_kernels::{KernelConfig, Platform, Progress};
