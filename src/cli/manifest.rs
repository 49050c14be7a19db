//! Cases of a batch, from a manifest or a folder of case folders.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::case_fields::{Case, Fields, case, check};
use super::case_folder::folder;
use crate::io::printable;

/// Value of the `schema` field.
pub const MANIFEST: &str = "tcverify.manifest/1";

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

pub fn text_of(path: &Path) -> Result<String> {
    /// Larger than any manifest.
    const LARGEST: u64 = 256 << 20;
    let about = std::fs::metadata(path).context("cannot be opened")?;
    ensure!(about.is_file(), "is not a regular file");
    ensure!(about.len() <= LARGEST, "has {} bytes", about.len());
    std::fs::read_to_string(path).context("cannot be read")
}

pub fn json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
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
