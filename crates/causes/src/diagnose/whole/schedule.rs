//! Another schedule that gives D.

use crate::candidates::{Guess, Wanted, guesses, tells_zeros};
use crate::diagnose::trial::Trial;
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::schedule::{
    ActivationChoice, AddendAt, BoundSchedule, Empty, Function, Level, Merge, Overrides, Parts,
    Residue, ScheduleSpec, SliceLength, Start, Values,
};
use crate::emu::{Arithmetic, Problem, Replay};
use crate::forms::InWords as _;
use crate::num::{F32, Factor};

/// What reports call the test of [`schedules`].
pub const TRIED: &str = "the schedules that identify searches, split K that drops its remainder";

/// The preset of one chain over K.
pub const PLAIN: &str = "plain";

/// How many other fitting schedules are counted, where one alone is weak evidence.
const COUNTED: usize = 100;

/// Numbers of slices of K whose tail may be lost.
const SLICES: std::ops::RangeInclusive<usize> = 2..=64;
const TILES: [usize; 2] = [64, 128];

/// The first schedule of the same arithmetic that fits, with the request's factors, bias and function; one chain over K
/// comes first. Not for sums that are multiplied by scales, which belong to one schedule.
pub fn schedules(case: &Case, trial: &Trial) -> Vec<Found> {
    trial.test(TRIED, || {
        if case
            .replay
            .kernel
            .is_some_and(|kernel| kernel.values.has_scales())
        {
            Err("sums are multiplied by scales of one kernel")
        } else {
            Ok(fitting(case, trial))
        }
    })
}

fn fitting(case: &Case, trial: &Trial) -> Vec<Found> {
    let replay = case.replay;
    let found = |what: String, too: String, preset: &str, overrides: Overrides| {
        let text = format!("{what}: {}{too}", trial.describe());
        let found = Found::new(Hypothesis::OtherSchedule, text);
        vec![found.asking(asked(preset, &overrides, replay.kernel))]
    };
    let own = replay.kernel;
    let neutral = |kernel: BoundSchedule| {
        kernel.values.is_neutral() && kernel.spec.epilogue.function.is_none()
    };
    if own.is_some_and(neutral) {
        let bare = Replay {
            kernel: None,
            ..replay
        };
        let readable = replay
            .problem
            .c
            .is_none_or(|c| c.tensor().format() == replay.arithmetic.addend());
        if readable && trial.fits_replay(&bare) {
            let what = "One chain over all of K, without a schedule";
            return found(what.into(), String::new(), PLAIN, Overrides::default());
        }
    }
    // Before a list that may cost all work.
    if !trial.is_weak()
        && let Some(found) = dropped_remainder(case, trial)
    {
        return vec![found];
    }
    let values = own.map_or_else(Values::default, |kernel| kernel.values.clone());
    let function = own.and_then(|kernel| kernel.spec.epilogue.function);
    let mut first = None;
    let mut others = 0;
    let zeros = tells_zeros(case.given);
    let list = trial.listing(|afford| searched(&replay, replay.arithmetic, zeros, afford));
    for mut guess in list {
        guess.spec.epilogue.function = function;
        // Only an epilogue multiplies C.
        let beta = values.beta == 1.0f32.to_bits() || guess.spec.addend == AddendAt::Epilogue;
        let fits = own.is_none()
            || BoundSchedule::check_compatible(
                &guess.spec,
                replay.arithmetic,
                &replay.problem,
                replay.format(),
            )
            .is_ok();
        let bias = !values.has_bias() || !guess.spec.is_in_place();
        if !beta || !fits || !bias {
            continue;
        }
        let kernel = BoundSchedule::new(&guess.spec, &values, &replay.problem);
        let scheduled = Replay {
            kernel: Some(kernel),
            ..replay
        };
        // Schedules that omit some k are reported as a dropped remainder.
        let span = replay.arithmetic.step.span();
        let whole = kernel.omitted(replay.problem.k, span).is_empty();
        if !whole || !trial.fits_replay(&scheduled) {
            continue;
        }
        match &first {
            None => first = Some(guess),
            Some(_) => others += 1,
        }
        if !trial.is_weak() || others == COUNTED {
            break;
        }
    }
    let Some(guess) = first else {
        return dropped_remainder(case, trial).into_iter().collect();
    };
    let what = format!(
        "A kernel with another order of the instruction's chain ({}: {})",
        guess.preset.name,
        guess.spec.in_words()
    );
    let too = match others {
        0 => String::new(),
        1 => ". Another schedule does, too".to_owned(),
        n => format!(". {n} other schedules do, too"),
    };
    found(what, too, &guess.preset.name, guess.overrides)
}

