//! JSON of the API's attributes, of a GEMMDesc, or of Tensile's fields.

use serde_json::{Map, Value};

use super::configuration;
use super::gemm_desc;
use crate::io::printable;
use crate::words::Unique;
use crate::{KernelError, KernelReading, TextKind};

const FORM: &str = "JSON object";

pub fn read(text: &str) -> Result<KernelReading, KernelError> {
    let Unique(value) = serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        // The keys of a library are not called fields.
        KernelError::syntax(FORM, printable(reason.trim_start_matches("field ")))
    })?;
    let Value::Object(object) = value else {
        return Err(KernelError::syntax(FORM, "it is not a JSON object"));
    };
    if gemm_desc::is_one(&object) {
        return gemm_desc::read(&object);
    }
    configuration::of_words(TextKind::Attributes, &words(&object)?)
}

/// Keys and scalars as text.
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
