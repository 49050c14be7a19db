//! An operation with the rule that computes it, without arrays.

use super::Operation;
use crate::check::CheckError;
use crate::check::{EngineChoice, Strictness};
use crate::commit::CommittedRule;

use crate::emu::{Arithmetic, Catalogue, Engine, Engines, Evidence};
use crate::io::tree::Hash;
use crate::io::{read_document, sha256};
use crate::num::Format;
use crate::ops::{
    self, BoundOp, ExecContext, Granularity, Inputs, OpError, Parameters, Rule, Variant,
};
use crate::report::{Constant, ModelFile, MultipliedBy, VariantRule};
use crate::role::Role;

/// An operation with the rule that computes it.
#[derive(Debug)]
pub struct BoundOperation {
    pub(super) request: Operation,
    pub(super) variant: Variant,
    /// The variant's file and its SHA-256, if it is not one of the tool's.
    file: Option<(String, String)>,
    parameters: Parameters,
    pub(super) chosen: Option<Chosen>,
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

/// Fields that affect the result, besides operation, variant and arrays.
const PARAMETERS: &[&str] = &[
    "arch",
    "eps",
    "softmax_scale",
    "causal",
    "layout",
    "interleaved",
    "group",
    "tile",
    "output",
];

impl Operation {
    /// Chooses what computes it, for arrays of this format.
    ///
    /// # Errors
    /// If there is no such rule, or it does not use a field.
    pub fn bind(
        &self,
        format: Format,
        engines: &dyn Engines,
    ) -> Result<BoundOperation, CheckError> {
        let (variant, file) = self.variant()?;
        self.used(&variant.rule)?;
        Ok(BoundOperation {
            request: self.clone(),
            parameters: self.parameters()?,
            chosen: chosen(&variant.rule, self.arch.as_deref(), format)?,
            engine: self.engine(engines)?,
            variant,
            file,
        })
    }

    /// The variant of the request, and of a file its path and SHA-256.
    pub(super) fn variant(&self) -> Result<(Variant, Option<(String, String)>), CheckError> {
        let operation = self.operation.as_deref();
        let operation = operation.ok_or_else(|| CheckError::missing("operation"))?;
        match (&self.variant_file, &self.variant) {
            (Some(_), Some(_)) => Err(CheckError::exclusive("variant", "variant_file")),
            (Some(path), None) => {
                let read = read_document(path, "variant", |text| {
                    let variant = Variant::from_json(text)?;
                    let has = variant.rule.operation();
                    if has == operation {
                        return Ok(variant);
                    }
                    Err(format!(
                        "it is a variant of {has}, but the request is for {operation}"
                    ))
                });
                let (variant, text) = read.map_err(CheckError::file("variant_file"))?;
                Ok((variant, Some((path.display().to_string(), sha256(text)))))
            }
            (None, name) => {
                let field = if ops::of(operation).is_ok() {
                    "variant"
                } else {
                    "operation"
                };
                let found = ops::find(operation, name.as_deref());
                Ok((
                    found
                        .map_err(|reason| CheckError::request(field, reason))?
                        .clone(),
                    None,
                ))
            }
        }
    }

    /// All that decides a verdict but the arrays, as text: the variant, and the tensor core's rules.
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
        basis.map_err(|error| CheckError::request("variant", error.to_string()))
    }

    /// The engine that computes.
    pub(super) fn engine(&self, engines: &dyn Engines) -> Result<Engine<'static>, CheckError> {
        match self.engine {
            None | Some(EngineChoice::Fast | EngineChoice::Auto) => {
                engines.fast(None).map_err(CheckError::of("engine"))
            }
            Some(EngineChoice::Exact) => Ok(Engine::Exact),
            Some(_) => Err(CheckError::request("engine", EngineChoice::ON_CPU)),
        }
    }

    pub(super) fn parameters(&self) -> Result<Parameters, CheckError> {
        let tile = self.tile.as_ref().map(|text| {
            let sizes = text
                .split_once('x')
                .and_then(|(m, n)| Some([m.parse().ok()?, n.parse().ok()?]));
            sizes.ok_or_else(|| {
                CheckError::request("tile", "`tile` must be rows of Q x keys, such as 128x64")
            })
        });
        Ok(Parameters {
            eps: self.eps.map(|eps| eps.0),
            softmax_scale: self.softmax_scale.map(|scale| scale.0),
            causal: self.causal == Some(true),
            layout: self.layout,
            interleaved: self.interleaved == Some(true),
            group: self.group,
            tile: tile.transpose()?,
            gpu: self.arch.clone().unwrap_or_default(),
            output: self.output.clone(),
        })
    }

    /// Refuses fields that this operation does not use.
    pub(super) fn used(&self, rule: &Rule) -> Result<(), CheckError> {
        let attention = matches!(rule, Rule::Attention(_));
        let norm = matches!(rule, Rule::RmsNorm(_) | Rule::LayerNorm(_));
        let rope = matches!(rule, Rule::Rope(_));
        let grouped =
            matches!(rule, Rule::QuantizeFp8(rule) if rule.granularity == Granularity::Group);
        for (field, meant) in [
            ("eps", norm),
            ("softmax_scale", attention),
            ("causal", attention),
            ("tile", attention),
            ("layout", attention || rope),
            ("interleaved", rope),
            ("group", grouped),
        ] {
            if self.says(field) && !meant {
                let operation = rule.operation();
                return Err(CheckError::request(
                    field,
                    format!("`{field}` is not used by this {operation} variant"),
                ));
            }
        }
        if self.y.is_some() && self.y_digest.is_some() {
            return Err(CheckError::exclusive("y", "y_digest"));
        }
        let forgiving = [("nan", self.nan), ("zero", self.zero)];
        let forgives = |(_, word): &(_, _)| *word == Some(Strictness::Any);
        match forgiving.into_iter().find(forgives) {
            Some((field, _)) if self.y_digest.is_some() => {
                Err(CheckError::exclusive("y_digest", field))
            }
            _ => Ok(()),
        }
    }
}

