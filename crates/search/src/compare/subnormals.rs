//! Whether one unit takes subnormal operands as zeros and the other does not, and how many there are.

use crate::check::Prepared;
use crate::emu::{Arithmetic, Element, Engine, Problem, Replay};
use crate::num::Format;
use crate::tensor::{Planes, Tensor};

/// Most numbers of an operand that are counted.
const COUNTED: usize = 1 << 20;

/// A sentence, if the two units differ in that and an operand has such numbers.
pub fn told(both: [&Prepared; 2]) -> Option<String> {
    let flushing = both.map(|one| flushes(&one.model().arithmetic));
    let (flushing, side, other) = match flushing {
        [true, false] => (both[0], "left", "right"),
        [false, true] => (both[1], "right", "left"),
        _ => return None,
    };
    let problem = flushing.problem();
    let shares = [("A", problem.a), ("B", problem.b)].map(|(name, planes)| (name, share(planes)));
    let some = shares.iter().filter(|(_, share)| *share >= 0.5);
    let some: Vec<String> = some
        .map(|(name, share)| format!("{share:.0} % of {name}'s numbers"))
        .collect();
    (!some.is_empty()).then(|| {
        format!(
            "The unit of the {side} takes subnormal operands as zeros, that of the {other} does not: {} are subnormal.",
            some.join(" and ")
        )
    })
}

/// Whether the smallest subnormal times one is zero.
fn flushes(arithmetic: &Arithmetic) -> bool {
    let [a, b] = [arithmetic.a, arithmetic.b];
    let floats = [a, b]
        .iter()
        .all(|f| !f.is_integer() && f.exponent_bits() > 0 && f.fraction_bits() > 0);
    if !floats || arithmetic.scale.is_some() {
        return false;
    }
    // The largest subnormal: products of smaller ones might vanish in a narrow accumulator.
    let largest = ((1u64 << a.fraction_bits()) - 1) << a.ignored_bits();
    let one = ((b.bias() as u64) << b.fraction_bits()) << b.ignored_bits();
    let element = |format: Format, code: u64| Tensor::from_codes(format, vec![1, 1], &[code]);
    let (a, b) = (element(a, largest), element(b, one));
    let Ok(problem) = Problem::new(a.planes(), b.planes(), None) else {
        return false;
    };
    let replay = Replay {
        problem,
        arithmetic,
        convert_to: None,
        engine: Engine::Exact,
        kernel: None,
    };
    let at = Element {
        batch: 0,
        row: 0,
        column: 0,
    };
    arithmetic
        .accumulator
        .unpack(replay.elements(&[at])[0])
        .is_zero()
}

/// How many of a hundred numbers are subnormal, of those counted.
fn share(planes: Planes) -> f64 {
    let format = planes.tensor().format();
    let plane = planes.plane(0);
    let rows = planes.rows().min(COUNTED.div_ceil(planes.columns().max(1)));
    let fraction = format.fraction_bits() + format.ignored_bits();
    let mut subnormal = 0u64;
    for row in 0..rows {
        for column in 0..planes.columns() {
            let magnitude = plane.code(row, column) & !format.sign_mask();
            subnormal += u64::from(magnitude != 0 && magnitude >> fraction == 0);
        }
    }
    100.0 * subnormal as f64 / (rows * planes.columns()).max(1) as f64
}
