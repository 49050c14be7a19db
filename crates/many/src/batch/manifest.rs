//! Cases that a manifest lists. `docs/batch.md` specifies it.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::case::{Case, EXPECT, Object, case, expect, is_operation, names, validate};
use super::document::{BatchError, json, root, text_of};
use super::lookup::Lookup;
use super::pattern::expanded;
use super::reasons::{placed, plain};
use crate::batch::report::Coverage;
use crate::io::{escaped_path, printable};
use crate::policy::AdmissionPolicy;

/// Value of the `schema` field.
pub const MANIFEST: &str = "tcverify.manifest/1";

/// The cases of a manifest, and what it says of its recording.
type Listed = (Vec<Case>, Option<Coverage>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest<'t> {
    schema: String,
    #[serde(default)]
    defaults: Object,
    /// How much of what ran the cases are.
    #[serde(default)]
    coverage: Option<Coverage>,
    /// Their text alone: the fields of a hundred thousand cases would be larger than the cases.
    #[serde(borrow)]
    cases: Vec<&'t RawValue>,
}

pub(super) fn read(path: &Path, lookup: &Lookup) -> Result<Listed, BatchError> {
    let own = lookup.admit_file(path);
    own.map_err(BatchError::document(path))?;
    let text = text_of(path).map_err(BatchError::document(path))?;
    cases(&text, path, lookup)
}

/// The cases of a manifest's text; its path is for messages, and where files are searched for. No file is opened, so a
/// case that stands for many is refused, and one whose formats are in its files. A policy refuses cases that it does not
/// allow.
///
/// # Errors
/// What is wrong, in which case and field.
pub fn parsed(
    text: &str,
    path: &Path,
    policy: Option<&AdmissionPolicy>,
) -> Result<Vec<Case>, BatchError> {
    cases(text, path, &Lookup::closed(policy, root(path))).map(|(cases, _)| cases)
}

fn cases(text: &str, path: &Path, lookup: &Lookup) -> Result<Listed, BatchError> {
    let fail = BatchError::document(path);
    if text.trim_start().starts_with('[') {
        return Err(fail(format!(
            "is not a manifest ({MANIFEST}): it is a list, and an object is expected"
        )));
    }
    let Manifest {
        schema,
        defaults,
        coverage,
        cases,
    } = crate::words::from_json(text).map_err(|error| {
        let reason = printable(&placed(&error));
        fail(format!("is not a manifest ({MANIFEST}): {reason}"))
    })?;
    if schema != MANIFEST {
        return Err(fail(format!(
            "is not a manifest: its schema is not {MANIFEST:?}"
        )));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    // Defaults may be about either kind of case.
    let mut defaults = defaults;
    let expected = expect(&mut defaults.0);
    let expected = expected.map_err(|reason| fail(format!("defaults: {reason}")))?;
    validate(&defaults.0, &[names(false), names(true)])
        .map_err(|reason| fail(format!("defaults: {reason}")))?;
    // A list of a hundred thousand cases that grew would be in memory twice for a moment.
    let mut read = Vec::with_capacity(cases.len());
    let mut known = BTreeSet::new();
    for (number, text) in cases.into_iter().enumerate() {
        let place = format!("case {}", number + 1);
        let Object(mut fields) =
            json(text.get()).map_err(|reason| fail(format!("{place}: {}", plain(&reason))))?;
        let name = match fields.remove("name") {
            Some(Value::String(name)) if !name.is_empty() => name,
            Some(_) => return Err(fail(format!("{place}: field \"name\": expected text"))),
            None => return Err(fail(format!("{place}: field \"name\" is missing"))),
        };
        let place = format!("{place} ({})", printable(&name));
        // A null takes a default away.
        let operation = if fields.contains_key("operation") {
            is_operation(&fields)
        } else {
            is_operation(&defaults.0)
        };
        if !operation {
            fields.remove("operation");
        }
        let own = names(operation);
        // A null takes a default away here, too.
        let stated = if fields.contains_key(EXPECT) {
            expect(&mut fields)
        } else {
            Ok(expected)
        };
        let stated = stated.map_err(|reason| fail(format!("{place}: {reason}")))?;
        validate(&fields, &[own]).map_err(|reason| fail(format!("{place}: {reason}")))?;
        for (field, value) in &defaults.0 {
            if own.contains(&field.as_str()) {
                fields.entry(field.clone()).or_insert_with(|| value.clone());
            }
        }
        let few = |cases: usize| lookup.admit_number(read.len().saturating_add(cases));
        let many = expanded(name, fields, folder, lookup, &few);
        let many = many.map_err(|reason| fail(format!("{place}: {reason}")))?;
        for (name, fields) in many {
            if !known.insert(name.clone()) {
                let name = printable(&name);
                return Err(fail(format!(
                    "{place}: another case has the same name ({name})"
                )));
            }
            let found = case(name, fields, folder, lookup);
            let found = found.map(|case| Case {
                expect: stated,
                ..case
            });
            let found = found.and_then(|case| case.admitted(lookup.policy(), folder));
            read.push(found.map_err(|error| BatchError::Case {
                place: format!("{}: {place}", escaped_path(path)),
                error,
            })?);
        }
    }
    if let Some(coverage) = &coverage {
        let products = read.iter().filter(|case| case.is_product()).count() as u64;
        let confirmed = coverage.confirm(products);
        confirmed.map_err(|reason| fail(format!("coverage: {reason}")))?;
    }
    Ok((read, coverage))
}
