//! Causes that the codes of D show without another computation.

use crate::diagnose::defects::known;
use crate::diagnose::groups::{Group, Shape};
use crate::diagnose::trial::Stored;
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::forms::grouped;
use crate::num::{Fields, Format, decimal};

/// What reports call these tests.
pub const SPECIALS: &str = "elements that are +0 or all equal, NaN payloads, signs of zero";
pub const FLIPPED: &str = "a flipped bit of D";

/// Most elements of an area that are all read.
const LOOKED_AT: u64 = 1 << 20;

/// Elements that are read of a larger area, or of a group without one.
const SOME: usize = 1024;

/// Whether all mismatches are NaNs with other bits, or zeros of the other sign.
pub fn specials(case: &Case) -> Option<Found> {
    let c = case.comparison;
    let all = grouped(c.mismatches);
    if c.classes.nan_payload == c.mismatches {
        let text = format!("All {all} mismatches are NaNs with other bits, so no number differs");
        return Some(Found::new(Hypothesis::NanPayload, text).asking(Ask::AnyNan));
    }
    if c.classes.zero_sign == c.mismatches {
        let text = format!("All {all} mismatches are zeros of the opposite sign");
        return Some(Found::new(Hypothesis::ZeroSign, text).asking(Ask::AnyZero));
    }
    None
}

/// Every element of D is the same.
pub fn constant(case: &Case) -> Option<Found> {
    let n = case.replay.problem.n;
    let seen = case.sample.different.iter().chain(&case.sample.equal);
    let mut codes = seen.map(|seen| seen.given);
    let first = codes.next()?;
    let format = case.replay.format();
    let is_zero = |code: u64| !format.is_integer() && format.unpack(code).is_zero();
    let is_same = |code: u64| code == first || is_zero(code) && is_zero(first);
    if case.comparison.mismatches < 2 || !case.is_whole() || !codes.all(is_same) {
        return None;
    }
    // All of a small D, many elements of a large one.
    let all = case.given.len() as u64;
    let step = all.div_ceil(LOOKED_AT).max(1) as usize;
    let mut places = (0..all as usize).step_by(step);
    let mut signs = false;
    let same = places.all(|at| {
        let given = case.stored([at / n, at % n]).given;
        signs |= given != first;
        is_same(given)
    });
    let hypothesis = match first {
        0 if !signs => Hypothesis::Unwritten,
        _ => Hypothesis::Constant,
    };
    let what = match step {
        1 => "every element of D".to_owned(),
        _ => format!(
            "every one of {} tested elements of D",
            grouped(all / step as u64)
        ),
    };
    let mut text = if signs {
        format!("{what} is a zero, +0 or -0")
    } else {
        of_code(&what, format, first)
    };
    let arithmetic = case.replay.arithmetic;
    if first == 0 && arithmetic.a == Format::E2m1 && arithmetic.scale.is_some() {
        text += &known("unwritten_fp4", case.architecture);
    }
    same.then(|| Found::new(hypothesis, text))
}

/// Says that elements all have this code.
fn of_code(what: &str, format: Format, code: u64) -> String {
    if code == 0 {
        return format!("{what} is +0, as if it had never been written");
    }
    let width = 2 * format.bytes();
    format!("{what} is {} (0x{code:0width$x})", decimal(format, code))
}

/// Every element of the group's area is the same.
pub fn constant_in(case: &Case, group: &Group) -> Option<Found> {
    let size = case.size();
    let area = group.area(size);
    let whole = matches!(group.shape, Shape::Lines { .. } | Shape::Rectangle { .. });
    if group.mismatches < 2 {
        return None;
    }
    let first = group.sample(1);
    let code = case.stored(*first.first()?).given;
    let same = |at: [usize; 2]| case.stored(at).given == code;
    let looked_at = if area > LOOKED_AT || !whole {
        group.sample(SOME)
    } else {
        Vec::new()
    };
    let constant = if looked_at.is_empty() {
        area_of(case, group).all(same)
    } else {
        looked_at.iter().copied().all(same)
    };
    if !constant {
        return None;
    }
    let what = match looked_at.len() {
        SOME => format!("every one of {} tested elements", grouped(SOME as u64)),
        // Of a large area only elements that differ were read.
        1.. if whole => "every element that differs".to_owned(),
        _ => "every element".to_owned(),
    };
    let text = of_code(&what, case.replay.format(), code);
    // A few equal numbers prove nothing.
    match code {
        0 => Some(Found::new(Hypothesis::Unwritten, text)),
        _ => (group.mismatches >= 8).then(|| Found::new(Hypothesis::Constant, text)),
    }
}

