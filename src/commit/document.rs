//! `tcverify.commitment/1` as data.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Along, CommitError, Hash, Lines, Rows};
use crate::emu::schedule::{ScheduleSpec, Values};
use crate::io::printable;
use crate::num::Format;
use crate::report::Product;
use crate::role::{Role, fields_by_role};

/// Value of the `schema` field.
pub const COMMITMENT: &str = "tcverify.commitment/1";

/// A product, fixed by digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    pub schema: String,
    /// Of the arithmetic, as `model.sha256` of a report.
    pub model_sha256: Hash,
    /// Of the kernel around the instruction; absent for one chain over k.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub schedule: Option<CommittedSchedule>,
    pub product: Product,
    pub inputs: CommittedInputs,
    pub d: CommittedD,
}

/// A kernel's schedule and its factors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedSchedule {
    /// Of the spec, as `schedule.sha256` of a report.
    pub sha256: Hash,
    /// Codes of f32, as in a report.
    pub alpha: String,
    pub beta: String,
    /// What results are multiplied by before they are rounded to a narrow format; absent without one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub scale_result: Option<String>,
}

impl CommittedSchedule {
    /// Of a kernel's spec and numbers.
    pub fn of(spec: &ScheduleSpec, values: &Values) -> CommittedSchedule {
        let factor = |code| format!("{code:08x}");
        CommittedSchedule {
            sha256: Hash::parse(&spec.sha256()).expect("a SHA-256"),
            alpha: factor(values.alpha),
            beta: factor(values.beta),
            scale_result: values.scale_result.map(factor),
        }
    }
}

/// The arrays of a product but D, which is fixed by its rows.
pub const COMMITTED: &[Role] = Role::PRODUCT.split_last().expect("D is last").1;

fields_by_role! {
    /// The arrays of a product but D.
    pub struct CommittedInputs: CommittedInput, roles: COMMITTED;
}

/// A field that is left out or has a value, and is never null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// An operand, wherever it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedInput {
    pub format: Format,
    /// As stored, before any transposition.
    pub shape: Vec<usize>,
    /// How it is cut.
    pub lines: Along,
    /// Of the tree over its lines.
    pub root: Hash,
}

impl CommittedInput {
    /// How it is cut.
    ///
    /// # Errors
    /// If nothing of that shape can be cut so.
    pub fn lines(&self) -> Result<Lines, CommitError> {
        Lines::new(self.format, self.shape.clone(), self.lines)
    }
}

/// D, cut into blocks of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommittedD {
    pub format: Format,
    pub shape: Vec<usize>,
    pub block_rows: u64,
    pub root: Hash,
}

impl CommittedD {
    /// How it is cut.
    ///
    /// # Errors
    /// If no D can be of that shape.
    pub fn rows(&self) -> Result<Rows, CommitError> {
        Rows::new(self.format, self.shape.clone(), self.block_rows)
    }
}

impl Commitment {
    /// Reads a commitment.
    ///
    /// # Errors
    /// What is wrong with it, to be read after the file's name.
    pub fn parse(text: &[u8]) -> Result<Commitment, CommitError> {
        let not = |why| CommitError::NotACommitment(Box::new(why));
        let commitment: Commitment =
            serde_json::from_slice(text).map_err(|error| not(CommitError::Json(error)))?;
        if commitment.schema != COMMITMENT {
            return Err(not(CommitError::Schema {
                expected: COMMITMENT,
            }));
        }
        let Product { batch, m, n, .. } = &commitment.product;
        let shape = [&batch[..], &[*m, *n]].concat();
        if shape != commitment.d.shape {
            return Err(not(CommitError::OtherProduct {
                product: shape,
                d: commitment.d.shape,
            }));
        }
        commitment.d.rows().map_err(not)?;
        commitment.confirm_inputs().map_err(not)?;
        Ok(commitment)
    }

