//! What a text leaves open, said by whoever asks.

use serde::Serialize;

use super::{Capability, How, KernelError, Partition, Said, Scheme, Settings};
use crate::emu::{Catalogue, UnknownArchitecture};
use crate::num::Format;

/// Answers to what a text leaves open. What contradicts the text is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub capability: Option<Capability>,
    /// The GPU has one of these, where only its architecture is known.
    pub one_of: Vec<Capability>,
    pub operands: Option<[Format; 2]>,
    pub result: Option<Format>,
    pub split_k: Option<usize>,
    pub scheme: Option<Scheme>,
    pub partition: Option<Partition>,
    pub tile_k: Option<usize>,
    pub instruction_k: Option<usize>,
    pub custom: Option<u32>,
    pub fast_accumulation: Option<bool>,
    pub multiprocessors: Option<u32>,
    /// A GPU that has no compute capability, by its name.
    pub other_gpu: Option<String>,
    /// Turns of the main loop by which a workgroup's K loop is rotated (AMD).
    pub rotation: Option<usize>,
    /// Plan slices that reach K, as a library without the defect of the lost tail would.
    pub whole_tail: bool,
    /// Answers that a search found, by what they answer ([`super::Open::ask`]); the others a person gave.
    pub found: Vec<&'static str>,
}

impl Options {
    /// The GPU by a name of the catalogue. An architecture of several capabilities leaves open which.
    ///
    /// # Errors
    /// If none is called so.
    pub fn on(&mut self, name: &str) -> Result<(), UnknownArchitecture> {
        if let Some(capability) = Capability::parse(name) {
            self.capability = Some(capability);
            return Ok(());
        }
        let architecture = Catalogue::builtin().find(name)?;
        let also = architecture.also.iter();
        let mut all: Vec<_> = also.filter_map(|name| Capability::parse(name)).collect();
        all.dedup();
        match all[..] {
            [] => self.other_gpu = Some(architecture.name.clone()),
            [one] => self.capability = Some(one),
            _ => self.one_of = all,
        }
        Ok(())
    }

    /// The text's settings with these answers.
    pub(super) fn applied(&self, settings: &Settings) -> Result<Settings, KernelError> {
        let mut all = settings.clone();
        let how = |ask: &str| match self.found.contains(&ask) {
            true => How::Found,
            false => How::Given,
        };
        if let (Some(said), Some(asked)) = (&all.capability, self.capability)
            && said.value != asked
        {
            return Err(KernelError::WrongGpu {
                text: format!("a kernel of {} ({})", said.value, said.from),
                asked: asked.to_string(),
            });
        }
        if let Some(said) = &all.capability
            && !self.one_of.is_empty()
            && !self.one_of.contains(&said.value)
        {
            let names: Vec<_> = self.one_of.iter().map(ToString::to_string).collect();
            return Err(KernelError::WrongGpu {
                text: format!("a kernel of {} ({})", said.value, said.from),
                asked: names.join(" or "),
            });
        }
        answer(
            &mut all.capability,
            self.capability,
            how("arch"),
            "the GPU",
            |v| v.to_string(),
        )?;
        answer(
            &mut all.operands,
            self.operands,
            how("dtype"),
            "the operands' format",
            |v| format!("{} and {}", v[0], v[1]),
        )?;
        answer(
            &mut all.result,
            self.result,
            how("d-dtype"),
            "D's format",
            |v| v.to_string(),
        )?;
        answer(
            &mut all.split_k,
            self.split_k,
            how("split-k"),
            "the number of slices",
            |v| v.to_string(),
        )?;
        answer(
            &mut all.scheme,
            self.scheme,
            how("reduction"),
            "the reduction scheme",
            |v| v.name().into(),
        )?;
        answer(
            &mut all.partition,
            self.partition,
            how("partition"),
            "the partition of K",
            ToString::to_string,
        )?;
        answer(
            &mut all.tile_k,
            self.tile_k,
            how("tile-k"),
            "K of a tile",
            |v| v.to_string(),
        )?;
        answer(
            &mut all.instruction_k,
            self.instruction_k,
            how("instruction-k"),
            "K of an instruction",
            |v| v.to_string(),
        )?;
        answer(
            &mut all.custom,
            self.custom,
            how("custom"),
            "the custom option",
            |v| v.to_string(),
        )?;
        answer(
            &mut all.fast_accumulation,
            self.fast_accumulation,
            how("accumulation"),
            "fast accumulation",
            |v| if *v { "on" } else { "off" }.into(),
        )?;
        answer(
            &mut all.multiprocessors,
            self.multiprocessors,
            how("multiprocessors"),
            "the number of multiprocessors",
            |v| v.to_string(),
        )?;
        Ok(all)
    }
}

/// What the text says stands; a default or an assumption gives way.
fn answer<T: PartialEq + Copy>(
    said: &mut Option<Said<T>>,
    given: Option<T>,
    how: How,
    what: &'static str,
    show: impl Fn(&T) -> String,
) -> Result<(), KernelError> {
    let Some(given) = given else { return Ok(()) };
    match said {
        Some(said) if said.value == given => Ok(()),
        Some(said) if matches!(said.how, How::Stated | How::Derived | How::Defaulted) => {
            Err(KernelError::Contradiction {
                what,
                text: show(&said.value),
                given: show(&given),
            })
        }
        _ => {
            *said = Some(Said::new(given, how, ""));
            Ok(())
        }
    }
}

/// What the text does not fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Open {
    pub what: &'static str,
    pub why: String,
    /// The option that answers, and the field of [`super::Options`].
    pub ask: &'static str,
}
