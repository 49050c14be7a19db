//! Everything an operation needs, read and chosen.

use sha2::Digest;

use super::{Operation, fail};
use crate::check::arrays::{Array, Reader, open};
use crate::check::error::CheckError;
use crate::check::source::Source;
use crate::check::tensors::Tensors;
use crate::check::words::{EngineChoice, Strictness};
use crate::emu::{Arithmetic, Catalogue, Engine, Evidence, Platform};
use crate::io::{Fault, Files, MAX_DOCUMENT, hex, read_text};
use crate::num::Format;
use crate::ops::{self, Granularity, Inputs, Job, Means, OpError, Parameters, Rule, Variant};
use crate::report::{NamedInput, Policy};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// Tensors of the caller's.
pub type OperationTensors = ByRole<Tensor>;

/// An operation that owns what it read: arrays, variant, the tensor core's rule.
#[derive(Debug)]
pub struct PreparedOperation {
    pub(super) asked: Operation,
    pub(super) variant: Variant,
    /// The variant's file and its SHA-256, if it is not one of the tool's.
    pub(super) file: Option<(String, String)>,
    /// With the result that was read.
    pub(super) arrays: ByRole<Array>,
    /// SHA-256 that the result shall have.
    pub(super) digest: Option<String>,
    pub(super) parameters: Parameters,
    pub(super) arithmetic: Option<Chosen>,
    engine: Engine<'static>,
}

/// The tensor core's arithmetic.
#[derive(Debug)]
pub(super) struct Chosen {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
    pub arithmetic: Arithmetic,
}

/// What is wrong with arrays, said of their files.
fn of_array(error: OpError, arrays: &ByRole<Array>) -> CheckError {
    let field = error.field;
    match Role::of_field(field).and_then(|role| arrays.get(&role)) {
        Some(array) => {
            let name = crate::io::escaped_path(array.source.label());
            CheckError::array(field, name, error.reason)
        }
        None => CheckError::request(error.field, error.reason),
    }
}

impl Operation {
    /// Reads and chooses everything that it needs; nothing is computed.
    ///
    /// # Errors
    /// What is wrong with the request or its files.
    pub fn prepare(&self) -> Result<PreparedOperation, CheckError> {
        self.prepare_in(&Files::default())
    }

    /// The same, among the files of a run.
    ///
    /// # Errors
    /// As of [`Operation::prepare`].
    pub fn prepare_in(&self, files: &Files) -> Result<PreparedOperation, CheckError> {
        PreparedOperation::new(self, files, OperationTensors::new())
    }

    /// The variant that is asked for, and of a file its path and SHA-256.
    pub(super) fn variant(&self) -> Result<(Variant, Option<(String, String)>), CheckError> {
        let operation = self.operation.as_deref();
        let operation = operation.ok_or_else(|| fail("operation", "`operation` is missing"))?;
        match (&self.variant_file, &self.variant) {
            (Some(_), Some(_)) => Err(fail(
                "variant_file",
                "`variant` and `variant_file` exclude each other; say one of them",
            )),
            (Some(path), None) => {
                let text = read_text(path, "variant", MAX_DOCUMENT)
                    .map_err(CheckError::file("variant_file"))?;
                let wrong = |reason: String| {
                    let fault = Fault::from(format!("is not a usable variant file: {reason}"));
                    CheckError::file("variant_file")(fault.of(path))
                };
                let variant = Variant::from_json(&text).map_err(wrong)?;
                let has = variant.rule.operation();
                if has != operation {
                    return Err(wrong(format!(
                        "it is one of {has}, and {operation} is asked for"
                    )));
                }
                let sha256 = hex(&sha2::Sha256::digest(text.as_bytes()));
                Ok((variant, Some((path.display().to_string(), sha256))))
            }
            (None, name) => {
                let field = if ops::of(operation).is_ok() {
                    "variant"
                } else {
                    "operation"
                };
                let found = ops::find(operation, name.as_deref());
                Ok((found.map_err(|reason| fail(field, reason))?.clone(), None))
            }
        }
    }

    /// All that decides a verdict but the arrays, as text: the variant, and the tensor core's rules.
    ///
    /// # Errors
    /// If there is no such variant or GPU.
    pub fn basis(&self) -> Result<String, CheckError> {
        let (variant, file) = self.variant()?;
        let formats = [Format::Fp16, Format::Bf16];
        let rules = formats.map(|format| {
            let found = chosen(&variant.rule, self.arch.as_deref(), format)
                .ok()
                .flatten();
            found.map(|chosen| chosen.arithmetic.sha256())
        });
        let basis = serde_json::to_string(&(variant, file, rules));
        basis.map_err(|error| fail("variant", error.to_string()))
    }

