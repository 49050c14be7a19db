//! Kernels whose order no source publishes.

use super::{Coverage, Family, Request};
use crate::{IfKnown, KernelError, Plan};

pub static FAMILY: Family = Family {
    id: "unknown",
    title: "kernels whose order is not known",
    kernels: "ALGO_ID 10, 20, 22, 39, 41, 56, 67, 70, 71 and all others",
    algos: &[10, 20, 22, 39, 41, 56, 67, 70, 71],
    coverage: &[Coverage {
        gpus: "all",
        evidence: None,
        what: "39: FP8 of Hopper in cuBLAS up to 12.4; 41, 56: seen on H100; 67: sm_121; 70, 71: NVFP4",
        source: "logs",
    }],
    plan,
    ..Family::CUBLAS
};

pub(super) fn plan(request: &Request) -> Result<Plan, KernelError> {
    let what = match request.settings.algo.value() {
        Some(algo) => format!("kernels of ALGO_ID {algo}"),
        None => "this kernel".into(),
    };
    Err(KernelError::unknown(what, "no source publishes it"))
}
