//! Errors for people, who call a field as they gave it.

use super::error::CheckError;
use super::fields::RequestFields;
use super::operation::Operation;
use crate::io::IN_MEMORY;

impl CheckError {
    /// The sentence, with every field called what `name` calls it.
    pub fn describe(&self, name: impl Fn(&'static str) -> String) -> String {
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
        let sentence = match self {
            CheckError::Request { reason, .. } => renamed(reason),
            CheckError::Array { name, reason, .. } => format!("{name}: {}", renamed(reason)),
            CheckError::Shapes { names, reason } => {
                format!("{}: {}", renamed(names), renamed(reason))
            }
            other => other.to_string(),
        };
        // An array in memory has no other name than its field's.
        match (sentence.strip_prefix(IN_MEMORY), self.field()) {
            (Some(rest), Some(field)) => format!("{}{rest}", name(field)),
            _ => sentence,
        }
    }
}
