//! JSON Schemas of the texts of a request.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tcverify_num::as_json;

use super::source::Source;
use super::span::Span;

as_json! {
    Source, "Source": { "type": "string", "minLength": 1 };
    Span, "Span": { "type": "string" };
}
