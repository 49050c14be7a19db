//! `key=value key=[key=value ...] ...`: the form of cuBLASLt's log lines.

use std::collections::HashSet;

use crate::KernelError;
use crate::io::printable;

pub const FORM: &str = "cuBLASLt log line";

/// One `key=value`; a group's value is what its brackets hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Pair<'t> {
    pub key: &'t str,
    pub value: &'t str,
    pub is_group: bool,
}

/// The pairs of a line or group, in order; no key comes twice. A word without `=` is a key without a value.
pub fn pairs(text: &str) -> Result<Vec<Pair<'_>>, KernelError> {
    let mut pairs = Vec::new();
    let mut seen = HashSet::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '=' || c.is_whitespace())
            .unwrap_or(rest.len());
        let key = &rest[..end];
        if !seen.insert(key) {
            let why = format!("\"{}\" appears twice", printable(key));
            return Err(KernelError::syntax(FORM, why));
        }
        let after = &rest[end..];
        let Some(after) = after.strip_prefix('=') else {
            pairs.push(Pair {
                key,
                value: "",
                is_group: false,
            });
            rest = after.trim_start();
            continue;
        };
        let (value, left, is_group) = match after.strip_prefix('[') {
            Some(inside) => {
                let close = closing(inside).ok_or_else(|| {
                    KernelError::syntax(
                        FORM,
                        format!(
                            "\"{}=[\" is not closed; the line may be cut off",
                            printable(key)
                        ),
                    )
                })?;
                (&inside[..close], &inside[close + 1..], true)
            }
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                (&after[..end], &after[end..], false)
            }
        };
        pairs.push(Pair {
            key,
            value: value.trim(),
            is_group,
        });
        rest = left.trim_start();
    }
    Ok(pairs)
}

/// Where the bracket closes that was opened just before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
#[test]
fn groups_and_words_are_told_apart() {
    let text = "a=1 b=[c=2 d=[e]] f g=";
    let read = pairs(text).unwrap();
    let plain: Vec<_> = read.iter().map(|p| (p.key, p.value, p.is_group)).collect();
    assert_eq!(
        plain,
        [
            ("a", "1", false),
            ("b", "c=2 d=[e]", true),
            ("f", "", false),
            ("g", "", false)
        ]
    );
    assert!(pairs("a=[b").is_err());
    assert!(pairs("a=1 b=2 a=1").is_err());
}
