//! Cases of a batch, from a manifest or a folder of case folders: fields into the words of `check`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::judge::Judge;
use crate::generate::PREFIX;
use crate::io::printable;

/// Value of the `schema` field.
pub const MANIFEST: &str = "tcverify.manifest/1";

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

/// Fields of a `case.json` that describe where a case comes from and decide nothing.
const DESCRIPTIVE: [&str; 7] = [
    "cases",
    "finite",
    "gpu",
    "inputs",
    "lanes",
    "n",
    "products_per_step",
];

/// Fields of a JSON object. One that is there twice is refused: which of them holds would be a guess.
#[derive(Default)]
struct Fields(BTreeMap<String, Value>);

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: String,
    #[serde(default)]
    defaults: Fields,
    cases: Vec<Fields>,
}

/// The cases of a manifest, or of a folder of case folders, and the files that name them.
///
/// # Errors
/// What is wrong, in which file, case and field. Nothing has been judged then.
pub fn read(path: &Path) -> Result<(Vec<Case>, Vec<PathBuf>)> {
    let (cases, own) = match path.is_dir() {
        true => folder(path)?,
        false => (manifest(path)?, vec![path.to_owned()]),
    };
    ensure!(!cases.is_empty(), "{}: holds no case", path.display());
    Ok((cases, own))
}

fn text_of(path: &Path) -> Result<String> {
    /// Larger than any manifest.
    const LARGEST: u64 = 256 << 20;
    let about = std::fs::metadata(path).context("cannot be opened")?;
    ensure!(about.is_file(), "is not a regular file");
    ensure!(about.len() <= LARGEST, "has {} bytes", about.len());
    std::fs::read_to_string(path).context("cannot be read")
}

fn json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| anyhow::anyhow!(printable(&error.to_string())))
}

fn manifest(path: &Path) -> Result<Vec<Case>> {
    let text = text_of(path).with_context(|| path.display().to_string())?;
    parsed(&text, path)
}

/// The cases of a manifest's text; its path is for messages, and where files are looked for.
pub fn parsed(text: &str, path: &Path) -> Result<Vec<Case>> {
    let Manifest {
        schema,
        defaults,
        cases,
    } = json(text)
        .with_context(|| format!("{}: is not a manifest ({MANIFEST})", path.display()))?;
    ensure!(
        schema == MANIFEST,
        "{}: is not a manifest: its schema is not {MANIFEST:?}",
        path.display()
    );
    let folder = path.parent().unwrap_or(Path::new(""));
    check(&defaults.0, &[]).with_context(|| format!("{}: defaults", path.display()))?;
    let mut read = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for (number, Fields(mut fields)) in cases.into_iter().enumerate() {
        let place = || format!("{}: case {}", path.display(), number + 1);
        let name = match fields.remove("name") {
            Some(Value::String(name)) if !name.is_empty() => name,
            Some(_) => bail!("{}: field \"name\": text is expected", place()),
            None => bail!("{}: has no field \"name\"", place()),
        };
        let place = || format!("{} ({})", place(), printable(&name));
        ensure!(
            names.insert(name.clone()),
            "{}: another case has that name",
            place()
        );
        check(&fields, &[]).with_context(place)?;
        // A null takes a default away.
        for (field, value) in &defaults.0 {
            fields.entry(field.clone()).or_insert_with(|| value.clone());
        }
        read.push(case(name.clone(), &fields, folder).with_context(place)?);
    }
    Ok(read)
}

