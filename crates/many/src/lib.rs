//! Many checks in one run ([`batch`]), and one check in many parts ([`shard`]). What a case or a part says is what a check
//! of it says; none of them stops another. It computes nothing.

pub mod batch;
pub mod shard;

use tcverify_check as check;
use tcverify_common::{deadline, role, words};
use tcverify_compose as compose;
use tcverify_emu as emu;
#[cfg(test)]
use tcverify_engines as engines;
use tcverify_forms as forms;
use tcverify_io as io;
use tcverify_io::memory;
use tcverify_libraries as libraries;
use tcverify_num as num;
use tcverify_operation as operation;
use tcverify_policy as policy;
use tcverify_provenance::attest;
use tcverify_report as report;
use tcverify_report::sample;
use tcverify_sealed::{envelope, sign};
use tcverify_tensor as tensor;
