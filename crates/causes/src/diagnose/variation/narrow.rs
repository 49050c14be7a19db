//! Operands that a unit takes in fewer bits than they have: FP32 as TF32, wide floats as BF16 or FP16; and the reverse,
//! a product of all their bits.

use std::collections::{BTreeMap, HashSet};

use super::{Around, Read, Variation};
use crate::candidates::{Candidate, Conditions, Guess, candidates, tells_zeros};
use crate::diagnose::defects::known;
use crate::diagnose::estimate::value;
use crate::diagnose::trial::{SPENT, Tested, Trial};
use crate::diagnose::whole::schedule::{PLAIN, asked, searched};
use crate::diagnose::{Ask, Case, Hypothesis};
use crate::emu::Element;
use crate::emu::schedule::{AddendAt, BoundSchedule, Overrides, Values};
use crate::forms::InWords as _;
use crate::num::{Format, Rounding, result_code};
use crate::tensor::{Planes, Tensor};

/// What reports call this test.
pub const FORMATS: &str = "operands taken in fewer or more bits (TF32, XF32, BF16, FP16, FP32)";

/// Schedules that are tried of each.
const SCHEDULES: usize = 64;

/// How the operands become those of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Codes stay; a TF32 unit ignores their low bits.
    Cut,
    /// Rounded to nearest.
    Nearest,
}

/// Units that take the operands in another precision.
pub fn narrower(case: &Case, trial: &Trial) -> Tested {
    let own = case.replay;
    let [a, b] = [own.arithmetic.a, own.arithmetic.b];
    let scaled = own.problem.scales.is_some() || own.kernel.is_some_and(|k| k.values.has_scales());
    if a != b || scaled || own.problem.selected.is_some() || trial.is_weak() {
        return Ok(Vec::new());
    }
    let tensor_cores = [Format::Tf32, Format::Xf32];
    let to: Vec<(Format, Way)> = match a {
        Format::Fp32 => vec![
            (Format::Tf32, Way::Nearest),
            (Format::Tf32, Way::Cut),
            (Format::Xf32, Way::Cut),
            (Format::Xf32, Way::Nearest),
            (Format::Bf16, Way::Nearest),
            (Format::Fp16, Way::Nearest),
            (Format::Bf16, Way::Cut),
        ],
        Format::Tf32 | Format::Xf32 => vec![
            (Format::Fp32, Way::Cut),
            (Format::Bf16, Way::Nearest),
            (Format::Fp16, Way::Nearest),
        ],
        Format::Fp16 => vec![(Format::Bf16, Way::Nearest)],
        Format::Bf16 => vec![(Format::Fp16, Way::Nearest)],
        _ => return Ok(Vec::new()),
    };
    let mut tried = Vec::new();
    for (format, way) in to {
        let rounds = tensor_cores.contains(&format) || format == Format::Fp32;
        let read = |planes: Planes| {
            let tensor = planes.tensor();
            // The request's own rounding is of another unit.
            let plain = tensor.with_tf32_rounding(false);
            let read = plain.as_ref().unwrap_or(tensor).reread(format)?;
            match way {
                Way::Nearest => read.with_tf32_rounding(true),
                Way::Cut => Some(read),
            }
        };
        let arrays = if rounds {
            match [own.problem.a, own.problem.b].map(read) {
                [Some(a), Some(b)] => Some([a, b]),
                _ => continue,
            }
        } else {
            None
        };
        // Rounding that changes no operand is no cause.
        if !rounds
            && !rounding_changes(case, trial, 0, (format, way))?
            && !rounding_changes(case, trial, 1, (format, way))?
        {
            continue;
        }
        for candidate in units(case, format) {
            let plain = varied(case, &candidate, way, arrays.as_ref(), None);
            if plain.fits(case, trial) {
                return Ok(vec![plain.found(trial)]);
            }
            tried.push((candidate, way, arrays.clone()));
        }
    }
    // Of units with the same steps, schedules are the same. Those of TF32 alone are common.
    tried.retain(|(candidate, ..)| {
        tensor_cores.contains(&candidate.arithmetic.a) && candidate.arithmetic.step.span() > 1
    });
    let zeros = !tried.is_empty() && tells_zeros(case.given);
    let mut lists: BTreeMap<usize, Vec<Guess>> = BTreeMap::new();
    for (candidate, way, arrays) in &tried {
        let list = lists.entry(candidate.arithmetic.step.span());
        let guesses = list.or_insert_with(|| {
            trial.listing(|afford| searched(&own, &candidate.arithmetic, zeros, afford))
        });
        for guess in guesses.iter().take(SCHEDULES) {
            if own.problem.c.is_some() && guess.spec.addend != AddendAt::Epilogue {
                continue;
            }
            let fits = BoundSchedule::check_compatible(
                &guess.spec,
                &candidate.arithmetic,
                &own.problem,
                own.format(),
            );
            if fits.is_err() {
                continue;
            }
            let one = varied(case, candidate, *way, arrays.as_ref(), Some(guess));
            if one.fits(case, trial) {
                return Ok(vec![one.found(trial)]);
            }
        }
    }
    Ok(Vec::new())
}

