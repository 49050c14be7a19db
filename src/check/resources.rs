//! What the checks of a run share.

use super::kernel::KernelTexts;
use crate::emu::{Engines, engine::ExactAlone};
use crate::io::Files;

/// What the checks of a run share, handed over by whoever runs them.
#[derive(Debug)]
pub struct Resources {
    /// The files that they open, and the limit of their memory.
    pub files: Files,
    /// Who computes besides the exact engine.
    pub engines: &'static dyn Engines,
    /// Who reads what libraries state of their kernels.
    pub texts: &'static dyn KernelTexts,
}

impl Default for Resources {
    /// Files under the default limits, the exact engine alone, and nobody who reads texts of kernels.
    fn default() -> Resources {
        Resources {
            files: Files::default(),
            engines: &ExactAlone,
            texts: &(),
        }
    }
}