    /// Who computes.
    pub(super) fn engine(&self) -> Result<Engine<'static>, CheckError> {
        match self.engine {
            None | Some(EngineChoice::Fast) => {}
            Some(EngineChoice::Exact) => return Ok(Engine::Exact),
            Some(_) => return Err(CheckError::request("engine", EngineChoice::ON_CPU)),
        }
        let platform = Platform::detect();
        let platform = platform.map_err(|reason| CheckError::request("engine", reason))?;
        Ok(Engine::Fast(platform))
    }

    fn parameters(&self) -> Result<Parameters, CheckError> {
        let tile = self.tile.as_ref().map(|text| {
            let sizes = text
                .split_once('x')
                .and_then(|(m, n)| Some([m.parse().ok()?, n.parse().ok()?]));
            sizes.ok_or_else(|| fail("tile", "`tile` is rows of Q x keys, such as 128x64"))
        });
        Ok(Parameters {
            eps: self.eps.map(|eps| eps.0),
            softmax_scale: self.softmax_scale.map(|scale| scale.0),
            causal: self.causal == Some(true),
            layout: self.layout.clone(),
            interleaved: self.interleaved == Some(true),
            group: self.group,
            tile: tile.transpose()?,
            gpu: self.arch.clone().unwrap_or_default(),
            output: self.output.clone(),
        })
    }

    /// Refuses what says nothing about this operation.
    fn used(&self, rule: &Rule) -> Result<(), CheckError> {
        let attention = matches!(rule, Rule::Attention(_));
        let norm = matches!(rule, Rule::RmsNorm(_) | Rule::LayerNorm(_));
        let rope = matches!(rule, Rule::Rope(_));
        let grouped =
            matches!(rule, Rule::QuantizeFp8(rule) if rule.granularity == Granularity::Group);
        for (field, given, meant) in [
            ("eps", self.eps.is_some(), norm),
            ("softmax_scale", self.softmax_scale.is_some(), attention),
            ("causal", self.causal == Some(true), attention),
            ("tile", self.tile.is_some(), attention),
            ("layout", self.layout.is_some(), attention || rope),
            ("interleaved", self.interleaved == Some(true), rope),
            ("group", self.group.is_some(), grouped),
        ] {
            if given && !meant {
                let operation = rule.operation();
                return Err(fail(
                    field,
                    format!("`{field}` says nothing about {operation} of this variant"),
                ));
            }
        }
        if self.y.is_some() && self.y_digest.is_some() {
            let reason = "`y` and `y_digest` exclude each other; say one of them";
            return Err(fail("y_digest", reason));
        }
        let forgiving = [("nan", self.nan), ("zero", self.zero)];
        match forgiving
            .into_iter()
            .find(|(_, word)| *word == Some(Strictness::Any))
        {
            Some((field, _)) if self.y_digest.is_some() => Err(fail(
                field,
                format!("`y_digest` and `{field}` exclude each other; say one of them"),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn policy(&self) -> Policy {
        Policy {
            any_nan: self.nan == Some(Strictness::Any),
            any_zero: self.zero == Some(Strictness::Any),
        }
    }
}

/// What the first array is in.
fn format_of(arrays: &ByRole<Array>) -> Format {
    arrays
        .first_key_value()
        .map_or(Format::Fp32, |(_, array)| array.tensor.format())
}

/// The tensor core's rule for attention on this GPU.
fn chosen(rule: &Rule, arch: Option<&str>, format: Format) -> Result<Option<Chosen>, CheckError> {
    let Rule::Attention(attention) = rule else {
        return Ok(None);
    };
    let Some(arch) = arch else {
        return Ok(None);
    };
    let fail = |reason: String| CheckError::request("arch", reason);
    let found = Catalogue::builtin().find(arch);
    let architecture = found.map_err(|unknown| fail(unknown.to_string()))?;
    let wanted = Some(attention.instruction.as_str());
    let choice = architecture.select(wanted, [format; 2], Some(Format::Fp32));
    let choice = choice.map_err(|none| fail(none.to_string()))?;
    Ok(Some(Chosen {
        architecture: choice.architecture.name.clone(),
        instruction: choice.instruction.name.clone(),
        evidence: choice.rule.evidence,
        arithmetic: choice.arithmetic,
    }))
}

impl PreparedOperation {
    /// An operation on tensors in memory, where its sources say so.
    ///
    /// # Errors
    /// As of [`Operation::prepare`]; or a tensor is missing.
    pub fn new(
        asked: &Operation,
        files: &Files,
        mut memory: OperationTensors,
    ) -> Result<PreparedOperation, CheckError> {
        let (variant, file) = asked.variant()?;
        asked.used(&variant.rule)?;
        asked.scope()?;
        let parameters = asked.parameters()?;
        let mut read = |role: Role, source: &Source, said: Option<Format>| {
            let field = role.field();
            let mut from = Reader {
                files,
                memory: Tensors::default(),
                opened: ByRole::new(),
            };
            if *source == Source::Memory {
                let missing = || {
                    let reason =
                        format!("`{field}` is in memory, but no such tensor was handed over");
                    CheckError::request(field, reason)
                };
                let tensor = memory.remove(&role).ok_or_else(missing)?;
                let format = said.unwrap_or(tensor.format());
                let source = crate::io::Source::of_tensor(crate::io::IN_MEMORY.as_ref(), tensor);
                let source = source.map_err(CheckError::file(field))?;
                return Array::read(role, source, format, &None);
            }
            let opened = open(role, source, said.unwrap_or(Format::Fp32), &mut from)?;
            let descr = &opened.header().descr;
            let format = match (said, descr.own_format()) {
                (Some(said), _) => said,
                (None, Some(Format::Fp32 | Format::Fp64)) => Format::Fp32,
                (None, Some(own)) => own,
                (None, None) if descr.width() == 4 => Format::Fp32,
                (None, None) => {
                    let reason = format!(
                        "its descr {:?} does not say what its codes are; say it with `dtype`",
                        descr.text()
                    );
                    return Err(CheckError::array(field, source, reason));
                }
            };
            Array::read(role, opened, format, &None)
        };
        let mut arrays = ByRole::new();
        let mut sources = asked.sources();
        let claimed = sources.remove(&Role::Y);
        for (role, source) in sources {
            // Angles and scales may have a format of their own, which their files then say.
            let own = matches!(role, Role::Cos | Role::Sin | Role::Scale);
            let said = match (own, asked.dtype) {
                (false, said) => said,
                (true, _) => None,
            };
            let array = match read(role, &source, said) {
                // Codes without a name are what the others are.
                Err(CheckError::Array { .. }) if own => read(role, &source, asked.dtype),
                other => other,
            };
            arrays.insert(role, array?);
        }
        let format = format_of(&arrays);
        let arithmetic = chosen(&variant.rule, asked.arch.as_deref(), format)?;
        let engine = asked.engine()?;
        let digest = asked
            .y_digest
            .as_deref()
            .map(crate::io::parse_sha256)
            .transpose();
        let digest = digest
            .map_err(|reason| CheckError::request("y_digest", format!("`y_digest`: {reason}")))?;
        let mut prepared = PreparedOperation {
            asked: asked.clone(),
            variant,
            file,
            arrays,
            digest,
            parameters,
            arithmetic,
            engine,
        };
        let (format, shape) = {
            let job = prepared.job()?;
            (job.format, job.shape.clone())
        };
        if let Some(source) = claimed {
            if let Source::Generated(_) = source {
                let reason = "y is what a GPU computed; it cannot be generated";
                return Err(CheckError::array("y", &source, reason));
            }
            let y = read(Role::Y, &source, Some(format))?;
            if y.tensor.shape() != shape {
                let text = crate::emu::shape_text;
                let (have, want) = (text(y.tensor.shape()), text(&shape));
                let reason = format!("it is {have}, but the result is {want}");
                return Err(CheckError::array("y", &source, reason));
            }
            prepared.arrays.insert(Role::Y, y);
        }
        Ok(prepared)
    }

    /// The operation as it is to be computed.
    ///
    /// # Errors
    /// What does not fit; none once it is prepared.
    pub fn job(&self) -> Result<Job<'_>, CheckError> {
        self.job_by(&self.variant.rule, self.arithmetic.as_ref())
    }

    /// The tensor core's arithmetic for another rule; none that another instruction has.
    pub(super) fn arithmetic_of(&self, rule: &Rule) -> Result<Option<Chosen>, CheckError> {
        chosen(rule, self.asked.arch.as_deref(), format_of(&self.arrays))
    }

    /// The operation by another rule, with its arithmetic.
    pub(super) fn job_by<'a>(
        &'a self,
        rule: &'a Rule,
        arithmetic: Option<&'a Chosen>,
    ) -> Result<Job<'a>, CheckError> {
        let inputs: Inputs = self
            .arrays
            .iter()
            .filter(|(role, _)| **role != Role::Y)
            .map(|(role, array)| (role.field(), &array.tensor))
            .collect();
        let means = Means {
            arithmetic: arithmetic.map(|chosen| &chosen.arithmetic),
            engine: self.engine,
        };
        let job = Job::new(rule, &inputs, &self.parameters, means);
        job.map_err(|error| of_array(error, &self.arrays))
    }

    /// As of [`Operation::basis`].
    ///
    /// # Errors
    /// As there.
    pub fn basis(&self) -> Result<String, CheckError> {
        self.asked.basis()
    }

    /// What was asked.
    pub fn asked(&self) -> &Operation {
        &self.asked
    }

    /// The rule that judges, with its name and sources.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// All arrays, the captured result last.
    pub fn arrays(&self) -> impl Iterator<Item = (Role, &Array)> {
        self.arrays.iter().map(|(role, array)| (*role, array))
    }

    /// The captured result.
    pub fn y(&self) -> Option<&Array> {
        self.arrays.get(&Role::Y)
    }

    /// What a report says of the arrays; hashes them.
    pub(super) fn inputs(&self) -> Vec<NamedInput> {
        let arrays = self.arrays();
        let named = arrays.map(|(role, array)| NamedInput {
            name: role.field().to_owned(),
            input: array.describe(),
        });
        named.collect()
    }

    /// Makes sure that no file has changed since it was opened.
    ///
    /// # Errors
    /// The first that has.
    pub fn confirm_unchanged(&self) -> Result<(), CheckError> {
        for (role, array) in self.arrays() {
            let unchanged = array.source.file().confirm_unchanged();
            unchanged.map_err(CheckError::file(role.field()))?;
        }
        Ok(())
    }
}
