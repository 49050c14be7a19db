//! Orders of sums: those of kernels, slices of K that are rounded and added in few bits, and sums of k of one remainder
//! apart.

use super::{Trial, Variation};
use crate::candidates::{Guess, tells_zeros};
use crate::diagnose::whole::schedule::{multiplied, searched};
use crate::diagnose::{Ask, Case, Hypothesis};
use crate::emu::schedule::{BoundSchedule, Overrides, PromoteChoice, Values};
use crate::emu::{Element, Problem, Replay};
use crate::forms::InWords as _;
use crate::num::{Format, Rounding, convert_exact, result_code};
use crate::tensor::{Tensor, parallel};

/// What reports call this test.
pub const TRIED: &str =
    "slices of K rounded and added in few bits, even and odd k apart, tiles in reverse order";

/// Most slices.
const SLICES: usize = 32;

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let replay = case.replay;
    let problem = replay.problem;
    let fp32 = replay.arithmetic.accumulator == Format::Fp32;
    if !fp32 || replay.kernel.is_some() || problem.c.is_some() || problem.scales.is_some() {
        return Ok(Vec::new());
    }
    let k = problem.k;
    let mut all = Vec::new();
    let format = replay.format();
    let narrow = matches!(format, Format::Bf16 | Format::Fp16);
    let rounded = if narrow {
        vec![format]
    } else {
        vec![Format::Bf16, Format::Fp16]
    };
    for number in rounded {
        let mut known = vec![k];
        for slices in 2..=SLICES.min(k) {
            for grain in [1, 16, 32, 64, 128] {
                let length = k.div_ceil(slices).next_multiple_of(grain);
                if known.contains(&length) || length >= k {
                    continue;
                }
                known.push(length);
                let count = k.div_ceil(length);
                let last = match k % length {
                    0 => String::new(),
                    rest => format!(" (the last of {rest})"),
                };
                let name = number.name().to_uppercase();
                let what = format!(
                    "{count} slices of {length} k{last}, each rounded to {name}, are added in {name}, every sum rounded"
                );
                let one = Variation::new(case, Hypothesis::SlicesRounded, what);
                all.push(one.ending(move |replay, at| added(replay, length, number, at)));
            }
        }
    }
    let mut tiles = vec![replay.arithmetic.step.span(), 16, 32, 64, 128];
    tiles.dedup();
    for tile in tiles {
        if !k.is_multiple_of(tile) || k == tile {
            continue;
        }
        let what = format!("tiles of {tile} k are added from the last to the first");
        let problem = replay.problem;
        let from = move |of_k: usize| (k / tile - 1 - of_k / tile) * tile + of_k % tile;
        let one = Variation::new(case, Hypothesis::OtherSchedule, what);
        let a = move |at: &Element, of_k: usize| problem.a.plane(at.batch).code(at.row, from(of_k));
        let b =
            move |at: &Element, of_k: usize| problem.b.plane(at.batch).code(from(of_k), at.column);
        all.push(one.reading(0, a).reading(1, b));
    }
    for apart in [2, 4, 8] {
        if k > apart {
            let what = match apart {
                2 => "even and odd k are summed apart, and both sums added in FP32".to_owned(),
                _ => format!(
                    "the k of each remainder modulo {apart} are summed apart, and the sums added in FP32"
                ),
            };
            let one = Variation::new(case, Hypothesis::SlicesRounded, what);
            all.push(one.ending(move |replay, at| {
                parallel::map(at.len(), |i| remainders(replay, apart, &at[i]))
            }));
        }
    }
    Ok(all)
}

/// What reports call the test of [`promotions`].
pub const PROMOTED: &str = "FP8 sums promoted or not (fast accumulation)";

/// FP8 sums of a kernel that are promoted to another accumulator every so many k, or never: torch's and cuBLASLt's fast
/// accumulation, the other way round.
pub fn promotions<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let replay = case.replay;
    let fp8 = replay.arithmetic.a.bytes() == 1 && !replay.arithmetic.a.is_integer();
    let Some(kernel) = replay.kernel.filter(|_| fp8) else {
        return Ok(Vec::new());
    };
    let choices = match kernel.spec.promotion() {
        Some(_) => vec![(
            PromoteChoice::Never,
            "sums are not promoted: fast accumulation (use_fast_accum=True)".to_owned(),
        )],
        None => [128, 64, 256, 512, 32]
            .map(|every| {
                (
                    PromoteChoice::Every(every),
                    format!("sums are promoted every {every} k: no fast accumulation (use_fast_accum=False)"),
                )
            })
            .into(),
    };
    let mut all = Vec::new();
    for (promote, what) in choices {
        let mut spec = kernel.spec.clone();
        spec.set_promotion(match promote {
            PromoteChoice::Never => None,
            PromoteChoice::Every(every) => Some(every),
        });
        let (arithmetic, problem) = (replay.arithmetic, &replay.problem);
        let fits = BoundSchedule::check_compatible(&spec, arithmetic, problem, replay.format());
        if spec.validate().is_err() || fits.is_err() {
            continue;
        }
        let overrides = Overrides {
            promote: Some(promote),
            ..Overrides::default()
        };
        let one = Variation::new(case, Hypothesis::OtherSchedule, what);
        let one = one.around(spec, kernel.values.clone());
        all.push(one.asking(Ask::Epilogue(Box::new(overrides))));
    }
    Ok(all)
}

