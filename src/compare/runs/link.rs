//! Which step of one run is which of the other.

use std::collections::{BTreeMap, VecDeque};

use super::step::Step;
use crate::report::LinkedBy;

/// Two steps by their positions, left and right.
pub struct Link {
    pub at: [usize; 2],
    pub by: LinkedBy,
}

/// Links steps of one name, then those that read the same and do the same, in the left run's order; what is left has no
/// counterpart.
pub fn links(left: &[Step], right: &[Step]) -> (Vec<Link>, [Vec<usize>; 2]) {
    let mut links = Vec::new();
    let by_name = |step: &Step| step.name().to_owned();
    let unnamed = linked(left, right, [all(left), all(right)], by_name, |at| {
        links.push(Link {
            at,
            by: LinkedBy::Name,
        });
    });
    let digests = |step: &Step| {
        let operands = step.operands.iter();
        let digests = operands.map(|(role, held)| (*role, held.sha256.clone()));
        digests.collect::<Vec<_>>()
    };
    let by_operands = |step: &Step| (step.kind().to_owned(), digests(step));
    let alone = linked(left, right, unnamed, by_operands, |at| {
        links.push(Link {
            at,
            by: LinkedBy::Operands,
        });
    });
    links.sort_by_key(|link| link.at);
    (links, alone)
}

fn all(steps: &[Step]) -> Vec<usize> {
    (0..steps.len()).collect()
}

/// Tells of steps that have the same key, the first with the first; returns the others.
fn linked<K: Ord>(
    left: &[Step],
    right: &[Step],
    [of_left, of_right]: [Vec<usize>; 2],
    key: impl Fn(&Step) -> K,
    mut tell: impl FnMut([usize; 2]),
) -> [Vec<usize>; 2] {
    let mut there: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
    for at in of_right {
        there.entry(key(&right[at])).or_default().push_back(at);
    }
    let mut alone = Vec::new();
    for at in of_left {
        let other = there.get_mut(&key(&left[at])).and_then(VecDeque::pop_front);
        match other {
            Some(other) => tell([at, other]),
            None => alone.push(at),
        }
    }
    let mut rest: Vec<usize> = there.into_values().flatten().collect();
    rest.sort_unstable();
    [alone, rest]
}
