//! By what a result is computed: the model and the schedule of a product, the variant of an operation.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::scheduled::cited;
use super::{ModelFile, Scheduled};
use tcverify_emu::{Arithmetic, Choice, Evidence, Pattern};

/// By what a result is computed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Rule {
    Product(Box<ProductRule>),
    Operation(Box<VariantRule>),
}

/// Model and schedule of a product.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProductRule {
    pub model: Model,
    /// How the model was chosen, if the request named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
    /// Of the kernel around the instruction; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Scheduled>,
    pub product: Product,
}

/// A variant of an operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VariantRule {
    pub operation: String,
    pub variant: String,
    pub title: String,
    pub library: String,
    pub versions: String,
    /// Of the whole, the tensor core's rule included; `claimed` of a file.
    pub evidence: Evidence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ModelFile>,
    /// What the rule makes of these shapes.
    pub about: String,
    /// The arrays that it always has; others were added by the request.
    pub arrays: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplied_by: Option<MultipliedBy>,
    /// All that decides a bit; `sha256` is the digest of this object as canonical JSON.
    pub arithmetic: Value,
    pub sha256: String,
    pub constants: Vec<Constant>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub sources: BTreeMap<String, String>,
}

/// The tensor core's part in an operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MultipliedBy {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
    pub summary: String,
    pub sha256: String,
}

/// The arithmetic that judged, and how it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Model {
    /// Its name in the catalogue: `hopper`.
    pub architecture: String,
    /// For people: `NVIDIA Hopper`.
    pub title: String,
    /// `mma`, `wgmma`, `tcgen05`, `mma-m8n8k4`.
    pub instruction: String,
    /// How the rule as a whole is known; `claimed` for a model file.
    pub evidence: Evidence,
    /// The model file; absent for the catalogue's models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ModelFile>,
    /// A restriction of the evidence.
    pub note: Option<String>,
    /// The step in one line, for people.
    pub summary: String,
    /// Everything that decides a bit: the formats `a`, `b`, `accumulator`, `addend` (of C) and `scale` where the rule
    /// has them, and `step`.
    pub arithmetic: Arithmetic,
    /// Digest of `arithmetic` as canonical JSON.
    pub sha256: String,
    /// Each constant of the step: `name`, `value`, `evidence`, `source` (keys of `sources`) and `note`.
    pub constants: Vec<Constant>,
    /// Full citations by key.
    pub sources: BTreeMap<String, String>,
}

/// A model that was chosen because it gives D: of those that do, the best known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// All that give it, as far as was searched.
    pub fits: Vec<String>,
    /// Models, alone and under schedules, that were tested; those that the budget had no room for.
    pub tested: usize,
    pub untested: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Constant {
    pub name: String,
    pub value: serde_json::Value,
    pub evidence: Evidence,
    pub source: Vec<String>,
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// Leading axes; `[]` for one product.
    pub batch: Vec<usize>,
    /// Rows of D.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
    /// Products of an element, after transposition.
    pub k: usize,
    /// Whether the file holds K x M.
    pub transpose_a: bool,
    /// Whether the file holds N x K.
    pub transpose_b: bool,
    /// Of a compressed A: how many elements are kept of how many neighbours. K then counts the kept ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Pattern>,
    /// What B's codes stand for, where they are weights that the kernel dequantises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
}

// By hand, because the errors of untagged enums do not say what is wrong.
impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rule, D::Error> {
        fn read<T: DeserializeOwned, E: Error>(value: Value) -> Result<Box<T>, E> {
            serde_json::from_value(value)
                .map(Box::new)
                .map_err(E::custom)
        }
        let value = Value::deserialize(from)?;
        if value.get("operation").is_some() {
            read(value).map(Rule::Operation)
        } else {
            read(value).map(Rule::Product)
        }
    }
}

impl Rule {
    /// The two names that a report of tests has.
    pub fn names(&self) -> [&str; 2] {
        match self {
            Rule::Product(rule) => [&rule.model.architecture, &rule.model.instruction],
            Rule::Operation(rule) => [&rule.operation, &rule.variant],
        }
    }

