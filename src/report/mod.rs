//! What a check found: the comparison, the report built around it, and one exporter per form.

mod diff;
mod document;
mod identification;
mod json;
mod scheduled;
mod text;

use std::io::{self, Write};

pub use diff::{Bucket, Classes, Comparison, Differ, Largest, Mismatch, Policy};
pub use document::{
    Committed, Constant, Conversion, Input, Inputs, LowBits, Missed, Model, Outcome, Product,
    Report, Reproduced, SCHEMA, Sampled, Tool, Verdict,
};
pub use identification::{
    Apart, ApartOperands, Fit, IDENTIFICATION, Identification, Identified, IdentifiedSchedule,
    Named, Other, SampleSize, SchedulesSearched,
};
pub use json::Json;
pub use scheduled::{Factor, Factors, Scheduled, ScheduledConstant};
pub use text::Text;

/// A form a report can take.
pub trait Exporter {
    /// Writes the whole report.
    ///
    /// # Errors
    /// Those of the writer.
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()>;
}
