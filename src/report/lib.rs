//! The findings of a check: what differs ([`Comparator`], [`Comparison`]), the report around it ([`Report`]), the
//! [`view`] that every form renders, and its text.
//!
//! A report says no more than was compared, and everything that its verdict depends on. It knows no search, no
//! batch, and no page: those make views of their own, or write this one.

mod classes;
mod consistency;
mod diff;
mod document;
pub mod map;
mod merged;
mod mismatch_sample;
mod model_file;
mod partial;
mod rects;
mod rule;
pub mod sample;
mod scheduled;
mod stored;
mod terms;
mod text;
pub mod view;

pub use classes::{Classes, Kind};
pub use diff::{Bucket, Comparator, Comparison, Conclusion, Largest, Mismatch, Tolerance};
pub use document::{
    Ambiguity, Cause, CauseArea, Committed, Conversion, Drawn, EngineUsed, Input, LowBits, Missed,
    NonFinite, Outcome, Place, Report, Reproduced, ReproducedTree, SCHEMA, SameBits, Sampled,
    SeedFrom, Tool, Unit, Verdict, write_json,
};
pub use map::{Gathered, Margin, MismatchMap, PERIOD};
pub use merged::{Merged, SignedParts, VouchingKey};
pub use mismatch_sample::{KEPT, MismatchSample, SampledElement};
pub use model_file::ModelFile;
pub use partial::PartialComparison;
pub use rects::{MAX_RECTS, Rect};
pub use rule::{Chosen, Constant, Model, MultipliedBy, Product, ProductRule, Rule, VariantRule};
pub use scheduled::{
    Factor, Factors, KernelDescription, KernelSetting, Scheduled, ScheduledConstant,
};
pub use stored::{Store, Stored};
pub use terms::in_brackets;
pub use text::{Layout, wrapped};
pub use view::{PageOf, Pictured, Planned, View, capital, grouped, of};
