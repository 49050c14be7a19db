//! Which unit and kernel give a D ([`identify`]), and why two results of one product differ ([`compare`]). A fit gives
//! every tested element bit for bit, and a search says what it left out. It cannot tell who is right.

pub mod compare;
pub mod identify;

use tcverify_causes::{candidates, diagnose, explain};
use tcverify_check as check;
use tcverify_common::{deadline, role, words};
use tcverify_compose as compose;
use tcverify_emu as emu;
use tcverify_engines as engines;
use tcverify_forms as forms;
use tcverify_generate as generate;
use tcverify_io as io;
#[cfg(test)]
use tcverify_kernels as kernels;
use tcverify_libraries as libraries;
use tcverify_many::batch;
use tcverify_num as num;
use tcverify_num::random;
use tcverify_operation as operation;
use tcverify_policy as policy;
use tcverify_report as report;
use tcverify_report::sample;
use tcverify_tensor as tensor;
