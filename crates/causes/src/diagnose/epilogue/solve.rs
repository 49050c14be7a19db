//! Guesses at the numbers of an epilogue, concluded from D. Only their test makes them findings.

use std::collections::{BTreeMap, HashMap};

use super::formula::{Formula, Table};
use super::points::Point;
use crate::random::mix;

/// An element and the range of its number before a function.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub point: &'a Point,
    pub range: [f64; 2],
}

impl Known<'_> {
    fn bounded(&self) -> bool {
        self.range.iter().all(|end| end.is_finite())
    }

    fn middle(&self) -> f64 {
        (self.range[0] + self.range[1]) / 2.0
    }

    fn width(&self) -> f64 {
        self.range[1] - self.range[0]
    }

    /// The sum without C, or the requested one.
    fn sum(&self, bare: bool) -> f64 {
        f64::from(self.point.sum(bare))
    }

    /// Its row (side 0) or its column (side 1).
    fn index(&self, side: usize) -> usize {
        [self.point.row, self.point.at.column][side]
    }
}

/// Formulas that D may follow, by whether there is a C; none if D refutes them all.
pub type Solver = fn(&[Known], bool) -> Option<Vec<Formula>>;

/// What is concluded, by which solver, and how many unknown numbers there are at least.
///
/// Only what is concluded from ranges alone refutes: least squares may miss the numbers.
pub const SOLVERS: [(&str, Solver, usize, bool); 5] = [
    ("factors alpha and beta", factors, 2, false),
    ("a bias per column", bias, 0, false),
    ("a bias per row", row_bias, 0, false),
    ("scales of rows or columns", lines, 0, true),
    ("scales of rows and columns together", both, 0, false),
];

/// Most numbers that are tested.
const GUESSES: usize = 12;

const EVERYTHING: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

pub fn meet(one: [f64; 2], other: [f64; 2]) -> [f64; 2] {
    [one[0].max(other[0]), one[1].min(other[1])]
}

pub fn is_empty([low, high]: [f64; 2]) -> bool {
    low.is_nan() || high.is_nan() || low > high
}

/// The factors that take a number into a range.
pub fn quotient([low, high]: [f64; 2], by: f64) -> [f64; 2] {
    match by {
        0.0 if low <= 0.0 && 0.0 <= high => EVERYTHING,
        0.0 => [1.0, 0.0],
        _ if by > 0.0 => [low / by, high / by],
        _ => [high / by, low / by],
    }
}

/// The intersection of the ranges of all elements, for each row (side 0) or column (side 1).
fn common<'a>(
    known: impl IntoIterator<Item = &'a Known<'a>>,
    side: usize,
    range: impl Fn(&Known) -> [f64; 2],
) -> BTreeMap<usize, [f64; 2]> {
    let mut ranges = BTreeMap::new();
    for one in known {
        let common = ranges.entry(one.index(side)).or_insert(EVERYTHING);
        *common = meet(*common, range(one));
    }
    ranges
}

