//! `tcverify.commitment/1` as data.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parts::{
    CommittedInput, CommittedResult, CommittedSchedule, each_once, present, schedule_text,
};
use super::{Along, CommitError, document, wrong};
use crate::io::printable;
use crate::io::tree::Hash;
use crate::report::Product;
use crate::role::{ByRole, Role};

/// Value of the `schema` field.
pub const COMMITMENT: &str = "tcverify.commitment/1";

/// A product or an operation between products with its arrays and its result, fixed by digests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "Written")]
pub struct Commitment {
    pub rule: CommittedRule,
    /// All arrays but the result, which is fixed by its rows.
    pub inputs: ByRole<CommittedInput>,
    pub result: CommittedResult,
}

/// By what the result was computed.
#[derive(Clone, Debug, PartialEq)]
pub enum CommittedRule {
    Product {
        /// Of the arithmetic, as `rule.sha256` of a report's model.
        model_sha256: Hash,
        /// Of the kernel around the instruction; none for one chain over k.
        schedule: Option<CommittedSchedule>,
        product: Product,
    },
    Operation {
        operation: String,
        /// Of the variant, as `rule.sha256` of a report.
        rule_sha256: Hash,
        /// Of the tensor core's arithmetic, if it takes part.
        model_sha256: Option<Hash>,
        /// What the request says besides: `eps`, `causal` ... by field.
        parameters: BTreeMap<String, Value>,
    },
}

/// The document: that of an operation has the field `operation`.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Written {
    Product(WrittenProduct),
    Operation(WrittenOperation),
}

/// A product, fixed by digests.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct WrittenProduct {
    schema: String,
    /// Of the arithmetic, as `rule.model.sha256` of a report.
    model_sha256: Hash,
    /// Of the kernel around the instruction; absent for one chain over k.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    schedule: Option<CommittedSchedule>,
    product: Product,
    /// `c` is null where nothing is added.
    #[serde(deserialize_with = "each_once")]
    inputs: ByRole<Option<CommittedInput>>,
    d: CommittedResult,
}

