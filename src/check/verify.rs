//! A report that somebody hands over: its request is asked again, and the report that comes out has to be the same,
//! field by field.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::CheckError;
use super::operation::Operation;
use super::progress::Progress;
use super::request::Check;
use super::source::Source;
use crate::emu::shape_text;
use crate::envelope;
use crate::io::{Files, printable, printable_ends};
use crate::report::{Chosen, OPERATION_REPORT, OperationReport, Report, SCHEMA, Tool};
use crate::role::Role;

/// What became of a report.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Every place where the report is not the one that comes out, as a sentence with its JSON path.
    pub differences: Vec<String>,
    /// Of a model that was chosen to fit D: what was asked, and which models the report says fit. Only a search
    /// can confirm that; the rest is compared without it.
    pub chosen: Option<(Box<Check>, Chosen)>,
}

/// A report of either kind.
#[derive(Clone, Debug)]
pub enum Written {
    Product(Box<Report>),
    Operation(Box<OperationReport>),
}

/// What a report of either kind was asked.
#[derive(Clone, Debug)]
pub enum Asked {
    Product(Box<Check>),
    Operation(Box<Operation>),
}

impl Written {
    /// Which tool wrote it.
    pub fn tool(&self) -> &Tool {
        match self {
            Written::Product(report) => &report.tool,
            Written::Operation(report) => &report.tool,
        }
    }

    /// Asks again what the report says was asked, and compares. Nothing in it is believed but the version of the tool,
    /// which is the caller's to compare, who vouched for which part of a merged report, and what a GPU did: the CPU computes
    /// here. More than `most` products of
    /// numbers are not computed.
    ///
    /// # Errors
    /// If that cannot be: a report without a request, or files that are not there.
    pub fn verify(
        &self,
        files: &Files,
        most: Option<u64>,
        progress: &dyn Progress,
    ) -> Result<Verified, CheckError> {
        match self {
            Written::Product(report) => verify_product(report, files, most, progress),
            Written::Operation(report) => verify_operation(report, files, most, progress),
        }
    }

    /// What it says was asked.
    ///
    /// # Errors
    /// If it does not say so.
    pub fn asked(&self) -> Result<Asked, CheckError> {
        Ok(match self {
            Written::Product(report) => Asked::Product(Box::new(request(report.request.as_ref())?)),
            Written::Operation(report) => {
                Asked::Operation(Box::new(request(report.request.as_ref())?))
            }
        })
    }

    /// Whether it was put together from parts.
    pub fn is_merged(&self) -> bool {
        matches!(self, Written::Product(report) if report.merged.is_some())
    }
}

/// A report on a product out of its JSON, in which nothing may be that a report does not have.
///
/// # Errors
/// What is wrong, as words to follow its name.
pub fn parse(text: &str) -> Result<Report, String> {
    let no = |reason: String| format!("is not a report ({SCHEMA}): {reason}");
    document(text, SCHEMA).map_err(no)
}

/// A report of either kind out of its JSON, as strictly.
///
/// # Errors
/// What is wrong, as words to follow its name.
pub fn read(text: &str) -> Result<Written, String> {
    let no = |reason: String| format!("is not a report ({SCHEMA} or {OPERATION_REPORT}): {reason}");
    #[derive(serde::Deserialize)]
    struct Said {
        schema: Option<String>,
    }
    // What is no object has no schema either.
    let said = serde_json::from_str::<Said>(text).ok();
    match said.and_then(|said| said.schema).as_deref() {
        Some(OPERATION_REPORT) => {
            let report = document(text, OPERATION_REPORT).map_err(no)?;
            Ok(Written::Operation(Box::new(report)))
        }
        _ => {
            let report = document(text, SCHEMA).map_err(no)?;
            Ok(Written::Product(Box::new(report)))
        }
    }
}

/// A document of a schema that says all of itself, and nothing else.
fn document<T: Serialize + DeserializeOwned>(text: &str, schema: &str) -> Result<T, String> {
    let said = |error: serde_json::Error| printable(&error.to_string());
    let written: Value = serde_json::from_str(text).map_err(said)?;
    match written.get("schema").and_then(Value::as_str) {
        Some(own) if own == schema => {}
        Some(other) => return Err(format!("its schema is {:?}", printable(other))),
        None => return Err("it has no schema".into()),
    }
    let report: T = serde_json::from_str(text).map_err(said)?;
    envelope::each_once(text)?;
    match differences(&written, &json(&report)).into_iter().next() {
        Some(difference) => Err(difference),
        None => Ok(report),
    }
}

/// The request of a report, as what it asks.
fn request<T: DeserializeOwned>(request: Option<&Value>) -> Result<T, CheckError> {
    let unusable = |reason: String| CheckError::request("a", reason);
    let request =
        request.ok_or_else(|| unusable("the report does not say what was asked".into()))?;
    let asked = serde_json::from_value(request.clone());
    asked.map_err(|error| unusable(format!("its request: {}", printable(&error.to_string()))))
}

