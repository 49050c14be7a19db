//! A check as a value: the request ([`Check`]), everything it needs, read and chosen ([`Prepared`]), and
//! the verdict ([`Report`](crate::report::Report)).
//!
//! ```text
//! words of a command line ─┐
//! a manifest's case        ├─> Check ──prepare──> Prepared ──run──> Report
//! a plan, a program        ┘
//! ```
//!
//! * `product`: the type; `declaration`: its fields, each declared once; `fields`: its flat form in documents,
//!   `contradictions` in that, `conversion` both ways; `command_line`: as a command of a shell.
//! * `model`, `ttnn`, `fpmr`, `schedule`, `kernel`, `arrays`: resolve names and files; `prepare` brings them together; `resources`: what checks of
//!   a run share.
//! * `subject`: what is judged; `judge`: the one way to a verdict; `run`, `part`: a product as what is judged.
//!
//! Nothing here says why a D differs, or knows of commitments: who names one hands over that it was confirmed.

mod arrays;
mod axes;
mod choices;
mod command_line;
mod contradictions;
mod conversion;
mod declaration;
mod error;
pub mod fields;
mod formats;
mod fpmr;
mod judge;
mod kernel;
mod kernel_answers;
pub mod model;
mod part;
mod prepare;
mod product;
mod progress;
mod reader;
mod resources;
mod run;
pub mod schedule;
#[cfg(feature = "schemars")]
mod schemas;
mod source;
mod span;
mod subject;
#[cfg(test)]
mod tests;
mod ttnn;
mod weights;

use tcverify_common::{deadline, words};
use tcverify_emu as emu;
use tcverify_io::{self as io};
use tcverify_num::{self as num, random};
use tcverify_report::{self as report, sample};
use tcverify_tensor as tensor;

#[doc(hidden)]
pub use tcverify_common::role;

pub use arrays::Arrays;
pub use axes::{matmul_axes, takes_axes};
pub use choices::{EngineChoice, Strictness, Tf32Input};
pub use command_line::{SET, Verb, command_line, option, shell_line};
pub use error::CheckError;
pub use fields::{Argument, Field, FieldAbout, RequestFields};
pub use formats::FormatsFrom;
pub use fpmr::FpmrRequest;
pub use judge::{Attention, Judge, Judged, Trace};
pub use kernel::{KernelTexts, PlannedKernel, StoredShapes};
pub use kernel_answers::{Accumulation, KernelAnswers, Partition, Scheme};
pub use model::Model;
pub use part::Part;
pub use prepare::Prepared;
pub use product::{
    Check, Draw, Expected, KernelRequest, KernelSource, MAX_MISMATCHES, ModelRequest, ModelSource,
    Naming, Operands, ScheduleRequest, ScheduleSource, Seed, Selection, protect,
};
pub use progress::{Counted, Progress};
pub use reader::{Array, Tensors};
pub use reader::{Reader, float_format, read_float};
pub use resources::Resources;
pub use schedule::Scheduling;
pub use source::Source;
pub use span::Span;
pub use subject::{Subject, Terms};
pub use ttnn::{TtnnConfiguration, TtnnRequest};
pub use weights::{Quantised, Weights};
