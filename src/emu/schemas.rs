//! JSON Schemas of what has a form of its own in documents.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tcverify_num::as_json;

use crate::schedule::PromoteChoice;
use crate::step::Code;

as_json! {
    Code, "Code": { "type": "string", "pattern": "^(0|[1-9a-f][0-9a-f]*)$" };
    PromoteChoice, "PromoteChoice": { "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "never" }] };
}
