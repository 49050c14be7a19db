//! The findings of a check: what differs ([`Comparator`], [`Comparison`]), and the report around it ([`Report`]).
//!
//! A report says no more than was compared, and everything that its verdict depends on. It knows no search, no
//! batch, and no form but its JSON.

mod classes;
mod diff;
mod document;
mod merged;
mod mismatch_sample;
mod model_file;
mod partial;
mod rects;
mod rule;
pub mod sample;
mod scheduled;
mod terms;

pub use classes::{Classes, Kind};
pub use diff::{
    Bucket, Comparator, Comparison, Conclusion, Largest, Mismatch, Observer, Tolerance,
};
pub use document::{
    Ambiguity, Cause, CauseArea, Committed, Conversion, Drawn, EngineUsed, Input, LowBits, Missed,
    NonFinite, Outcome, Place, Report, Reproduced, ReproducedTree, SCHEMA, SameBits, Sampled,
    SeedFrom, Tool, Unit, Verdict, write_json,
};
pub use merged::{Merged, SignedParts, VouchingKey};
pub use mismatch_sample::{KEPT, MismatchSample, SampledElement};
pub use model_file::ModelFile;
pub use partial::PartialComparison;
pub use rects::{MAX_RECTS, Rect};
pub use rule::{Chosen, Constant, Model, MultipliedBy, Product, ProductRule, Rule, VariantRule};
pub use scheduled::{
    Factor, Factors, KernelDescription, KernelSetting, Scheduled, ScheduledConstant,
};
