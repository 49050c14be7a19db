//! A case of a manifest that stands for many: `*` in its name, and in those of its arrays.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::case::text;
use super::lookup::Lookup;
use crate::io::{MAX_LOG, escaped_path, printable};
use crate::role::Role;

/// The name of a case, and its fields.
type Named = (String, BTreeMap<String, Value>);

/// The cases that one stands for: itself, or, if its name has a `*`, one for each array whose name D's pattern matches, in
/// the order of the file. What `*` stands for is put into all names. `few` refuses too many cases before they are made.
///
/// # Errors
/// What is wrong with the pattern, or its file.
pub fn expanded(
    name: String,
    fields: BTreeMap<String, Value>,
    folder: &Path,
    lookup: &Lookup,
    few: &dyn Fn(usize) -> Result<(), String>,
) -> Result<Vec<Named>, String> {
    let stars = |text: &str| text.matches('*').count();
    match stars(&name) {
        0 => {
            few(1)?;
            return Ok(vec![(name, fields)]);
        }
        1 => {}
        _ => return Err("its name has more than one *".into()),
    }
    let d = text(&fields, "d").and_then(|d| d.split_once('#'));
    let Some((file, pattern)) = d.filter(|(file, pattern)| stars(file) == 0 && stars(pattern) == 1)
    else {
        return Err(
            "its name has a *, so \"d\" must name arrays of one file with a *, as x.npz#*.y".into(),
        );
    };
    let (before, after) = pattern.split_once('*').expect("counted above");
    for field in Role::PRODUCT.iter().map(|role| role.field()) {
        let array = text(&fields, field).unwrap_or_default();
        if stars(array) > 1 || array.split('#').next().is_some_and(|file| stars(file) > 0) {
            return Err(format!(
                "field {field:?}: the name of an array can have one *, the name of a file none"
            ));
        }
    }
    let path = folder.join(file);
    let names = lookup.names(&path)?;
    let stems = names.iter().filter_map(|name| {
        let rest = name.strip_prefix(before)?;
        rest.strip_suffix(after)
    });
    let stems: Vec<&str> = stems.collect();
    if stems.is_empty() {
        let (path, pattern) = (escaped_path(&path), printable(pattern));
        return Err(format!("{path} has no array whose name matches {pattern}"));
    }
    few(stems.len())?;
    let own = fields
        .values()
        .map(|value| value.as_str().map_or(0, str::len));
    let own = name.len() + own.sum::<usize>();
    let stars: usize = stems.iter().map(|stem| stem.len()).sum();
    // Every text has one * at the most.
    let all = stems.len().saturating_mul(own) + stars.saturating_mul(fields.len() + 1);
    if all as u64 > MAX_LOG {
        return Err(format!(
            "it stands for {} cases with {all} bytes of text; limit: {MAX_LOG}",
            stems.len()
        ));
    }
    let of_one = |stem: &&str| {
        let mut fields = fields.clone();
        for field in Role::PRODUCT.iter().map(|role| role.field()) {
            if let Some(Value::String(text)) = fields.get_mut(field) {
                *text = text.replacen('*', stem, 1);
            }
        }
        (name.replace('*', stem), fields)
    };
    Ok(stems.iter().map(of_one).collect())
}