/// An operation between products, fixed by digests.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct WrittenOperation {
    schema: String,
    operation: String,
    /// Of the variant, as `rule.sha256` of a report.
    rule_sha256: Hash,
    /// Of the tensor core's arithmetic, if it takes part.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    model_sha256: Option<Hash>,
    /// What the request says besides: `eps`, `causal` ... by field.
    parameters: BTreeMap<String, Value>,
    #[serde(deserialize_with = "each_once")]
    inputs: ByRole<CommittedInput>,
    y: CommittedResult,
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Commitment {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Commitment".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

impl From<Commitment> for Written {
    fn from(from: Commitment) -> Written {
        let (schema, inputs, result) = (COMMITMENT.to_owned(), from.inputs, from.result);
        match from.rule {
            CommittedRule::Product {
                model_sha256,
                schedule,
                product,
            } => {
                let there = inputs.into_iter().map(|(role, input)| (role, Some(input)));
                let absent = [(Role::C, None)].into_iter();
                Written::Product(WrittenProduct {
                    schema,
                    model_sha256,
                    schedule,
                    product,
                    inputs: absent.chain(there).collect(),
                    d: result,
                })
            }
            CommittedRule::Operation {
                operation,
                rule_sha256,
                model_sha256,
                parameters,
            } => Written::Operation(WrittenOperation {
                schema,
                operation,
                rule_sha256,
                model_sha256,
                parameters,
                inputs,
                y: result,
            }),
        }
    }
}

impl WrittenProduct {
    fn read(self) -> Result<Commitment, CommitError> {
        let mut inputs = ByRole::new();
        for role in [Role::A, Role::B, Role::C] {
            if !self.inputs.contains_key(&role) {
                return wrong(format!("missing field `{}`", role.field()));
            }
        }
        for (role, input) in self.inputs {
            let known = Role::PRODUCT.contains(&role) && !role.is_result();
            match input {
                Some(input) if known => drop(inputs.insert(role, input)),
                None if role == Role::C => {}
                _ => return unknown_input(role),
            }
        }
        Ok(Commitment {
            rule: CommittedRule::Product {
                model_sha256: self.model_sha256,
                schedule: self.schedule,
                product: self.product,
            },
            inputs,
            result: self.d,
        })
    }
}

impl WrittenOperation {
    fn read(self) -> Result<Commitment, CommitError> {
        let known = |role: &Role| Role::OPERATION.contains(role) && !role.is_result();
        if let Some(role) = self.inputs.keys().find(|role| !known(role)) {
            return unknown_input(*role);
        }
        Ok(Commitment {
            rule: CommittedRule::Operation {
                operation: self.operation,
                rule_sha256: self.rule_sha256,
                model_sha256: self.model_sha256,
                parameters: self.parameters,
            },
            inputs: self.inputs,
            result: self.y,
        })
    }
}

fn unknown_input<T>(role: Role) -> Result<T, CommitError> {
    wrong(format!("it cannot have an array `{}`", role.field()))
}

fn other_operand<T>(role: Role, found: &str, expected: &str) -> Result<T, CommitError> {
    let operand = role.field();
    wrong(format!(
        "{operand} is {found}, but its product needs {expected}"
    ))
}

impl Commitment {
    /// Reads a commitment.
    ///
    /// # Errors
    /// What is wrong with it, to be read after the file's name.
    pub fn parse(text: &[u8]) -> Result<Commitment, CommitError> {
        Commitment::read(text)
            .map_err(|why| CommitError::Document(format!("is not a commitment: {why}")))
    }

    fn read(text: &[u8]) -> Result<Commitment, CommitError> {
        #[derive(Deserialize)]
        struct Kind {
            operation: Option<IgnoredAny>,
        }
        // The readers report what is not an object.
        let kind = serde_json::from_slice::<Kind>(text).ok();
        let commitment = if kind.is_some_and(|kind| kind.operation.is_some()) {
            let read = document(text, COMMITMENT, |read: &WrittenOperation| &read.schema);
            read?.read()?
        } else {
            let read = document(text, COMMITMENT, |read: &WrittenProduct| &read.schema);
            read?.read()?
        };
        if let CommittedRule::Product { product, .. } = &commitment.rule {
            if product.sparse.is_some() {
                return wrong("its product has a compressed A, which cannot be committed to");
            }
            let Product { batch, m, n, .. } = product;
            let shape = [&batch[..], &[*m, *n]].concat();
            let d = &commitment.result.shape;
            if shape != *d {
                return wrong(format!("its D is {d:?}, but its product gives {shape:?}"));
            }
        }
        commitment.result.rows()?;
        commitment.confirm_inputs()?;
        Ok(commitment)
    }

    /// Makes sure that inputs are cut into the lines that elements need, as others wrote the commitment.
    fn confirm_inputs(&self) -> Result<(), CommitError> {
        let CommittedRule::Product { product, .. } = &self.rule else {
            return self.confirm_rows();
        };
        // One B, with its scales, may belong to all matrices of A.
        let b = self.inputs.get(&Role::B);
        let shared = b.is_some_and(|b| b.shape.len() == 2);
        for (&role, input) in self.inputs.iter() {
            let along = input.lines;
            let whole = along == Along::Whole;
            // Scales of a kernel, the bias and zero points are of shapes that the schedule knows.
            let expected = match role {
                Role::Bias | Role::Azp | Role::AzpAdj | Role::ZeroB if !whole => {
                    return other_operand(role, "cut into lines", "one line of it");
                }
                Role::ScaleA | Role::ScaleB if whole => None,
                Role::Bias | Role::Azp | Role::AzpAdj | Role::ZeroB => None,
                _ => Some(cut_of(product, role)),
            };
            input.lines()?;
            let Some((expected_along, batch, axes)) = expected else {
                continue;
            };
            let batch = match role {
                Role::B | Role::ScaleB if shared => &[],
                _ => batch,
            };
            let [first, second] = axes;
            let fits = match input.shape.strip_prefix(batch) {
                Some([rows, columns]) => {
                    first.is_none_or(|first| first == *rows)
                        && second.is_none_or(|second| second == *columns)
                }
                _ => false,
            };
            if !fits || along != expected_along {
                let axis = |axis: Option<usize>| axis.map_or("any".to_owned(), |n| n.to_string());
                let expected = format!(
                    "{batch:?} of {}x{} in {expected_along:?}",
                    axis(first),
                    axis(second)
                );
                return other_operand(role, &format!("{:?} in {along:?}", input.shape), &expected);
            }
        }
        Ok(())
    }

    /// Of an operation, an operand has one line for every row of the result, or but one.
    fn confirm_rows(&self) -> Result<(), CommitError> {
        let all = self.result.rows()?.count();
        for (&role, input) in &self.inputs {
            let lines = input.lines()?;
            let fits = match input.lines {
                Along::Whole => true,
                Along::Rows => lines.count() == all,
                Along::Columns => false,
            };
            if !fits {
                let found = format!("{} lines of {:?}", lines.count(), input.lines);
                return other_operand(role, &found, &format!("one line, or {all} of Rows"));
            }
        }
        Ok(())
    }

    /// How `found` differs from this commitment, a phrase each.
    pub fn differences(&self, found: &Commitment) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, here: String, committed: String| {
            if here != committed {
                differences.push(format!(
                    "{what} is {here}, but the commitment has {committed}"
                ));
            }
        };
        let (mine, other) = (self.rule.texts(), found.rule.texts());
        let names = mine.keys().chain(other.keys()).collect::<BTreeSet<_>>();
        let text = |of: &BTreeMap<String, String>, name: &String| {
            of.get(name).map_or("nothing".into(), String::clone)
        };
        for name in names {
            compare(name, text(&other, name), text(&mine, name));
        }
        for role in Role::ALL {
            let name = role.called();
            let both = (found.inputs.get(role), self.inputs.get(role));
            let (Some(here), Some(committed)) = both else {
                let (here, committed) = match both {
                    (None, None) => continue,
                    (Some(_), _) => ("given", "none"),
                    (None, _) => ("absent", "one"),
                };
                compare(name, here.to_owned(), committed.to_owned());
                continue;
            };
            let layout = |input: &CommittedInput| format!("{} {:?}", input.format, input.shape);
            compare(name, layout(here), layout(committed));
            let root =
                |input: &CommittedInput| format!("{} over its {:?}", input.root, input.lines);
            compare(&format!("the root of {name}"), root(here), root(committed));
        }
        let layout = |d: &CommittedResult| {
            format!("{} {:?} in blocks of {}", d.format, d.shape, d.block_rows)
        };
        let name = match self.rule {
            CommittedRule::Product { .. } => "D",
            CommittedRule::Operation { .. } => "the result",
        };
        compare(name, layout(&found.result), layout(&self.result));
        compare(
            &format!("the root of {name}"),
            found.result.root.to_string(),
            self.result.root.to_string(),
        );
        // Should a field have been forgotten above.
        if differences.is_empty() && self != found {
            differences.push("something differs from the commitment".to_owned());
        }
        differences
    }
}

