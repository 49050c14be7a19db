//! Operands that a unit takes in fewer bits than they have: FP32 as TF32, wide floats as BF16 or FP16; and the reverse,
//! a product of all their bits.

use super::super::schedule::{PLAIN, searched};
use super::super::trial::{SPENT, Tested, Trial};
use super::super::{Ask, Case, Hypothesis};
use super::{Around, Variation};
use crate::candidates::{Candidate, Conditions, Guess, candidates, tells_zeros};
use crate::emu::schedule::{AddendAt, BoundSchedule, Overrides, Values};
use crate::num::{Format, Rounding, result_code};
use crate::tensor::{Planes, Tensor};

/// What reports call this test.
pub const FORMATS: &str = "operands taken in fewer or more bits (TF32, XF32, BF16, FP16, FP32)";

/// Schedules that are tried of each.
const SCHEDULES: usize = 64;

/// How the operands become those of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The same codes; a TF32 unit ignores low bits.
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
        let taken = |planes: Planes| {
            let tensor = planes.tensor();
            if rounds {
                // The request's own rounding is of another unit.
                let plain = tensor.with_tf32_rounding(false);
                let read = plain.as_ref().unwrap_or(tensor).reread(format)?;
                return match way {
                    Way::Nearest => read.with_tf32_rounding(true),
                    Way::Cut => Some(read),
                };
            }
            // Another array is read in the same way only if it lies in the same order.
            tensor.as_payload()?;
            Some(rounded(tensor, format))
        };
        // An array of its own is made only where it is small beside the product.
        let all = own.problem.a.tensor().len() + own.problem.b.tensor().len();
        if !rounds && !trial.affords(all as u64) {
            return Err(SPENT);
        }
        let (Some(a), Some(b)) = (taken(own.problem.a), taken(own.problem.b)) else {
            continue;
        };
        for candidate in units(case, format) {
            let plain = varied(case, &candidate, way, [&a, &b], None);
            if plain.fits(case, trial) {
                return Ok(vec![plain.found(trial)]);
            }
            tried.push((candidate, way, [a.clone(), b.clone()]));
        }
    }
    // Of units with the same steps, schedules are the same.
    for (candidate, way, [a, b]) in &tried {
        if candidate.arithmetic.step.span() == 1 {
            continue;
        }
        let zeros = tells_zeros(case.given);
        let guesses = searched(&own, &candidate.arithmetic, zeros);
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
            let one = varied(case, candidate, *way, [a, b], Some(guess));
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
            all.push(varied(case, &candidate, Way::Cut, [a, b], None));
            if let (Some(a), Some(b)) = (a.with_tf32_rounding(true), b.with_tf32_rounding(true)) {
                all.push(varied(case, &candidate, Way::Nearest, [&a, &b], None));
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
    [a, b]: [&Tensor; 2],
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
        _ => (
            format!("A and B are rounded to {to} before they are multiplied"),
            false,
        ),
    };
    let switch = if switch && own == Format::Fp32 {
        "; no fault, but a setting: torch.backends.cuda.matmul.allow_tf32, NVIDIA_TF32_OVERRIDE=0"
    } else {
        ""
    };
    let order = match guess {
        None => String::new(),
        Some(guess) => format!(", by {guess} ({})", guess.spec.summary()),
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
    let schedule = Ask::Schedule {
        preset: guess.map_or(PLAIN.to_owned(), |guess| guess.preset.name.clone()),
        overrides: Box::new(guess.map_or_else(Overrides::default, |guess| guess.overrides.clone())),
    };
    let asked = Ask::Both(Box::new(model), Box::new(schedule));
    let ask = match (tf32, format) {
        (true, _) => Ask::Both(
            Box::new(asked),
            Box::new(Ask::Tf32Nearest(way == Way::Nearest)),
        ),
        // No option rounds operands to a format that their file does not hold.
        (_, Format::Fp32) => Ask::Both(Box::new(asked), Box::new(Ask::Tf32Nearest(false))),
        _ => Ask::Nothing,
    };
    let one = Variation::new(case, Hypothesis::Precision, what).asking(ask);
    Variation {
        arrays: [Some(a.clone()), Some(b.clone())],
        arithmetic: Some(candidate.arithmetic.clone()),
        convert_to: candidate.convert_to,
        around: match guess {
            None => Around::Nothing,
            Some(guess) => Around::Other(Box::new((guess.spec.clone(), Values::default()))),
        },
        ..one
    }
}

/// The same numbers rounded to nearest even, as an array of the same shape.
fn rounded(tensor: &Tensor, to: Format) -> Tensor {
    let from = tensor.format();
    let width = from.bytes();
    let from = if from.ignored_bits() > 0 {
        Format::Fp32
    } else {
        from
    };
    let mut payload = Vec::with_capacity(tensor.len() * to.bytes());
    tensor.for_each_payload_chunk(|chunk| {
        for bytes in chunk.chunks_exact(width) {
            let mut code = [0; 8];
            code[..width].copy_from_slice(bytes);
            let code = u64::from_le_bytes(code);
            let code = result_code(from, code, to, Rounding::NearestEven);
            payload.extend_from_slice(&code.to_le_bytes()[..to.bytes()]);
        }
    });
    Tensor::from_payload(to, tensor.shape().to_vec(), payload)
}
