//! What separates two explanations.

use crate::report::{Fit, Identified, Relation};

/// Fits of a side that are examined.
const LOOKED_AT: usize = 256;

/// The pair of fits, one of each side, that has most in common, and what it has not: a position in each list.
///
/// Of equal operands, a computation that fits both results by the elements it was tested on separates nothing.
pub fn nearest(left: &[Fit], right: &[Fit], inputs_differ: bool) -> Option<([usize; 2], Relation)> {
    let mut best: Option<(Relation, usize, [usize; 2])> = None;
    for (i, one) in left.iter().take(LOOKED_AT).enumerate() {
        for (j, other) in right.iter().take(LOOKED_AT).enumerate() {
            let relation = between(&one.model, &other.model);
            if relation == Relation::Same && !inputs_differ {
                continue;
            }
            let rank = (relation, i + j, [i, j]);
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
            }
        }
    }
    best.map(|(relation, _, pair)| (pair, relation))
}

fn between(one: &Identified, other: &Identified) -> Relation {
    let schedule = |model: &Identified| model.schedule.as_ref().map(|of| of.sha256.clone());
    let unit = one.sha256 == other.sha256;
    let order = schedule(one) == schedule(other);
    let rounding = one.rounded_to == other.rounded_to;
    match (unit, order) {
        (true, true) if rounding => Relation::Same,
        (true, true) => Relation::Rounding,
        (true, false) => Relation::Order,
        (false, true) => Relation::Unit,
        (false, false) => Relation::UnitAndOrder,
    }
}
