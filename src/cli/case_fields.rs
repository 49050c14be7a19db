//! The fields of a case: what they may be, and the words of `check` that they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::judge::Judge;
use crate::generate::PREFIX;
use crate::io::printable;

/// One check.
pub struct Case {
    pub name: String,
    /// Those of the command line that it is.
    pub words: Vec<String>,
    pub judge: Judge,
    /// Files that are read, with `#name` where an array in one is meant.
    pub files: Vec<PathBuf>,
    /// What a `case.json` says K is.
    pub k: Option<u64>,
}

/// What a field's value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// An integer that is not negative.
    Count,
    /// A number that an f32 has, or text.
    Number,
    /// A count or a word.
    CountOrText,
    Flag,
    /// A file.
    Path,
    /// A file, or an operand that is generated.
    Operand,
}

/// Fields of a case: called as the options of `check` are, with `_` for `-`. Those of [`POSITIONS`]
/// are no options there.
const FIELDS: [(&str, Kind); 45] = [
    ("a", Kind::Operand),
    ("acc", Kind::Text),
    ("alpha", Kind::Number),
    ("arch", Kind::Text),
    ("b", Kind::Operand),
    ("beta", Kind::Number),
    ("bias", Kind::Operand),
    ("bias_dtype", Kind::Text),
    ("block_rows", Kind::Count),
    ("c", Kind::Operand),
    ("c_dtype", Kind::Text),
    ("cols", Kind::Text),
    ("d", Kind::Path),
    ("d_digest", Kind::Text),
    ("d_dtype", Kind::Text),
    ("dtype", Kind::Text),
    ("dtype_b", Kind::Text),
    ("engine", Kind::Text),
    ("instruction", Kind::Text),
    ("max_mismatches", Kind::Count),
    ("model", Kind::Path),
    ("nan", Kind::Text),
    ("no_causes", Kind::Flag),
    ("partials", Kind::Text),
    ("promote", Kind::CountOrText),
    ("region", Kind::Text),
    ("residue", Kind::Text),
    ("rows", Kind::Text),
    ("sample", Kind::Count),
    ("scale_a", Kind::Operand),
    ("scale_b", Kind::Operand),
    ("scale_block", Kind::Count),
    ("scale_dtype", Kind::Text),
    ("schedule", Kind::Text),
    ("schedule_file", Kind::Path),
    ("seed", Kind::Count),
    ("split", Kind::Text),
    ("split_k", Kind::Count),
    ("tf32_input", Kind::Text),
    ("tile_k", Kind::Count),
    ("transpose_a", Kind::Flag),
    ("transpose_b", Kind::Flag),
    ("tree", Kind::Flag),
    ("workers", Kind::Count),
    ("zero", Kind::Text),
];

const POSITIONS: [&str; 3] = ["a", "b", "d"];

/// Fields of a JSON object. One that is there twice is refused: which of them holds would be a guess.
#[derive(Default)]
pub struct Fields(pub BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if fields.insert(name.clone(), value).is_some() {
                        return Err(A::Error::custom(format!("field {name:?} is there twice")));
                    }
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Once)
    }
}

fn kind_of(field: &str) -> Option<Kind> {
    FIELDS
        .iter()
        .find(|(name, _)| *name == field)
        .map(|(_, kind)| *kind)
}

/// Every field must be known.
pub fn check(fields: &BTreeMap<String, Value>, more: &[&str]) -> Result<()> {
    for field in fields.keys() {
        if kind_of(field).is_none() && !more.contains(&field.as_str()) {
            let near = FIELDS.iter().map(|(name, _)| *name);
            let near = near
                .map(|name| (strsim::damerau_levenshtein(name, field), name))
                .min();
            let hint = match near {
                Some((distance, name)) if distance <= 2 => format!("; is {name:?} meant?"),
                _ => String::new(),
            };
            bail!("unknown field {:?}{hint}", printable(field));
        }
    }
    Ok(())
}

/// One case as a command line.
pub fn case(name: String, fields: &BTreeMap<String, Value>, folder: &Path) -> Result<Case> {
    let mut words = Vec::new();
    let mut positions = [const { None }; 3];
    let mut files = Vec::new();
    for (field, value) in fields {
        let Some(kind) = kind_of(field) else {
            continue;
        };
        if value.is_null() {
            continue;
        }
        let option = format!("--{}", field.replace('_', "-"));
        let fail = |what: &str| anyhow::anyhow!("field {field:?}: {what} is expected");
        let word = match (kind, value) {
            (Kind::Flag, Value::Bool(on)) => {
                words.extend(on.then_some(option));
                continue;
            }
            (Kind::Flag, _) => return Err(fail("true or false")),
            (Kind::Count | Kind::CountOrText, Value::Number(number)) if number.is_u64() => {
                number.to_string()
            }
            (Kind::Count, _) => return Err(fail("a whole number")),
            (Kind::Number, Value::Number(number)) => {
                let value = number.as_f64().unwrap_or(f64::NAN);
                let exact = f64::from(value as f32) == value;
                if !exact {
                    return Err(fail("a number that an f32 has, or text such as \"0.1\","));
                }
                format!("{}", value as f32)
            }
            (Kind::Path | Kind::Operand, Value::String(path)) => {
                if kind == Kind::Operand && path.starts_with(PREFIX) {
                    path.clone()
                } else {
                    ensure!(!path.is_empty(), "field {field:?}: a path is expected");
                    let path = folder.join(path);
                    files.push(path.clone());
                    let text = path.into_os_string().into_string();
                    text.map_err(|_| fail("a folder whose name is UTF-8"))?
                }
            }
            (_, Value::String(text)) => text.clone(),
            _ => return Err(fail("text")),
        };
        match POSITIONS.iter().position(|name| name == field) {
            Some(position) => positions[position] = Some(word),
            None => words.push(format!("{option}={word}")),
        }
    }
    let [a, b, d] = positions;
    let missing = |field: &str| format!("has no field {field:?}");
    words.push("--".to_owned());
    words.push(a.with_context(|| missing("a"))?);
    words.push(b.with_context(|| missing("b"))?);
    words.extend(d);
    let judge = Judge::parse(&words)?;
    Ok(Case {
        name,
        words,
        judge,
        files,
        k: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_an_option_of_check() {
        use clap::{CommandFactory, Parser};
        #[derive(Parser)]
        struct Options {
            #[command(flatten)]
            judge: Judge,
        }
        let command = Options::command();
        let mut options: Vec<_> = command
            .get_arguments()
            .map(|argument| argument.get_id().to_string())
            .filter(|id| id != "help" && id != "against")
            .collect();
        options.sort();
        let mut fields: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
        fields.sort_unstable();
        assert_eq!(fields, options);
    }
}
