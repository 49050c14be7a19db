//! The findings of a check: the comparison, the report around it, and the view that every form
//! renders.

mod classes;
mod consistency;
mod diff;
mod document;
mod form;
mod map;
mod merged;
mod mismatch_sample;
mod model_file;
mod partial;
mod rects;
mod rule;
mod scheduled;
mod stored;
mod terms;
pub mod view;

pub use classes::{Classes, Kind};
pub use diff::{Bucket, Comparator, Comparison, Conclusion, Largest, Mismatch, Tolerance};
pub use document::{
    Ambiguity, Cause, CauseArea, Committed, Conversion, Drawn, EngineUsed, Input, LowBits, Missed,
    Outcome, Place, Report, Reproduced, ReproducedTree, SCHEMA, SameBits, Sampled, SeedFrom, Tool,
    Unit, Verdict, write_json,
};
pub use form::{Layout, page, wrapped};
pub use map::{Gathered, Margin, MismatchMap, PERIOD};
pub use merged::{Merged, SignedParts};
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
pub use view::{PageOf, Pictured, Planned, View, capital, grouped, of};