    /// Makes sure that inputs are those of the product: they were written by somebody else.
    fn confirm_inputs(&self) -> Result<(), CommitError> {
        for (&role, input) in self.inputs.iter() {
            let operand = role.field();
            let other = |found: &str, expected: &str| {
                Err(CommitError::OtherOperand {
                    operand,
                    found: found.to_owned(),
                    expected: expected.to_owned(),
                })
            };
            let along = input.lines;
            let whole = along == Along::Whole;
            // Scales of a kernel, the bias and zero points are of shapes that the schedule knows.
            let expected = match role {
                Role::Bias | Role::Azp | Role::AzpAdj if !whole => {
                    return other("cut into lines", "one line of it");
                }
                Role::ScaleA | Role::ScaleB if whole => None,
                Role::Bias | Role::Azp | Role::AzpAdj => None,
                _ => Some(self.cut_of(role)),
            };
            input.lines()?;
            let Some((expected_along, batch, axes)) = expected else {
                continue;
            };
            let text = |along: Along, shape: &[usize]| format!("{shape:?} in {along:?}");
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
                return other(&text(along, &input.shape), &expected);
            }
        }
        Ok(())
    }

    /// How an operand of the product is cut, its batch, and rows and columns as it is stored.
    fn cut_of(&self, role: Role) -> (Along, &[usize], [Option<usize>; 2]) {
        let Product {
            batch,
            m,
            n,
            k,
            transpose_a,
            transpose_b,
            sparse: _,
        } = &self.product;
        let [m, n, k] = [m, n, k].map(|&n| Some(n));
        let turned = |along, axes: [Option<usize>; 2], turned: bool| match (turned, along) {
            (false, _) => (along, axes),
            (true, Along::Rows) => (Along::Columns, [axes[1], axes[0]]),
            (true, _) => (Along::Rows, [axes[1], axes[0]]),
        };
        let (along, axes) = match role {
            Role::A => turned(Along::Rows, [m, k], *transpose_a),
            Role::B => turned(Along::Columns, [k, n], *transpose_b),
            // As many scales as the model says, which is not known here.
            Role::ScaleA => turned(Along::Rows, [m, None], *transpose_a),
            Role::ScaleB => turned(Along::Columns, [None, n], *transpose_b),
            _ => (Along::Rows, [m, n]),
        };
        (along, batch, axes)
    }

    /// What `found` has that was not committed to, a phrase each; nothing if all is as it was.
    pub fn differences(&self, found: &Commitment) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, here: String, committed: String| {
            if here != committed {
                differences.push(format!(
                    "{what} is {here}, but the commitment has {committed}"
                ));
            }
        };
        compare(
            "the model's SHA-256",
            found.model_sha256.to_string(),
            self.model_sha256.to_string(),
        );
        compare(
            "the schedule",
            schedule_text(found.schedule.as_ref()),
            schedule_text(self.schedule.as_ref()),
        );
        compare(
            "the product",
            product_text(&found.product),
            product_text(&self.product),
        );
        for role in COMMITTED {
            let name = role.called();
            let both = (found.inputs.get(role), self.inputs.get(role));
            let (Some(here), Some(committed)) = both else {
                let (here, committed) = both;
                let presence = |input: Option<_>| match input {
                    Some(_) => "given".to_owned(),
                    None => "absent".to_owned(),
                };
                compare(name, presence(here), presence(committed));
                continue;
            };
            let layout = |input: &CommittedInput| format!("{} {:?}", input.format, input.shape);
            compare(name, layout(here), layout(committed));
            let root =
                |input: &CommittedInput| format!("{} over its {:?}", input.root, input.lines);
            compare(&format!("the root of {name}"), root(here), root(committed));
        }
        let layout =
            |d: &CommittedD| format!("{} {:?} in blocks of {}", d.format, d.shape, d.block_rows);
        compare("D", layout(&found.d), layout(&self.d));
        compare(
            "the root of D",
            found.d.root.to_string(),
            self.d.root.to_string(),
        );
        // Should a field have been forgotten above.
        if differences.is_empty() && self != found {
            differences.push("something differs from the commitment".to_owned());
        }
        differences
    }
}

fn schedule_text(schedule: Option<&CommittedSchedule>) -> String {
    let Some(schedule) = schedule else {
        return "one chain over k".to_owned();
    };
    let CommittedSchedule {
        sha256,
        alpha,
        beta,
        scale_result,
    } = schedule;
    let factor = |code: &str| printable(code);
    let of_result = match scale_result {
        Some(code) => format!("{} as the result's scale", factor(code)),
        None => "no scale of the result".to_owned(),
    };
    format!(
        "{sha256} with alpha {}, beta {} and {of_result}",
        factor(alpha),
        factor(beta)
    )
}

fn product_text(product: &Product) -> String {
    let Product {
        batch,
        m,
        n,
        k,
        transpose_a,
        transpose_b,
        sparse: _,
    } = product;
    let turned = |turned: &bool| if *turned { " transposed" } else { "" };
    format!(
        "{batch:?} of {m}x{k}{} by {k}x{n}{}",
        turned(transpose_a),
        turned(transpose_b)
    )
}
