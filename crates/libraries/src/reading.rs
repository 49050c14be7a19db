//! What was read in a text: every word with its meaning.

use serde::Serialize;

use super::family::Family;
use super::{Fact, Settings, Shape, Sourced};
use crate::emu::Evidence;
use crate::num::F32;

/// Which kind of text it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    CublasltLog,
    Configuration,
    Attributes,
    GemmDesc,
    KernelName,
    TensileName,
}

impl TextKind {
    pub fn name(self) -> &'static str {
        match self {
            TextKind::CublasltLog => "cuBLASLt log line",
            TextKind::Configuration => "configuration",
            TextKind::Attributes => "attributes of an algorithm",
            TextKind::GemmDesc => "GEMMDesc",
            TextKind::KernelName => "kernel name",
            TextKind::TensileName => "Tensile kernel name",
        }
    }
}

/// How a word of the text was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It can affect D.
    Used,
    /// The text leaves it out: the library's default applies.
    Defaulted,
    /// It is known not to affect D.
    Ignored,
    /// Its meaning is not known, and it may affect D.
    Unknown,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Used => "used",
            Status::Defaulted => "default",
            Status::Ignored => "ignored",
            Status::Unknown => "UNKNOWN",
        }
    }
}

/// One word of the text, printable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    pub key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub status: Status,
    pub meaning: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
}

impl Token {
    /// As the text has it.
    pub fn text(&self) -> String {
        if self.value.is_empty() {
            self.key.clone()
        } else {
            format!("{}={}", self.key, self.value)
        }
    }
}

/// What a library's text says, word by word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelReading {
    pub kind: TextKind,
    pub family: Sourced<&'static Family>,
    /// The product that the text describes, where it states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<Shape>,
    /// Matrices in the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// The factors of the sum and of C.
    #[serde(skip)]
    pub alpha: Option<F32>,
    #[serde(skip)]
    pub beta: Option<F32>,
    pub settings: Settings,
    pub tokens: Vec<Token>,
    pub notes: Vec<String>,
    /// Facts about the family.
    pub facts: Vec<Fact>,
}

impl KernelReading {
    /// Words whose meaning is not known.
    pub fn unknown(&self) -> impl Iterator<Item = &Token> {
        self.tokens
            .iter()
            .filter(|token| token.status == Status::Unknown)
    }
}
