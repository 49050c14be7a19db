//! Testing candidates: a few elements, more of them, then all of D.

use super::Candidate;
use crate::emu::schedule::{Kernel, Values};
use crate::emu::{Element, Engine, Problem, Progress, Replay};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::report::{Differ, Policy};
use crate::tensor::Tensor;

/// The problem and D as a candidate's formats read them.
pub struct Given<'a> {
    pub problem: Problem<'a>,
    pub d: &'a Tensor,
    /// What a schedule works with beside them.
    pub values: Values,
}

/// Which elements are looked at before the rest.
#[derive(Clone, Debug)]
pub struct Sample {
    /// In the order in which they are tested.
    pub elements: Vec<Element>,
    /// How many of them every candidate is tested on, so that agreement can be compared.
    pub first: usize,
}

/// How far a candidate came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gives every element of D.
    Fits,
    /// It gives the whole sample; nobody asked for more.
    FitsSample,
    /// It gives the sample, but not these many elements of D.
    DiffersInFull { mismatches: u64 },
    /// It does not give the sample.
    Differs,
}

/// A candidate and its outcome.
#[derive(Clone, Debug)]
pub struct Tested {
    /// Where in the list of candidates.
    pub candidate: usize,
    pub outcome: Outcome,
    /// Elements tested, those of the full replay not counted, and how many of them it gives.
    pub tested: usize,
    pub agreed: usize,
}

impl Sample {
    /// At most `most` elements of D, each once, chosen by `seed`.
    pub fn of(problem: &Problem, most: usize, first: usize, seed: u64) -> Sample {
        let (m, n) = (problem.m as u64, problem.n as u64);
        let all = problem.batches() as u64 * m * n;
        let element = |position: u64| Element {
            batch: (position / (m * n)) as usize,
            row: (position / n % m) as usize,
            column: (position % n) as usize,
        };
        let elements: Vec<_> = if all <= most as u64 {
            (0..all).map(element).collect()
        } else {
            let mut random = SplitMix64(seed);
            let mut seen = std::collections::HashSet::new();
            let draw = std::iter::from_fn(|| Some(random.word() % all));
            let fresh = draw.filter(|position| seen.insert(*position));
            fresh.take(most).map(element).collect()
        };
        Sample { elements, first }
    }
}

/// Tests every candidate; the best come first, equals in the order given. `given` reads the files in
/// the formats of a candidate.
pub fn search<'a>(
    candidates: &[Candidate],
    given: impl Fn(&Candidate) -> Given<'a>,
    sample: &Sample,
    full: Option<Engine>,
    progress: Progress,
) -> Vec<Tested> {
    let mut tested: Vec<_> = candidates
        .iter()
        .enumerate()
        .map(|(index, candidate)| test(index, candidate, &given(candidate), sample, full, progress))
        .collect();
    sort(&mut tested, sample);
    tested
}

/// The best first; of equals the one that comes first among the candidates.
pub fn sort(tested: &mut [Tested], sample: &Sample) {
    tested.sort_by_key(|t| {
        let class = match t.outcome {
            Outcome::Fits | Outcome::FitsSample => 0,
            Outcome::DiffersInFull { mismatches } => 1 + mismatches,
            Outcome::Differs => u64::MAX,
        };
        (
            class,
            std::cmp::Reverse(t.agreed.min(sample.first)),
            t.candidate,
        )
    });
}

impl Outcome {
    /// Whether it gives everything that was looked at.
    pub fn fits(self) -> bool {
        matches!(self, Outcome::Fits | Outcome::FitsSample)
    }
}

fn test(
    index: usize,
    candidate: &Candidate,
    given: &Given,
    sample: &Sample,
    full: Option<Engine>,
    progress: Progress,
) -> Tested {
    let replay = Replay {
        problem: given.problem,
        arithmetic: &candidate.arithmetic,
        convert_to: candidate.convert_to,
        engine: full.unwrap_or(Engine::Exact),
        kernel: candidate
            .schedule
            .as_ref()
            .map(|guess| Kernel::new(&guess.spec, &given.values, &given.problem)),
    };
    let planes = given.d.planes();
    let count = |elements: &[Element]| {
        let found = replay.elements(elements);
        let same = elements
            .iter()
            .zip(found)
            .filter(|(at, code)| planes.plane(at.batch).code(at.row, at.column) == *code);
        same.count()
    };
    let outcome = |outcome, tested, agreed| Tested {
        candidate: index,
        outcome,
        tested,
        agreed,
    };
    let (mut tested, mut agreed) = (0, 0);
    while tested < sample.elements.len() {
        // The first lot, then ever larger ones.
        let next = (2 * tested).max(sample.first).min(sample.elements.len());
        agreed += count(&sample.elements[tested..next]);
        tested = next;
        // Nearly all: a few tampered elements, perhaps, and worth counting.
        // Schedules are too many for that, and a wrong one often gives most of D.
        let nearly = 10 * agreed >= 9 * tested && candidate.schedule.is_none();
        if agreed < tested && (full.is_none() || !nearly) {
            return outcome(Outcome::Differs, tested, agreed);
        }
    }
    if full.is_none() {
        return outcome(Outcome::FitsSample, tested, agreed);
    }
    let mut differ = Differ::new(given.d, Policy::default(), 0);
    let done = replay.run(progress, |band| {
        differ.compare(&band);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(()) = done;
    let verdict = match differ.finish().mismatches {
        0 => Outcome::Fits,
        mismatches => Outcome::DiffersInFull { mismatches },
    };
    outcome(verdict, tested, agreed)
}

impl Candidate {
    /// D's format.
    pub fn result(&self) -> Format {
        self.convert_to.unwrap_or(self.arithmetic.accumulator)
    }
}
