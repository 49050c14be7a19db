//! Schedules: how real kernels chain an instruction over K, split it, promote and scale sums, and finish
//! them.
//!
//! * `spec`, `level`: the vocabulary, everything that decides a bit; `validate`: what a kernel can follow.
//! * `file`: a spec with its name and its sources, as `presets/` and users write them.
//! * `divide`, `order`, `critical_chain`, `k_index`, `traversal`: what a spec makes of one K: chains of instructions, and the order in
//!   which their sums are added.
//! * `overrides`: what takes the place of a schedule's own constants.
//! * `values`: alpha, beta, bias and scales of one product.
//! * `operands`: operands in a traversal's order.
//! * `fixed_point`: FP64 products by slices of integers.
//! * `bound`, `compatible`: a schedule at work on one product, and which products it can be about.
//! * `shared`: chains that several schedules have in common.
//! * `f32ops`, `loops`, `sums`, `finish`, `run`: the arithmetic between and after the chains.

mod bound;
mod compatible;
mod critical_chain;
mod divide;
mod f32ops;
mod file;
mod finish;
mod fixed_point;
mod k_index;
mod level;
mod loops;
mod operands;
mod order;
mod overrides;
mod run;
mod shared;
mod spec;
mod sums;
#[cfg(test)]
pub(crate) mod tests;
mod traversal;
mod validate;
mod validate_levels;
mod values;

pub use bound::{BoundSchedule, Place};
pub use f32ops::{Exactly, IntegerOperation, Natively, Observed, Ops};
pub(crate) use f32ops::{to_bf16, to_fp16};
pub use file::{SCHEMA, Schedule, UnknownSchedule, presets};
pub use k_index::{KIndex, KIndices};
pub use level::{
    Cut, Empty, Fold, FoldKind, Grain, GrainByK, Group, Level, Merge, Order, Partials, Parts,
    Raster, SliceLength, Start,
};
pub use operands::GatheredOperands;
pub use order::Additions;
pub use overrides::{
    ActivationChoice, OrderChoice, OverrideError, Overrides, PartialsChoice, PromoteChoice,
    ResidueChoice, SplitChoice,
};
pub(crate) use run::Run;
pub use run::element_with;
pub use shared::SharedChains;
pub use spec::{
    AddendAt, BiasAdded, Combine, Epilogue, FixedPoint, Function, Multiply, NanBecomes, Per,
    Residue, ResultScale, ScaledAt, Scaling, ScheduleSpec, SplitTerms, Term, TermFormat,
    TermRounding, WithoutC, WithoutProducts, ZeroPoint,
};
pub use traversal::{Chain, KTraversal, Node, Role, Sum, TileOfD};
pub use values::{Values, scale_shapes};
