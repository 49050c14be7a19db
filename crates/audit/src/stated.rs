//! What an auditor states, beside what a commitment has: a field of the one that is not in the other is refused.
//!
//! The statements make a commitment of their own, which has only shapes, cuts and roots from the other one: no option
//! states those. Both are compared as the documents that they are, so that no field can be left out.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{AuditError, nothing};
use crate::check::{RequestFields, option};
use crate::commit::Commitment;
use crate::compose::Request;
use crate::io::printable;
use crate::num::{Format, decimal};
use crate::operation::Operation;
use crate::role::Role;

/// Refuses arrays that were committed to and not stated, and the reverse; `needed` are there in any case.
pub(super) fn same_arrays(
    request: &Request,
    needed: &[Role],
    commitment: &Commitment,
) -> Result<(), AuditError> {
    let stated = request.sources().into_keys().chain(needed.iter().copied());
    let stated: BTreeSet<Role> = stated.filter(|role| !role.is_result()).collect();
    let there: BTreeSet<Role> = commitment.inputs.keys().copied().collect();
    let unstated = there.difference(&stated).map(|role| {
        let (called, field) = (role.called(), role.field());
        let copy = match request {
            Request::Product(_) => format!("{} FILE", option(field)),
            Request::Operation(_) => format!("--own {field}=FILE"),
        };
        format!(
            "the commitment has {called}, which you did not state (--with {field}, or your own copy: {copy})"
        )
    });
    let absent = stated.difference(&there).map(|role| {
        let (called, field) = (role.called(), role.field());
        let who = if needed.contains(role) {
            "which is needed"
        } else {
            "which you stated"
        };
        format!("the commitment has no {field} ({called}), {who}")
    });
    refuse(unstated.chain(absent).collect())
}

/// Refuses whatever else differs; `explained` are differences that digests hide.
pub(super) fn same(
    stated: &Commitment,
    commitment: &Commitment,
    explained: Vec<String>,
) -> Result<(), AuditError> {
    let json = |of: &Commitment| serde_json::to_value(of).expect("plain data");
    let mut wrong = explained;
    let names = match commitment.rule.product() {
        Some(_) => RequestFields::NAMES,
        None => Operation::NAMES,
    };
    compare(
        names,
        &mut Vec::new(),
        [&json(commitment), &json(stated)],
        &mut wrong,
    );
    refuse(wrong)
}

fn refuse(wrong: Vec<String>) -> Result<(), AuditError> {
    match wrong.as_slice() {
        [] => Ok(()),
        _ => nothing(wrong.join("; ")),
    }
}

fn compare(
    names: &[&str],
    path: &mut Vec<String>,
    [committed, stated]: [&Value; 2],
    wrong: &mut Vec<String>,
) {
    if let (Value::Object(of), Value::Object(other)) = (committed, stated) {
        for name in of
            .keys()
            .chain(other.keys().filter(|name| !of.contains_key(*name)))
        {
            path.push(name.clone());
            let both = [of, other].map(|of| of.get(name).unwrap_or(&Value::Null));
            compare(names, path, both, wrong);
            path.pop();
        }
    } else if committed != stated {
        let path: Vec<_> = path.iter().map(String::as_str).collect();
        let [committed, stated] = [committed, stated].map(|value| shown(&path, value));
        let named = named_by(&path, names).map_or(String::new(), |option| format!(" ({option})"));
        wrong.push(format!(
            "{} is {stated} as you state it, but the commitment has {committed}{named}",
            printable(&path.join("."))
        ));
    }
}

fn shown(path: &[&str], value: &Value) -> String {
    let code = value.as_str().filter(|_| path[0] == "schedule");
    let code = code.filter(|code| code.len() == 8);
    match (path, value) {
        // Only one of the two has one.
        (["schedule"], Value::Null) => return "one chain over k".to_owned(),
        (["schedule"], _) => return "another order".to_owned(),
        _ => {}
    }
    match code.and_then(|code| u64::from_str_radix(code, 16).ok()) {
        Some(code) => decimal(Format::Fp32, code),
        None => match value {
            Value::Null => "absent".to_owned(),
            Value::String(text) => printable(text),
            other => printable(&other.to_string()),
        },
    }
}

/// The option that states a field.
fn named_by(path: &[&str], names: &[&str]) -> Option<String> {
    let field = match path {
        ["operation"] => return Some("--op".to_owned()),
        ["rule_sha256"] => "variant".to_owned(),
        ["schedule"] | ["schedule", "sha256"] => "schedule".to_owned(),
        ["inputs", "a" | "x" | "q", "format"] => "dtype".to_owned(),
        ["inputs", "b", "format"] => "dtype_b".to_owned(),
        ["inputs", "scale_a" | "scale_b", "format"] => "scale_dtype".to_owned(),
        ["inputs", role, "format"] | [role, "format"] => format!("{role}_dtype"),
        [.., last] => (*last).to_owned(),
        [] => return None,
    };
    names.contains(&field.as_str()).then(|| option(&field))
}
