//! What the author of a case may ask of whoever judges it, where these are two parties: [`AdmissionPolicy`]. It refuses
//! a request before anything that the request names is opened; it computes nothing, and knows no batch and no command.

mod admit;
mod confined;
mod rules;

pub use rules::{Accept, AdmissionPolicy, OperationRule, POLICY, Policed, STRICT};

use tcverify_check as check;
use tcverify_common::{role, words};
use tcverify_compose as compose;
use tcverify_emu as emu;
use tcverify_io as io;
use tcverify_io::memory;
use tcverify_operation as operation;
use tcverify_ops as ops;
use tcverify_report as report;
use tcverify_sealed::envelope;
