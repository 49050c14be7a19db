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

pub(crate) use words;
