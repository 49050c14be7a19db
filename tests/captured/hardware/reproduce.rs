//! Every captured result, bit for bit, by every engine.

use crate::support::vectors::{HARDWARE, captured, replay_all};

#[test]
fn every_captured_result_is_reproduced() {
    if let Some(cases) = captured("captured results") {
        let results = replay_all(HARDWARE, &cases);
        assert_eq!(results, 30 * 2500 + 13);
    }
}
