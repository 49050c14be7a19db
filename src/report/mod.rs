//! The findings of a check: the comparison, the report around it, and the view that every form
//! renders.

mod batch;
mod classes;
mod compared;
mod compared_runs;
mod consistency;
mod diff;
mod document;
mod form;
mod identification;
pub mod inspection;
mod map;
mod merged;
mod piece;
mod rule;
mod scheduled;
mod spread;
mod stacks;
mod stored;
pub mod view;

pub use batch::{
    BATCH, Batch, BatchCase, CaseVerdict, Chain, Coverage, Covered, KeptCase, LeftOut, Link,
    Policed, Summary, Totals,
};
pub use classes::{Classes, Kind};
pub use compared::{
    Answer, By, COMPARED, Compared, CorrectlyRounded, Differing, Explained, KernelsCompared,
    OperandPair, Parting, Relation, ResultFound, Searched, Side, SideBySide, Sum,
};
pub use compared_runs::{
    COMPARED_RUNS, ComparedRuns, ComparedStep, Explanations, LinkedBy, RunCompared, RunsVerdict,
    StepResult,
};
pub use diff::{Bucket, Comparison, Conclusion, Differ, Largest, Mismatch, Policy};
pub use document::{
    Alike, Cause, CauseArea, Committed, Conversion, Discrimination, Drawn, EngineUsed, Input,
    LowBits, Missed, Outcome, Place, Report, Reproduced, ReproducedTree, SCHEMA, Sampled, SeedFrom,
    Tool, Unit, Verdict, write_json,
};
pub use form::{Layout, page, wrapped};
pub use identification::{
    Apart, ApartOperands, FITS_SHOWN, Finished, Fit, IDENTIFICATION, Identification, Identified,
    IdentifiedSchedule, NEVER_SEARCHED, Named, Other, SampleSize, SchedulesSearched,
};
pub use map::{Gathered, Margin, MismatchMap, PERIOD};
pub use merged::{Merged, SignedParts};
pub use piece::Piece;
pub use rule::{
    Chosen, Constant, Model, ModelFile, MultipliedBy, Product, ProductRule, Rule, VariantRule,
};
pub use scheduled::{Factor, Factors, KernelSetting, KernelWords, Scheduled, ScheduledConstant};
pub use spread::{KEPT, Seen, Spread};
pub use stacks::{STACKS, Stack};
pub use stored::{Store, Stored};
pub use view::{PageOf, Pictured, Planned, View, capital, grouped, of};
