//! One check of a batch, from the fields of a JSON object.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::check::{Check, CheckError, Claim, Fields};
use crate::io::printable;
use crate::num::Format;

/// Fields that are formats.
const FORMATS: [&str; 7] = [
    "dtype",
    "dtype_b",
    "acc",
    "c_dtype",
    "scale_dtype",
    "bias_dtype",
    "d_dtype",
];

/// One check.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub check: Check,
    /// What a `case.json` says K is.
    pub k: Option<u64>,
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
                        return Err(A::Error::custom(format!("field {name:?} is there twice")));
                    }
                }
                Ok(Object(fields))
            }
        }
        from.deserialize_map(Once)
    }
}

/// Every field must be known.
pub(super) fn validate(fields: &BTreeMap<String, Value>) -> Result<(), String> {
    for field in fields.keys() {
        if !Fields::NAMES.contains(&field.as_str()) {
            let near = Fields::NAMES.iter();
            let near = near.map(|name| (strsim::damerau_levenshtein(name, field), name));
            let hint = match near.min() {
                Some((distance, name)) if distance <= 2 => format!("; is {name:?} meant?"),
                _ => String::new(),
            };
            return Err(format!("unknown field {:?}{hint}", printable(field)));
        }
    }
    Ok(())
}

/// The case that fields say; their paths start in `folder`.
pub(super) fn case(
    name: String,
    fields: BTreeMap<String, Value>,
    folder: &Path,
) -> Result<Case, CheckError> {
    let fail = |field: &'static str, reason| CheckError::request(field, reason);
    // A null says nothing.
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(name, value)| {
        let value = match value.as_str().and_then(Format::from_name) {
            // People write formats as the command line takes them; documents have one name of each.
            Some(format) if FORMATS.contains(&name.as_str()) => format.name().into(),
            _ => value,
        };
        (name, value)
    });
    let object = Value::Object(fields.collect());
    let read: Result<Fields, _> = serde_path_to_error::deserialize(object);
    let mut fields = read.map_err(|error| {
        let name = error.path().to_string();
        let field = Fields::NAMES.iter().find(|known| **known == name);
        let reason = printable(&error.into_inner().to_string());
        fail(field.unwrap_or(&"a"), format!("field {name:?}: {reason}"))
    })?;
    fields.in_folder(folder);
    fields.formats_of_files()?;
    let check = Check::try_from(fields)?;
    if check.claim == Claim::Nothing {
        return Err(fail("d", "`d` (or `d_digest`) is missing".into()));
    }
    Ok(Case {
        name,
        check,
        k: None,
    })
}
