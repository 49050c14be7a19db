//! Schedules: how real kernels chain an instruction over K, split it, promote and scale sums, and finish
//! them.
//!
//! * `recipe`: the vocabulary, everything that decides a bit; `sound`: what a kernel can follow.
//! * `file`: a recipe with its name and its sources, as `presets/` and users write them.
//! * `walk`: what a recipe makes of one K: chains of instructions.
//! * `values`: alpha, beta, bias and scales of one product.
//! * `pieces`: operands in a walk's order.
//! * `kernel`, `suits`: a schedule at work on one product, and which products it can be about.
//! * `f32ops`, `loops`, `finish`, `run`: the arithmetic between and after the chains.

mod f32ops;
mod file;
mod finish;
mod kernel;
mod loops;
mod pieces;
mod recipe;
mod run;
mod sound;
mod suits;
mod summary;
mod values;
mod walk;

pub(crate) use f32ops::{Exactly, Ops, Told, to_bf16, to_fp16};
pub use file::{SCHEMA, Schedule, UnknownSchedule, presets};
pub use kernel::{Kernel, Place};
pub(crate) use pieces::Pieces;
pub use recipe::{
    Addend, Combine, Epilogue, Multiply, PartRounding, Partials, Passes, Per, Piece, Promote,
    Raster, Recipe, Residue, ScaledAt, Scaling, Split,
};
pub(in crate::emu) use run::Run;
pub(crate) use run::element_with;

pub use values::{Values, scale_shapes};
pub use walk::{Chain, Partial, Slot, Slots, Walk};
