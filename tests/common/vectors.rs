//! Where captured results lie: outside of this repository, in the directory `TCVERIFY_VECTORS`.

use std::path::PathBuf;

use serde_json::Value;

use super::case::Case;
use super::say;

/// Published results of real GPUs.
pub const HARDWARE: &str = "hw-vectors";

/// Results of another emulator.
pub const PEERS: &str = "peer-vectors";

/// Every case of a collection whose description is `wanted`, or `None` where there are no vectors at all.
///
/// # Panics
/// If vectors are there but not `expected` cases: a test that finds nothing must not pass.
pub fn cases(
    collection: &str,
    what: &str,
    expected: usize,
    wanted: impl Fn(&Value) -> bool,
) -> Option<Vec<Case>> {
    let Some(root) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!("SKIPPED: {what}: TCVERIFY_VECTORS is not set"));
        return None;
    };
    let cases = Case::read_all(&PathBuf::from(root).join(collection), wanted);
    assert_eq!(cases.len(), expected, "cases in {collection} for {what}");
    Some(cases)
}

/// The captured cases, all of them.
pub fn captured(what: &str) -> Option<Vec<Case>> {
    cases(HARDWARE, what, 31, |_| true)
}
