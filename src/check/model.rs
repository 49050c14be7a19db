//! From a request to the rule that judges.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::error::CheckError;
use super::kernel::KernelTexts;
use super::product::{ModelRequest, ModelSource};
use super::schedule::Scheduling;
use super::ttnn::TtnnConfiguration;
use crate::emu::{Architecture, Arithmetic, Catalogue, Choice, Pattern, Wanted, WantedScale};
use crate::io::{FileError, read_document, sha256};
use crate::num::Format;
use crate::report;

/// A rule of an architecture, of the catalogue's or of a file's.
#[derive(Clone, Debug)]
pub struct Model {
    architecture: Cow<'static, Architecture>,
    instruction: usize,
    rule: usize,
    pub arithmetic: Arithmetic,
    /// Whether A is compressed.
    compressed: bool,
    /// Whether a schedule's tiles fill K up.
    filled_up: bool,
    /// Where it was read, and the SHA-256 of that text; none of the catalogue's.
    file: Option<(PathBuf, String)>,
}

impl Model {
    /// The file that describes it, if it is not the catalogue's, and the file's SHA-256.
    pub fn file(&self) -> Option<(String, String)> {
        let (path, sha256) = self.file.as_ref()?;
        Some((path.display().to_string(), sha256.clone()))
    }

    /// The rule's sparse form.
    pub(super) fn of_compressed(self) -> Result<Model, CheckError> {
        let choice = self.choice();
        if choice.rule.sparse.is_none() {
            let reason = format!(
                "`sparse_a` is given, but {} {} has no known sparse form for {}*{}",
                choice.architecture.name,
                choice.instruction.name,
                self.arithmetic.a,
                self.arithmetic.b
            );
            return Err(CheckError::request("sparse_a", reason));
        }
        Ok(Model {
            compressed: true,
            ..self
        })
    }

    /// The rule as requests of any K and any A begin with it.
    pub(super) fn basis(&self) -> report::Model {
        let choice = self.choice();
        let Arithmetic { a, b, .. } = choice.arithmetic;
        let choice = Choice {
            arithmetic: Arithmetic::of(choice.rule, [a, b]),
            compressed: false,
            ..choice
        };
        report::Model::of(&choice, self.file())
    }

    /// Refuses a K that ends within an instruction that adds whole steps only, and that no tile fills up.
    fn check_k(&self, k: usize) -> Result<(), CheckError> {
        let choice = self.choice();
        match choice.rule.least_k() {
            Some(least) if !self.filled_up && !k.is_multiple_of(least) => {
                let reason = format!(
                    "K is {k}, but {} takes {least} k at a time: pad A and B with zeros, as kernels do",
                    choice.instruction.name
                );
                Err(CheckError::request("instruction", reason))
            }
            _ => Ok(()),
        }
    }

    /// How many elements of A are kept, if it is compressed.
    pub fn sparse(&self) -> Option<Pattern> {
        let choice = self.choice();
        choice.sparse().map(|sparse| sparse.pattern)
    }

    /// The architecture, instruction and rule.
    pub fn choice(&self) -> Choice<'_> {
        let instruction = &self.architecture.instructions[self.instruction];
        Choice {
            architecture: &self.architecture,
            instruction,
            rule: &instruction.rules[self.rule],
            compressed: self.compressed,
            arithmetic: self.arithmetic.clone(),
        }
    }
}

