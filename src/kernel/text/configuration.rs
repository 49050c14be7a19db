//! `algo=66,stages=36,splitK=3`: a configuration in words, with ids or names; Tensile's fields too.

use super::draft::Draft;
use super::fields::{algorithm, beside, defaults};
use super::tensile;
use crate::kernel::{How, KernelError, KernelReading, TextKind};

/// `DepthU: 64` and the like, as logic files have them.
pub fn looks_like_yaml(text: &str) -> bool {
    let key = text.split(':').next().unwrap_or("");
    text.contains(": ") && tensile::is_field(key.trim())
}

pub fn read(text: &str) -> Result<KernelReading, KernelError> {
    let mut draft = Draft::new(TextKind::Configuration);
    let separators = |c: char| matches!(c, ',' | ';') || c.is_whitespace();
    let words: Vec<(String, String)> = if looks_like_yaml(text) {
        let lines = text.split(['\n', ',', ';']);
        let pair = |line: &str| match line.split_once(':') {
            Some((key, value)) => (key.trim().into(), value.trim().into()),
            None => (line.trim().into(), String::new()),
        };
        lines
            .map(pair)
            .filter(|(key, _): &(String, _)| !key.is_empty())
            .collect()
    } else {
        let words = text.split(separators).filter(|word| !word.is_empty());
        let pair = |word: &str| match word.split_once('=') {
            Some((key, value)) => (key.into(), value.into()),
            None => (word.into(), String::new()),
        };
        words.map(pair).collect()
    };
    fill(&mut draft, &words)?;
    Ok(draft.finished())
}

/// Reads pairs of keys and values, of a configuration or of JSON.
pub fn fill(draft: &mut Draft, words: &[(String, String)]) -> Result<(), KernelError> {
    // Whose a custom option is depends on the algorithm.
    let is_algo = |key: &str| matches!(key.to_ascii_lowercase().as_str(), "algo" | "algoid" | "id");
    let first = words.iter().filter(|(key, _)| is_algo(key));
    let others = words.iter().filter(|(key, _)| !is_algo(key));
    let mut known = 0;
    for (key, value) in first.chain(others) {
        let found = algorithm(draft, key, value)?
            || beside(draft, key, value)?
            || tensile::field(draft, key, value)?;
        known += usize::from(found);
        if !found {
            draft.unknown(key, value);
        }
    }
    if known == 0 {
        let keys: Vec<_> = words.iter().map(|(key, _)| key.as_str()).collect();
        return Err(KernelError::Unrecognised {
            text: crate::io::printable(&keys.join(", ")),
        });
    }
    if draft.settings.tensile.is_some() {
        tensile::finish(draft);
    } else if draft.settings.algo.is_some() {
        let left_out = "left out, which means the library's default";
        defaults(draft, How::Assumed, left_out);
    } else if draft.settings.split_k.is_none() {
        draft.settings.split_k = Some(crate::kernel::Said::new(1, How::Assumed, "left out"));
    }
    Ok(())
}