/// The differences that a report refutes itself with; `Err` if there is no verdict at all.
fn not_committed(error: CheckError) -> Result<Vec<String>, CheckError> {
    match error {
        CheckError::NotCommitted { .. } => Ok(vec![format!("`commitment`: {error}")]),
        error => Err(error),
    }
}

/// Refuses more work than whoever asks wants done.
fn admit(field: &'static str, work: u64, most: Option<u64>) -> Result<(), CheckError> {
    match most.filter(|most| work > *most) {
        None => Ok(()),
        Some(most) => Err(CheckError::request(
            field,
            format!("the report asks for {work} products of numbers; the limit is {most}"),
        )),
    }
}

fn verify_product(
    report: &Report,
    files: &Files,
    most: Option<u64>,
    progress: &dyn Progress,
) -> Result<Verified, CheckError> {
    let check: Check = request(report.request.as_ref())?;
    let chosen = report.chosen.clone();
    let verified = |differences| Verified {
        differences,
        chosen: chosen.map(|chosen| (Box::new(check.clone()), chosen)),
    };
    // A product of other shapes is neither made nor computed: it could be of any size.
    let misplaced = misplaced(report, &check);
    if !misplaced.is_empty() {
        return Ok(verified(misplaced));
    }
    let product = &report.product;
    let sizes = product
        .batch
        .iter()
        .chain([&product.m, &product.n, &product.k]);
    let work = sizes.fold(1u64, |work, &size| work.saturating_mul(size as u64));
    admit("a", work, most)?;
    // By the CPU, whoever computed for the report.
    let mut prepared = check.on_cpu().prepare_in(files)?;
    prepared.check = check.clone();
    admit("a", prepared.replay().work(), most)?;
    let mut found = differences_at("product", &report.product, &prepared.product());
    if report
        .merged
        .as_ref()
        .is_some_and(|merged| !merged.is_sound())
    {
        found.push("`merged`: its parts are not all there once".into());
    }
    if found.is_empty() {
        found = match prepared.run(progress) {
            Err(error) => not_committed(error)?,
            Ok(mut again) => {
                again.tool.version = report.tool.version.clone();
                again.chosen = report.chosen.clone();
                again.engine = report.engine.clone();
                if let Some(merged) = &report.merged {
                    again = again.merged(merged.clone());
                }
                differences(&json(report), &json(again))
            }
        };
    }
    Ok(verified(found))
}

/// Operands that the request generates and the product that is reported has no place for.
fn misplaced(report: &Report, check: &Check) -> Vec<String> {
    let product = &report.product;
    let stored = |turned: bool, [rows, columns]: [usize; 2]| match turned {
        true => [columns, rows],
        false => [rows, columns],
    };
    let a = stored(product.transpose_a, [product.m, product.k]);
    let b = stored(product.transpose_b, [product.k, product.n]);
    let all = |sizes: &[usize]| sizes.iter().copied().fold(1, usize::saturating_mul);
    let sentence = |(role, source): (Role, &Source)| {
        let Source::Generated(spec) = source else {
            return None;
        };
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
            format!("`request.{field}` is {shape}, which the reported product has no place for")
        })
    };
    check.sources().filter_map(sentence).collect()
}

fn verify_operation(
    report: &OperationReport,
    files: &Files,
    most: Option<u64>,
    progress: &dyn Progress,
) -> Result<Verified, CheckError> {
    let asked: Operation = request(report.request.as_ref())?;
    let prepared = asked.prepare_in(files)?;
    admit("operation", prepared.work()?, most)?;
    let said: Vec<_> = report
        .inputs
        .iter()
        .map(|named| (named.name.as_str(), named.input.shape.as_slice()))
        .collect();
    let shapes: Vec<_> = prepared
        .arrays()
        .map(|(role, array)| (role.field(), array.source.header().shape.as_slice()))
        .collect();
    let mut found = differences_at("inputs", &said, &shapes);
    if found.is_empty() {
        found = match prepared.run(progress) {
            Err(error) => not_committed(error)?,
            Ok(mut again) => {
                again.tool.version = report.tool.version.clone();
                differences(&json(report), &json(again))
            }
        };
    }
    Ok(Verified {
        differences: found,
        chosen: None,
    })
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

/// The same of a part of a document, which stands there.
pub(crate) fn differences_at<T: Serialize>(part: &str, reported: &T, found: &T) -> Vec<String> {
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
                    None => all.push(format!("`{}` should not be there", inner(name))),
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
            all.push(format!("{named}is said to be {reported}; it is {found}"));
        }
    }
}

#[cfg(test)]
mod tests;
