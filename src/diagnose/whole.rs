//! One computation that explains all of D.

use super::trial::Trial;
use super::{Case, Found, computed, moved, narrow, partial, schedule};

/// One computation for all elements of a trial: its own work, and that of schedules.
pub fn whole(case: &Case, [computing, scheduling]: &[Trial; 2]) -> Vec<Found> {
    // A lone mismatch of few bits is likelier another order of adding up than anything else.
    if computing.is_weak() {
        let mut found = schedule::schedules(case, scheduling);
        found.extend(computed::computations(case, computing));
        return found;
    }
    // Of wide results, one element fits too many computations by chance, and none differs alone.
    if computing.differing().nth(1).is_none() {
        return Vec::new();
    }
    let mut found = computed::computations(case, computing);
    if found.is_empty() {
        found = schedule::schedules(case, scheduling);
    }
    if found.is_empty() {
        found.extend(partial::lost_tail(case, computing));
    }
    for side in [0, 1] {
        if found.is_empty() {
            found.extend(moved::moved(case, computing, side));
        }
    }
    if found.is_empty() {
        found = narrow::narrow(case, computing, scheduling);
    }
    found
}
