//! From a request's words to the schedule of a kernel.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::CheckError;
use super::model::document;
use super::numbers::PromoteChoice;
use super::request::{Overrides, ScheduleRequest, ScheduleSource};
use super::words::{PartialsChoice, ResidueChoice, SplitChoice, Word};
use crate::emu::schedule::{
    Addend, Kernel, Partials, Promote, Recipe, Residue, Schedule, Split, Values,
};
use crate::emu::{Arithmetic, Problem};
use crate::io::{Fault, FileError};
use crate::num::Format;

/// A schedule with what the request changes of it.
#[derive(Clone, Debug)]
pub struct Scheduling {
    pub schedule: Schedule,
    /// Constants that the request gave, and the field and value that did.
    pub given: BTreeMap<String, String>,
    alpha: Option<u32>,
    beta: Option<u32>,
}

impl ScheduleRequest {
    /// The schedule, as the overrides change it.
    ///
    /// # Errors
    /// What is wrong with the file, or which override does not go with the schedule.
    pub fn resolve(&self) -> Result<Scheduling, CheckError> {
        let preset = |name: &str| {
            let found = Schedule::preset(name).cloned();
            found.map_err(|unknown| CheckError::request("schedule", unknown.to_string()))
        };
        let schedule = match &self.from {
            ScheduleSource::Plain => preset("plain")?,
            ScheduleSource::Preset(name) => preset(name)?,
            ScheduleSource::File(path) => read(path).map_err(CheckError::file("schedule_file"))?,
        };
        let mut scheduling = Scheduling {
            schedule,
            given: BTreeMap::new(),
            alpha: self.overrides.alpha.map(|alpha| alpha.0),
            beta: self.overrides.beta.map(|beta| beta.0),
        };
        self.overrides.apply(&mut scheduling)?;
        Ok(scheduling)
    }
}

impl Overrides {
    fn apply(&self, scheduling: &mut Scheduling) -> Result<(), CheckError> {
        let Scheduling {
            schedule, given, ..
        } = scheduling;
        let name = schedule.name.clone();
        let recipe = &mut schedule.recipe;
        let mut note = |constant: &str, field: &str, value: &dyn std::fmt::Display| {
            given.insert(constant.into(), format!("{field} {value}"))
        };
        let fail = |field, reason| Err(CheckError::request(field, reason));
        if let Some(tile) = self.tile_k {
            recipe.tile_k = Some(tile);
            note("tile_k", "tile_k", &tile);
        }
        if let Some(residue) = self.residue {
            if recipe.tile_k.is_none() {
                return fail(
                    "residue",
                    format!(
                        "`residue` says which tile is the partial one, but schedule {name} has no tiles; say \
                         `tile_k`"
                    ),
                );
            }
            recipe.residue = match residue {
                ResidueChoice::First => Residue::First,
                ResidueChoice::FirstAligned => Residue::FirstAligned,
                ResidueChoice::Last => Residue::Last,
            };
            note("residue", "residue", &residue.word());
        }
        if let Some(kind) = self.split {
            recipe.split = match kind {
                SplitChoice::Serial => Split::Serial { slices: None },
                SplitChoice::Workspace => Split::Workspace {
                    slices: None,
                    partials: Partials::F32,
                },
            };
            note("split.kind", "split", &kind.word());
        }
        if let Some(count) = self.split_k {
            match &mut recipe.split {
                Split::Serial { slices } | Split::Workspace { slices, .. } => {
                    *slices = Some(count);
                    note("split.slices", "split_k", &count);
                }
                Split::Sliced { warps, .. } => {
                    *warps = count;
                    note("split.warps", "split_k", &count);
                }
                _ => {
                    let reason = format!(
                        "`split_k` {count}: schedule {name} does not split K into slices; say how with `split`"
                    );
                    return fail("split_k", reason);
                }
            }
        }
        if let Some(kept) = self.partials {
            let Split::Workspace { partials, .. } = &mut recipe.split else {
                let reason =
                    format!("`partials`: schedule {name} keeps no partial sums in a workspace");
                return fail("partials", reason);
            };
            *partials = match kept {
                PartialsChoice::F32 => Partials::F32,
                PartialsChoice::Result => Partials::Result,
            };
            note("split.partials", "partials", &kept.word());
        }
        if let Some(count) = self.workers {
            let Split::Stream { workers, .. } = &mut recipe.split else {
                return fail(
                    "workers",
                    format!("`workers`: schedule {name} is not stream-K"),
                );
            };
            *workers = Some(count);
            note("split.workers", "workers", &count);
        }
        if let Some(promote) = self.promote {
            recipe.promote = match promote {
                PromoteChoice::Never => None,
                PromoteChoice::Every(every) => Some(Promote { every, first: None }),
            };
            note("promote", "promote", &promote);
        }
        let factor = [("beta", self.beta), ("alpha", self.alpha)];
        let factor = factor
            .into_iter()
            .find_map(|(field, factor)| Some((field, factor?)));
        if let (Addend::Start, Some((field, value))) = (recipe.addend, factor) {
            // Only an epilogue has such factors.
            recipe.addend = Addend::Epilogue;
            note("addend", field, &value);
        }
        recipe.check().map_err(|reason| {
            let field = match self == &Overrides::default() {
                true => "schedule",
                false => "schedule_file",
            };
            CheckError::request(
                field,
                format!("schedule {name} with what was given: {reason}"),
            )
        })
    }
}

