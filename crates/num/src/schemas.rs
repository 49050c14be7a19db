//! JSON Schemas of numbers, which have a form of their own in documents.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Dyadic, F32, Factor, Format, Number, Value};

/// What a type is in JSON that has a form of its own there.
#[macro_export]
#[doc(hidden)]
macro_rules! as_json {
    ($($kind:ty, $name:literal: $schema:tt;)*) => {
        $(impl JsonSchema for $kind {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

as_json! {
    F32, "F32": { "type": ["string", "number"], "description": "A number, or an f32 as 0x and 8 digits." };
    Factor, "WrittenFactor": { "type": ["string", "number"], "description": "A number, or an f32 as 0x and 8 digits; of FP64 products the f64 that is written." };
    Dyadic, "Exact": { "type": "string" };
    Value, "Value": { "type": "string" };
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "format": generator.subschema_for::<Format>(),
                "code": { "type": "string" },
                "value": { "type": "string" },
                "exact": { "type": "string" },
            },
            "required": ["format", "code", "value", "exact"],
        })
    }
}