/// `alpha * sum`, with `C` as it is, left out or multiplied.
fn factors(known: &[Known], has_c: bool) -> Option<Vec<Formula>> {
    let alone = |betas: Option<f32>| {
        let c = betas.map_or(0.0, f64::from);
        let range = known.iter().fold(EVERYTHING, |range, one| {
            let off = c * f64::from(one.point.c);
            meet(
                range,
                quotient(one.range.map(|end| end - off), one.sum(true)),
            )
        });
        let numbers = numbers(range).into_iter().filter(|x| *x != 1.0);
        let formula = move |alpha| Formula {
            alpha,
            beta: betas,
            ..Formula::bare()
        };
        numbers.map(formula).collect::<Vec<_>>()
    };
    let mut all = alone(None);
    if !has_c {
        return (!all.is_empty()).then_some(all);
    }
    all.extend(alone(Some(1.0)));
    for alpha in alphas(known) {
        let range = known.iter().fold(EVERYTHING, |range, one| {
            let off = f64::from(alpha) * one.sum(true);
            let c = f64::from(one.point.c);
            // Both products may be rounded: that of alpha, and that of beta, which is about as large as what is left.
            let left = (one.range[0] - off).abs().max((one.range[1] - off).abs());
            let left = if left.is_finite() { left } else { 0.0 };
            let slack = 2f64.powi(-24) * (off.abs() + 1.000_001 * left);
            meet(
                range,
                quotient([one.range[0] - off - slack, one.range[1] - off + slack], c),
            )
        });
        for beta in numbers(range).into_iter().take(GUESSES) {
            all.extend([false, true].map(|apart| Formula {
                alpha,
                beta: Some(beta),
                apart,
                ..Formula::bare()
            }));
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Factors of the sums beside a factor of C, by least squares, the simple ones first.
fn alphas(known: &[Known]) -> Vec<f32> {
    let mut s = [0.0f64; 5];
    let mut widths = 0.0;
    for one in known.iter().filter(|one| one.bounded()) {
        let (x, z) = (one.sum(true), f64::from(one.point.c));
        let y = one.middle();
        let add = [x * x, x * z, z * z, x * y, z * y];
        s.iter_mut().zip(add).for_each(|(s, add)| *s += add);
        widths += one.width() * one.width() * x * x;
    }
    let [xx, xz, zz, xy, zy] = s;
    let determinant = xx * zz - xz * xz;
    if determinant <= 1e-9 * xx * zz {
        return Vec::new();
    }
    let alpha = (xy * zz - zy * xz) / determinant;
    let error = 4.0 * widths.sqrt() * zz / determinant + 1e-7 * alpha.abs();
    let mut numbers = numbers([alpha - error, alpha + error]);
    numbers.truncate(GUESSES);
    numbers
}

/// A constant for every column, added to the requested sum or to a multiple of the sum without C.
fn bias(known: &[Known], _: bool) -> Option<Vec<Formula>> {
    let mut found = Vec::new();
    for base in [Formula::requested(), Formula::twice(), Formula::bare()] {
        found.extend(with_bias(known, base));
    }
    // Deviations from the mean of each column are free of the bias.
    let mut means: BTreeMap<usize, [f64; 3]> = Default::default();
    let bounded = || known.iter().filter(|one| one.bounded());
    for one in bounded() {
        let mean = means.entry(one.point.at.column).or_default();
        let add = [one.sum(true), one.middle(), 1.0];
        mean.iter_mut()
            .zip(add)
            .for_each(|(mean, add)| *mean += add);
    }
    let (mut products, mut squares, mut widths) = (0.0, 0.0, 0.0);
    for one in bounded() {
        let [x, y, count] = means[&one.point.at.column];
        let x = one.sum(true) - x / count;
        products += x * (one.middle() - y / count);
        squares += x * x;
        widths += one.width() * one.width() * x * x;
    }
    if found.is_empty() && squares > 0.0 {
        let (alpha, error) = (products / squares, 4.0 * widths.sqrt() / squares);
        let alphas = numbers([alpha - error - 1e-7, alpha + error + 1e-7]);
        for alpha in alphas.into_iter().filter(|x| *x != 1.0).take(GUESSES) {
            let base = Formula {
                alpha,
                ..Formula::bare()
            };
            found.extend(with_bias(known, base));
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A constant for every row, added to the requested sum.
fn row_bias(known: &[Known], _: bool) -> Option<Vec<Formula>> {
    let bases = [Formula::requested(), Formula::twice()].into_iter();
    let found = bases.filter_map(|base| {
        let ranges = differences(known, 0, &base)?;
        let nothing = |[low, high]: &[f64; 2]| *low <= 0.0 && 0.0 <= *high;
        let row_bias = Some(table(&ranges)?).filter(|_| !ranges.values().all(nothing));
        row_bias.as_ref()?;
        Some(Formula { row_bias, ..base })
    });
    let found: Vec<Formula> = found.collect();
    (!found.is_empty()).then_some(found)
}

/// What may be added to a formula, for each row or column; none if nothing may.
fn differences(known: &[Known], side: usize, base: &Formula) -> Option<BTreeMap<usize, [f64; 2]>> {
    let ranges = common(known, side, |one| {
        let x = f64::from(base.linear(one.point));
        one.range.map(|end| end - x)
    });
    let possible = ranges.values().all(|range| !is_empty(*range));
    possible.then_some(ranges)
}

/// A number of every range.
fn table(ranges: &BTreeMap<usize, [f64; 2]>) -> Option<Table> {
    let numbers = ranges.iter();
    numbers
        .map(|(&index, &range)| Some((index, simple(range)?)))
        .collect()
}

/// One number for all columns if it fits all, else one for each.
fn with_bias(known: &[Known], base: Formula) -> Option<Formula> {
    let ranges = differences(known, 1, &base)?;
    let all = ranges
        .values()
        .fold(EVERYTHING, |all, range| meet(all, *range));
    // Where nothing has to be added, nothing is.
    if all[0] <= 0.0 && 0.0 <= all[1] {
        return None;
    }
    let table: Option<Table> = match numbers(all).first() {
        Some(&one) => Some(ranges.keys().map(|&column| (column, one)).collect()),
        None => table(&ranges),
    };
    Some(Formula {
        bias: Some(table?),
        ..base
    })
}

/// A number for every row, or for every column.
fn lines(known: &[Known], _: bool) -> Option<Vec<Formula>> {
    let mut found = Vec::new();
    for side in [0, 1] {
        let ranges = common(known, side, |one| quotient(one.range, one.sum(false)));
        // Where nothing has to be multiplied, nothing is.
        let one = |[low, high]: &[f64; 2]| *low <= 1.0 && 1.0 <= *high;
        let Some(table) = table(&ranges).filter(|_| !ranges.values().all(one)) else {
            continue;
        };
        let formula = Formula::requested();
        found.push(match side {
            0 => Formula {
                rows: Some(table),
                ..formula
            },
            _ => Formula {
                columns: Some(table),
                ..formula
            },
        });
    }
    (!found.is_empty()).then_some(found)
}

/// A number for every row times one for every column: each in turn, as far as the others allow.
fn both(known: &[Known], _: bool) -> Option<Vec<Formula>> {
    const ROUNDS: usize = 24;
    let strong =
        |one: &&Known| one.bounded() && one.range[0] * one.range[1] > 0.0 && one.sum(false) != 0.0;
    let known: Vec<&Known> = known.iter().filter(strong).collect();
    // Rows and columns by their positions among those that are known.
    let lines = [0, 1].map(|side| {
        let mut all: Vec<usize> = known.iter().map(|one| one.index(side)).collect();
        all.sort_unstable();
        all.dedup();
        all
    });
    let place = |one: &Known| {
        [0, 1].map(|side| {
            let found = lines[side].binary_search(&one.index(side));
            found.expect("it is one of them")
        })
    };
    let places: Vec<[usize; 2]> = known.iter().map(|one| place(one)).collect();
    let columns = lines[1].len();
    if !is_product(&known, &places, columns) {
        return None;
    }
    let mut scales = lines.each_ref().map(|all| vec![1.0; all.len()]);
    for round in 0..3 * ROUNDS {
        let side = round % 2;
        let scaled =
            |one: &Known, place: &[usize; 2]| one.sum(false) * scales[1 - side][place[1 - side]];
        // Elements of narrow ranges weigh more.
        let mut means = vec![[0.0f64; 2]; lines[side].len()];
        let mut ends = vec![EVERYTHING; lines[side].len()];
        for (one, place) in known.iter().zip(&places) {
            let x = scaled(one, place);
            let width = one.width() / x.abs();
            let weight = 1.0 / (width * width);
            let mean = &mut means[place[side]];
            mean[0] += weight * (one.range[0] + one.range[1]) / 2.0 / x;
            mean[1] += weight;
            let end = &mut ends[place[side]];
            *end = meet(*end, quotient(one.range, x));
        }
        let new = means.into_iter().zip(ends);
        // First the likeliest numbers, then ones in the middle of what all elements allow.
        let new = new.map(|([total, weight], [low, high])| match round {
            round if round < ROUNDS => total / weight,
            _ => (low + high) / 2.0,
        });
        scales[side] = new.collect();
    }
    // Each side is known except one factor of both: where the first column has 1.
    let first = *scales[1].first()?;
    if !first.is_finite() || first == 0.0 {
        return None;
    }
    // Scales near 1 are another rounding.
    if !scales.iter().any(|side| vary(side.iter().copied())) {
        return None;
    }
    let table = |side: usize, by: f64| -> Table {
        let all = lines[side].iter().zip(&scales[side]);
        all.map(|(&at, &scale)| (at, (scale * by) as f32)).collect()
    };
    Some(vec![Formula {
        rows: Some(table(0, first)),
        columns: Some(table(1, 1.0 / first)),
        ..Formula::requested()
    }])
}

/// Whether factors of rows times those of columns are possible: in two rows and two columns, the products across are
/// the same.
fn is_product(known: &[&Known], places: &[[usize; 2]], columns: usize) -> bool {
    const TESTED: u64 = 64;
    let at: HashMap<usize, usize> = (0..known.len())
        .map(|i| (places[i][0] * columns + places[i][1], i))
        .collect();
    let factor = |i: usize| {
        let [low, high] = quotient(known[i].range, known[i].sum(false));
        [low.abs().min(high.abs()), low.abs().max(high.abs())]
    };
    (0..TESTED).all(|test| {
        let pick = |word: u64| mix(word) as usize % known.len().max(1);
        let (one, other) = (pick(2 * test), pick(2 * test + 1));
        let (Some([row, column]), Some([under, beside])) = (places.get(one), places.get(other))
        else {
            return true;
        };
        let corner = |row: &usize, column: &usize| at.get(&(row * columns + column)).copied();
        let (Some(right), Some(below)) = (corner(row, beside), corner(under, column)) else {
            return true;
        };
        let product = |i: usize, j: usize| {
            let ([low, high], [least, most]) = (factor(i), factor(j));
            // Each factor is rounded, and each product.
            [low * least * (1.0 - 1e-6), high * most * (1.0 + 1e-6)]
        };
        !is_empty(meet(product(one, other), product(right, below)))
    })
}

/// Whether numbers differ by more than by roundings.
pub fn vary(numbers: impl Iterator<Item = f64> + Clone) -> bool {
    let first = numbers.clone().next().unwrap_or(1.0);
    numbers
        .into_iter()
        .any(|x| (x - first).abs() > 1e-3 * first.abs())
}

/// A number of a range: 0, one of few bits, one of few digits, or its middle.
fn simple(range: [f64; 2]) -> Option<f32> {
    let [low, high] = range;
    if is_empty(range) {
        return None;
    }
    if low <= 0.0 && 0.0 <= high {
        return Some(0.0);
    }
    let inside = |x: f32| low <= f64::from(x) && f64::from(x) <= high;
    let middle = match (low.is_finite(), high.is_finite()) {
        (true, true) => (low + high) / 2.0,
        (true, false) => low * if low > 0.0 { 1.25 } else { 0.75 },
        (false, true) => high * if high > 0.0 { 0.75 } else { 1.25 },
        (false, false) => 0.0,
    } as f32;
    let bf16 = f32::from_bits((middle.to_bits() + 0x8000) & 0xffff_0000);
    let near = [bf16, middle]
        .into_iter()
        .find(|&x| x.is_finite() && inside(x));
    near.or_else(|| numbers(range).first().copied())
}

/// Numbers in a range, the simple ones first.
pub fn numbers([low, high]: [f64; 2]) -> Vec<f32> {
    let middle = (low + high) / 2.0;
    let mut numbers: Vec<f32> = Vec::new();
    if !middle.is_finite() || low > high {
        return numbers;
    }
    let mut add = |x: f64| {
        let x = x as f32;
        let inside = x.is_finite() && x != 0.0 && low <= f64::from(x) && f64::from(x) <= high;
        if inside && !numbers.contains(&x) {
            numbers.push(x);
        }
    };
    // A power of two, then few digits. The clamp is for the logarithm of zero.
    add(middle.signum() * middle.abs().log2().round().exp2());
    let magnitude = middle.abs().log10().floor().clamp(-400.0, 400.0) as i32;
    for digits in 0..9 {
        let scale = 10f64.powi(digits - magnitude);
        add((middle * scale).round() / scale);
    }
    // 1/sqrt(d), as attention has it, and its double.
    let squared = (1.0 / (middle * middle)).round();
    add(middle.signum() / squared.sqrt());
    let nearest = middle as f32;
    for step in -3i32..=3 {
        add(f64::from(f32::from_bits(
            nearest.to_bits().wrapping_add_signed(step),
        )));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_numbers_come_first() {
        assert_eq!(numbers([0.299_999, 0.300_001])[0], 0.3);
        assert_eq!(numbers([-2.001, -1.99])[0], -2.0);
        assert_eq!(numbers([0.124, 0.1251])[0], 0.125);
        let third = 1.0 / 3.0;
        assert!(numbers([third - 1e-9, third + 1e-8]).contains(&(1.0 / 3.0)));
        assert!(numbers([1.0, 0.5]).is_empty());
    }

    #[test]
    fn a_number_of_a_range() {
        assert_eq!(simple([-1.0, 2.0]), Some(0.0));
        assert_eq!(simple([0.69, 0.71]), Some(0.699_218_75));
        assert_eq!(simple([0.699_999_9, 0.700_000_1]), Some(0.7));
        assert_eq!(simple([2.0, 1.0]), None);
    }
}
