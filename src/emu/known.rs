//! Evidence for constants by their names, as schedule files and operation files have it.

use std::collections::BTreeMap;

use super::model::{KnownBy, check_listed};
use super::step::Constant;

/// How constants are known: by constant, or by the group it is in (`split` stands for `split.merge.kind`); `*` stands
/// for all others.
pub type Known = BTreeMap<String, KnownBy>;

/// How a constant is known: by its own entry, by that of a group it is in, or by the one for all.
pub fn known_by<'a>(known: &'a Known, constant: &str) -> Option<&'a KnownBy> {
    let mut name = constant;
    loop {
        if let Some(found) = known.get(name) {
            return Some(found);
        }
        match name.rsplit_once('.') {
            Some((group, _)) => name = group,
            None => return known.get("*"),
        }
    }
}

/// Refuses a constant without a source, an entry for an unknown constant, and a source that is not listed.
///
/// # Errors
/// A sentence about the first; `whole` names the owner of the constants.
pub fn validate_known(
    known: &Known,
    constants: &[Constant],
    sources: &BTreeMap<String, String>,
    whole: &str,
) -> Result<(), String> {
    for constant in constants {
        let Some(found) = known_by(known, &constant.name) else {
            return Err(format!("no known_by entry for {}", constant.name));
        };
        if found.source.is_empty() {
            return Err(format!("no source for {}", constant.name));
        }
    }
    for (name, entry) in known {
        let used = |constant: &Constant| {
            let rest = constant.name.strip_prefix(name.as_str());
            name == "*" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if !constants.iter().any(used) {
            return Err(format!("known_by names {name}, which {whole} lacks"));
        }
        check_listed(&entry.source, sources)?;
    }
    Ok(())
}
