//! Products missing from every element of a trial: one product, a step, or a slice of K.

use crate::diagnose::Element as Operands;
use crate::diagnose::estimate::{noise, value};
use crate::diagnose::flipped_bits::with_line;
use crate::diagnose::trial::{Stored, Tested, Trial};
use crate::diagnose::{Case, Hypothesis, MAX_SEARCHED_K};
use crate::emu::{Element, Replay};

/// What reports call this test.
pub const TRIED: &str = "a missing product, step or slice of K";

/// Most ranges of k that are tested bit for bit; estimates choose them.
const TESTED: usize = 64;

/// Tiles of K that a loop may lose.
const TILES: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Numbers of slices of K, one of which a kernel may lose.
const SLICES: std::ops::RangeInclusive<usize> = 2..=64;

/// Most elements by which ranges are estimated.
const ESTIMATED: usize = 8;

/// Whether sums can be estimated.
fn check(case: &Case) -> Result<(), &'static str> {
    let replay = case.replay;
    if replay.problem.k < 2 {
        return Err("there is one product");
    }
    if replay.problem.k > MAX_SEARCHED_K {
        return Err("K is too long");
    }
    if replay.format().is_integer() || replay.arithmetic.scale.is_some() {
        return Err("sums are integers or have their own scales");
    }
    Ok(())
}

/// A range of k without whose products the model gives every element.
pub fn missing(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let problem = replay.problem;
    check(case)?;
    let span = replay.arithmetic.step.span();
    let estimated = estimates(case, trial)?;
    let mut likely: Vec<(f64, [usize; 2])> = ranges(problem.k, span)
        .into_iter()
        .filter_map(|range| {
            let off = estimated.iter().map(|element| element.off(range));
            off.sum::<Option<f64>>().map(|off| (off, range))
        })
        .collect();
    likely.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    for (_, [first, end]) in likely.into_iter().take(TESTED) {
        if !trial.fits(&|at: &[Element]| without(&replay, at, [first, end])) {
            continue;
        }
        let (hypothesis, what, at) = described([first, end], (problem.k, span));
        return Ok(vec![trial.found(hypothesis, what).at(at)]);
    }
    Ok(Vec::new())
}

/// Ranges of k without whose products most elements are right by estimate, the likeliest first.
pub fn likely(case: &Case, trial: &Trial) -> Vec<Missing> {
    /// As many are worth a test.
    const LIKELY: usize = 4;
    let (problem, span) = (case.replay.problem, case.replay.arithmetic.step.span());
    if check(case).is_err() {
        return Vec::new();
    }
    let Ok(estimated) = estimates(case, trial) else {
        return Vec::new();
    };
    let mut likely: Vec<(usize, f64, [usize; 2])> = ranges(problem.k, span)
        .into_iter()
        .map(|range| {
            let off = estimated.iter().filter_map(|element| element.off(range));
            let off: Vec<f64> = off.collect();
            (off.len(), off.iter().sum(), range)
        })
        .filter(|(right, ..)| 4 * right >= 3 * estimated.len())
        .collect();
    likely.sort_by(|(x, off, _), (y, other, _)| y.cmp(x).then(off.total_cmp(other)));
    let described = |(_, _, range): (usize, f64, [usize; 2])| {
        let (kind, what, _) = described(range, (problem.k, span));
        Missing { range, kind, what }
    };
    likely.into_iter().take(LIKELY).map(described).collect()
}

/// A range of k without products, in words.
pub struct Missing {
    pub range: [usize; 2],
    pub kind: Hypothesis,
    pub what: String,
}

