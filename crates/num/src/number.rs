//! A code of a format, as explanations show it.

use serde::Serialize;
use serde::ser::SerializeStruct;

use super::{Format, Value, decimal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub format: Format,
    pub code: u64,
}

impl Number {
    pub fn new(format: Format, code: u64) -> Number {
        Number { format, code }
    }

    /// `3f800000`, as wide as the format.
    pub fn hex(&self) -> String {
        format!("{:0width$x}", self.code, width = 2 * self.format.bytes())
    }

    /// The shortest decimal that identifies it.
    pub fn decimal(&self) -> String {
        decimal(self.format, self.code)
    }

    pub fn value(&self) -> Value {
        Value::of(self.format, self.code)
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Number", 4)?;
        fields.serialize_field("format", &self.format)?;
        fields.serialize_field("code", &self.hex())?;
        fields.serialize_field("value", &self.decimal())?;
        fields.serialize_field("exact", &self.value())?;
        fields.end()
    }
}
