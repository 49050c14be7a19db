//! What checks of this machine run with: vector kernels and GPUs, who generates operands, and who reads texts of kernels.
//! Checks know none of these; they get them as [`Resources`].

use tcverify_check as check;
use tcverify_emu as emu;
use tcverify_generate::Specified;
use tcverify_gpu::Gpu;
use tcverify_io as io;
use tcverify_kernels::{self as kernels, Platform};
use tcverify_libraries as libraries;

use crate::check::Resources;
use crate::emu::engine::OpenedDevice;
use crate::emu::{Arithmetic, Engine, Engines, Problem};
use crate::io::Files;

/// The engines of this machine.
pub fn here() -> &'static dyn Engines {
    &Here
}

#[derive(Debug)]
struct Here;

impl Engines for Here {
    fn computes(&self, arithmetic: &Arithmetic) -> bool {
        kernels::plan(arithmetic).is_some()
    }

    fn fast(&self, arithmetic: Option<&Arithmetic>) -> Result<Engine<'static>, String> {
        let platform = arithmetic.map_or_else(Platform::detect, Platform::detect_for);
        platform.map(Platform::engine)
    }

    fn device(&self, number: Option<u8>) -> Result<OpenedDevice, String> {
        Gpu::open(number).map(Gpu::ready)
    }

    fn sooner(
        &self,
        arithmetic: &Arithmetic,
        problem: &Problem,
        chains: usize,
    ) -> Option<OpenedDevice> {
        Gpu::sooner(arithmetic, problem, chains)
    }
}

/// What checks share on this machine: files under the default limits, its engines, and the texts of kernels that this
/// library reads.
pub fn resources() -> Resources {
    resources_of(Files::default())
}

/// The resources, with these files.
pub fn resources_of(files: Files) -> Resources {
    Resources {
        files: files.generating(&Specified),
        engines: here(),
        texts: libraries::texts(),
    }
}
