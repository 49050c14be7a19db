//! Two runs of one program, step by step: recordings or manifests, linked by name or by what their steps read.
//!
//! ```text
//! CompareRuns ──run──> report::ComparedRuns
//! ```
//!
//! * `step`: a case as its arrays' digests; `link`: which step of one run is which of the other; `run`: all of it in order.

pub mod document;
mod link;
mod run;
mod step;
mod view;

use std::path::PathBuf;

use crate::batch::BatchError;
use crate::identify::{IdentifyError, Limits, Schedules};
use crate::policy::AdmissionPolicy;

/// Two runs, left and right.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareRuns {
    /// Manifests, or folders of cases.
    pub runs: [PathBuf; 2],
    /// What the cases may say, where their author is not trusted.
    pub policy: Option<AdmissionPolicy>,
    /// How many steps that begin a difference are searched.
    pub explain: usize,
    pub schedules: Schedules,
    /// Limits of each search.
    pub limits: Limits,
    /// How many differences of a step are listed.
    pub max_mismatches: usize,
}

/// Why runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    #[error(transparent)]
    Read(#[from] BatchError),
    #[error(transparent)]
    Search(#[from] IdentifyError),
}
