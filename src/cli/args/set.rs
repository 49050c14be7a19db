//! `--set NAME=VALUE`: rare fields of a request, by the names that documents have.

use std::ffi::OsStr;
use std::fmt::Write;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use serde_json::{Map, Value, json};

use crate::check::{CheckError, Partition, RequestFields, SET, Scheme};

/// Rare fields.
#[derive(Args, Clone, Default)]
pub struct SetArgs {
    /// A rare setting, such as residue=last; --help lists them. Repeatable
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = Names,
        hide_possible_values = true,
        long_help = long_help(),
        help_heading = "Schedule"
    )]
    set: Vec<String>,
}

impl SetArgs {
    /// Sets the fields of a request, which may hold others.
    ///
    /// # Errors
    /// A name or a value that is none, or a name that is given twice.
    pub fn fill(&self, fields: &mut RequestFields) -> Result<(), CheckError> {
        let mut given = Vec::new();
        for setting in &self.set {
            let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
            let field = SET.into_iter().find(|field| *field == name);
            let field = field.ok_or_else(|| CheckError::request("set", unknown(name)))?;
            if given.contains(&field) {
                return Err(CheckError::request(
                    field,
                    format!("`{field}` is given twice"),
                ));
            }
            given.push(field);
            let mut one = one(field, value)
                .map_err(|reason| CheckError::request(field, format!("`{field}`: {reason}")))?;
            fields.take(field, &mut one);
        }
        Ok(())
    }
}

/// A request of one field, whose text may be a number, a truth value or a word.
fn one(field: &str, text: &str) -> Result<RequestFields, String> {
    let read = |value: Value| {
        let all = Map::from_iter([(field.to_owned(), value)]);
        serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())
    };
    // In any of the library's spellings.
    let spelled = match field {
        "reduction" => Scheme::parse(text).map(|scheme| json!(scheme)),
        "partition" => Partition::parse(text).map(|partition| json!(partition)),
        _ => None,
    };
    if let Some(value) = spelled {
        return read(value);
    }
    let plain = match (text.parse::<u64>(), text.parse::<bool>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(truth)) => truth.into(),
        _ => Value::from(text),
    };
    read(plain)
}

fn unknown(name: &str) -> String {
    let near = SET
        .iter()
        .map(|field| (strsim::damerau_levenshtein(field, name), field));
    match near.min().filter(|(distance, _)| *distance <= 2) {
        Some((_, near)) => format!("--set: there is no setting {name:?}; did you mean {near}?"),
        None => format!(
            "--set: there is no setting {name:?}; there are {}",
            SET.join(", ")
        ),
    }
}

/// Every setting with its meaning.
fn long_help() -> String {
    let mut text = "A rare setting, by its name in documents. Repeatable:".to_owned();
    let about = RequestFields::about();
    for field in SET {
        let about = about.iter().find(|one| one.name == field);
        let about = about.expect("every setting is a field");
        let words = about
            .value
            .contains('`')
            .then(|| about.value.replace('`', ""));
        let words = words.map_or(String::new(), |words| format!(" ({words})"));
        write!(text, "\n- {field}{words}: {}", about.about).expect("a string takes it");
    }
    text
}

/// Completes names.
#[derive(Clone)]
struct Names;

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            SET.iter()
                .map(|name| PossibleValue::new(format!("{name}="))),
        ))
    }
}
