//! `algo=66,stages=36,splitK=3`: a configuration in words, with ids or names; Tensile's fields too.

use super::fields::{algorithm, beside, defaults};
use super::tensile;
use crate::io::printable;
use crate::{How, KernelError, KernelReading, Sourced, TextKind};

/// `DepthU: 64` and the like, as logic files have them.
pub fn looks_like_yaml(text: &str) -> bool {
    let key = text.split(':').next().unwrap_or("");
    text.contains(": ") && tensile::is_field(key.trim())
}

pub fn read(text: &str) -> Result<KernelReading, KernelError> {
    let separators = |c: char| matches!(c, ',' | ';') || c.is_whitespace();
    let words: Vec<(String, String)> = if looks_like_yaml(text) {
        let lines = outside_of_brackets(text, &['\n', ',', ';']);
        let pair = |line: &str| match line.split_once(':') {
            Some((key, value)) => (key.trim().into(), value.trim().into()),
            None => (line.trim().into(), String::new()),
        };
        lines
            .into_iter()
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
    of_words(TextKind::Configuration, &words)
}

/// The pieces between separators, except those within `[...]`.
fn outside_of_brackets<'t>(text: &'t str, separators: &[char]) -> Vec<&'t str> {
    let mut depth = 0usize;
    let separates = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && separators.contains(&c)
    };
    text.split(separates).collect()
}

/// Reads pairs of keys and values, of a configuration or of JSON.
pub fn of_words(kind: TextKind, words: &[(String, String)]) -> Result<KernelReading, KernelError> {
    let mut reading = KernelReading::new(kind);
    // The meaning of a custom option depends on the algorithm.
    let is_algo = |key: &str| matches!(key.to_ascii_lowercase().as_str(), "algo" | "algoid" | "id");
    let first = words.iter().filter(|(key, _)| is_algo(key));
    let others = words.iter().filter(|(key, _)| !is_algo(key));
    let mut unknown = Vec::new();
    for (key, value) in first.chain(others) {
        let found = algorithm(&mut reading, key, value)?
            || beside(&mut reading, key, value)?
            || tensile::field(&mut reading, key, value)?;
        if !found {
            unknown.push((key, value));
        }
    }
    if unknown.len() == words.len() {
        let keys: Vec<_> = words.iter().map(|(key, _)| key.as_str()).collect();
        return Err(KernelError::Unrecognised {
            text: printable(&keys.join(", ")),
        });
    }
    for (key, value) in unknown {
        // A solution of Tensile has a hundred fields: every plan lists those that are not known.
        if reading.settings.tensile.is_none() {
            return Err(KernelError::syntax(
                "configuration",
                format!(
                    "\"{}\" is not a known key and may affect the result; leave it out if it does not \
                    (docs/kernels.md lists the keys)",
                    printable(key)
                ),
            ));
        }
        reading.not_known(key, value);
    }
    if reading.settings.tensile.is_some() {
        tensile::finish(&mut reading)?;
    } else if reading.settings.algo.is_some() {
        let left_out = "absent: the library's default";
        defaults(&mut reading, How::Assumed, left_out);
    } else if reading.settings.split_k.is_none() {
        reading.settings.split_k = Some(Sourced::new(1, How::Assumed, "left out"));
    }
    reading.finished()
}
