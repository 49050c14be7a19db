//! Tables of fields on pages, from the schemas that the types make: `<!-- begin: fields of policy.json -->`, or
//! `<!-- begin: fields of report.json, Model -->` for one definition, `architecture.json, Step.fused` for one kind of it.

use crate::support::Says;

use std::cell::Cell;
use std::fmt::Write;

use serde_json::Value;

use super::{all_pages, keep, read};

const BEGIN: &str = "<!-- begin: fields of ";
const END: &str = "<!-- end -->";

#[test]
fn tables_of_fields_are_those_of_the_types() {
    let tables = Cell::new(0);
    for page in all_pages() {
        keep(&page, |old| {
            let mut parts = old.split(BEGIN);
            let mut text = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (of, rest) = part.split_once(" -->\n").expect("the marker's end");
                let (_, after) = rest.split_once(END).expect("the end marker");
                write!(text, "{BEGIN}{of} -->\n\n{}\n{END}{after}", table(of)).unwrap();
                tables.set(tables.get() + 1);
            }
            text
        });
    }
    assert!(tables.get() > 0);
}

#[test]
fn a_table_has_fields_within_fields() {
    let table = table("policy.json");
    table.says("\n| `scope` | `whole`, `part` | ");
    table.says("\n| `limits.cases` | number or null | ");
    table.says("\n| `engines` | list of `fast`, `exact`, `auto`, `gpu`, ");
    table.lacks("| `schema` |");
    table.lacks("| `limits` |");
    let table = self::table("report.json, Model");
    table.says("\n| `file` | object, optional | ");
    table.says("\n| `note` | text or null | ");
    let table = self::table("architecture.json, Step.sliced");
    table.says("\n| `rounding.sum` | ");
    table.lacks("| `kind` |");
    let table = self::table("schedule.json, Parts");
    table.says("| `blocks` | In `inner` only: ");
    table.says(" `first`: the first ");
    let table = self::table("schedule.json, Order");
    table.says("| `folds` | ");
}

pub(super) fn table(of: &str) -> String {
    let (file, definition) = of.split_once(", ").unwrap_or((of, ""));
    let (definition, kind) = definition.split_once('.').unwrap_or((definition, ""));
    let schema: Value = serde_json::from_str(&read(&format!("docs/schemas/{file}"))).unwrap();
    let top = match definition {
        "" => &schema,
        _ => &schema["$defs"][definition],
    };
    let variants = top["oneOf"].as_array().into_iter().flatten();
    let mut of_kind = variants.filter(|one| one["properties"]["kind"]["const"] == kind);
    let top = of_kind.next().unwrap_or(top);
    if let Some(variants) = top["oneOf"].as_array() {
        return values(variants);
    }
    let mut text = String::from("| field | value | meaning |\n|---|---|---|\n");
    rows(&schema, top, "", &mut text);
    text
}

/// The values that one may have: words, or objects of a kind with what their fields mean.
fn values(variants: &[Value]) -> String {
    let mut text = String::from("| value | meaning |\n|---|---|\n");
    for one in variants {
        let kind = one["properties"]["kind"]["const"].as_str();
        let mut fields = one["properties"].as_object().into_iter().flatten();
        let word = one["const"].as_str().or(kind);
        // A value that has more than its name is an object of one field.
        let word = word.or_else(|| Some(fields.next()?.0.as_str()));
        let mut about = about(one);
        for (name, field) in fields.filter(|(name, _)| kind.is_some() && *name != "kind") {
            if !self::about(field).is_empty() {
                write!(about, " `{name}`: {}", self::about(field)).unwrap();
            }
        }
        let word = word.expect("a word with a meaning");
        writeln!(text, "| `{word}` | {about} |").unwrap();
    }
    text
}

/// What the comment above a field or a value says, as a cell.
fn about(of: &Value) -> String {
    let about = of["description"].as_str().unwrap_or_default();
    about.replace('\n', " ").replace('|', "\\|")
}

/// A row for each field. An object that has no meaning but its fields is shown by them, its name before theirs.
fn rows(schema: &Value, of: &Value, within: &str, text: &mut String) {
    let fields = of["properties"].as_object().expect("an object");
    for (name, field) in fields {
        let inner = resolved(schema, field);
        match field["description"].as_str() {
            Some(_) => {
                let mut value = value(schema, field);
                if is_absent_sometimes(of, name, field) {
                    value = format!("{}, optional", value.trim_end_matches(" or null"));
                }
                let about = about(field);
                writeln!(text, "| `{within}{name}` | {value} | {about} |").unwrap();
            }
            None if inner["properties"].is_object() => {
                rows(schema, inner, &format!("{within}{name}."), text);
            }
            None => assert!(
                !field["const"].is_null(),
                "{within}{name} has no meaning: write it above the field"
            ),
        }
    }
}

/// Whether a document may lack a field without a default.
fn is_absent_sometimes(of: &Value, name: &str, field: &Value) -> bool {
    let required = of["required"].as_array();
    let required = required.is_some_and(|names| names.iter().any(|required| required == name));
    !required && field.get("default").is_none()
}

fn resolved<'a>(schema: &'a Value, field: &'a Value) -> &'a Value {
    match field["$ref"].as_str() {
        Some(reference) => schema.pointer(&reference[1..]).expect("a definition"),
        None => field,
    }
}

/// Words in code, of values that are words.
fn words(values: &[Value]) -> Vec<String> {
    let words = values.iter().filter_map(Value::as_str);
    words.map(|word| format!("`{word}`")).collect()
}

/// What a field can be.
fn value(schema: &Value, field: &Value) -> String {
    let field = resolved(schema, field);
    if let Some(any) = field["anyOf"].as_array() {
        let mut each: Vec<_> = any.iter().map(|one| value(schema, one)).collect();
        each.dedup();
        return each.join(" or ");
    }
    if let Some(few) = field["enum"].as_array().filter(|words| words.len() < 9) {
        return words(few).join(", ");
    }
    if let Some(variants) = field["oneOf"].as_array() {
        let words = variants.iter().map(|one| match one["enum"].as_array() {
            Some(several) => words(several),
            None => words(std::slice::from_ref(&one["const"])),
        });
        let words: Vec<_> = words.collect();
        if words.iter().any(Vec::is_empty) {
            return "object".into();
        }
        return words.concat().join(", ");
    }
    let one = |kind: &str| match kind {
        "array" => {
            let of = value(schema, &field["items"]);
            let many = match of.as_str() {
                "number" | "object" => "s",
                _ => "",
            };
            match of.strip_prefix("list") {
                Some(inner) => format!("list of lists{inner}"),
                None => format!("list of {of}{many}"),
            }
        }
        "integer" => "number".into(),
        "string" => "text".into(),
        other => other.to_owned(),
    };
    match &field["type"] {
        Value::String(kind) => one(kind),
        Value::Null => "any".into(),
        Value::Array(kinds) => {
            let kinds = kinds.iter().map(|kind| one(kind.as_str().expect("a type")));
            kinds.collect::<Vec<_>>().join(" or ")
        }
        other => panic!("{other}"),
    }
}
