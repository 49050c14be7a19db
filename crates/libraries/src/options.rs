//! Answers to what a text leaves open.

use serde::Serialize;

use super::{Capability, How, KernelError, Partition, Scheme, Settings, Sourced, Weights};
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
    /// What B's codes stand for, where they are weights of few bits.
    pub weights: Option<Weights>,
    /// Groups of k with a scale of their own.
    pub groups: Option<usize>,
    /// A GPU that has no compute capability, by its name.
    pub other_gpu: Option<String>,
    /// Main-loop iterations by which a workgroup's K loop is rotated (AMD).
    pub rotation: Option<usize>,
    /// Plan slices that reach K, as a library without the defect of the dropped remainder would.
    pub whole_remainder: bool,
    /// Answers that a search found, by [`super::Open::ask`]; a person gave the others.
    pub found: Vec<&'static str>,
}

impl Options {
    /// The GPU by a name of the catalogue. An architecture of several capabilities leaves open which.
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
        self.confirm_gpu(settings)?;
        let mut all = settings.clone();
        // An answer, the option that gives it, what it is called, and how it is shown.
        macro_rules! answers {
            ($($field:ident: $ask:literal, $what:literal, $text:expr;)*) => {$(
                let how = if self.found.contains(&$ask) {
                    How::Found
                } else {
                    How::Given
                };
                answer(&mut all.$field, self.$field, how, $what, $text)?;
            )*};
        }
        let pair = |[a, b]: &[Format; 2]| format!("{a} and {b}");
        let switch = |on: &bool| if *on { "on" } else { "off" }.to_owned();
        answers! {
            capability: "arch", "the GPU", ToString::to_string;
            operands: "dtype", "the operands' format", pair;
            result: "d-dtype", "D's format", ToString::to_string;
            split_k: "split-k", "the number of slices", ToString::to_string;
            scheme: "reduction", "the reduction scheme", ToString::to_string;
            partition: "partition", "the partition of K", ToString::to_string;
            tile_k: "tile-k", "K of a tile", ToString::to_string;
            instruction_k: "instruction-k", "K of an instruction", ToString::to_string;
            custom: "custom", "the custom option", ToString::to_string;
            fast_accumulation: "accumulation", "fast accumulation", switch;
            multiprocessors: "multiprocessors", "the number of multiprocessors", ToString::to_string;
        }
        Ok(all)
    }

    /// Refuses a text about another GPU.
    fn confirm_gpu(&self, settings: &Settings) -> Result<(), KernelError> {
        let Some(setting) = &settings.capability else {
            return Ok(());
        };
        let gpus = match self.capability {
            Some(gpu) if gpu != setting.value => &[gpu][..],
            _ => &self.one_of,
        };
        if gpus.is_empty() || gpus.contains(&setting.value) {
            return Ok(());
        }
        Err(KernelError::WrongGpu {
            text: format!("a kernel of {} ({})", setting.value, setting.from),
            requested: Capability::any_of(gpus),
        })
    }
}

/// Sets what the text leaves open or assumes; refuses to contradict what it states.
fn answer<T: Copy + PartialEq>(
    setting: &mut Option<Sourced<T>>,
    given: Option<T>,
    how: How,
    what: &'static str,
    text: impl Fn(&T) -> String,
) -> Result<(), KernelError> {
    let Some(given) = given else { return Ok(()) };
    match setting {
        Some(setting) if setting.value == given => Ok(()),
        Some(setting) if matches!(setting.how, How::Stated | How::Derived | How::Defaulted) => {
            Err(KernelError::Contradiction {
                what,
                text: text(&setting.value),
                given: text(&given),
            })
        }
        _ => {
            *setting = Some(Sourced::new(given, how, ""));
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

impl From<Open> for KernelError {
    fn from(Open { what, why, ask }: Open) -> KernelError {
        KernelError::Missing { what, why, ask }
    }
}

impl Open {
    pub(super) fn new(what: &'static str, ask: &'static str, why: impl Into<String>) -> Open {
        Open {
            what,
            why: why.into(),
            ask,
        }
    }

    pub(super) fn gpu(why: impl Into<String>) -> Open {
        Open::new("the GPU", "arch", why)
    }

    pub(super) fn slices(why: impl Into<String>) -> Open {
        Open::new("the number of slices of K", "split-k", why)
    }

    pub(super) fn tile_k(why: impl Into<String>) -> Open {
        Open::new("K of a tile", "tile-k", why)
    }

    pub(super) fn custom(why: impl Into<String>) -> Open {
        Open::new("the custom option", "custom", why)
    }

    pub(super) fn accumulation(why: impl Into<String>) -> Open {
        Open::new("fast accumulation", "accumulation", why)
    }
}
