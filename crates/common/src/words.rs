//! Enumerations whose values are words: one table for texts, files and command lines.

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

/// A document of somebody's; what is wrong with it is said with the place in it: `instructions[0].rules[2]: ...`.
///
/// # Errors
/// The first thing that is wrong.
pub fn from_json<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner().to_string();
        // Lines and columns are those of text that is not JSON, or of all of it.
        match (path.as_str(), reason.rsplit_once(" at line ")) {
            (".", _) | (_, None) => reason,
            (path, Some((reason, _))) => format!("{path}: {reason}"),
        }
    })?;
    json.end().map_err(|error| error.to_string())?;
    Ok(read)
}
