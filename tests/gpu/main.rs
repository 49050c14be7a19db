//! Shaders on an adapter of this machine, against the exact engine. Mesa's software Vulkan does (`mesa-vulkan-drivers`);
//! `TCVERIFY_TEST_GPU` is the number of another one.

#[path = "../arithmetic/engines/case.rs"]
#[allow(dead_code)]
mod case;
#[path = "../arithmetic/engines/layout.rs"]
mod layout;
#[path = "../arithmetic/engines/models.rs"]
#[allow(dead_code)]
mod models;
#[path = "../arithmetic/engines/operands.rs"]
mod operands;
#[path = "../support/mod.rs"]
mod support;

mod agree;
mod chains;
mod command;
mod mutants;
mod wrong;

use std::sync::Arc;

use tcverify::gpu::{Gpu, Vetted};
use tcverify::kernels::Platform;

/// The adapter that is tested; none if there is none, which is said.
fn adapter() -> Option<Arc<Vetted>> {
    let number = std::env::var("TCVERIFY_TEST_GPU").ok();
    let number = number.map(|number| number.parse().expect("a number of `tcverify engines`"));
    let opened = Gpu::open(number);
    opened
        .map_err(|reason| support::say(format_args!("SKIPPED: {reason}")))
        .ok()
}

fn gpu(device: &Arc<Vetted>, seed: u64) -> Gpu {
    Gpu::new(device.clone(), Platform::detect().unwrap().engine(), seed)
}
