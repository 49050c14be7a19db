//! A value with its origin: stated, found, assumed.

use serde::Serialize;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The text says it.
    Stated,
    /// The text leaves it out, which means the library's default.
    Defaulted,
    /// It follows from what the text says.
    Derived,
    /// The request gives it.
    Given,
    /// A search found it.
    Found,
    /// Neither the text nor the request states it.
    Assumed,
}

impl How {
    pub fn name(self) -> &'static str {
        match self {
            How::Stated => "stated",
            How::Defaulted => "default",
            How::Derived => "follows",
            How::Given => "given",
            How::Found => "found",
            How::Assumed => "assumed",
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sourced<T> {
    pub value: T,
    pub how: How,
    /// The text that states it, or the reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
}

/// The value of a setting that may be absent.
pub trait IfKnown<T> {
    fn value(&self) -> Option<T>;
}

impl<T: Copy> IfKnown<T> for Option<Sourced<T>> {
    fn value(&self) -> Option<T> {
        self.as_ref().map(|known| known.value)
    }
}

impl<T> Sourced<T> {
    pub fn stated(value: T, from: impl Into<String>) -> Sourced<T> {
        Sourced::new(value, How::Stated, from)
    }

    pub fn new(value: T, how: How, from: impl Into<String>) -> Sourced<T> {
        Sourced {
            value,
            how,
            from: from.into(),
        }
    }
}