/// A folder of folders with a `case.json`, in the order of their names.
fn folder(path: &Path) -> Result<(Vec<Case>, Vec<PathBuf>)> {
    let name = || path.display().to_string();
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(path).with_context(name)? {
        let entry = entry.with_context(name)?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    let mut cases = Vec::new();
    let mut own = Vec::new();
    for folder in folders {
        let file = folder.join("case.json");
        let place = || file.display().to_string();
        let Fields(mut fields) = text_of(&file)
            .and_then(|text| json(&text))
            .with_context(place)?;
        captured(&mut fields, &folder).with_context(place)?;
        let k = match fields.remove("k") {
            None => None,
            Some(k) => {
                let k = k.as_u64();
                Some(k.with_context(|| format!("{}: field \"k\": a number is expected", place()))?)
            }
        };
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let case = case(name.into_owned(), &fields, &folder).with_context(place)?;
        cases.push(Case { k, ..case });
        own.push(file);
    }
    index(path, &cases)?;
    Ok((cases, own))
}

/// Where an `index.json` lists the cases, they must be those that are there: one that was lost would
/// otherwise pass unnoticed.
fn index(folder: &Path, cases: &[Case]) -> Result<()> {
    let path = folder.join("index.json");
    if !path.exists() {
        return Ok(());
    }
    let place = || path.display().to_string();
    let listed: Vec<Value> = text_of(&path)
        .and_then(|text| json(&text))
        .with_context(place)?;
    let listed = listed.iter().map(|case| case["case"].as_str());
    let listed: Option<std::collections::BTreeSet<_>> = listed.collect();
    let listed = listed.with_context(|| format!("{}: an entry has no \"case\"", place()))?;
    let there = cases.iter().map(|case| case.name.as_str()).collect();
    if let Some(missing) = listed.difference(&there).next() {
        bail!(
            "{}: lists {}, which is not there",
            place(),
            printable(missing)
        );
    }
    if let Some(more) = there.difference(&listed).next() {
        bail!(
            "{}: does not list {}, which is there",
            place(),
            printable(more)
        );
    }
    Ok(())
}

/// The fields of a captured case as those of a manifest. D is there what the instruction returned, so
/// `d_dtype` is its accumulator's format, too.
fn captured(fields: &mut BTreeMap<String, Value>, folder: &Path) -> Result<()> {
    fields.retain(|name, _| !DESCRIPTIVE.contains(&name.as_str()));
    if fields.contains_key("a_dtype") {
        for (theirs, ours) in [
            ("a_dtype", "dtype"),
            ("b_dtype", "dtype_b"),
            ("block", "scale_block"),
        ] {
            let Some(value) = fields.remove(theirs) else {
                continue;
            };
            ensure!(
                fields.insert(ours.to_owned(), value).is_none(),
                "fields {theirs:?} and {ours:?} say the same"
            );
        }
        if let Some(arithmetic) = mfma(fields) {
            fields.insert("instruction".to_owned(), arithmetic.into());
        }
        if let Some(kind) = fields.remove("kind") {
            let kind = kind.as_str().context("field \"kind\": text is expected")?;
            let instruction = fields.get("instruction").and_then(Value::as_str);
            let instruction = instruction.context("field \"kind\" is of an \"instruction\"")?;
            let instruction = format!("{instruction}-{kind}").into();
            fields.insert("instruction".to_owned(), instruction);
        }
        if let Some(d) = fields.get("d_dtype").cloned() {
            if fields.get("c_dtype") == Some(&d) {
                fields.remove("c_dtype");
                // The file is still needed.
                fields.entry("c".to_owned()).or_insert("c.npy".into());
            }
            fields.entry("acc".to_owned()).or_insert(d);
        }
    }
    for (field, file, needed) in [
        ("a", "a.npy", None),
        ("b", "b.npy", None),
        ("c", "c.npy", Some("c_dtype")),
        ("scale_a", "sa.npy", Some("scale_dtype")),
        ("scale_b", "sb.npy", Some("scale_dtype")),
        ("d", "d.npy", None),
    ] {
        let wanted = match needed {
            None => field != "d" || !fields.contains_key("d_digest"),
            Some(other) => fields.contains_key(other) || folder.join(file).exists(),
        };
        if wanted {
            fields.entry(field.to_owned()).or_insert(file.into());
        }
    }
    check(fields, &["k"])
}

/// AMD's captures name the instruction by its shape and types; the catalogue names its arithmetic, of which
/// CDNA 2 has two for BF16.
fn mfma(fields: &BTreeMap<String, Value>) -> Option<&'static str> {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let (arch, instruction) = (text("arch")?, text("instruction")?);
    let shape = instruction.strip_prefix("f32_")?;
    (arch.starts_with("cdna") && shape.contains('x')).then_some(())?;
    Some(match (arch, instruction.ends_with("bf16")) {
        ("cdna2", true) => "mfma-bf16",
        _ => "mfma",
    })
}

fn kind_of(field: &str) -> Option<Kind> {
    FIELDS
        .iter()
        .find(|(name, _)| *name == field)
        .map(|(_, kind)| *kind)
}

/// Every field must be known.
fn check(fields: &BTreeMap<String, Value>, more: &[&str]) -> Result<()> {
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
fn case(name: String, fields: &BTreeMap<String, Value>, folder: &Path) -> Result<Case> {
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
