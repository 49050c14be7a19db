//! From a request to the schedule of a kernel.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::CheckError;
use super::kernel::{KernelTexts, PlannedKernel, StoredShapes};
use super::product::{Check, Operands, ScheduleRequest, ScheduleSource};
use super::reader::Reader;
use crate::emu::schedule::{AddendAt, BoundSchedule, Overrides, Schedule, ScheduleSpec, Values};
use crate::emu::{Arithmetic, Problem};
use crate::io::{FileError, printable, read_document, sha256};
use crate::num::{F32, Factor, Format};
use crate::report::{KernelDescription, ModelFile, Scheduled};

/// A schedule with what the request changes of it.
#[derive(Clone, Debug)]
pub struct Scheduling {
    pub schedule: Schedule,
    /// Constants that the request gave, and the field and value that did.
    pub given: BTreeMap<String, String>,
    /// The file that it was read from, if it is none of the tool's.
    pub file: Option<ModelFile>,
    alpha: Option<Factor>,
    beta: Option<Factor>,
    scale_result: Option<u32>,
    kernel: Option<Box<PlannedKernel>>,
}

impl Scheduling {
    /// The schedule of a check. A kernel text needs the shapes of its operands, and may state how those are stored.
    pub(super) fn of(
        check: &Check,
        from: &mut Reader,
        texts: &dyn KernelTexts,
    ) -> Result<Scheduling, CheckError> {
        let ScheduleSource::Kernel(kernel) = &check.schedule.from else {
            return check.schedule.resolve();
        };
        let shapes = StoredShapes::of(check, from)?;
        let (schedule, planned) = texts.plan(kernel, check, &shapes)?;
        let given = &check.schedule.overrides;
        let [alpha, beta] = planned.factors.map(|factor| factor.map(Factor::from));
        let factors = Overrides {
            alpha,
            beta,
            scale_result: given.scale_result,
            activation: given.activation,
            ..Overrides::default()
        };
        let mut scheduling = Scheduling::changed(schedule, &factors)?;
        scheduling.kernel = Some(Box::new(planned));
        Ok(scheduling)
    }

    /// A schedule, as overrides change it.
    fn changed(mut schedule: Schedule, overrides: &Overrides) -> Result<Scheduling, CheckError> {
        let given = overrides.apply(&mut schedule);
        Ok(Scheduling {
            schedule,
            given: given.map_err(|error| CheckError::request(error.field, error.reason))?,
            alpha: overrides.alpha,
            beta: overrides.beta,
            scale_result: overrides.scale_result.map(|scale| scale.0),
            file: None,
            kernel: None,
        })
    }
}

impl ScheduleRequest {
    /// The schedule, as the overrides change it.
    ///
    /// # Errors
    /// What is wrong with the file, or which override does not go with the schedule.
    pub fn resolve(&self) -> Result<Scheduling, CheckError> {
        let preset = |name: &str| {
            let found = Schedule::preset(name).cloned();
            found.map_err(CheckError::of("schedule"))
        };
        let schedule = match &self.from {
            ScheduleSource::Plain => preset("plain")?,
            ScheduleSource::Preset(name) => preset(name)?,
            ScheduleSource::File(path) => {
                let (schedule, file) = read(path).map_err(CheckError::file("schedule_file"))?;
                let scheduling = Scheduling::changed(schedule.claimed(), &self.overrides)?;
                return Ok(Scheduling {
                    file: Some(file),
                    ..scheduling
                });
            }
            ScheduleSource::Kernel(kernel) => {
                let field = kernel.source.field();
                let reason =
                    format!("`{field}` determines an order only from the operands' shapes");
                return Err(CheckError::request(field, reason));
            }
        };
        Scheduling::changed(schedule, &self.overrides)
    }
}

impl Scheduling {
    pub fn spec(&self) -> &ScheduleSpec {
        &self.schedule.spec
    }

    /// What a library states of the kernel, if the schedule was made of that.
    pub fn kernel_description(&self) -> Option<&KernelDescription> {
        Some(&self.kernel.as_ref()?.description)
    }

    /// SHA-256 of that text as it was read.
    pub fn said_sha256(&self) -> Option<String> {
        Some(self.kernel.as_ref()?.sha256.clone())
    }

    /// Whether A and B are stored transposed, by the request or a kernel text.
    pub fn stored(&self, operands: &Operands) -> [bool; 2] {
        match &self.kernel {
            Some(planned) => planned.stored,
            None => [operands.transpose_a, operands.transpose_b],
        }
    }

    /// The formats that the instruction multiplies, for operands of these formats.
    ///
    /// # Errors
    /// If the schedule takes other operands apart.
    pub fn unit_operands(&self, operands: [Format; 2]) -> Result<[Format; 2], CheckError> {
        match self.spec().emulates() {
            Some([wide, narrow]) if operands == [wide; 2] => Ok([narrow; 2]),
            // Operands of TF32 are FP32 in their files.
            Some([wide, narrow]) if narrow != Format::Tf32 => {
                let [a, b] = operands;
                let name = &self.schedule.name;
                let reason = format!(
                    "schedule {name} multiplies {narrow} terms of {wide} operands; these are {a} and {b}"
                );
                Err(CheckError::request("dtype", reason))
            }
            _ => Ok(operands),
        }
    }

