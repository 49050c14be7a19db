//! Where captured results lie: outside of this repository, in the directory `TCVERIFY_VECTORS`.

use std::path::PathBuf;

use serde_json::Value;

use super::case::Case;
use super::{engines, say};

/// Published results of real GPUs.
pub const HARDWARE: &str = "hw-vectors";

/// Results of another emulator.
pub const PEERS: &str = "peer-vectors";

/// Results of open designs and simulators.
pub const OPEN: &str = "open-vectors";

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

/// Replays every case with every engine, says so, and returns the number of results.
///
/// # Panics
/// If anything is not reproduced.
pub fn replay_all(collection: &str, cases: &[Case]) -> usize {
    let results = cases.iter().map(|case| case.d.len()).sum();
    for engine in engines::engines() {
        let mut wrong = Vec::new();
        for case in cases {
            let differing = case.differing(&case.choice().arithmetic, engine).len();
            if differing > 0 {
                wrong.push((&case.name, differing));
            }
        }
        let mismatches: usize = wrong.iter().map(|(_, count)| count).sum();
        let engine = engines::name(engine);
        say(format_args!(
            "{collection}: {} cases, {results} dot products replayed, {mismatches} mismatches \
             ({engine} engine)",
            cases.len()
        ));
        assert!(
            wrong.is_empty(),
            "{engine} engine: not reproduced: {wrong:?}"
        );
    }
    results
}
