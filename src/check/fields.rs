//! A check as flat fields: the form that manifests, plans and reports have, and command lines, whose
//! options are called as the fields are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::choices::{EngineChoice, Strictness, Tf32Input};
use super::error::CheckError;
use super::kernel_answers::{Accumulation, Partition, Scheme};
use super::source::Source;
use super::span::Span;
use super::weights::Weights;
use crate::emu::SparseLayout;
use crate::emu::schedule::{
    ActivationChoice, OrderChoice, PartialsChoice, PromoteChoice, ResidueChoice, SplitChoice,
};
use crate::emu::step::Reload;
use crate::num::{F32, Factor, Format};
use crate::role::Layout;
use crate::role::Role;
use crate::words::Word;

/// A field's value as one word of a command line.
pub enum Argument {
    /// An option without a value.
    Flag,
    Value(OsString),
}

/// What a field is, for pages and for other languages.
#[derive(Clone, Debug)]
pub struct FieldAbout {
    pub name: &'static str,
    /// Its value in documents.
    pub value: String,
    /// The type of its value in Python.
    pub python: String,
    /// Its option's help.
    pub about: &'static str,
}

/// What a field may hold.
pub trait Field: Sized {
    /// What the parser of command lines yields.
    type Word;

    /// # Errors
    /// If it is not written as it must be.
    fn of_word(field: &'static str, word: Self::Word) -> Result<Self, CheckError>;

    /// Whether it has an effect: a flag that is not set has none.
    fn says(&self) -> bool {
        true
    }

    /// As a word of a command line.
    fn argument(&self) -> Option<Argument>;

    fn value() -> String;

    fn python() -> String;

    /// A path that is not absolute starts in this folder.
    fn in_folder(&mut self, _: &Path) {}

    /// The field as an array's, if it is one.
    fn as_array(_: &mut Option<Self>) -> Option<&mut Option<Source>> {
        None
    }
}

impl Field for bool {
    type Word = bool;

    fn of_word(_: &'static str, word: bool) -> Result<bool, CheckError> {
        Ok(word)
    }

    fn says(&self) -> bool {
        *self
    }

    fn argument(&self) -> Option<Argument> {
        self.then_some(Argument::Flag)
    }

    fn value() -> String {
        "boolean".into()
    }

    fn python() -> String {
        "bool".into()
    }
}

impl Field for Source {
    type Word = PathBuf;

    fn of_word(_: &'static str, word: PathBuf) -> Result<Source, CheckError> {
        Ok(Source::of(word.as_os_str()))
    }

    fn argument(&self) -> Option<Argument> {
        Some(Argument::Value(not_an_option(self.text())))
    }

    fn value() -> String {
        "array".into()
    }

    fn python() -> String {
        "_arrays.ArrayLike".into()
    }

    fn in_folder(&mut self, folder: &Path) {
        Source::in_folder(self, folder);
    }

    fn as_array(field: &mut Option<Source>) -> Option<&mut Option<Source>> {
        Some(field)
    }
}

impl Field for PathBuf {
    type Word = PathBuf;

    fn of_word(_: &'static str, word: PathBuf) -> Result<PathBuf, CheckError> {
        Ok(word)
    }

    fn argument(&self) -> Option<Argument> {
        Some(Argument::Value(not_an_option(self.clone().into())))
    }

    fn value() -> String {
        "file".into()
    }

    fn python() -> String {
        "str | os.PathLike[str]".into()
    }

    fn in_folder(&mut self, folder: &Path) {
        *self = folder.join(&*self);
    }
}

/// A path that begins with a dash is not an option then; a dash alone is standard input.
fn not_an_option(path: OsString) -> OsString {
    match path.as_encoded_bytes() {
        [b'-', _, ..] => {
            let mut here = OsString::from("./");
            here.push(path);
            here
        }
        _ => path,
    }
}

/// Fields whose text is a word of a command line, and what they are in documents and in Python.
macro_rules! shown {
    // The parser of command lines has it.
    (parsed) => {
        type Word = Self;

        fn of_word(_: &'static str, word: Self) -> Result<Self, CheckError> {
            Ok(word)
        }
    };
    // A text that is wrong gets one sentence, not a page of usage.
    (text) => {
        type Word = String;

        fn of_word(field: &'static str, word: String) -> Result<Self, CheckError> {
            let wrong = |reason| CheckError::request(field, format!("`{field}` {reason}"));
            word.parse().map_err(wrong)
        }
    };
    ($($kind:ty: $value:literal, $python:literal, $word:ident;)*) => {
        $(impl Field for $kind {
            shown!($word);

            fn argument(&self) -> Option<Argument> {
                Some(Argument::Value(self.to_string().into()))
            }

            fn value() -> String {
                $value.into()
            }

            fn python() -> String {
                $python.into()
            }
        })*
    };
}

shown! {
    String: "text", "str", parsed;
    Format: "format", "FormatLike", parsed;
    usize: "whole number", "int", parsed;
    u32: "whole number", "int", parsed;
    u64: "whole number", "int", parsed;
    F32: "f32", "float | str", parsed;
    Factor: "f32", "float | str", parsed;
    Span: "span", "SpanLike", text;
    PromoteChoice: "whole number, or `\"never\"`", "int | Literal[\"never\"]", text;
    Scheme: "`none`, `inplace`, `compute_type`, `output_type`", "str", parsed;
    Partition: "`universal`, `serial_tiles`, `parallel_tiles`", "str", parsed;
}

macro_rules! worded {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            shown!(parsed);

            fn argument(&self) -> Option<Argument> {
                Some(Argument::Value(self.word().into()))
            }

            fn value() -> String {
                let words = <$kind>::ALL.iter().map(|(_, word, _)| format!("`{word}`"));
                words.collect::<Vec<_>>().join(", ")
            }

            fn python() -> String {
                let words = <$kind>::ALL.iter().map(|(_, word, _)| format!("{word:?}"));
                format!("Literal[{}]", words.collect::<Vec<_>>().join(", "))
            }
        })*
    };
}

