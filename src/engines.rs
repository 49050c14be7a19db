//! Who computes for this library: vector kernels and GPUs. Checks and searches know neither; what calls them without naming
//! engines gets these.

use tcverify_gpu::Gpu;
use tcverify_kernels::{self as kernels, Platform};

use crate::check::{Check, CheckError, Prepared, Resources, Tensors};
use crate::emu::engine::OpenedDevice;
use crate::emu::{Arithmetic, Engine, Engines};
use crate::identify::{self, Identify, IdentifyError};
use crate::io::{self, Files};
use crate::operation::{Operation, PreparedOperation};

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
}

impl From<Files> for Resources {
    /// These files, and the engines of this machine.
    fn from(files: Files) -> Resources {
        Resources {
            files,
            engines: here(),
        }
    }
}

impl Default for Resources {
    /// Files under the default limits, and the engines of this machine.
    fn default() -> Resources {
        Files::default().into()
    }
}

impl Check {
    /// Reads and chooses everything that the check needs; nothing is computed.
    pub fn prepare(&self) -> Result<Prepared, CheckError> {
        self.prepare_in(&Resources::default())
    }
}

impl Prepared {
    /// A check of tensors in memory.
    ///
    /// # Errors
    /// As of [`Check::prepare`]; or a tensor is missing.
    pub fn from_tensors(check: &Check, tensors: Tensors) -> Result<Prepared, CheckError> {
        Prepared::from_tensors_in(check, &Resources::default(), tensors)
    }
}

impl Operation {
    /// Reads and chooses everything that it needs; nothing is computed.
    pub fn prepare(&self) -> Result<PreparedOperation, CheckError> {
        self.prepare_in(&Resources::default())
    }
}

impl Identify {
    /// Reads the files.
    pub fn prepare(&self) -> Result<identify::Prepared, IdentifyError> {
        self.prepare_with(&mut |_| None)
    }

    /// The same; arrays that are [`Source::Memory`](crate::check::Source::Memory) come from the caller, by their fields.
    ///
    /// # Errors
    /// As of [`Identify::prepare`]; or an array is missing.
    pub fn prepare_with(
        &self,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<identify::Prepared, IdentifyError> {
        self.prepare_by(here(), memory)
    }
}
