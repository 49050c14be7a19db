//! Every captured result, bit for bit.

use crate::common::say;
use crate::common::vectors::captured;

#[test]
fn every_captured_result_is_reproduced() {
    let Some(cases) = captured("captured results") else {
        return;
    };
    let mut results = 0;
    let mut wrong = Vec::new();
    for case in &cases {
        let mismatches = case.mismatches(&case.choice().arithmetic);
        results += case.d.len();
        if mismatches > 0 {
            wrong.push((&case.name, mismatches));
        }
    }
    let mismatches: usize = wrong.iter().map(|(_, count)| count).sum();
    say(format_args!(
        "hw-vectors: {} cases, {results} dot products replayed, {mismatches} mismatches",
        cases.len()
    ));
    assert!(wrong.is_empty(), "not reproduced: {wrong:?}");
    assert_eq!(results, 30 * 2500 + 13);
}
