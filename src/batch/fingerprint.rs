//! What decides the verdict on a case but its arrays, as one digest.

use super::Case;
use crate::check::{CheckError, Verb};
use crate::commit::Hash;

/// The digest of all that decides a verdict but the arrays, which need not have been read.
///
/// # Errors
/// If there is no such model or schedule.
pub(super) fn fingerprint(case: &Case) -> Result<Hash, CheckError> {
    Ok(digest(case, &case.request.basis()?))
}

/// The same of a case whose basis is known.
pub(super) fn digest(case: &Case, basis: &str) -> Hash {
    let words = case.request.command_line(Verb::Check);
    let words = words.iter().map(|word| word.as_encoded_bytes().to_vec());
    let mut pieces: Vec<Vec<u8>> = vec![env!("CARGO_PKG_VERSION").into(), basis.into()];
    pieces.extend(words);
    pieces.push(format!("{:?}", case.k).into_bytes());
    // A verdict under another policy, or under none, is none under this one.
    pieces.push(format!("{:?}", case.policy).into_bytes());
    let text = serde_json::to_string(&pieces).expect("plain data");
    Hash::of([text.as_bytes()])
}