/// Other units for the requested formats, each in one chain; and TF32 units for FP32.
pub fn models<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let own = case.replay;
    let [a, b] = [own.arithmetic.a, own.arithmetic.b];
    let scaled = own.problem.scales.is_some() || own.kernel.is_some_and(|k| k.values.has_scales());
    if a != b || scaled {
        return Vec::new();
    }
    let operands = [own.problem.a.tensor(), own.problem.b.tensor()];
    let mut all = Vec::new();
    for candidate in units(case, a) {
        if candidate.arithmetic == *own.arithmetic && own.kernel.is_none() {
            continue;
        }
        let unit = &candidate.names[0];
        let what = format!(
            "another unit, {} {}, in one chain",
            unit.architecture, unit.instruction
        );
        let one = Variation::new(case, Hypothesis::OtherModel, what);
        all.push(Variation {
            arithmetic: Some(candidate.arithmetic.clone()),
            convert_to: candidate.convert_to,
            around: Around::Nothing,
            ..one
        });
    }
    if a == Format::Fp32 {
        let read = operands.map(|tensor| tensor.reread(Format::Tf32));
        let [Some(a), Some(b)] = &read else {
            return all;
        };
        for candidate in units(case, Format::Tf32) {
            all.push(varied(
                case,
                &candidate,
                Way::Cut,
                Some(&[a.clone(), b.clone()]),
                None,
            ));
            if let (Some(a), Some(b)) = (a.with_tf32_rounding(true), b.with_tf32_rounding(true)) {
                all.push(varied(case, &candidate, Way::Nearest, Some(&[a, b]), None));
            }
        }
    }
    all
}

/// The catalogue's units for operands of this format and this D, those of the requested architecture first.
fn units(case: &Case, format: Format) -> Vec<Candidate> {
    let own = case.replay;
    let mut all = candidates(
        case.catalogue,
        &Conditions {
            blocks: false,
            a: &|one| one == format,
            b: &|one| one == format,
            c: &|one| own.problem.c.is_none_or(|c| c.tensor().format() == one),
            d: &|one| one == own.format(),
            scale: &|scale| scale.is_none(),
            k: own.problem.k,
        },
    );
    // A request's kernel may stay around the unit.
    if let Some(kernel) = own.kernel {
        all.retain(|one| {
            let arithmetic = &one.arithmetic;
            BoundSchedule::check_compatible(kernel.spec, arithmetic, &own.problem, own.format())
                .is_ok()
        });
    }
    // Of the units of CUDA cores one chain is enough.
    let same = |one: &Candidate| {
        one.names
            .iter()
            .any(|n| n.architecture == case.architecture)
    };
    all.sort_by_key(|one| !same(one));
    for one in &mut all {
        one.names
            .sort_by_key(|name| name.architecture != case.architecture);
    }
    all
}

