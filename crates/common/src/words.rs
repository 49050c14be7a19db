//! Enumerations whose values are words: one table for texts, files and command lines. JSON documents, with errors that name
//! their place.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value that is one of a few words.
pub trait Word: Copy + Eq + Sized + Send + Sync + 'static {
    /// Every value with its word and what it means.
    const ALL: &'static [(Self, &'static str, &'static str)];

    fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(value, _, _)| *value == self);
        found.expect("every value is listed").1
    }

    fn of_word(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == word);
        found.map(|(value, _, _)| *value)
    }
}

/// An enumeration with a word and a meaning for every value; in documents it is its word.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $value:ident = $word:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $value,)*
        }

        impl $crate::words::Word for $name {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$(($name::$value, $word, concat!($($doc),+)),)*];
        }
    };
}

pub use crate::words;

/// Reads a JSON document. An error names its place: `instructions[0].rules[2]: ...`.
///
/// # Errors
/// The first thing that is wrong.
pub fn from_json<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        if let Some(reason) = no_json(error.inner()) {
            return reason;
        }
        let reason = error.into_inner().to_string();
        // Lines and columns are those of text that is not JSON, or of all of it.
        match (path.as_str(), reason.rsplit_once(" at line ")) {
            (".", _) | (_, None) => reason,
            (path, Some((reason, _))) => format!("{path}: {reason}"),
        }
    })?;
    json.end()
        .map_err(|error| no_json(&error).unwrap_or_else(|| error.to_string()))?;
    Ok(read)
}

/// Where a text ceases to be JSON, if that is what is wrong.
fn no_json(error: &serde_json::Error) -> Option<String> {
    use serde_json::error::Category;
    match error.classify() {
        Category::Syntax => Some(format!("it is not JSON: {error}")),
        Category::Eof => Some(format!("its JSON is cut off: {error}")),
        Category::Data | Category::Io => None,
    }
}

/// Refuses JSON in which a field is there twice: which of them holds would be a guess.
///
/// # Errors
/// Which field it is, or why it is no JSON.
pub fn each_once(text: &str) -> Result<(), String> {
    let read: Result<Unique, _> = serde_json::from_str(text);
    read.map(|_| ())
        .map_err(|error| crate::printable(&error.to_string()))
}

/// JSON in which no object has a field twice: a reader would have to guess which one holds.
pub struct Unique(pub Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(EachOnce).map(Unique)
    }
}

struct EachOnce;

impl<'de> Visitor<'de> for EachOnce {
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
        while let Some(Unique(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((key, Unique(value))) = entries.next_entry::<String, Unique>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("field {key:?} appears twice")));
            }
            all.insert(key, value);
        }
        Ok(all.into())
    }
}
