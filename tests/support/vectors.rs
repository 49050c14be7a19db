//! Where captured results lie: outside of this repository, in the directory `TCVERIFY_VECTORS`.

use std::path::PathBuf;

use serde_json::Value;

use super::case::Case;
use super::{engines, say};

/// Published results of real GPUs.
pub const HARDWARE: &str = "hw-vectors";

/// Captured results of AMD's RDNA GPUs.
pub const RDNA: &str = "rdna-vectors";

/// Results captured on tiles of AMX.
pub const AMX: &str = "amx-vectors";

/// Results of a simulator of Arm processors.
pub const ARM: &str = "arm-vectors";

/// Published words of a B200.
pub const B200: &str = "b200-words";

/// Results of Tenstorrent's simulator.
pub const TENSTORRENT: &str = "tenstorrent-vectors";

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
    let cases = cases_of(collection, what, wanted)?;
    assert_eq!(cases.len(), expected, "cases in {collection} for {what}");
    Some(cases)
}

/// However many there are.
fn cases_of(collection: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Option<Vec<Case>> {
    let Some(root) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!("SKIPPED: {what}: TCVERIFY_VECTORS is not set"));
        return None;
    };
    Some(Case::read_all(
        &PathBuf::from(root).join(collection),
        wanted,
    ))
}

/// The captured cases, all of them.
pub fn captured(what: &str) -> Option<Vec<Case>> {
    cases(HARDWARE, what, 31, |_| true)
}

/// The captured cases of RDNA, as the catalogue calls their GPUs and instructions.
pub fn rdna(what: &str) -> Option<Vec<Case>> {
    let mut all = cases(RDNA, what, 39, |_| true)?;
    for case in &mut all {
        let [gfx, instruction] = ["gfx", "instruction"].map(|key| case.about[key].as_str());
        case.arch = gfx.expect("a processor").to_owned();
        case.instruction = match instruction.expect("an instruction").split('_').nth(1) {
            Some("wmma") if case.arch == "gfx1201" => format!("wmma-wave{}", case.about["wave"]),
            kind => kind.expect("a kind").to_owned(),
        };
    }
    Some(all)
}

/// Products of Tenstorrent's matrix unit by the vendor's simulator, with instructions as the catalogue names them.
pub fn tenstorrent(what: &str) -> Option<Vec<Case>> {
    let product = |about: &Value| {
        about["instruction"]
            .as_str()
            .is_some_and(|name| name.starts_with("mvmul"))
    };
    let mut all = cases(TENSTORRENT, what, 124, product)?;
    for case in &mut all {
        let fidelity = case.about["fidelity"].as_str().expect("a fidelity");
        case.instruction = fidelity.to_lowercase().replace(' ', "");
    }
    Some(all)
}

/// What processors computed: captured for this repository, and part of it.
pub fn processors() -> Vec<Case> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/avx512");
    let cases = Case::read_all(&root, |_| true);
    assert_eq!(cases.len(), 6, "cases of processors");
    cases
}

/// Results captured on a processor's tiles: any folder of such cases.
pub fn amx(what: &str) -> Option<Vec<Case>> {
    let cases = cases_of(AMX, what, |_| true)?;
    assert!(
        cases.len() >= 9,
        "{} cases of {AMX} for {what}",
        cases.len()
    );
    Some(cases)
}

/// Results of a simulator of Arm processors: any folder of such cases.
pub fn arm(what: &str) -> Option<Vec<Case>> {
    let cases = cases_of(ARM, what, |_| true)?;
    assert!(
        cases.len() >= 54,
        "{} cases of {ARM} for {what}",
        cases.len()
    );
    Some(cases)
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
