//! A report that somebody hands over: its request is run again, and the report that comes out has to be the same,
//! field by field.

mod consistency;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tcverify_generate::Spec;

use super::Request;
use crate::check::{Check, CheckError, Progress, Resources, Source, Subject};
use crate::emu::shape_text;
use crate::io::{printable, printable_ends};
use crate::report::{Chosen, Product, Report, Rule, SCHEMA};
use crate::role::Role;
use crate::words::each_once;

pub use consistency::contradictions;

/// What became of a report.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Every place where the report is not the one that comes out, as a sentence with its JSON path.
    pub differences: Vec<String>,
    /// Of a model that was chosen to fit D: the request, and which models the report says fit. Only a search
    /// can confirm that; the rest is compared without it.
    pub chosen: Option<(Box<Check>, Chosen)>,
    /// Fields that a replay neither confirms nor refutes: the word of whoever made the report.
    pub unconfirmed: Vec<Unconfirmed>,
}

/// A field that no replay can confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    pub field: &'static str,
    /// What of it nobody else can know, as a phrase.
    pub about: &'static str,
}

impl Unconfirmed {
    /// Those that a report has.
    fn of(report: &Report) -> Vec<Unconfirmed> {
        let engine = report.engine.as_ref().map(|_| Unconfirmed {
            field: "engine",
            about: "which GPU computed for it, and how much",
        });
        let merged = report.merged.as_ref().map(|_| Unconfirmed {
            field: "merged",
            about: "who signed its parts, and which of them were run again",
        });
        engine.into_iter().chain(merged).collect()
    }
}

/// A report out of its JSON, in which nothing may be that a report does not have.
///
/// # Errors
/// What is wrong, as a phrase to follow its name.
pub fn parse(text: &str) -> Result<Report, String> {
    let no = |reason: String| format!("is not a report ({SCHEMA}): {reason}");
    document(text, SCHEMA).map_err(no)
}

/// A document of a schema, complete and without anything else.
fn document<T: Serialize + DeserializeOwned>(text: &str, schema: &str) -> Result<T, String> {
    let malformed = |error: serde_json::Error| printable(&error.to_string());
    let written: Value = serde_json::from_str(text).map_err(malformed)?;
    match written.get("schema").and_then(Value::as_str) {
        Some(own) if own == schema => {}
        Some(other) => return Err(format!("its schema is {:?}", printable(other))),
        None => return Err("it has no schema".into()),
    }
    let report: T = serde_json::from_str(text).map_err(malformed)?;
    each_once(text)?;
    match differences(&written, &json(&report)).into_iter().next() {
        Some(difference) => Err(difference),
        None => Ok(report),
    }
}

/// The field that errors about a report as a whole name.
fn main_field(report: &Report) -> &'static str {
    match report.rule {
        Rule::Product(_) => "a",
        Rule::Operation(_) => "operation",
    }
}

/// The request of a report.
pub fn request_of(report: &Report) -> Result<Request, CheckError> {
    let unusable = |reason: String| CheckError::request(main_field(report), reason);
    let request = report.request.clone();
    let request =
        request.ok_or_else(|| unusable("the report does not contain its request".into()))?;
    Request::from_value(request)
        .map_err(|error| unusable(format!("its request: {}", printable(&error.to_string()))))
}

/// The differences that a report refutes itself with; `Err` if there is no verdict at all.
fn not_committed(error: CheckError) -> Result<Vec<String>, CheckError> {
    match error {
        CheckError::NotCommitted { .. } => Ok(vec![format!("`commitment`: {error}")]),
        error => Err(error),
    }
}

/// Refuses more work than the limit.
fn admit(field: &'static str, work: u64, most: Option<u64>) -> Result<(), CheckError> {
    match most.filter(|most| work > *most) {
        None => Ok(()),
        Some(most) => Err(CheckError::request(
            field,
            format!("the report needs {work} multiply-adds; limit: {most}"),
        )),
    }
}

/// Runs the request of a report again, and compares. Nothing in it is believed but the version of the tool, which is
/// the caller's to compare; what a replay cannot confirm is named. More than `most` products of numbers are not computed.
///
/// # Errors
/// If that cannot be: a report without a request, or files that are not there.
pub fn verify(
    report: &Report,
    resources: &Resources,
    most: Option<u64>,
    progress: &dyn Progress,
) -> Result<Verified, CheckError> {
    let request = request_of(report)?;
    let chosen = report.rule.product().and_then(|rule| rule.chosen.clone());
    let verified = |differences| {
        let chosen = match (&request, &chosen) {
            (Request::Product(check), Some(chosen)) => Some((check.clone(), chosen.clone())),
            _ => None,
        };
        Ok(Verified {
            differences,
            chosen,
            unconfirmed: Unconfirmed::of(report),
        })
    };
    if let (Request::Product(check), Some(rule)) = (&request, report.rule.product()) {
        // A product of other shapes is neither made nor computed: it could be of any size.
        let misplaced = misplaced(&rule.product, check);
        if !misplaced.is_empty() {
            return verified(misplaced);
        }
        let Product { batch, m, n, k, .. } = &rule.product;
        let sizes = batch.iter().chain([m, n, k]);
        let work = sizes.fold(1u64, |work, &size| work.saturating_mul(size as u64));
        admit("a", work, most)?;
    }
    // By the CPU, whichever engine computed for the report.
    let prepared = request.clone().on_cpu().prepare(resources)?;
    admit(main_field(report), prepared.cost(), most)?;
    let mut found = misshapen(report, &*prepared);
    let merged = report.merged.as_ref();
    if merged.is_some_and(|merged| !merged.is_sound()) {
        found.push("`merged` does not list each of its parts exactly once".into());
    }
    found.extend(impossible(report, &*prepared));
    if found.is_empty() {
        found = match prepared.reported(progress) {
            Err(error) => not_committed(error)?,
            Ok(mut again) => {
                again.tool.version = report.tool.version.clone();
                again.engine = report.engine.clone();
                if let Rule::Product(rule) = &mut again.rule {
                    rule.chosen = chosen.clone();
                }
                if let Some(merged) = merged {
                    again = again.merged(merged.clone());
                }
                differences(&json(report), &json(again))
            }
        };
    }
    verified(found)
}

