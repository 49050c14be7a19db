//! Screening finds the GPU of a fleet that computes wrong results, without a second GPU to compare
//! with.
//!
//! ```text
//! families ──make──> Suite ──a node, or simulate──> Results ──judge──> Fleet ──> text, page, metrics
//!                      │
//!                      └──coverage: how many injected faults it finds
//! ```
//!
//! A [`Suite`] names products by seeds and the correct D by digests, so that a node needs no model. A
//! [`Fault`] makes the exact engine compute wrong on purpose: it measures what a suite finds, feeds simulated
//! devices, and is the hypothesis that a judgement tests on the wrong elements of a real one.

mod causes;
mod challenge;
mod consistency;
mod control_faults;
mod coverage;
mod elements;
mod families;
mod fault;
mod fault_kinds;
mod fault_search;
mod faulty_elements;
mod fleet;
mod judge;
mod kernel_search;
mod library;
mod make;
mod metrics;
mod other_kernel;
mod pattern;
mod ready;
mod record;
mod results;
mod simulate;
mod suite;
mod tiles;
mod unit;
mod view;

use tcverify_causes::candidates;
use tcverify_check as check;
use tcverify_common::{deadline, role, words};
use tcverify_compose as compose;
use tcverify_emu as emu;
use tcverify_engines as engines;
use tcverify_forms as forms;
use tcverify_generate as generate;
use tcverify_io as io;
use tcverify_libraries as libraries;
use tcverify_num as num;
use tcverify_num::random;
use tcverify_provenance::attest;
use tcverify_report as report;
use tcverify_report::sample;
use tcverify_sealed::{envelope, sign};
use tcverify_tensor as tensor;

pub use challenge::{COMMITMENT, Commitment, Trusted, Whose, challenge};
pub use control_faults::{Instead, WrongTiles};
pub use coverage::{Coverage, Found, measure, unit};
pub use families::{FAMILIES, Family, Level};
pub use fault::{Fault, Place, Stuck};
pub use fault_kinds::Kind;
pub use fleet::{Condition, FLEET, Fleet, Gpu, Wrong};
pub use judge::{judge, judge_route};
pub use library::{Library, order};
pub use make::make;
pub use metrics::prometheus;
pub use record::{Recording, record};
pub use results::{Device, Failure, RESULTS, Ran, Readings, Results, WrongTile};
pub use simulate::{Injection, Simulated, simulate};
pub use suite::{Challenge, Placement, Product, Route, SUITE, Suite};

use crate::check::CheckError;
use crate::io::FileError;

/// Why a suite cannot be made, run or judged.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{0}")]
    Said(String),
}

impl From<String> for ScreenError {
    fn from(reason: String) -> ScreenError {
        ScreenError::Said(reason)
    }
}