/// The hypothesis that these k are missing, of so many and in steps of so many, its words and its numbers.
fn described(
    [first, end]: [usize; 2],
    (k, span): (usize, usize),
) -> (Hypothesis, String, Vec<usize>) {
    match end - first {
        1 => (
            Hypothesis::ProductMissing,
            format!("the product at k {first} is missing"),
            vec![first],
        ),
        length if first % span == 0 && length == span.min(k - first) => {
            let step = first / span + 1;
            let part = if length < span {
                format!(", the last {length} products of a step that takes {span}")
            } else {
                String::new()
            };
            let what = format!("step {step} is missing (k {first} to {}{part})", end - 1);
            (Hypothesis::StepMissing, what, vec![step])
        }
        length => {
            let share = k / length;
            let slice = if k == share * length && first % length == 0 {
                format!(" (slice {} of {share})", first / length + 1)
            } else if length < span {
                let step = first / span + 1;
                format!(" ({length} of the {span} products of step {step})")
            } else {
                String::new()
            };
            let what = format!(
                "the products of k {first} to {}{slice} are missing",
                end - 1
            );
            (Hypothesis::SliceMissing, what, vec![first, end])
        }
    }
}

/// Estimates of some elements that differ.
fn estimates(case: &Case, trial: &Trial) -> Result<Vec<Estimated>, &'static str> {
    let sampled: Vec<_> = trial.differing().take(ESTIMATED).collect();
    if sampled.len() < 2 {
        return Err("a single element is too little evidence");
    }
    if !trial.affords(2 * case.price(&sampled)) {
        return Err(crate::diagnose::trial::SPENT);
    }
    let at: Vec<Element> = sampled.iter().map(|stored| stored.at).collect();
    let expected = case.replay.elements(&at);
    let pairs = sampled.iter().zip(expected);
    let of =
        |(stored, expected): (&Stored, u64)| Estimated::of(case, stored.at, expected, stored.given);
    Ok(pairs.map(of).collect())
}

/// Ranges of k that a kernel may leave out: products, steps, tiles, slices.
fn ranges(k: usize, span: usize) -> Vec<[usize; 2]> {
    let mut lengths = vec![1, span];
    lengths.extend(TILES);
    for slices in SLICES {
        let length = k.div_ceil(slices);
        lengths.extend([
            length,
            length.next_multiple_of(span),
            length.next_multiple_of(32),
            length.next_multiple_of(64),
        ]);
    }
    lengths.retain(|&length| 0 < length && length < k);
    lengths.sort_unstable();
    lengths.dedup();
    let all = lengths.into_iter().flat_map(|length| {
        (0..k)
            .step_by(length)
            .map(move |first| [first, (first + length).min(k)])
    });
    all.collect()
}

/// Elements of D without the products of these k.
fn without(replay: &Replay, at: &[Element], [first, end]: [usize; 2]) -> Vec<u64> {
    let one = |at: &Element| {
        let plane = replay.problem.a.plane(at.batch);
        let code = |k: usize| {
            if (first..end).contains(&k) {
                0
            } else {
                plane.code(at.row, k)
            }
        };
        let codes: Vec<u64> = (0..replay.problem.k).map(code).collect();
        with_line(replay, at, 0, &codes)
    };
    at.iter().map(one).collect()
}

/// Estimates of an element.
struct Estimated {
    /// The sum of the products before each k.
    before: Vec<f64>,
    /// How far it is off, and how far rounding can take it.
    off: f64,
    noise: f64,
}

impl Estimated {
    fn of(case: &Case, at: Element, expected: u64, given: u64) -> Estimated {
        let (replay, format) = (&case.replay, case.replay.format());
        let arithmetic = replay.arithmetic;
        let mut before = vec![0.0];
        let (mut sum, mut size) = (0.0, 0.0);
        for product in Operands::of(replay, &at).estimates() {
            sum += product;
            size += product.abs();
            before.push(sum);
        }
        let [expected, given] = [expected, given].map(|code| value(format, code));
        let unit = (-f64::from(format.fraction_bits())).exp2();
        Estimated {
            before,
            off: given - expected,
            noise: noise(arithmetic.a, arithmetic.accumulator) * size
                + unit * (expected.abs() + given.abs()),
        }
    }

    /// How far the element is off without a range, as a share of the noise; none if further than that. Where the
    /// estimate is not finite, every range is possible.
    fn off(&self, [first, end]: [usize; 2]) -> Option<f64> {
        let off = (self.off + self.before[end] - self.before[first]).abs()
            / (self.noise + f64::MIN_POSITIVE);
        if off.is_finite() {
            (off <= 1.0).then_some(off)
        } else {
            Some(1.0)
        }
    }
}