    /// The format that operands are read in, where the instruction multiplies `unit`.
    pub fn read_as(&self, unit: Format) -> Format {
        self.spec().read_as(unit)
    }

    /// D's format, if a kernel text states it.
    pub fn result(&self) -> Option<Format> {
        self.kernel.as_ref()?.result
    }

    /// The format of C and D, where the schedule takes FP64 operands apart.
    pub fn wide_result(&self) -> Option<Format> {
        let [wide, _] = self.spec().emulates()?;
        (wide == Format::Fp64).then_some(wide)
    }

    /// The instruction that computes the chains, if a kernel text states it.
    pub fn instruction(&self) -> Option<&'static str> {
        self.kernel.as_ref()?.instruction
    }

    /// Whether scales belong to the kernel, not to the instruction.
    pub fn takes_scales(&self) -> bool {
        self.spec().scales.is_some()
    }

    /// Whether C is the epilogue's, and may have a format of its own.
    pub fn c_in_epilogue(&self) -> bool {
        self.spec().addend == AddendAt::Epilogue
    }

    /// Whether nothing but a chain over K is requested.
    pub fn is_plain(&self) -> bool {
        self.spec().is_plain()
            && self.alpha.is_none()
            && self.beta.is_none()
            && self.scale_result.is_none()
    }

    /// Refuses a bias where no source publishes its place, and operands that a kernel text excludes.
    ///
    /// # Errors
    /// If there is one and the split is serial; or the text states an epilogue without it or without the activation, or
    /// in another order.
    pub fn check_added(&self, bias: bool, c: bool) -> Result<(), CheckError> {
        if bias && self.spec().is_in_place() {
            let reason = "`bias` with a serial split: no source says in which slice it is added";
            return Err(CheckError::request("bias", reason));
        }
        let stated = self
            .kernel
            .as_ref()
            .and_then(|kernel| kernel.epilogue.as_deref());
        if let (Some(stated), Some(_)) = (stated, self.spec().epilogue.function) {
            let reason = format!(
                "`activation`: what the library says of `kernel` has epilogue {}, without an activation",
                printable(stated)
            );
            return Err(CheckError::request("activation", reason));
        }
        let (field, reason) = match stated {
            Some("NONE") if bias || c => {
                let field = if bias { "bias" } else { "c" };
                let reason = format!(
                    "`{field}`: the GEMMDesc of `kernel` says epilogue NONE, which adds nothing to the finished sum"
                );
                (field, reason)
            }
            Some("IN_ACCUMULATOR") if bias && c => (
                "bias",
                "`bias` and `c`: the GEMMDesc of `kernel` says epilogue IN_ACCUMULATOR, which adds the bias before C; \
                 schedules add C first, so give one of them"
                    .to_owned(),
            ),
            _ => return Ok(()),
        };
        Err(CheckError::request(field, reason))
    }

    /// Alpha and beta; the rest comes from arrays.
    pub fn factors(&self) -> Values {
        let mut values = Values::default();
        let factors =
            [self.alpha, self.beta].map(|factor| factor.unwrap_or(F32(values.alpha).into()));
        [values.alpha, values.beta] = factors.map(|factor| factor.f32.0);
        values.wide = self
            .wide_result()
            .map(|_| factors.map(|factor| factor.as_f64().to_bits()));
        values.scale_result = self.scale_result;
        values
    }

    /// As a report has it, without what arrays decide.
    pub fn described(&self) -> Scheduled {
        let scheduled = Scheduled::of(&self.schedule, &self.given, &self.factors());
        scheduled.from_file(self.file.as_ref())
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
        if self.is_plain() && !values.has_bias() && !values.has_zero_points() {
            return Ok(false);
        }
        BoundSchedule::check(self.spec(), values, arithmetic, problem, result).map_err(
            |reason| {
                CheckError::request(
                    "schedule",
                    format!("schedule {}: {reason}", self.schedule.name),
                )
            },
        )?;
        Ok(true)
    }

    /// Refuses a format of D that the accumulator is not rounded to by any conversion.
    ///
    /// # Errors
    /// The formats that are possible.
    pub fn check_conversion(&self, accumulator: Format, result: Format) -> Result<(), String> {
        if let Some(wide) = self.wide_result() {
            return if result == wide {
                Ok(())
            } else {
                Err(format!("of FP64 operands D must be {wide}, not {result}"))
            };
        }
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
        if result == accumulator || rounded.contains(&result) {
            Ok(())
        } else {
            Err(format!(
                "with {accumulator} accumulation D must be {possible}, not {result}"
            ))
        }
    }
}

/// Reads a schedule file, as it describes itself.
pub fn read(path: &Path) -> Result<(Schedule, ModelFile), FileError> {
    let (schedule, text) = read_document(path, "schedule", Schedule::from_json)?;
    let file = ModelFile {
        path: path.display().to_string(),
        sha256: sha256(text),
        says: schedule.evidence,
    };
    Ok((schedule, file))
}
