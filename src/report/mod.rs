//! What a check found: the comparison, the report built around it, and one exporter per form.

mod batch;
mod chain;
mod classes;
mod consistency;
mod diff;
mod document;
#[cfg(test)]
mod example;
mod github;
mod html;
mod identification;
pub mod inspection;
mod json;
mod junit;
mod kernel;
mod lines;
mod map;
mod markdown;
mod operation;
mod outcome;
mod piece;
mod scheduled;
mod spread;
mod stacks;
mod stored;
mod text;
mod words;

use std::io::{self, Write};

pub use batch::{
    BATCH, Batch, BatchCase, CaseVerdict, Coverage, Covered, KeptCase, LeftOut, Policed, Summary,
    Totals,
};
pub use chain::{Chain, Link};
pub use classes::{Classes, Kind};
pub use diff::{Bucket, Comparison, Conclusion, Differ, Largest, Mismatch, Policy};
pub use document::{
    Alike, Cause, CauseArea, Chosen, Committed, Constant, Conversion, Discrimination, Drawn, Input,
    Inputs, LowBits, Missed, Model, ModelFile, Product, Report, Reproduced, ReproducedTree, SCHEMA,
    Sampled, SeedFrom, Tool, Verdict,
};
pub use github::GitHub;
pub use html::{Fragment, Html, PageOf};
pub use identification::{
    Apart, ApartOperands, FITS_SHOWN, Fit, IDENTIFICATION, Identification, Identified,
    IdentifiedSchedule, NEVER_SEARCHED, Named, Other, SampleSize, SchedulesSearched,
};
pub use json::Json;
pub use junit::Junit;
pub use kernel::{KernelSetting, KernelWords};
pub use lines::wrapped;
pub use map::{Gathered, Margin, MismatchMap, PERIOD};
pub use markdown::Markdown;
pub use operation::{
    CommittedOperation, MultipliedBy, NamedInput, OPERATION_REPORT, Operated, OperationReport,
    ReproducedResult,
};
pub use outcome::Outcome;
pub use piece::Piece;
pub use scheduled::{Factor, Factors, Scheduled, ScheduledConstant};
pub use spread::{KEPT, Seen, Spread};
pub use stacks::{STACKS, Stack};
pub use stored::{Store, Stored};
pub use text::{Text, TextWithin};
pub use words::{evidence as evidence_in_words, grouped};

/// A form a report can take.
pub trait Exporter {
    /// Writes the whole report.
    ///
    /// # Errors
    /// Those of the writer.
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()>;
}