    /// Model and schedule, if a product was judged.
    pub fn product(&self) -> Option<&ProductRule> {
        match self {
            Rule::Product(rule) => Some(rule),
            Rule::Operation(_) => None,
        }
    }

    /// Whether a model was chosen because it gives the result.
    pub fn is_chosen(&self) -> bool {
        self.product().is_some_and(|rule| rule.chosen.is_some())
    }

    /// Whether it leaves products out of the result.
    pub fn leaves_out(&self) -> bool {
        let schedule = self.product().and_then(|rule| rule.schedule.as_ref());
        schedule.is_some_and(Scheduled::leaves_out)
    }

    /// How it is known.
    pub fn evidence(&self) -> Evidence {
        match self {
            Rule::Product(rule) => match &rule.schedule {
                // Bits by somebody's order are somebody's, however well the instruction is known.
                Some(schedule) if schedule.evidence == Evidence::Claimed => Evidence::Claimed,
                _ => rule.model.evidence,
            },
            Rule::Operation(rule) => rule.evidence,
        }
    }

    /// The files that it was read from, by what they describe.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &ModelFile)> {
        let files = match self {
            Rule::Product(rule) => {
                let schedule = rule.schedule.as_ref().and_then(|of| of.file.as_ref());
                [
                    ("model file", rule.model.file.as_ref()),
                    ("schedule file", schedule),
                ]
            }
            Rule::Operation(rule) => [("variant file", rule.file.as_ref()), ("", None)],
        };
        let files = files.into_iter();
        files.filter_map(|(of, file)| Some((of, file?)))
    }

    /// Of the model, or of the variant.
    pub fn sha256(&self) -> &str {
        match self {
            Rule::Product(rule) => &rule.model.sha256,
            Rule::Operation(rule) => &rule.sha256,
        }
    }

    /// The digests of its parts, by what they are of.
    pub fn digests(&self) -> Vec<(&'static str, &str)> {
        let (first, second) = match self {
            Rule::Product(rule) => {
                let schedule = rule.schedule.as_ref();
                ("model", schedule.map(|of| ("schedule", of.sha256.as_str())))
            }
            Rule::Operation(rule) => {
                let unit = rule.multiplied_by.as_ref();
                ("rule", unit.map(|of| ("model", of.sha256.as_str())))
            }
        };
        let files = self.files().map(|(of, file)| (of, file.sha256.as_str()));
        let own = [(first, self.sha256())].into_iter().chain(second);
        own.chain(files).collect()
    }
}

impl Model {
    /// A rule of the catalogue's, or of a file's, by path and SHA-256.
    pub fn of(choice: &Choice, file: Option<(String, String)>) -> Model {
        let (architecture, rule) = (choice.architecture, choice.rule);
        let sparse = choice.sparse();
        let constants = choice.arithmetic.constants().into_iter().map(|constant| {
            let known = architecture
                .known_by(rule, &constant.name)
                .expect("checked when the architecture was read");
            Constant {
                name: constant.name,
                value: constant.value,
                evidence: known.evidence,
                source: known.source.clone(),
                note: known.note.clone(),
            }
        });
        let constants = constants.chain(sparse.map(|sparse| Constant {
            name: "sparse".into(),
            value: sparse.pattern.name().into(),
            evidence: sparse.evidence,
            source: sparse.source.clone(),
            note: sparse.note.clone(),
        }));
        let mut constants: Vec<_> = constants.collect();
        if file.is_some() {
            for constant in &mut constants {
                constant.evidence = Evidence::Claimed;
            }
        }
        let known = sparse.map_or(rule.evidence, |sparse| rule.evidence.min(sparse.evidence));
        let keys = constants.iter().flat_map(|constant| &constant.source);
        Model {
            architecture: architecture.name.clone(),
            title: architecture.title.clone(),
            instruction: choice.instruction.name.clone(),
            evidence: match file {
                Some(_) => Evidence::Claimed,
                None => known,
            },
            file: file.map(|(path, sha256)| ModelFile {
                path,
                sha256,
                says: known,
            }),
            note: rule.note.clone(),
            summary: choice.arithmetic.step.summary(),
            arithmetic: choice.arithmetic.clone(),
            sha256: choice.arithmetic.sha256(),
            sources: cited(&architecture.sources, keys),
            constants,
        }
    }
}
