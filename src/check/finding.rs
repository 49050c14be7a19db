//! What can be wrong with a report, of products and of operations alike.

use serde::Serialize;
use serde_json::Value;

use crate::io::parse_sha256;
use crate::report::{Comparison, Policy, Verdict};

/// Something of a report that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub what: &'static str,
    /// Sentences that say what is not so; none if all is.
    pub wrong: Vec<String>,
}

/// What is wrong with a digest that has to be there, or must not be.
pub(super) fn no_digest(name: &str, said: Option<&str>, needed: bool) -> Option<String> {
    match said {
        None if needed => Some(format!("`{name}` is missing")),
        Some(_) if !needed => Some(format!("`{name}` should not be there")),
        Some(said) if parse_sha256(said).as_deref() != Ok(said) => {
            Some(format!("`{name}` is no SHA-256"))
        }
        _ => None,
    }
}

/// What is wrong with a verdict, from whether all agrees that was compared, and whether that was a part.
pub(super) fn verdict_of(said: Verdict, agrees: bool, part: bool) -> Option<String> {
    let verdict = match (agrees, part) {
        (true, false) => Verdict::Identical,
        (true, true) => Verdict::IdenticalInPart,
        (false, _) => Verdict::Different,
    };
    (said != verdict).then(|| {
        format!(
            "it is said to be {}; from the figures it is {}",
            said.title().to_lowercase(),
            verdict.title().to_lowercase()
        )
    })
}

/// What is wrong with what is said to be forgiven.
pub(super) fn forgiven(policy: Policy, [nan, zero]: [&str; 2]) -> Option<String> {
    let word = |any| if any { "any" } else { "exact" };
    let asked = [word(policy.any_nan), word(policy.any_zero)];
    ([nan, zero] != asked).then(|| "what is forgiven is not what was asked for".into())
}

/// What is wrong with causes, of which the widest explains so many mismatches; `looked` says whether any were
/// looked for, `asked` whether that was asked.
pub(super) fn causes(
    explained: Option<u64>,
    comparison: &Comparison,
    looked: bool,
    asked: bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if explained.is_some_and(|most| most > comparison.mismatches) {
        wrong.push("a cause explains more mismatches than there are".into());
    }
    if looked && (comparison.mismatches == 0 || !asked) {
        wrong.push("causes are given for what has none, or where none were asked for".into());
    }
    wrong
}

/// What is wrong with a comparison's figures, from whether what was reproduced is the same bits as what was `given`.
pub(super) fn likeness(alike: bool, comparison: &Comparison, given: &str) -> Option<String> {
    let equal = comparison.mismatches.saturating_add(comparison.accepted) == 0;
    (alike != equal).then(|| match equal {
        true => format!("nothing is said to differ, but what was reproduced is not {given}"),
        false => format!("bits are said to differ, but what was reproduced is {given}"),
    })
}

/// How a report says something, and how it is.
pub(super) fn same<T: Serialize, U: Serialize>(what: &'static str, said: T, found: U) -> Finding {
    let value = |text: serde_json::Result<String>| -> Value {
        let text = text.expect("plain data");
        serde_json::from_str(&text).expect("what was written is read")
    };
    let (said, found) = (
        value(serde_json::to_string(&said)),
        value(serde_json::to_string(&found)),
    );
    Finding {
        what,
        wrong: difference(&said, &found, String::new())
            .into_iter()
            .collect(),
    }
}

/// The first place where two values differ.
pub(super) fn difference(said: &Value, found: &Value, place: String) -> Option<String> {
    let inner = |name: &str| match place.is_empty() {
        true => name.to_owned(),
        false => format!("{place}.{name}"),
    };
    match (said, found) {
        (Value::Object(said), Value::Object(found)) => {
            let names = said
                .keys()
                .chain(found.keys().filter(|name| !said.contains_key(*name)));
            names
                .into_iter()
                .find_map(|name| match (said.get(name), found.get(name)) {
                    (Some(said), Some(found)) => difference(said, found, inner(name)),
                    (Some(_), None) => Some(format!("`{}` should not be there", inner(name))),
                    _ => Some(format!("`{}` is missing", inner(name))),
                })
        }
        (Value::Array(said), Value::Array(found)) if said.len() == found.len() => {
            let mut pairs = said.iter().zip(found).enumerate();
            pairs.find_map(|(i, (said, found))| difference(said, found, format!("{place}[{i}]")))
        }
        _ if said == found => None,
        _ => {
            let shown = |value: &Value| crate::io::printable_ends(&value.to_string());
            let (said, found) = (shown(said), shown(found));
            let named = match place.is_empty() {
                true => String::new(),
                false => format!("`{place}` "),
            };
            Some(format!("{named}is said to be {said}; it is {found}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference() {
        let said = json!({"a": {"b": [1, 2]}, "c": null});
        let between = |found: Value| difference(&said, &found, String::new());
        assert_eq!(between(said.clone()), None);
        for (found, words) in [
            (json!({"a": {"b": [1, 2]}}), "`c` should not be there"),
            (
                json!({"a": {"b": [1, 2]}, "c": null, "d": 1}),
                "`d` is missing",
            ),
            (json!({"a": {}, "c": null}), "`a.b` should not be there"),
            (
                json!({"a": {"b": [1, 2], "e": 1}, "c": null}),
                "`a.e` is missing",
            ),
            (
                json!({"a": {"b": [1, 3]}, "c": null}),
                "`a.b[1]` is said to be 2; it is 3",
            ),
            (
                json!({"a": {"b": [1]}, "c": null}),
                "`a.b` is said to be [1,2]; it is [1]",
            ),
            (
                json!({"a": {"b": [1, 2]}, "c": 0}),
                "`c` is said to be null; it is 0",
            ),
            (
                json!([]),
                "is said to be {\"a\":{\"b\":[1,2]},\"c\":null}; it is []",
            ),
        ] {
            assert_eq!(between(found).as_deref(), Some(words));
        }
        // As a report writes it, where nothing of it is an object.
        assert_eq!(same("it", 1, 1).wrong, [""; 0]);
        assert_eq!(same("it", 1, 2).wrong, ["is said to be 1; it is 2"]);
    }

    #[test]
    fn digests_where_they_belong() {
        let sha = "0123456789abcdef".repeat(4);
        let upper = sha.to_uppercase();
        for (said, needed, words) in [
            (None, false, None),
            (None, true, Some("`x` is missing")),
            (Some(&sha), true, None),
            (Some(&sha), false, Some("`x` should not be there")),
            (Some(&upper), true, Some("`x` is no SHA-256")),
        ] {
            let found = no_digest("x", said.map(String::as_str), needed);
            assert_eq!(found.as_deref(), words);
        }
    }

    #[test]
    fn verdicts_from_figures() {
        use Verdict::{Different, Identical, IdenticalInPart};
        for (agrees, part, verdict) in [
            (true, false, Identical),
            (true, true, IdenticalInPart),
            (false, false, Different),
            (false, true, Different),
        ] {
            for said in [Different, Identical, IdenticalInPart] {
                let wrong = verdict_of(said, agrees, part);
                assert_eq!(wrong.is_none(), said == verdict, "{said:?}: {wrong:?}");
            }
        }
    }
}