/// The elements of an area: rows and columns.
fn area_of<'a>(case: &Case, group: &'a Group) -> Box<dyn Iterator<Item = [usize; 2]> + 'a> {
    let size = case.size();
    match &group.shape {
        Shape::Lines { side, lines, .. } => {
            let line = move |&line: &usize| {
                (0..size.length(*side)).map(move |along| size.element(*side, line, along))
            };
            Box::new(lines.iter().flat_map(line))
        }
        _ => {
            let [left, right] = group.columns;
            let row = move |row: usize| (left..right).map(move |column| [row, column]);
            Box::new((group.rows[0]..group.rows[1]).flat_map(row))
        }
    }
}

/// Says that all of these are +0, if they are and there are many.
pub fn all_alike(format: Format, all: &[(Stored, u64)]) -> Option<String> {
    const LEAST: usize = 16;
    let zero = all.iter().all(|(stored, _)| stored.given == 0);
    let what = format!("every element that differs, of {} tested,", all.len());
    (all.len() >= LEAST && zero).then(|| of_code(&what, format, 0))
}

/// How far all of these are from the codes they should have, if that is the same for many: in units in the last place
/// of their magnitudes, or of integers themselves.
pub fn off_by(format: Format, all: &[(Stored, u64)]) -> Option<i64> {
    /// Fewer may be off by chance.
    const LEAST: usize = 16;
    /// More is no rounding error of a converter.
    const MOST: u64 = 4;
    let sign = format.sign_mask();
    let distance = |(stored, expected): &(Stored, u64)| {
        let [given, expected] = [stored.given, *expected];
        if format.is_integer() {
            return Some((given as u32).wrapping_sub(expected as u32) as i32 as i64);
        }
        let magnitude = |code: u64| (code & !sign) as i64;
        (given & sign == expected & sign).then(|| magnitude(given) - magnitude(expected))
    };
    let by = distance(all.first()?)?;
    let near = format.is_integer() || by.unsigned_abs() <= MOST;
    let same = all.iter().all(|pair| distance(pair) == Some(by));
    (all.len() >= LEAST && near && same && by != 0).then_some(by)
}

/// `every element is 1 ulp further from zero than it should be, in all 64 tested elements`
pub fn of_distance(format: Format, by: i64, tested: usize) -> String {
    let count = by.unsigned_abs();
    if format.is_integer() {
        let how = if by > 0 { "larger" } else { "smaller" };
        return format!(
            "every element is {} {how} than it should be, in all {tested} tested elements",
            grouped(count)
        );
    }
    let how = if by > 0 { "further from" } else { "nearer to" };
    format!(
        "every element is {count} ulp {how} zero than it should be, in all {tested} tested elements"
    )
}

/// The one bit that differs in all of these pairs of a stored element and the code it should have.
pub fn flipped_bit(format: Format, all: &[(Stored, u64)]) -> Option<u32> {
    let (stored, reproduced) = all.first()?;
    let xor = stored.given ^ reproduced;
    let same = |(stored, reproduced): &(Stored, u64)| stored.given ^ reproduced == xor;
    let one = xor.count_ones() == 1 && xor <= format.max_code();
    (one && all.iter().all(same) && !is_policy(format, all)).then(|| xor.trailing_zeros())
}

/// Whether all of these are the largest number on one side, and infinite or NaN on the other: a conversion does that.
fn is_policy(format: Format, all: &[(Stored, u64)]) -> bool {
    let magnitude = |code: u64| code & !format.sign_mask();
    let special = |code: u64| {
        let number = format.unpack(code);
        number.is_nan() || number.is_infinite()
    };
    let (first, expected) = all[0];
    let same = |(stored, reproduced): &(Stored, u64)| {
        magnitude(stored.given) == magnitude(first.given)
            && magnitude(*reproduced) == magnitude(expected)
    };
    !format.is_integer()
        && all.len() > 1
        && special(first.given) != special(expected)
        && all.iter().all(same)
}

/// The field of a number that has this bit.
pub fn field(format: Format, bit: u32) -> &'static str {
    let fields = Fields::differing(format, 0, 1 << bit);
    match (fields.sign, fields.exponent) {
        (true, _) => "sign",
        (_, true) => "exponent",
        _ if format.is_integer() => "value",
        _ => "significand",
    }
}
