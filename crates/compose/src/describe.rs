//! Errors for people, who call a field as they gave it.

use crate::check::{CheckError, RequestFields};
use crate::io::IN_MEMORY;
use crate::operation::Operation;

/// The sentence, with every field called what `name` calls it.
pub fn describe(error: &CheckError, name: impl Fn(&'static str) -> String) -> String {
    let renamed = |reason: &str| {
        let mut reason = reason.to_owned();
        for field in RequestFields::NAMES.iter().chain(Operation::NAMES) {
            let quoted = format!("`{field}`");
            if reason.contains(&quoted) {
                reason = reason.replace(&quoted, &name(field));
            }
        }
        reason
    };
    let sentence = match error {
        CheckError::Request { reason, .. } => renamed(reason),
        CheckError::Array { name, reason, .. } => format!("{name}: {}", renamed(reason)),
        CheckError::Shapes { names, reason } => {
            format!("{}: {}", renamed(names), renamed(reason))
        }
        other => other.to_string(),
    };
    // An array in memory has no other name than its field's.
    match (sentence.strip_prefix(IN_MEMORY), error.field()) {
        (Some(rest), Some(field)) => format!("{}{rest}", name(field)),
        _ => sentence,
    }
}
