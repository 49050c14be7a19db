//! Which step of one run is which of the other.

use std::collections::{BTreeMap, VecDeque};

use super::step::Step;
use crate::compare::runs::document::LinkedBy;

/// Two steps by their positions, left and right.
pub struct Link {
    pub at: [usize; 2],
    pub by: LinkedBy,
}

/// Links steps by name, then those of one kind by their operands, in the left run's order. Other steps have no
/// counterpart.
pub fn links(left: &[Step], right: &[Step]) -> (Vec<Link>, [Vec<usize>; 2]) {
    let all = [left, right].map(|steps| (0..steps.len()).collect());
    let (by_name, unnamed) = linked(left, right, all, |step| step.name().to_owned());
    let (by_operands, alone) = linked(left, right, unnamed, |step| {
        let operands = step.operands.iter();
        let digests = operands.map(|(role, held)| (*role, held.sha256.clone()));
        (step.kind().to_owned(), digests.collect::<Vec<_>>())
    });
    let by = |pairs: Vec<[usize; 2]>, by| pairs.into_iter().map(move |at| Link { at, by });
    let by_name = by(by_name, LinkedBy::Name);
    let mut links: Vec<_> = by_name.chain(by(by_operands, LinkedBy::Operands)).collect();
    links.sort_by_key(|link| link.at);
    (links, alone)
}

/// Pairs of steps with the same key, the first with the first; and steps without a partner.
fn linked<K: Ord>(
    left: &[Step],
    right: &[Step],
    [of_left, of_right]: [Vec<usize>; 2],
    key: impl Fn(&Step) -> K,
) -> (Vec<[usize; 2]>, [Vec<usize>; 2]) {
    let mut there: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
    for at in of_right {
        there.entry(key(&right[at])).or_default().push_back(at);
    }
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for at in of_left {
        let other = there.get_mut(&key(&left[at])).and_then(VecDeque::pop_front);
        match other {
            Some(other) => pairs.push([at, other]),
            None => alone.push(at),
        }
    }
    let mut rest: Vec<usize> = there.into_values().flatten().collect();
    rest.sort_unstable();
    (pairs, [alone, rest])
}