/// Asks for a preset with what the request does to finished sums.
pub fn asked(preset: &str, overrides: &Overrides, own: Option<BoundSchedule>) -> Ask {
    let mut overrides = overrides.clone();
    if let Some(own) = own {
        let factor = |code: u32| (code != 1.0f32.to_bits()).then(|| Factor::shortest(code));
        let values = own.values;
        overrides.alpha = overrides.alpha.or(factor(values.alpha));
        overrides.beta = overrides.beta.or(factor(values.beta));
        overrides.scale_result = overrides.scale_result.or(values.scale_result.map(F32));
        overrides.activation = match own.spec.epilogue.function {
            None => overrides.activation,
            Some(Function::Relu) => Some(ActivationChoice::Relu),
            Some(Function::ReluNan) => Some(ActivationChoice::ReluNan),
            // No option names it.
            Some(_) => return Ask::Nothing,
        };
    }
    Ask::Schedule {
        preset: preset.to_owned(),
        overrides: Box::new(overrides),
    }
}

/// The schedules that `identify` searches for an arithmetic, as many as the work pays for. `zeros`: zeros of D show where
/// +0 was added.
pub fn searched(
    replay: &Replay,
    arithmetic: &Arithmetic,
    zeros: bool,
    afford: &dyn Fn(u64) -> bool,
) -> Vec<Guess> {
    guesses(&Wanted {
        arithmetic,
        problem: &replay.problem,
        result: replay.format(),
        scales: None,
        zeros,
        afford,
    })
}

/// Whether a kernel multiplies sums by alpha, beta or scales.
pub fn multiplied(kernel: BoundSchedule) -> bool {
    !kernel.values.is_neutral() || kernel.values.has_scales()
}

/// Whether so many slices of such tiles omit just the last `lost` of `k`.
fn loses(k: usize, lost: usize, [slices, tile]: [usize; 2]) -> bool {
    (1..slices.min(k)).contains(&lost) && k % (tile * slices) == lost
}

/// Whether some number of slices of some tile does.
pub fn may_lose(k: usize, lost: usize) -> bool {
    let mut slices = SLICES;
    slices.any(|slices| TILES.iter().any(|&tile| loses(k, lost, [slices, tile])))
}

/// Slices of whole tiles that do not reach the end of K. A defect of cuBLAS's split K (nvjet, algorithm
/// 66) with tiles of 64, or of 128 for FP8: its slices have floor(K / s) rounded up to tiles.
pub fn dropped_remainder(case: &Case, trial: &Trial) -> Option<Found> {
    let replay = case.replay;
    let problem = replay.problem;
    if replay.kernel.is_some() || replay.arithmetic.scale.is_some() {
        return None;
    }
    for slices in SLICES {
        for tile in TILES {
            let lost = problem.k % (tile * slices);
            if !loses(problem.k, lost, [slices, tile]) {
                continue;
            }
            let spec = ScheduleSpec {
                tile_k: Some(tile),
                residue: Residue::Last,
                split: Some(Level {
                    parts: Parts::Slices {
                        count: Some(slices),
                        grain: None,
                        length: SliceLength::Ceil,
                        empty: Empty::Zero,
                    },
                    merge: Merge::serial(Start::First),
                }),
                ..ScheduleSpec::plain()
            };
            let whole = Problem {
                c: None,
                ..problem.part_k(0..problem.k - lost)
            };
            let possible = problem.c.is_none()
                && spec.validate().is_ok()
                && BoundSchedule::check_compatible(
                    &spec,
                    replay.arithmetic,
                    &whole,
                    replay.format(),
                )
                .is_ok();
            if !possible {
                continue;
            }
            let values = Values::default();
            let kernel = Some(BoundSchedule::new(&spec, &values, &whole));
            let cut = Replay {
                problem: whole,
                kernel,
                ..replay
            };
            if trial.fits_replay(&cut) {
                let left = problem.k - lost;
                let what = format!(
                    "The last {lost} of {} products are missing from every element: D is the sum of the first {left} \
                     in {slices} slices of {}, added in f32, a known defect of cuBLAS's split nvjet kernels (ALGO 66)",
                    problem.k,
                    left / slices
                );
                return Some(trial.found(Hypothesis::DroppedRemainder, what).at([left]));
            }
        }
    }
    None
}