/// The tensor core's rule for attention on this GPU.
pub(super) fn chosen(
    rule: &Rule,
    arch: Option<&str>,
    format: Format,
) -> Result<Option<Chosen>, CheckError> {
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

impl BoundOperation {
    /// The operation on arrays, as it is to be computed.
    pub fn job<'a>(&'a self, inputs: &Inputs<'a>) -> Result<BoundOp<'a>, OpError> {
        self.job_by((&self.variant.rule, self.chosen.as_ref()), inputs, None)
    }

    /// The operation by another rule, with its arithmetic, or with another tile.
    pub(super) fn job_by<'a>(
        &'a self,
        (rule, chosen): (&'a Rule, Option<&'a Chosen>),
        inputs: &Inputs<'a>,
        tile: Option<[usize; 2]>,
    ) -> Result<BoundOp<'a>, OpError> {
        let means = ExecContext {
            arithmetic: chosen.map(|chosen| &chosen.arithmetic),
            engine: self.engine,
        };
        let own = &self.parameters;
        let parameters = Parameters {
            tile: tile.or(own.tile),
            ..own.clone()
        };
        BoundOp::new(rule, inputs, &parameters, means)
    }

    /// The request that was bound.
    pub fn request(&self) -> &Operation {
        &self.request
    }

    /// The variant that computes it.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// The arrays that it needs; others may be there.
    pub fn arrays(&self) -> Vec<Role> {
        let needed = self.variant.rule.arrays().iter();
        needed.filter_map(|name| Role::of_field(name)).collect()
    }

    /// What a commitment fixes of it beside the arrays.
    pub fn committed_rule(&self) -> CommittedRule {
        let hash = |text: String| Hash::parse(&text).expect("a SHA-256");
        let fields = serde_json::to_value(&self.request).unwrap_or_default();
        let given = PARAMETERS.iter().filter_map(|&name| {
            let value = fields.get(name).filter(|value| !value.is_null())?;
            Some((name.to_owned(), value.clone()))
        });
        CommittedRule::Operation {
            operation: self.variant.rule.operation().to_owned(),
            rule_sha256: hash(self.variant.sha256()),
            model_sha256: self
                .chosen
                .as_ref()
                .map(|chosen| hash(chosen.arithmetic.sha256())),
            parameters: given.collect(),
        }
    }
    /// The variant as a report has it; `about` describes the shapes.
    pub fn rule(&self, about: &str) -> VariantRule {
        let variant = &self.variant;
        let own = variant.evidence;
        let chosen = self.chosen.as_ref();
        let constants = variant.constants().into_iter().map(|constant| {
            let known = variant
                .known_by(&constant.name)
                .expect("checked when it was read");
            Constant {
                name: constant.name,
                value: constant.value,
                evidence: match self.file {
                    Some(_) => Evidence::Claimed,
                    None => known.evidence,
                },
                source: known.source.clone(),
                note: known.note.clone(),
            }
        });
        let unit = chosen.map(|chosen| chosen.evidence);
        // A file may claim any evidence for itself.
        let by = match self.file {
            Some(_) => Evidence::Claimed,
            None => own,
        };
        VariantRule {
            arrays: variant
                .rule
                .arrays()
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            operation: variant.rule.operation().to_owned(),
            variant: variant.name.clone(),
            title: variant.title.clone(),
            library: variant.library.clone(),
            versions: variant.versions.clone(),
            // No more is known of the whole than of its parts.
            evidence: unit.map_or(by, |unit| by.min(unit)),
            file: self.file.clone().map(|(path, sha256)| ModelFile {
                path,
                sha256,
                says: own,
            }),
            about: about.to_owned(),
            multiplied_by: chosen.map(|chosen| MultipliedBy {
                architecture: chosen.architecture.clone(),
                instruction: chosen.instruction.clone(),
                evidence: chosen.evidence,
                summary: chosen.arithmetic.step.summary(),
                sha256: chosen.arithmetic.sha256(),
            }),
            arithmetic: serde_json::to_value(&variant.rule).unwrap_or_default(),
            sha256: variant.sha256(),
            constants: constants.collect(),
            notes: variant.notes.clone(),
            sources: variant.sources.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field is an array, a parameter, or does not affect the result.
    #[test]
    fn every_field_is_committed_to_or_changes_nothing() {
        // The rule's own, by its digest.
        const RULE: &[&str] = &["operation", "variant", "variant_file"];
        // An array's own.
        const ARRAY: &[&str] = &["dtype"];
        const JUDGING: &[&str] = &[
            "y_digest",
            "nan",
            "zero",
            "rows",
            "sample",
            "seed",
            "seed_from",
            "beacon",
            "against",
            "max_mismatches",
            "cols",
            "region",
            "tree",
            "block_rows",
            "no_causes",
            "engine",
        ];
        let arrays: Vec<&str> = Role::OPERATION.iter().map(|role| role.field()).collect();
        let groups: [&[&str]; 5] = [RULE, ARRAY, JUDGING, PARAMETERS, &arrays];
        let mut known = groups.concat();
        let mut names = Operation::NAMES.to_vec();
        known.sort_unstable();
        names.sort_unstable();
        assert_eq!(known, names);
    }
}