impl CommittedRule {
    /// Everything that it fixes as text, by name.
    fn texts(&self) -> BTreeMap<String, String> {
        let model = |sha256: &Hash| ("the model's SHA-256".to_owned(), sha256.to_string());
        match self {
            CommittedRule::Product {
                model_sha256,
                schedule,
                product,
            } => BTreeMap::from([
                model(model_sha256),
                ("the product".to_owned(), product_text(product)),
                ("the schedule".to_owned(), schedule_text(schedule.as_ref())),
            ]),
            CommittedRule::Operation {
                operation,
                rule_sha256,
                model_sha256,
                parameters,
            } => {
                let parameters = parameters.iter();
                let named = parameters
                    .map(|(name, value)| (printable(name), printable(&value.to_string())));
                let own = [
                    ("the operation".to_owned(), printable(operation)),
                    ("the rule's SHA-256".to_owned(), rule_sha256.to_string()),
                ];
                named
                    .chain(own)
                    .chain(model_sha256.as_ref().map(model))
                    .collect()
            }
        }
    }

    /// Which array the result is.
    pub fn result(&self) -> Role {
        match self {
            CommittedRule::Product { .. } => Role::D,
            CommittedRule::Operation { .. } => Role::Y,
        }
    }

    /// The product, if it is one.
    pub fn product(&self) -> Option<&Product> {
        match self {
            CommittedRule::Product { product, .. } => Some(product),
            CommittedRule::Operation { .. } => None,
        }
    }
}

/// How an operand of the product is cut, its batch, and rows and columns as it is stored.
fn cut_of(product: &Product, role: Role) -> (Along, &[usize], [Option<usize>; 2]) {
    let Product {
        batch,
        m,
        n,
        k,
        transpose_a,
        transpose_b,
        // It is never committed to.
        sparse: _,
        weights: _,
    } = product;
    let [m, n, k] = [m, n, k].map(|&n| Some(n));
    let stored = |along, axes: [Option<usize>; 2], transposed: bool| match (transposed, along) {
        (false, _) => (along, axes),
        (true, Along::Rows) => (Along::Columns, [axes[1], axes[0]]),
        (true, _) => (Along::Rows, [axes[1], axes[0]]),
    };
    let (along, axes) = match role {
        Role::A => stored(Along::Rows, [m, k], *transpose_a),
        Role::B => stored(Along::Columns, [k, n], *transpose_b),
        // As many scales as the model says, which is not known here.
        Role::ScaleA => stored(Along::Rows, [m, None], *transpose_a),
        Role::ScaleB => stored(Along::Columns, [None, n], *transpose_b),
        _ => (Along::Rows, [m, n]),
    };
    (along, batch, axes)
}

fn product_text(product: &Product) -> String {
    let Product {
        batch,
        m,
        n,
        k,
        transpose_a,
        transpose_b,
        // It is never committed to.
        sparse: _,
        weights,
    } = product;
    let stored = |transposed: &bool| if *transposed { " transposed" } else { "" };
    let weights = weights
        .as_ref()
        .map(|kind| format!(" of {} weights", printable(kind)));
    format!(
        "{batch:?} of {m}x{k}{} by {k}x{n}{}{}",
        stored(transpose_a),
        stored(transpose_b),
        weights.unwrap_or_default()
    )
}
