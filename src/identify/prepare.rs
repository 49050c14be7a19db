//! A request and the files that it names, ready to be searched.

use super::kernels::Kernels;
use super::readings::Captured;
use super::request::{Identify, IdentifyError, Schedules};
use super::run::Prepared;
use crate::check::{CheckError, EngineChoice, KernelSaid};
use crate::emu::{Catalogue, Engine, Platform};
use crate::io;
use crate::role::Role;

impl Identify {
    /// Reads the files.
    pub fn prepare(&self) -> Result<Prepared, IdentifyError> {
        self.prepare_with(&mut |_| None)
    }

    /// The same; arrays that are [`Source::Memory`](crate::check::Source::Memory) are asked of the caller by their fields.
    ///
    /// # Errors
    /// As of [`Identify::prepare`]; or an array is missing.
    pub fn prepare_with(
        &self,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<Prepared, IdentifyError> {
        if self.operands.has(Role::SparseA) {
            let reason =
                "`sparse_a`: the search does not cover products of a compressed A; name the model";
            return Err(CheckError::request("sparse_a", reason).into());
        }
        let kernels = [
            ("kernel", self.kernel.is_some()),
            ("scale_result", self.scale_result.is_some()),
        ];
        let kernels = kernels.iter().find(|(_, given)| *given);
        if let Some((field, _)) = kernels.filter(|_| self.schedules == Schedules::Never) {
            let reason = format!(
                "`{field}` applies to kernels, but this search excludes schedules of kernels"
            );
            return Err(CheckError::request(field, reason).into());
        }
        let architectures = self.architectures.iter().map(|name| {
            let found = Catalogue::builtin().find(name);
            let found = found.map_err(CheckError::of("arch"))?;
            Ok(found.name.clone())
        });
        let mut architectures = architectures.collect::<Result<Vec<_>, CheckError>>()?;
        architectures.sort();
        architectures.dedup();
        let captured = Captured::read(self, memory)?;
        let kernel = self.kernel.clone().map(KernelSaid::Text);
        let kernel = kernel.map(|said| Kernels::of(said, self.formats, &captured, &architectures));
        let engine = match self.engine {
            EngineChoice::Exact => Engine::Exact,
            EngineChoice::Fast => {
                let platform = Platform::detect();
                Engine::Fast(platform.map_err(CheckError::of("engine"))?)
            }
            _ => return Err(CheckError::request("engine", EngineChoice::ON_CPU).into()),
        };
        Ok(Prepared {
            request: self.clone(),
            kernels: kernel.transpose()?,
            architectures,
            captured,
            engine,
        })
    }
}
