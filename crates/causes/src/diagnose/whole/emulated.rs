//! FP64 or FP32 operands that a kernel took apart, to multiply the terms in a narrower format.

use crate::candidates::{self, Emulation};
use crate::diagnose::trial::{Tested, Trial};
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::schedule::{BoundSchedule, Values};
use crate::emu::{Arithmetic, Problem, Replay};
use crate::forms::InWords as _;
use crate::num::Format;

/// What reports call the test of [`emulations`](candidates::emulations).
pub const TRIED: &str = "FP64 by slices of INT8, FP32 by BF16 or TF32 terms";

/// Whether the requested schedule takes operands apart, so that no other one of its instruction reads them.
pub fn is_apart(replay: &Replay) -> bool {
    let given = replay.problem.a.tensor().format();
    // Terms of TF32 are made of operands that are read as TF32.
    given != replay.arithmetic.a
}

/// The first emulation that gives D.
pub fn emulations(case: &Case, trial: &Trial) -> Vec<Found> {
    trial.test(TRIED, || tested(case, trial))
}

/// The emulations of FP64 alone: enough slices give the exact sum, which is no other unit's then.
pub fn of_fp64(case: &Case, trial: &Trial) -> Vec<Found> {
    match case.replay.problem.a.tensor().format() {
        Format::Fp64 => emulations(case, trial),
        _ => Vec::new(),
    }
}

fn tested(case: &Case, trial: &Trial) -> Tested {
    let replay = case.replay;
    let Problem { a, b, .. } = replay.problem;
    let wide = a.tensor().format();
    let listed = matches!(wide, Format::Fp32 | Format::Fp64) && b.tensor().format() == wide;
    if !listed || replay.problem.scales.is_some() || replay.format() != wide {
        return Ok(Vec::new());
    }
    if replay
        .kernel
        .is_some_and(crate::diagnose::whole::schedule::multiplied)
    {
        return Err("sums are multiplied by numbers of one kernel");
    }
    let values = Values::default();
    let mut rules: Vec<(Format, Option<Arithmetic>)> = Vec::new();
    for Emulation {
        preset,
        narrow,
        variants,
    } in candidates::emulations(wide)
    {
        if rules.iter().all(|(format, _)| *format != narrow) {
            let own = (replay.arithmetic.a == narrow).then(|| replay.arithmetic.clone());
            rules.push((narrow, own.or_else(|| (case.rule)([narrow; 2]))));
        }
        let rule = rules.iter().find(|(format, _)| *format == narrow);
        let Some(arithmetic) = rule.and_then(|(_, arithmetic)| arithmetic.as_ref()) else {
            continue;
        };
        let convert_to = (arithmetic.accumulator != wide).then_some(wide);
        for overrides in variants {
            let mut schedule = preset.clone();
            if overrides.apply(&mut schedule).is_err() {
                continue;
            }
            let spec = &schedule.spec;
            if BoundSchedule::check(spec, &values, arithmetic, &replay.problem, wide).is_err() {
                break;
            }
            let kernel = BoundSchedule::new(spec, &values, &replay.problem);
            let emulated = Replay {
                arithmetic,
                convert_to,
                kernel: Some(kernel),
                ..replay
            };
            if trial.fits_replay(&emulated) {
                let what = format!(
                    "The {wide} operands were taken apart and multiplied as {narrow} ({}: {})",
                    preset.name,
                    spec.in_words()
                );
                let found = trial.found(Hypothesis::OtherModelAndSchedule, what);
                let overrides = Box::new(overrides);
                let preset = preset.name.clone();
                return Ok(vec![found.asking(Ask::Schedule { preset, overrides })]);
            }
        }
    }
    Ok(Vec::new())
}
