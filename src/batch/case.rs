//! One check of a batch, from the fields of a JSON object.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Lookup, Policy};
use crate::check::{Check, CheckError, Claim, Fields, Operation, Source};
use crate::io::Outputs;
use crate::io::printable;

/// One check.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub work: Work,
    /// What a `case.json` says K is.
    pub k: Option<u64>,
    /// SHA-256 of the policy that admits it, if there is one.
    pub policy: Option<String>,
}

/// What a case asks.
#[derive(Clone, Debug)]
pub enum Work {
    Product(Box<Check>),
    /// What stands between products: a case with the field `operation`.
    Operation(Box<Operation>),
}

impl Case {
    /// Whether it is a product, and no operation between products.
    pub fn is_product(&self) -> bool {
        matches!(self.work, Work::Product(_))
    }

    /// Arrays that it names.
    pub fn sources(&self) -> Vec<Source> {
        match &self.work {
            Work::Product(check) => check.sources().map(|(_, source)| source.clone()).collect(),
            Work::Operation(asked) => asked.sources().into_values().collect(),
        }
    }

    /// The case, if a policy admits it.
    ///
    /// # Errors
    /// What it may not say.
    pub(super) fn admitted(self, policy: Option<&Policy>, root: &Path) -> Result<Case, CheckError> {
        let Some(policy) = policy else {
            return Ok(self);
        };
        match &self.work {
            Work::Operation(asked) => policy.admit_operation(asked, root)?,
            Work::Product(check) => policy.admit(check, root)?,
        }
        Ok(Case {
            policy: Some(policy.sha256()),
            ..self
        })
    }

    /// Everything that it reads is written over by no output.
    pub fn protect(&self, outputs: &mut Outputs) {
        match &self.work {
            Work::Product(check) => check.protect(outputs),
            Work::Operation(asked) => asked.protect(outputs),
        }
    }
}

/// Fields of a JSON object. One that is there twice is refused: which of them holds would be a guess.
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

/// Whether fields are those of an operation between products.
pub(super) fn is_operation(fields: &BTreeMap<String, Value>) -> bool {
    fields
        .get("operation")
        .is_some_and(|value| !value.is_null())
}

/// Every field must be known, of the kind of case that it is.
pub(super) fn validate(fields: &BTreeMap<String, Value>, operation: bool) -> Result<(), String> {
    match operation {
        true => known(fields, &[Operation::NAMES]),
        false => known(fields, &[Fields::NAMES]),
    }
}

/// Defaults may be about either kind of case.
pub(super) fn validate_defaults(fields: &BTreeMap<String, Value>) -> Result<(), String> {
    known(fields, &[Fields::NAMES, Operation::NAMES])
}

/// Whether a default says something about such a case.
pub(super) fn concerns(field: &str, operation: bool) -> bool {
    match operation {
        true => Operation::NAMES.contains(&field),
        false => Fields::NAMES.contains(&field),
    }
}

fn known(fields: &BTreeMap<String, Value>, lists: &[&[&str]]) -> Result<(), String> {
    let names = || lists.iter().flat_map(|list| list.iter());
    for field in fields.keys() {
        if !names().any(|name| name == field) {
            let near = names().map(|name| (strsim::damerau_levenshtein(name, field), name));
            let hint = match near.min() {
                Some((distance, name)) if distance <= 2 => format!("; did you mean {name:?}?"),
                _ => String::new(),
            };
            return Err(format!("unknown field {:?}{hint}", printable(field)));
        }
    }
    Ok(())
}

/// The case that fields say; their paths start in `folder`, and formats that they leave out are in their files.
pub(super) fn case(
    name: String,
    fields: BTreeMap<String, Value>,
    folder: &Path,
    lookup: &Lookup,
) -> Result<Case, CheckError> {
    let fail = |field: &'static str, reason| CheckError::request(field, reason);
    // A null says nothing.
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(name, mut value)| {
        Fields::canonical(&name, &mut value);
        (name, value)
    });
    let object: BTreeMap<String, Value> = fields.collect();
    let operation = is_operation(&object);
    let object = Value::Object(object.into_iter().collect());
    if operation {
        return case_of_operation(name, object, folder);
    }
    let read: Result<Fields, _> = serde_path_to_error::deserialize(object);
    let mut fields = read.map_err(|error| {
        let name = error.path().to_string();
        let field = Fields::NAMES.iter().find(|known| **known == name);
        let reason = printable(&error.into_inner().to_string());
        fail(field.unwrap_or(&"a"), format!("field {name:?}: {reason}"))
    })?;
    fields.in_folder(folder);
    fields.formats_of_files(lookup)?;
    let check = Check::try_from(fields)?;
    if check.claim == Claim::Nothing {
        return Err(fail("d", "`d` (or `d_digest`) is missing".into()));
    }
    Ok(Case {
        name,
        work: Work::Product(Box::new(check)),
        k: None,
        policy: None,
    })
}

fn case_of_operation(name: String, object: Value, folder: &Path) -> Result<Case, CheckError> {
    let read: Result<Operation, _> = serde_path_to_error::deserialize(object);
    let mut asked = read.map_err(|error| {
        let name = error.path().to_string();
        let field = Operation::NAMES.iter().find(|known| **known == name);
        let reason = printable(&error.into_inner().to_string());
        CheckError::request(
            field.unwrap_or(&"operation"),
            format!("field {name:?}: {reason}"),
        )
    })?;
    asked.in_folder(folder);
    if asked.y.is_none() && asked.y_digest.is_none() {
        return Err(CheckError::request("y", "`y` (or `y_digest`) is missing"));
    }
    Ok(Case {
        name,
        work: Work::Operation(Box::new(asked)),
        k: None,
        policy: None,
    })
}
