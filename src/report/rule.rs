//! By what a result is computed: the model and the schedule of a product, the variant of an operation.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::view::{Fact, Section, Tone, View};
use super::{Chosen, Constant, Conversion, Model, ModelFile, Product, Scheduled, Tool};
use crate::emu::{Evidence, shape_text};
use crate::num::Format;

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

// By hand: of an untagged enum nobody is told what is wrong.
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
    /// Of a product.
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

    /// How it is known.
    pub fn evidence(&self) -> Evidence {
        match self {
            Rule::Product(rule) => rule.model.evidence,
            Rule::Operation(rule) => rule.evidence,
        }
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
        [(first, self.sha256())].into_iter().chain(second).collect()
    }
}

/// By which rule a product would be judged, before anything is computed.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    pub tool: Tool,
    /// The lower of the model's and the schedule's.
    pub evidence: Evidence,
    pub rule: ProductRule,
    /// D's.
    pub shape: Vec<usize>,
    pub format: Format,
    /// Whether C is added.
    pub with_c: bool,
    pub conversion: Option<Conversion>,
}

impl Planned {
    /// What it says.
    pub fn view(&self) -> View {
        let ProductRule {
            model: unit,
            schedule,
            product,
            ..
        } = &self.rule;
        let model = unit.line(self.conversion.as_ref());
        let product = product.line(self.with_c);
        let order = match schedule {
            Some(schedule) => format!("{}: {}", schedule.name, schedule.title),
            None => "one chain over K".to_owned(),
        };
        let mut figures = vec![("model".to_owned(), unit.evidence.to_string())];
        let schedule = match schedule {
            Some(schedule) => {
                figures.push(("order of sums".to_owned(), schedule.evidence.to_string()));
                schedule.section()
            }
            None => Section {
                facts: vec![Fact::caution(
                    "order",
                    "one chain over K, because no kernel was named; a library's kernel may split K or add in another \
                    order",
                )],
                ..Section::default()
            },
        };
        let about = Section {
            facts: vec![
                Fact::new("product", &product),
                Fact::new("D", format!("{} {}", shape_text(&self.shape), self.format)),
            ],
            ..Section::default()
        };
        View {
            tone: Tone::Unsure,
            word: "Plan".to_owned(),
            sentence: format!(
                "D would be judged by {} {}, {order}; the weakest evidence is {}",
                unit.architecture, unit.instruction, self.evidence
            ),
            about: vec![model.clone(), product, order],
            evidence: self.evidence.to_string(),
            figures,
            sections: vec![about, unit.section(model, None), schedule],
            proves: "Nothing was computed or compared.".to_owned(),
            ..View::default()
        }
    }
}
