//! JSON of the API's attributes, of a GEMMDesc, or of Tensile's fields.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::configuration;
use super::draft::Draft;
use super::gemm_desc;
use crate::io::printable;
use crate::kernel::{KernelError, KernelReading, TextKind};

const FORM: &str = "JSON object";

pub fn read(text: &str) -> Result<KernelReading, KernelError> {
    let Strict(value) = serde_json::from_str(text)
        .map_err(|error| KernelError::syntax(FORM, printable(&error.to_string())))?;
    let Value::Object(object) = value else {
        return Err(KernelError::syntax(FORM, "it is not a JSON object"));
    };
    if gemm_desc::is_one(&object) {
        return gemm_desc::read(&object);
    }
    let mut draft = Draft::new(TextKind::Attributes);
    let words = words(&object)?;
    configuration::fill(&mut draft, &words)?;
    Ok(draft.finished())
}

/// Scalars as words.
fn words(object: &Map<String, Value>) -> Result<Vec<(String, String)>, KernelError> {
    let word = |(key, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => {
                return Err(KernelError::syntax(
                    FORM,
                    format!("\"{}\" is neither a number nor a name", printable(key)),
                ));
            }
        };
        Ok((key.clone(), text))
    };
    object.iter().map(word).collect()
}

/// A value none of whose objects has a key twice: one of the two would be passed over.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(Reader).map(Strict)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("{key:?} appears twice")));
            }
            all.insert(key, value);
        }
        Ok(all.into())
    }
}