impl Scheduling {
    pub fn recipe(&self) -> &Recipe {
        &self.schedule.recipe
    }

    /// Whether scales belong to the kernel, not to the instruction.
    pub fn takes_scales(&self) -> bool {
        self.recipe().scales.is_some()
    }

    /// Whether C is the epilogue's, and may have a format of its own.
    pub fn addend_is_late(&self) -> bool {
        self.recipe().addend == Addend::Epilogue
    }

    /// Whether anything but a chain over K is asked for.
    pub fn is_plain(&self) -> bool {
        self.recipe().is_plain() && self.alpha.is_none() && self.beta.is_none()
    }

    /// Refuses a bias that nobody has published a place for.
    ///
    /// # Errors
    /// If there is one and the split is serial.
    pub fn check_bias(&self, given: bool) -> Result<(), CheckError> {
        if given && matches!(self.recipe().split, Split::Serial { .. }) {
            let reason =
                "`bias` with a serial split: nobody has published in which slice it is added";
            return Err(CheckError::request("bias", reason));
        }
        Ok(())
    }

    /// Alpha and beta; the rest comes from arrays.
    pub fn factors(&self) -> Values {
        let mut values = Values::default();
        values.alpha = self.alpha.unwrap_or(values.alpha);
        values.beta = self.beta.unwrap_or(values.beta);
        values
    }

    /// Whether there is a kernel around the instruction at all.
    ///
    /// # Errors
    /// If the schedule cannot be one of this product.
    pub fn validate(
        &self,
        values: &Values,
        arithmetic: &Arithmetic,
        problem: &Problem,
        result: Format,
    ) -> Result<bool, CheckError> {
        if self.is_plain() && !values.has_bias() {
            return Ok(false);
        }
        Kernel::check(self.recipe(), values, arithmetic, problem, result).map_err(|reason| {
            CheckError::request(
                "schedule",
                format!("schedule {}: {reason}", self.schedule.name),
            )
        })?;
        Ok(true)
    }

    /// Refuses a format of D that the accumulator is not rounded to by any conversion.
    ///
    /// # Errors
    /// The formats that are possible.
    pub fn check_conversion(&self, accumulator: Format, result: Format) -> Result<(), String> {
        let (rounded, possible): (&[Format], _) = match (accumulator, self.is_plain()) {
            (Format::Fp32, true) => (
                &[Format::Fp16, Format::Bf16],
                "fp32, or fp16 and bf16 by one rounding (fp8 needs a schedule with an epilogue)",
            ),
            (Format::Fp32, false) => (
                &[Format::Fp16, Format::Bf16, Format::E4m3, Format::E5m2],
                "fp32, fp16, bf16, e4m3 and e5m2",
            ),
            (Format::Int32, false) => (
                &[
                    Format::Fp32,
                    Format::Fp16,
                    Format::Bf16,
                    Format::E4m3,
                    Format::E5m2,
                ],
                "int32, fp32, fp16, bf16, e4m3 and e5m2",
            ),
            (other, _) => (&[], other.name()),
        };
        match result == accumulator || rounded.contains(&result) {
            true => Ok(()),
            false => Err(format!(
                "with {accumulator} accumulation D can be {possible}; it is {result} here"
            )),
        }
    }
}

/// Reads a schedule file.
///
/// # Errors
/// A sentence naming the file and what is wrong with it.
pub fn read(path: &Path) -> Result<Schedule, FileError> {
    let fail = |reason| Fault::from(format!("is not a usable schedule file: {reason}")).of(path);
    Schedule::from_json(&document(path, "schedule")?).map_err(fail)
}
