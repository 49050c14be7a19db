//! One check of a batch, from the fields of a JSON object.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::document::BatchError;
use super::lookup::Lookup;
use super::reasons::plain;
use crate::batch::report::{CaseVerdict, Coverage};
use crate::check::{Check, CheckError, Expected, RequestFields};
use crate::compose::Request;
use crate::io::printable;
use crate::libraries;
use crate::operation::Operation;
use crate::policy::AdmissionPolicy;

/// One check.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub request: Request,
    /// K as a `case.json` states it.
    pub k: Option<u64>,
    /// The verdict that it is expected to get.
    pub expect: Option<CaseVerdict>,
    /// SHA-256 of the policy that admits it, if there is one.
    pub policy: Option<String>,
}

/// The field of a case that states its verdict.
pub(super) const EXPECT: &str = "expect";

/// The verdict that a case states.
pub(super) fn expect(fields: &mut BTreeMap<String, Value>) -> Result<Option<CaseVerdict>, String> {
    let Some(value) = fields.remove(EXPECT).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let verdict = CaseVerdict::deserialize(&value).ok();
    let verdict = verdict.filter(|verdict| *verdict != CaseVerdict::Unjudged);
    match verdict {
        Some(verdict) => Ok(Some(verdict)),
        None => Err(format!(
            "field \"{EXPECT}\": expected \"identical\", \"identical_in_part\" or \"different\""
        )),
    }
}

impl Case {
    /// Whether it is a product, and no operation between products.
    pub fn is_product(&self) -> bool {
        matches!(self.request, Request::Product(_))
    }

    /// The case, if a policy admits it.
    pub(super) fn admitted(
        self,
        policy: Option<&AdmissionPolicy>,
        root: &Path,
    ) -> Result<Case, CheckError> {
        let Some(policy) = policy else {
            return Ok(self);
        };
        if self.expect.is_some() {
            return Err(CheckError::request(
                EXPECT,
                format!("the policy allows no case to state its own verdict (`{EXPECT}`)"),
            ));
        }
        policy.admit(&self.request, root)?;
        Ok(Case {
            policy: Some(policy.sha256()),
            ..self
        })
    }
}

/// Fields of a JSON object. A field that appears twice is refused: which of them counts would be a guess.
#[derive(Default)]
pub(super) struct Object(pub BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Object;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if fields.insert(name.clone(), value).is_some() {
                        return Err(A::Error::custom(format!("field {name:?} appears twice")));
                    }
                }
                Ok(Object(fields))
            }
        }
        from.deserialize_map(Once)
    }
}

/// A field that is text.
pub(super) fn text<'a>(fields: &'a BTreeMap<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// Whether fields are those of an operation between products.
pub(super) fn is_operation(fields: &BTreeMap<String, Value>) -> bool {
    fields
        .get("operation")
        .is_some_and(|value| !value.is_null())
}

/// The fields of a case.
pub(super) fn names(operation: bool) -> &'static [&'static str] {
    if operation {
        Operation::NAMES
    } else {
        RequestFields::NAMES
    }
}

/// Refuses a field that is in none of these lists.
pub(super) fn validate(fields: &BTreeMap<String, Value>, lists: &[&[&str]]) -> Result<(), String> {
    let names = || lists.iter().copied().flatten();
    for field in fields.keys() {
        if !names().any(|name| name == field) {
            // What is much longer than every name is near to none, and comparing takes as long as it is.
            let comparable = names().filter(|name| field.len() <= name.len() + 8);
            let near = comparable.map(|name| (strsim::damerau_levenshtein(name, field), name));
            let hint = match near.min() {
                Some((distance, name)) if distance <= 2 => format!("; did you mean {name:?}?"),
                _ => String::new(),
            };
            return Err(format!("unknown field {:?}{hint}", printable(field)));
        }
    }
    Ok(())
}

/// The case of these fields; their paths start in `folder`, and formats that they leave out are read from their files.
pub(super) fn case(
    name: String,
    fields: BTreeMap<String, Value>,
    folder: &Path,
    lookup: &Lookup,
) -> Result<Case, CheckError> {
    // A null is as no field.
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(name, mut value)| {
        RequestFields::canonical(&name, &mut value);
        (name, value)
    });
    let object: BTreeMap<String, Value> = fields.collect();
    let operation = is_operation(&object);
    let object = Value::Object(object.into_iter().collect());
    let (request, missing) = if operation {
        let mut operation: Operation = read(object, true)?;
        operation.in_folder(folder);
        (
            Request::from(operation),
            ("y", "`y` (or `y_digest`) is missing"),
        )
    } else {
        let mut fields: RequestFields = read(object, false)?;
        fields.in_folder(folder);
        libraries::complete(&mut fields, lookup)?;
        let check = Check::try_from(fields)?;
        (
            Request::from(check),
            ("d", "`d` (or `d_digest`) is missing"),
        )
    };
    if request.expected()? == Expected::Nothing {
        return Err(CheckError::request(missing.0, missing.1));
    }
    Ok(Case {
        name,
        request,
        k: None,
        expect: None,
        policy: None,
    })
}

/// The fields of an object.
fn read<T: DeserializeOwned>(object: Value, operation: bool) -> Result<T, CheckError> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let name = error.path().to_string();
        let field = names(operation).iter().find(|known| **known == name);
        let first = if operation { "operation" } else { "a" };
        let reason = printable(&plain(&error.into_inner().to_string()));
        CheckError::request(field.unwrap_or(&first), format!("field {name:?}: {reason}"))
    })
}

/// The cases that a batch is to judge.
pub struct Read {
    pub cases: Vec<Case>,
    /// The files that name them.
    pub own: Vec<PathBuf>,
    /// How much of what ran the cases are, where the manifest says so.
    pub coverage: Option<Coverage>,
    /// Folders of cases that multiply nothing, which are skipped.
    pub no_products: Vec<String>,
    /// Folders whose `case.json` is no usable case, each with what is wrong. They have no verdict.
    pub refused: Vec<(String, String)>,
}

impl Read {
    /// All cases, for a use that needs every one.
    ///
    /// # Errors
    /// What is wrong with the first that is refused.
    pub fn whole(self) -> Result<Read, BatchError> {
        match self.refused.first() {
            Some((name, reason)) => Err(BatchError::Other(format!(
                "case {}: {reason}",
                printable(name)
            ))),
            None => Ok(self),
        }
    }

    /// Which of the cases are products.
    pub fn products(&self) -> Vec<bool> {
        self.cases.iter().map(Case::is_product).collect()
    }
}