impl ModelRequest {
    /// The rule, for operands with or without scales. A schedule may take scales and C for itself.
    ///
    /// # Errors
    /// What there is instead, or what is wrong with an architecture file.
    pub fn select(
        &self,
        scaled: bool,
        schedule: &Scheduling,
        texts: &dyn KernelTexts,
    ) -> Result<Model, CheckError> {
        let scaled = scaled && !schedule.takes_scales();
        let (field, architecture, file) = match &self.from {
            ModelSource::File(path) => {
                let (read, sha256) = read(path).map_err(CheckError::file("model"))?;
                ("model", Cow::Owned(read), Some((path.clone(), sha256)))
            }
            ModelSource::Catalogue(name) => {
                let found = Catalogue::builtin().find(name);
                let found = found.map_err(CheckError::of("arch"))?;
                ("arch", Cow::Borrowed(found), None)
            }
        };
        if !scaled {
            let given = [
                ("scale_dtype", self.scale_dtype.is_some()),
                ("scale_block", self.scale_block.is_some()),
            ];
            if let Some((field, _)) = given.iter().find(|(_, given)| *given) {
                let reason = format!(
                    "`{field}` describes scales, but there are none; give `scale_a` and `scale_b`"
                );
                return Err(CheckError::request(field, reason));
            }
        }
        let ttnn = self.ttnn_configuration(texts)?;
        let instruction = one("instruction", &self.instruction, &ttnn.fidelity)?;
        let wanted = Wanted {
            instruction: instruction.as_deref(),
            operands: schedule.unit_operands([self.dtype, self.dtype_b.unwrap_or(self.dtype)])?,
            accumulator: one("acc", &self.acc, &ttnn.accumulator(self.dtype))?,
            addend: self.c_dtype.filter(|_| !schedule.c_in_epilogue()),
            scale: scaled.then_some(WantedScale {
                format: self.scale_dtype,
                block: self.scale_block,
            }),
        };
        let choice = architecture.choose(&wanted);
        let choice = choice.map_err(|error| {
            let hint = fnuz(&architecture, &wanted).unwrap_or_default();
            CheckError::request(field, format!("{error}{hint}"))
        })?;
        let instructions = &architecture.instructions;
        let instruction = place(instructions, choice.instruction);
        Ok(Model {
            instruction,
            rule: place(&instructions[instruction].rules, choice.rule),
            arithmetic: self.fpmr.applied(choice.arithmetic.clone())?,
            compressed: false,
            filled_up: schedule.spec().tile_k.is_some(),
            architecture,
            file,
        })
    }

    /// What ttnn's configurations and fields state together.
    fn ttnn_configuration(&self, texts: &dyn KernelTexts) -> Result<TtnnConfiguration, CheckError> {
        let stated = match &self.ttnn.text {
            None => TtnnConfiguration::default(),
            Some(text) => texts.ttnn(text).map_err(CheckError::in_field("ttnn"))?,
        };
        self.ttnn.with_text(stated)
    }

    /// The model with what happens between blocks of this K.
    pub fn between_blocks(
        &self,
        model: Model,
        k: usize,
        texts: &dyn KernelTexts,
    ) -> Result<Model, CheckError> {
        model.check_k(k)?;
        let stated = self.ttnn_configuration(texts)?;
        let arithmetic = self.ttnn.between_blocks(model.arithmetic, k, &stated)?;
        Ok(Model {
            arithmetic,
            ..model
        })
    }
}

/// What to say where a unit has the other kind of FP8: the same codes are other numbers there.
fn fnuz(architecture: &Architecture, wanted: &Wanted) -> Option<String> {
    let other = |format: Format| match format {
        Format::E4m3 => Format::E4m3fnuz,
        Format::E5m2 => Format::E5m2fnuz,
        Format::E4m3fnuz => Format::E4m3,
        Format::E5m2fnuz => Format::E5m2,
        format => format,
    };
    let operands = wanted.operands.map(other);
    let possible = architecture.choose(&Wanted {
        operands,
        ..*wanted
    });
    (operands != wanted.operands && possible.is_ok()).then(|| {
        let [own, not] = [operands[0], wanted.operands[0]];
        format!(
            "\n{}'s FP8 is {own}, whose codes are other numbers than those of {not} (a factor of two, other NaNs and \
             zeros); if the GPU was given these codes, give `dtype` {own}",
            architecture.name
        )
    })
}

/// Where an element is among all.
fn place<T>(all: &[T], one: &T) -> usize {
    let place = all.iter().position(|other| std::ptr::eq(other, one));
    place.expect("one of them")
}

/// The value of a field or of ttnn's configuration, which must agree.
fn one<T: Clone + PartialEq + std::fmt::Display>(
    field: &'static str,
    own: &Option<T>,
    ttnn: &Option<T>,
) -> Result<Option<T>, CheckError> {
    match (own, ttnn) {
        (Some(own), Some(ttnn)) if own != ttnn => {
            let reason = format!("`{field}` is {own}, but `ttnn` says {ttnn}");
            Err(CheckError::request(field, reason))
        }
        (own, ttnn) => Ok(own.clone().or_else(|| ttnn.clone())),
    }
}

/// Reads an architecture file; with the SHA-256 of what was read.
pub fn read(path: &Path) -> Result<(Architecture, String), FileError> {
    let (architecture, text) = read_document(path, "architecture", Architecture::from_json)?;
    Ok((architecture, sha256(text)))
}