worded!(
    Strictness,
    Tf32Input,
    SparseLayout,
    Reload,
    EngineChoice,
    ResidueChoice,
    SplitChoice,
    PartialsChoice,
    ActivationChoice,
    OrderChoice,
    Accumulation,
    Layout,
    Weights
);

/// A struct of optional fields: documents have them under their names, command lines as options of those names.
///
/// They are the rows of the groups of `declaration.rs`, of which the program alone reads how a command line takes
/// them, and further rows.
#[macro_export]
macro_rules! fields {
    ($(#[$about:meta])* pub struct $all:ident, roles: $roles:expr;
     groups {$(
        $(#[doc = $about_group:tt])+
        #[command($($command:tt)*)]
        $group:ident {
            $($(#[doc = $option_doc:tt])+ #[arg($($arg:tt)*)] $option:ident: $option_kind:ty,)*
        }
     )*}
     $($(#[doc = $doc:tt])+ $name:ident: $kind:ty,)*) => {
        fields! {
            $(#[$about])*
            pub struct $all, roles: $roles;
            $($($(#[doc = $option_doc])+ $option: $option_kind,)*)*
            $($(#[doc = $doc])+ $name: $kind,)*
        }
    };
    ($(#[$about:meta])* pub struct $all:ident, roles: $roles:expr;
     $($(#[doc = $doc:tt])+ $name:ident: $kind:ty,)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $all {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )*
        }

        impl $all {
            /// The names of all fields.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// What each field is, for pages and for other languages.
            pub fn about() -> Vec<$crate::FieldAbout> {
                vec![$($crate::FieldAbout {
                    name: stringify!($name),
                    value: <$kind as $crate::Field>::value(),
                    python: <$kind as $crate::Field>::python(),
                    about: concat!($($doc),+).trim(),
                }),*]
            }

            /// Whether a field is given; a flag that is not set is not.
            pub fn says(&self, field: &str) -> bool {
                match field {
                    $(stringify!($name) => {
                        self.$name.as_ref().is_some_and($crate::Field::says)
                    })*
                    _ => false,
                }
            }

            /// Takes one field of another request.
            pub fn take(&mut self, field: &str, other: &mut Self) {
                match field {
                    $(stringify!($name) => self.$name = other.$name.take(),)*
                    _ => {}
                }
            }

            /// Those that are given, as arguments of a command line.
            pub fn arguments(&self) -> Vec<(&'static str, $crate::Argument)> {
                let mut all = Vec::new();
                $(
                    let argument = self.$name.as_ref().and_then($crate::Field::argument);
                    all.extend(argument.map(|argument| (stringify!($name), argument)));
                )*
                all
            }

            /// Paths that are not absolute start in this folder.
            pub fn in_folder(&mut self, folder: &std::path::Path) {
                $(
                    if let Some(value) = &mut self.$name {
                        $crate::Field::in_folder(value, folder);
                    }
                )*
            }

            /// The field of an array; none of a role that is not one of them.
            pub fn array(&mut self, role: $crate::role::Role) -> Option<&mut Option<$crate::Source>> {
                match role.field() {
                    $(stringify!($name) => $crate::Field::as_array(&mut self.$name),)*
                    _ => None,
                }
            }

            /// Every array that is named.
            pub fn arrays(&self) -> $crate::role::ByRole<$crate::Source> {
                let mut all = self.clone();
                let named = $roles.iter().filter_map(|role| {
                    let source = all.array(*role)?.take()?;
                    Some((*role, source))
                });
                named.collect()
            }
        }
    };
}

macro_rules! of_product {
    ($request:ident; $($groups:tt)*) => {
        fields! {
            /// Everything that a check may say. A field that is absent is as it is by default.
            pub struct $request, roles: Role::PRODUCT;
            groups { $($groups)* }
        }
    };
}

crate::product_fields!(of_product);

impl RequestFields {
    /// Replaces any name of a format, as the command line takes them, by the one that documents have.
    pub fn canonical(field: &str, value: &mut serde_json::Value) {
        if let Some(format) = value.as_str().and_then(Format::from_name)
            && RequestFields::about()
                .iter()
                .any(|known| known.name == field && known.value == "format")
        {
            *value = format.name().into();
        }
    }
}