fn varied<'a>(
    case: &Case<'a>,
    candidate: &Candidate,
    way: Way,
    arrays: Option<&[Tensor; 2]>,
    guess: Option<&Guess>,
) -> Variation<'a> {
    let own = case.replay.arithmetic.a;
    let format = candidate.arithmetic.a;
    let unit = &candidate.names[0];
    let from = own.name().to_uppercase();
    let to = format.name().to_uppercase();
    let tf32 = matches!(format, Format::Tf32 | Format::Xf32);
    let (how, switch) = match (tf32, way) {
        (true, Way::Nearest) => (
            format!("A and B are multiplied as {to}, rounded to nearest"),
            true,
        ),
        (true, Way::Cut) => (
            format!("A and B are multiplied as {to}, their low bits ignored"),
            true,
        ),
        _ if format == Format::Fp32 => (
            format!("A and B are multiplied as FP32, with all their bits, not as {from}"),
            false,
        ),
        (_, Way::Cut) => (
            format!("A and B are cut to {to} (their low bits dropped) before they are multiplied"),
            false,
        ),
        _ => (
            format!("A and B are rounded to {to} before they are multiplied"),
            false,
        ),
    };
    let switch = if switch && own == Format::Fp32 {
        let cut = way == Way::Cut && format == Format::Tf32 && guess.is_none();
        let known = if cut {
            known("tf32_inside", case.architecture)
        } else {
            String::new()
        };
        format!(
            "; no fault, but a setting: torch.backends.cuda.matmul.allow_tf32, NVIDIA_TF32_OVERRIDE=0{known}"
        )
    } else {
        String::new()
    };
    let order = match guess {
        None => String::new(),
        Some(guess) => format!(", by {guess} ({})", guess.spec.in_words()),
    };
    let what = format!(
        "{how} (by {} {}{order}){switch}",
        unit.architecture, unit.instruction
    );
    let model = Ask::Model {
        name: unit.clone(),
        arithmetic: Box::new(candidate.arithmetic.clone()),
        convert_to: candidate.convert_to,
    };
    // A request's factors, bias and function stay.
    let kept = case
        .replay
        .kernel
        .filter(|kernel| !kernel.values.is_neutral() || kernel.spec.epilogue.function.is_some());
    let asked = match guess {
        None if kept.is_some() => model,
        None => {
            let plain = asked(PLAIN, &Overrides::default(), None);
            Ask::Both(Box::new(model), Box::new(plain))
        }
        Some(guess) => {
            let schedule = asked(&guess.preset.name, &guess.overrides, kept);
            Ask::Both(Box::new(model), Box::new(schedule))
        }
    };
    let ask = match (tf32, format) {
        (true, _) => Ask::Both(
            Box::new(asked),
            Box::new(Ask::Tf32Nearest(way == Way::Nearest)),
        ),
        // No option rounds operands to a format that their file does not hold.
        (_, Format::Fp32) => Ask::Both(Box::new(asked), Box::new(Ask::Tf32Nearest(false))),
        _ => Ask::Nothing,
    };
    let mut one = Variation::new(case, Hypothesis::Precision, what).asking(ask);
    match arrays {
        Some(arrays) => one.arrays = arrays.clone().map(Some),
        None => one.read = [0, 1].map(|side| Some(rounded(case, side, (format, way)))),
    }
    Variation {
        arithmetic: Some(candidate.arithmetic.clone()),
        convert_to: candidate.convert_to,
        around: match guess {
            None if kept.is_some() => Around::Requested,
            None => Around::Nothing,
            Some(guess) => {
                let mut spec = guess.spec.clone();
                spec.epilogue.function = kept.and_then(|own| own.spec.epilogue.function);
                let values = kept.map_or_else(Values::default, |own| own.values.clone());
                Around::Other(Box::new((spec, values)))
            }
        },
        ..one
    }
}

/// The codes of an operand, rounded to nearest even or cut.
fn rounded<'a>(case: &Case<'a>, side: usize, (to, way): (Format, Way)) -> Read<'a> {
    let rounding = match way {
        Way::Nearest => Rounding::NearestEven,
        Way::Cut => Rounding::TowardZero,
    };
    let problem = case.replay.problem;
    let own = case.replay.arithmetic;
    let from = match [own.a, own.b][side] {
        wide if wide.ignored_bits() > 0 => Format::Fp32,
        own => own,
    };
    Box::new(move |at: &Element, k: usize| {
        let code = match side {
            0 => problem.a.plane(at.batch).code(at.row, k),
            _ => problem.b.plane(at.batch).code(k, at.column),
        };
        result_code(from, code, to, rounding)
    })
}

/// Whether rounding changes a number of an operand that a tested element is computed from.
fn rounding_changes(
    case: &Case,
    trial: &Trial,
    side: usize,
    (to, way): (Format, Way),
) -> Result<bool, &'static str> {
    let own = [case.replay.arithmetic.a, case.replay.arithmetic.b][side];
    let read = rounded(case, side, (to, way));
    let problem = case.replay.problem;
    let mut seen = HashSet::new();
    for stored in trial.elements() {
        let Element { batch, row, column } = stored.at;
        if !seen.insert((batch, [row, column][side])) {
            continue;
        }
        if !trial.work().spend(problem.k as u64) {
            return Err(SPENT);
        }
        let changes = (0..problem.k).any(|k| {
            let code = match side {
                0 => problem.a.plane(batch).code(row, k),
                _ => problem.b.plane(batch).code(k, column),
            };
            value(own, code) != value(to, read(&stored.at, k))
        });
        if changes {
            return Ok(true);
        }
    }
    Ok(false)
}
