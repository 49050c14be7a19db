//! Everything an operation needs, read and chosen.

use std::collections::BTreeMap;

use sha2::Digest;

use super::{Operation, fail};
use crate::check::arrays::{Array, Reader, open};
use crate::check::error::CheckError;
use crate::check::source::Source;
use crate::check::tensors::Tensors;
use crate::check::words::{EngineChoice, Strictness};
use crate::emu::{Arithmetic, Catalogue, Engine, Evidence, Platform};
use crate::generate::Role;
use crate::io::{Fault, Files, MAX_DOCUMENT, hex, read_text};
use crate::num::Format;
use crate::ops::{self, Granularity, Inputs, Job, Means, OpError, Parameters, Rule, Variant};
use crate::report::Policy;
use crate::tensor::Tensor;

/// Tensors of the caller's, by the names of fields.
pub type OperationTensors = BTreeMap<&'static str, Tensor>;

/// An operation that owns what it read: arrays, variant, the tensor core's rule.
#[derive(Debug)]
pub struct PreparedOperation {
    pub(super) asked: Operation,
    pub(super) variant: Variant,
    /// The variant's file and its SHA-256, if it is not one of the tool's.
    pub(super) file: Option<(String, String)>,
    pub(super) arrays: Vec<(&'static str, Array)>,
    pub(super) y: Option<Array>,
    /// SHA-256 that the result shall have.
    pub(super) digest: Option<String>,
    pub(super) parameters: Parameters,
    pub(super) arithmetic: Option<Chosen>,
    engine: Engine,
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
fn of_array(error: OpError, arrays: &[(&'static str, Array)]) -> CheckError {
    let array = arrays.iter().find(|(name, _)| *name == error.field);
    match array {
        Some((field, array)) => {
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
    pub(super) fn engine(&self) -> Result<Engine, CheckError> {
        if self.engine == Some(EngineChoice::Exact) {
            return Ok(Engine::Exact);
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
fn format_of(arrays: &[(&'static str, Array)]) -> Format {
    let first = arrays.first();
    first.map_or(Format::Fp32, |(_, array)| array.tensor.format())
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
        let mut read = |field: &'static str, source: &Source, said: Option<Format>| {
            let mut from = Reader {
                files,
                memory: Tensors::default(),
                opened: BTreeMap::new(),
            };
            if *source == Source::Memory {
                let missing = || {
                    let reason =
                        format!("`{field}` is in memory, but no such tensor was handed over");
                    CheckError::request(field, reason)
                };
                let tensor = memory.remove(field).ok_or_else(missing)?;
                let format = said.unwrap_or(tensor.format());
                let source = crate::io::Source::of_tensor("(in memory)".as_ref(), tensor);
                let source = source.map_err(CheckError::file(field))?;
                return Array::read(field, source, format, &None);
            }
            let opened = open(
                field,
                source,
                said.unwrap_or(Format::Fp32),
                Role::C,
                &mut from,
            )?;
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
            Array::read(field, opened, format, &None)
        };
        let mut arrays = Vec::new();
        let mut claimed = None;
        for (field, source) in asked.sources() {
            if field == "y" {
                claimed = Some(source);
                continue;
            }
            // Angles and scales may have a format of their own, which their files then say.
            let own = matches!(field, "cos" | "sin" | "scale");
            let said = match (own, asked.dtype) {
                (false, said) => said,
                (true, _) => None,
            };
            let array = match read(field, &source, said) {
                // Codes without a name are what the others are.
                Err(CheckError::Array { .. }) if own => read(field, &source, asked.dtype),
                other => other,
            };
            arrays.push((field, array?));
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
            y: None,
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
            let y = read("y", &source, Some(format))?;
            if y.tensor.shape() != shape {
                let text = crate::emu::shape_text;
                let (have, want) = (text(y.tensor.shape()), text(&shape));
                let reason = format!("it is {have}, but the result is {want}");
                return Err(CheckError::array("y", &source, reason));
            }
            prepared.y = Some(y);
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
            .map(|(name, a)| (*name, &a.tensor))
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

    /// Arrays by field, the captured result last.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Array)> {
        let arrays = self.arrays.iter().map(|(name, array)| (*name, array));
        arrays.chain(self.y.as_ref().map(|y| ("y", y)))
    }

    /// Makes sure that no file has changed since it was opened.
    ///
    /// # Errors
    /// The first that has.
    pub fn confirm_unchanged(&self) -> Result<(), CheckError> {
        for (field, array) in self.all() {
            let unchanged = array.source.file().confirm_unchanged();
            unchanged.map_err(CheckError::file(field))?;
        }
        Ok(())
    }
}