/// What no engine can have done. The rest of `engine` is the reporter's word.
fn impossible(report: &Report, prepared: &dyn Subject) -> Option<String> {
    let engine = report.engine.as_ref()?;
    let (done, all) = (engine.multiply_adds, prepared.cost());
    if matches!(report.rule, Rule::Operation(_)) {
        Some("`engine` must be absent: no GPU computes operations".into())
    } else if report.merged.is_some() {
        Some("`engine` must be absent: nobody knows what computed the parts".into())
    } else if done > all {
        Some(format!(
            "`engine.multiply_adds` is reported as {done}, but the whole product takes {all}"
        ))
    } else if engine.tiles_computed_twice > engine.tiles {
        Some("`engine` reports more tiles computed twice than tiles".into())
    } else {
        None
    }
}

/// Shapes that are not those of the arrays.
fn misshapen(report: &Report, prepared: &dyn Subject) -> Vec<String> {
    match (&report.rule, &prepared.rule()) {
        (Rule::Product(reported), Rule::Product(found)) => {
            differences_at("rule.product", &reported.product, &found.product)
        }
        (Rule::Operation(_), Rule::Operation(_)) => {
            let inputs = report.inputs.iter();
            let reported: Vec<_> = inputs.map(|(role, input)| (role, &input.shape)).collect();
            let arrays = prepared.by_role().iter();
            let found: Vec<_> = arrays
                .map(|(role, array)| (role, &array.source.header().shape))
                .collect();
            differences_at("inputs", &reported, &found)
        }
        (reported, found) => differences_at("rule", reported, found),
    }
}

/// Operands that the request generates and the product that is reported has no place for.
fn misplaced(product: &Product, check: &Check) -> Vec<String> {
    let stored = |transposed: bool, [rows, columns]: [usize; 2]| {
        if transposed {
            [columns, rows]
        } else {
            [rows, columns]
        }
    };
    let a = stored(product.transpose_a, [product.m, product.k]);
    let b = stored(product.transpose_b, [product.k, product.n]);
    let all = |sizes: &[usize]| sizes.iter().copied().fold(1, usize::saturating_mul);
    let sentence = |(role, source): (Role, &Source)| {
        let Source::Generated(text) = source else {
            return None;
        };
        // A text of none is refused where the operand is read: trouble, and no claim refuted.
        let spec = Spec::read(text).ok()?;
        let place = match role {
            Role::A | Role::ScaleA => a,
            Role::B | Role::ScaleB => b,
            _ => [product.m, product.n],
        };
        let whole = matches!(role, Role::A | Role::B);
        let most = all(&place).saturating_mul(all(&product.batch));
        let fits = all(&spec.shape) <= most && (!whole || spec.shape.ends_with(&place));
        (!fits).then(|| {
            let (field, shape) = (role.field(), shape_text(&spec.shape));
            format!("`request.{field}` is {shape}, which does not fit the reported product")
        })
    };
    check.sources().filter_map(sentence).collect()
}

/// As it is written and read again, so that numbers are those of the text.
fn json<T: Serialize>(value: T) -> Value {
    let text = serde_json::to_string(&value).expect("plain data");
    serde_json::from_str(&text).expect("what was written is read")
}

/// Every place where what is reported is not what was found.
fn differences(reported: &Value, found: &Value) -> Vec<String> {
    let mut all = Vec::new();
    collect(reported, found, "", &mut all);
    all
}

/// Differences of the part of a document that stands at `part`.
pub fn differences_at<T: Serialize>(part: &str, reported: &T, found: &T) -> Vec<String> {
    let mut all = Vec::new();
    collect(&json(reported), &json(found), part, &mut all);
    all
}

fn collect(reported: &Value, found: &Value, place: &str, all: &mut Vec<String>) {
    let inner = |name: &str| match place {
        "" => printable(name),
        _ => format!("{place}.{}", printable(name)),
    };
    match (reported, found) {
        (Value::Object(reported), Value::Object(found)) => {
            for (name, value) in reported {
                match found.get(name) {
                    Some(found) => collect(value, found, &inner(name), all),
                    None => all.push(format!("`{}` must be absent", inner(name))),
                }
            }
            let missing = found.keys().filter(|name| !reported.contains_key(*name));
            all.extend(missing.map(|name| format!("`{}` is missing", inner(name))));
        }
        (Value::Array(reported), Value::Array(found)) if reported.len() == found.len() => {
            for (i, (reported, found)) in reported.iter().zip(found).enumerate() {
                collect(reported, found, &format!("{place}[{i}]"), all);
            }
        }
        _ if reported == found => {}
        _ => {
            let shown = |value: &Value| printable_ends(&value.to_string());
            let (reported, found) = (shown(reported), shown(found));
            let named = match place {
                "" => String::new(),
                _ => format!("`{place}` "),
            };
            all.push(format!("{named}is reported as {reported}, but is {found}"));
        }
    }
}

#[cfg(test)]
mod tests;
