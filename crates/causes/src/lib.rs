//! Why a D differs from its replay, and how one of its elements is computed. A cause is reported only if it gives
//! exactly the bits of D on every tested element. Nothing here decides a verdict or reads a file.
//!
//! * [`candidates`]: models and schedules worth a try, by formats and K alone.
//! * [`diagnose`]: hypotheses about a D that differs.
//! * [`explain`]: one element in full, step by step.
//! * [`inspect`]: what an array holds, counted.

pub mod candidates;
pub mod diagnose;
pub mod explain;
pub mod inspect;

use tcverify_common::deadline;
use tcverify_emu as emu;
use tcverify_forms as forms;
use tcverify_num as num;
use tcverify_num::random;
use tcverify_report as report;
use tcverify_tensor as tensor;
