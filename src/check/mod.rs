//! A check as a value: the request ([`Check`]), everything it needs, read and chosen ([`Prepared`]), and
//! the verdict ([`Report`](crate::report::Report)).
//!
//! ```text
//! words of a command line ─┐
//! a manifest's case        ├─> Check ──prepare──> Prepared ──run──> Report
//! a plan, a program        ┘
//! ```
//!
//! * `request`: the type; `declaration`: its fields, each declared once; `fields`: its flat form in documents,
//!   `contradictions` in that, `conversion` both ways;
//!   `command_line`: as a command of a shell.
//! * `model`, `ttnn`, `schedule`, `kernel`, `arrays`: resolve names and files; `prepare` brings them together; `resources`: what checks of a
//!   run share.
//! * `operation`: the same for what stands between products.
//! * `any_request`: a request of either; `subject`: what is judged or explained; `judge`: the one way to a verdict;
//!   `committed`: commitments;
//! * `run`, `part`: a product as what is judged; `suggest`: what else would fit a D that differs;
//!   `ambiguity`: what else gives one that does not;
//!   `verify`: whether a report that somebody hands over is the one that comes out.

mod ambiguity;
mod arrays;
mod choices;
mod command_line;
mod committed;
mod contradictions;
mod conversion;
mod declaration;
mod describe;
mod error;
mod fields;
mod formats;
mod judge;
mod kernel;
pub mod model;
mod operation;
mod part;
mod prepare;
mod product;
mod progress;
mod reader;
mod request;
mod resources;
mod run;
pub mod schedule;
mod source;
mod span;
mod subject;
mod suggest;
#[cfg(test)]
mod tests;
mod ttnn;
pub mod verify;

pub use arrays::Arrays;
pub use choices::{EngineChoice, Strictness, Tf32Input};
pub use command_line::{Verb, command_line, option, shell_line};
pub use committed::{LinedInput, commitment, commitment_and_trees, lined_inputs, read_commitment};
pub(crate) use declaration::with_judging;
#[cfg(feature = "cli")]
pub(crate) use declaration::{operation_fields, product_fields};
pub use error::CheckError;
#[cfg(feature = "cli")]
pub(crate) use fields::Field;
pub use fields::{FieldAbout, RequestFields};
pub use formats::FormatsFrom;
pub use judge::{Judge, Judged, Trace};
pub(crate) use kernel::{Product as KernelProduct, field_error as kernel_fault, kernel_words};
pub use model::Model;
pub use operation::{
    BoundOperation, Fit, Operation, OperationExplanation, OperationTensors, PreparedOperation,
    SWEEP, Sweep,
};
pub use part::Part;
pub use prepare::Prepared;
pub use product::{
    Check, Draw, Expected, KernelAnswers, KernelRequest, KernelSource, MAX_MISMATCHES,
    ModelRequest, ModelSource, Naming, Operands, ScheduleRequest, ScheduleSource, Seed, Selection,
};
#[cfg(test)]
pub(crate) use progress::Counted;
pub use progress::Progress;
pub use reader::{Array, Tensors};
pub use request::Request;
pub use resources::Resources;
pub use schedule::Scheduling;
pub use source::Source;
pub use span::Span;
pub use subject::{Diagnosed, Explained, Subject};
pub use ttnn::TtnnRequest;