/// Sums of slices in this format, one after another; then D's.
fn added(replay: &Replay, length: usize, number: Format, at: &[Element]) -> Vec<u64> {
    let k = replay.problem.k;
    let narrow = |code: u64| result_code(Format::Fp32, code, number, Rounding::NearestEven);
    let wide = |code: u64| {
        let code = convert_exact(number, code, Format::Fp32).unwrap_or(0x7fff_ffff);
        f32::from_bits(code as u32)
    };
    let mut sums: Option<Vec<u64>> = None;
    for first in (0..k).step_by(length) {
        let part = Replay {
            problem: replay.problem.part_k(first..(first + length).min(k)),
            convert_to: None,
            ..*replay
        };
        let of_part = part.elements(at).into_iter().map(narrow);
        sums = Some(match sums {
            None => of_part.collect(),
            Some(sums) => sums
                .into_iter()
                .zip(of_part)
                .map(|(sum, more)| narrow(u64::from((wide(sum) + wide(more)).to_bits())))
                .collect(),
        });
    }
    let finished = |code: u64| match replay.format() {
        format if format == number => code,
        _ => u64::from(wide(code).to_bits()),
    };
    sums.unwrap_or_default().into_iter().map(finished).collect()
}

/// The sums of the k of every remainder, one after another, added in f32.
fn remainders(replay: &Replay, apart: usize, at: &Element) -> u64 {
    let Element { batch, row, column } = *at;
    let one = replay.rectangle(batch, row..row + 1, column..column + 1);
    let problem = one.problem;
    let [plane_a, plane_b] = [problem.a.plane(0), problem.b.plane(0)];
    let sums = (0..apart).map(|rest| {
        let ks: Vec<usize> = (rest..problem.k).step_by(apart).collect();
        let codes = |code: &dyn Fn(usize) -> u64| ks.iter().map(|&k| code(k)).collect::<Vec<u64>>();
        let of_a = codes(&|k| plane_a.code(0, k));
        let of_b = codes(&|k| plane_b.code(k, 0));
        let a = Tensor::from_codes(one.arithmetic.a, vec![1, ks.len()], &of_a);
        let b = Tensor::from_codes(one.arithmetic.b, vec![ks.len(), 1], &of_b);
        let part = Replay {
            problem: Problem {
                a: a.planes(),
                b: b.planes(),
                k: ks.len(),
                ..problem
            },
            convert_to: None,
            ..one
        };
        let code = part.part(0, 0..1, 0..1, &crate::deadline::unheard)[0];
        f32::from_bits(code as u32)
    });
    let sum = sums.reduce(|sum, more| sum + more).unwrap_or(0.0);
    replay.convert(u64::from(sum.to_bits()))
}

/// Most orders that are tried where none gives all of D.
const ORDERS: usize = 48;

/// Orders of sums that kernels have, the commonest first, for a D of which other faults damaged a part.
pub fn schedules<'a>(case: &Case<'a>, trial: &Trial) -> Vec<Variation<'a>> {
    let replay = case.replay;
    if replay.kernel.is_some_and(multiplied) || replay.problem.scales.is_some() {
        return Vec::new();
    }
    let zeros = tells_zeros(case.given);
    let list = trial.listing(|afford| searched(&replay, replay.arithmetic, zeros, afford));
    let span = replay.arithmetic.step.span();
    let values = Values::default();
    let whole = list.into_iter().filter(|guess| {
        let kernel = BoundSchedule::new(&guess.spec, &values, &replay.problem);
        kernel.omitted(replay.problem.k, span).is_empty()
    });
    let variation = |guess: Guess| {
        let what = format!(
            "a kernel with another order of the instruction's chain ({}: {})",
            guess.preset.name,
            guess.spec.in_words()
        );
        let preset = guess.preset.name.clone();
        let overrides = Box::new(guess.overrides);
        let one = Variation::new(case, Hypothesis::OtherSchedule, what);
        one.around(guess.spec, Values::default())
            .asking(Ask::Schedule { preset, overrides })
    };
    whole.take(ORDERS).map(variation).collect()
}
