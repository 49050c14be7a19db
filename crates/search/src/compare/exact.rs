//! Which of two results is the correctly rounded one, where they differ.

use super::results::Pair;
use crate::check::Subject;
use crate::check::{CheckError, Prepared};
use crate::compare::document::CorrectlyRounded;
use crate::compose::explanation;
use crate::explain::Wish;
use crate::num::{Rounding, Target, ulp_distance};
use crate::report::Conclusion;
use crate::tensor::{Order, unravel};

/// The longest K whose sums are computed exactly: longer ones take too long.
const MAX_K: usize = 1 << 16;

/// Counts over some of the elements that differ, from the operands of a rule that gives one of the results. None if the
/// rule does more with the sums than adding C and rounding.
///
/// # Errors
/// If a file has changed.
pub fn count(
    pair: &Pair,
    found: &Conclusion,
    prepared: &Prepared,
) -> Result<Option<CorrectlyRounded>, CheckError> {
    let shape = prepared.problem().d_shape();
    if shape != pair.shape() || prepared.problem().k > MAX_K {
        return Ok(None);
    }
    let format = pair.format();
    let nearest = Target::full(format, Rounding::NearestEven);
    let mut count = CorrectlyRounded {
        farthest: [Some(0); 2],
        ..CorrectlyRounded::default()
    };
    for seen in &found.sample.different {
        let index = unravel(seen.position, &shape, Order::C);
        let explanation = explanation(prepared, &index, Wish::default())?;
        let exact = explanation
            .exact
            .and_then(|exact| exact.value.round(nearest));
        let Some(exact) = exact else {
            return Ok(None);
        };
        count.elements += 1;
        let codes = pair.codes(seen.position);
        for (side, code) in codes.into_iter().enumerate() {
            count.rounded[side] += u64::from(code == exact);
            let distance = ulp_distance(format, exact, code).map(i128::unsigned_abs);
            let farthest = count.farthest[side].zip(distance);
            count.farthest[side] = farthest.map(|(far, distance)| far.max(distance));
        }
        count.neither += u64::from(!codes.contains(&exact));
    }
    prepared.confirm_unchanged()?;
    Ok((count.elements > 0).then_some(count))
}
