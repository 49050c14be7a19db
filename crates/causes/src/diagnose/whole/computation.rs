//! Other computations of all of D.

use crate::candidates::{Candidate, Conditions, candidates};
use crate::diagnose::flipped_bits::with_addend;
use crate::diagnose::trial::{Tested, Trial};
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::schedule::BoundSchedule;
use crate::emu::{Arithmetic, Element, Evidence, Problem, Replay};
use crate::num::{Format, Rounding, Target, Unpacked, fma, result_code};
use crate::tensor::Planes;

/// Most models that a sentence names.
const NAMED: usize = 4;

/// Searches for one kind of computation.
type Test = fn(&Case, &Trial) -> Tested;

/// What reports call the test of [`addends`].
const ROUNDING: &str = "other roundings of D";
pub const ADDENDS: &str = "C left out, added twice or last";

/// Every computation that fits, without those that contain another that fits. Under a schedule, its epilogue decides
/// where C is added and how D is rounded; variations of it are tried elsewhere.
pub fn computations(case: &Case, trial: &Trial) -> Vec<Found> {
    let tests: [(&str, Test); 6] = [
        ("transposed operands or D", transposed),
        (ADDENDS, addends),
        ("other formats of A, B and D", formats),
        ("other roundings of TF32 operands", tf32),
        (ROUNDING, rounding),
        ("other models of the catalogue", models),
    ];
    let tested = tests.into_iter().flat_map(|(what, test)| {
        trial.test(what, || match case.replay.kernel {
            Some(_) if [ADDENDS, ROUNDING].contains(&what) => Ok(Vec::new()),
            _ => test(case, trial),
        })
    });
    tested.collect()
}

fn with<'a>(case: &Case<'a>, problem: Problem<'a>) -> Replay<'a> {
    Replay {
        problem,
        ..case.replay
    }
}

/// D transposed.
fn turned(case: &Case, trial: &Trial) -> Vec<Found> {
    let problem = case.replay.problem;
    if problem.m != problem.n || problem.m < 2 {
        return Vec::new();
    }
    let across = |at: &Element| Element {
        row: at.column,
        column: at.row,
        ..*at
    };
    if !trial.fits_elsewhere(&case.replay, &across) {
        return Vec::new();
    }
    // D' = B'A': a product of transposed operands, if a check can request that.
    let (a, b) = (problem.b.transposed(), problem.a.transposed());
    let plain = case.replay.arithmetic.a == case.replay.arithmetic.b
        && case.replay.kernel.is_none()
        && problem.c.is_none()
        && problem.scales.is_none();
    let reversed = with(case, Problem { a, b, ..problem });
    let ask = if plain && trial.fits_replay(&reversed) {
        Ask::Reversed
    } else {
        Ask::Nothing
    };
    let what = "D is the transpose of the model's result";
    vec![trial.found(Hypothesis::DTransposed, what).asking(ask)]
}

/// A, B or D transposed, or A and B exchanged.
fn transposed(case: &Case, trial: &Trial) -> Tested {
    let problem = case.replay.problem;
    let (m, n, k) = (problem.m, problem.n, problem.k);
    let mut found = turned(case, trial);
    let mut fit =
        |hypothesis, what: &str, ask| found.push(trial.found(hypothesis, what).asking(ask));
    if problem.scales.is_some() {
        return Ok(found);
    }
    let (a, b) = (problem.a, problem.b);
    let square = [m == k && k > 1, n == k && k > 1];
    let mut alone = false;
    for (turn, hypothesis, what) in [
        (
            [true, false],
            Hypothesis::ATransposed,
            "A is taken transposed",
        ),
        (
            [false, true],
            Hypothesis::BTransposed,
            "B is taken transposed",
        ),
        (
            [true, true],
            Hypothesis::AAndBTransposed,
            "A and B are taken transposed",
        ),
    ] {
        let possible = (0..2).all(|side| square[side] || !turn[side]);
        if !possible || (turn == [true, true] && alone) {
            continue;
        }
        let problem = Problem {
            a: if turn[0] { a.transposed() } else { a },
            b: if turn[1] { b.transposed() } else { b },
            ..problem
        };
        if trial.fits_replay(&with(case, problem)) {
            alone = true;
            fit(hypothesis, what, Ask::Transposed(turn));
        }
    }
    if square == [true, true] && case.replay.arithmetic.a == case.replay.arithmetic.b {
        let (a, b) = (b, a);
        if trial.fits_replay(&with(case, Problem { a, b, ..problem })) {
            fit(Hypothesis::Exchanged, "D is B times A", Ask::Exchanged);
        }
    }
    Ok(found)
}

/// C left out, added twice, or added at another place.
pub fn addends(case: &Case, trial: &Trial) -> Tested {
    let Some(c) = case.replay.problem.c else {
        return Ok(Vec::new());
    };
    let problem = Problem {
        c: None,
        ..case.replay.problem
    };
    let without = with(case, problem);
    if trial.fits_replay(&without) {
        let found = trial.found(Hypothesis::COmitted, "C is left out");
        return Ok(vec![found.asking(Ask::WithoutC)]);
    }
    for (way, hypothesis, what) in [
        (
            Way::Again,
            Hypothesis::CTwice,
            "C is added twice, the second time to the finished chain",
        ),
        (
            Way::Doubled,
            Hypothesis::CTwice,
            "C is added twice, before the products",
        ),
        (
            Way::Last,
            Hypothesis::CAddedLast,
            "C is added after the products and rounded to nearest even, not before them",
        ),
    ] {
        if trial.fits(&|at| with_c(&case.replay, c, way, at)) {
            return Ok(vec![trial.found(hypothesis, what)]);
        }
    }
    Ok(Vec::new())
}

/// Where C is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The product starts at +0; C is added to it at the end, rounded to nearest even.
    Last,
    /// The chain starts with C, which is added once more at the end.
    Again,
    /// The chain starts with twice C.
    Doubled,
}

/// Elements of D with C added in this way.
fn with_c(replay: &Replay, c: Planes, way: Way, at: &[Element]) -> Vec<u64> {
    let arithmetic = replay.arithmetic;
    let (addend, accumulator) = (arithmetic.addend(), arithmetic.accumulator);
    let code = |at: &Element| c.plane(at.batch).code(at.row, at.column);
    let nan = |format: Format| format.sign_mask() - 1;
    let finished = |code: u64| match replay.convert_to {
        Some(to) => result_code(accumulator, code, to, Rounding::NearestEven),
        None => code,
    };
    let chain = Replay {
        convert_to: None,
        ..*replay
    };
    if way == Way::Doubled {
        let doubled = |at: &Element| {
            let twice = sum((addend, code(at)), (addend, code(at)), nan(addend));
            finished(with_addend(&chain, at, (addend, twice)))
        };
        return at.iter().map(doubled).collect();
    }
    let start = match way {
        Way::Last => None,
        _ => replay.problem.c,
    };
    let problem = Problem {
        c: start,
        ..replay.problem
    };
    let products = Replay { problem, ..chain }.elements(at);
    let added = products.into_iter().zip(at);
    added
        .map(|(product, at)| {
            let sum = sum((addend, code(at)), (accumulator, product), nan(accumulator));
            finished(sum)
        })
        .collect()
}

/// `x + y` in the format of `y`, rounded once to nearest even; integers wrap. `nan` is the code of a NaN.
pub fn sum((of_x, x): (Format, u64), (of_y, y): (Format, u64), nan: u64) -> u64 {
    if of_y.is_integer() {
        return x.wrapping_add(y) & of_y.max_code();
    }
    fma(
        ([of_x; 2], of_x.unpack(x), Unpacked::one(of_x)),
        (of_y, of_y.unpack(y)),
        Target::full(of_y, Rounding::NearestEven),
        nan,
    )
}

/// The format that codes of another could be mistaken for.
fn mistaken(format: Format) -> Option<Format> {
    Some(match format {
        Format::E4m3 => Format::E5m2,
        Format::E5m2 => Format::E4m3,
        Format::E4m3fnuz => Format::E5m2fnuz,
        Format::E5m2fnuz => Format::E4m3fnuz,
        Format::E3m2 => Format::E2m3,
        Format::E2m3 => Format::E3m2,
        Format::Fp16 => Format::Bf16,
        Format::Bf16 => Format::Fp16,
        Format::Int8 => Format::Uint8,
        Format::Uint8 => Format::Int8,
        _ => return None,
    })
}

/// Codes of A, B or both, and perhaps of D, that belong to another format.
fn formats(case: &Case, trial: &Trial) -> Tested {
    let own = [case.replay.arithmetic.a, case.replay.arithmetic.b];
    let result = case.replay.format();
    let also = mistaken(result).filter(|_| case.replay.convert_to.is_some());
    let mut results = vec![None];
    results.extend(also.map(Some));
    for d in results {
        for sides in [[true, false], [false, true], [true, true]] {
            let read = [0, 1].map(|side| {
                if sides[side] {
                    mistaken(own[side])
                } else {
                    Some(own[side])
                }
            });
            let [Some(of_a), Some(of_b)] = read else {
                continue;
            };
            if !fits_as(case, trial, [of_a, of_b], d) {
                continue;
            }
            let mut held = Vec::new();
            let mut not = Vec::new();
            let read = [(sides[0], "A", of_a, own[0]), (sides[1], "B", of_b, own[1])];
            let all = read.into_iter().chain(d.map(|d| (true, "D", d, result)));
            for (_, name, of, own) in all.filter(|(other, ..)| *other) {
                held.push(format!("{name} holds {of}"));
                not.push(own.to_string());
            }
            let what = format!("{}, not {}", held.join(" and "), not.join(" and "));
            let formats = Ask::Formats([of_a, of_b]);
            let ask = match d {
                Some(d) => Ask::Both(Box::new(formats), Box::new(Ask::Result(d))),
                None => formats,
            };
            return Ok(vec![trial.found(Hypothesis::Formats, what).asking(ask)]);
        }
    }
    Ok(Vec::new())
}

/// Whether the product of operands in these formats is D, itself in format `d` if there is one.
fn fits_as(case: &Case, trial: &Trial, [of_a, of_b]: [Format; 2], d: Option<Format>) -> bool {
    let problem = case.replay.problem;
    let own = case.replay.arithmetic;
    let Some(arithmetic) = (case.rule)([of_a, of_b]) else {
        return false;
    };
    // C keeps its meaning.
    if arithmetic.accumulator != own.accumulator
        || arithmetic.addend() != own.addend()
        || arithmetic.scale != own.scale
    {
        return false;
    }
    if !is_scheduled(case, &arithmetic) {
        return false;
    }
    let read = |planes: Planes, format| planes.tensor().reread(format);
    let (Some(a), Some(b)) = (read(problem.a, of_a), read(problem.b, of_b)) else {
        return false;
    };
    let problem = Problem {
        a: problem.a.over(&a),
        b: problem.b.over(&b),
        ..problem
    };
    let replay = Replay {
        problem,
        arithmetic: &arithmetic,
        convert_to: d.or(case.replay.convert_to),
        ..case.replay
    };
    trial.fits_replay(&replay)
}

/// Whether another arithmetic can be summed as the request says.
fn is_scheduled(case: &Case, arithmetic: &Arithmetic) -> bool {
    let replay = &case.replay;
    replay.kernel.is_none_or(|kernel| {
        let problem = &replay.problem;
        BoundSchedule::check_compatible(kernel.spec, arithmetic, problem, replay.format()).is_ok()
    })
}

/// Another rounding of the finished elements to D's format.
fn rounding(case: &Case, trial: &Trial) -> Tested {
    let Some(to) = case.replay.convert_to else {
        return Ok(Vec::new());
    };
    let chain = Replay {
        convert_to: None,
        ..case.replay
    };
    let from = case.replay.arithmetic.accumulator;
    for (rounding, how) in [
        (Rounding::TowardZero, "toward zero (RZ)"),
        (Rounding::NearestAway, "to nearest, ties away (RNA)"),
        (Rounding::Down, "down (RD)"),
    ] {
        let rounded = |at: &[Element]| {
            let codes = chain.elements(at).into_iter();
            let round = |code| result_code(from, code, to, rounding);
            codes.map(round).collect()
        };
        if trial.fits(&rounded) {
            let what = format!("D is rounded to {to} {how} instead of to nearest even");
            return Ok(vec![trial.found(Hypothesis::Rounding, what)]);
        }
    }
    Ok(Vec::new())
}

/// Another rule of the catalogue.
fn models(case: &Case, trial: &Trial) -> Tested {
    let own = &case.replay;
    let arithmetic = own.arithmetic;
    let problem = own.problem;
    let all = candidates(
        case.catalogue,
        &Conditions {
            blocks: false,
            a: &|format| format == arithmetic.a,
            b: &|format| format == arithmetic.b,
            c: &|format| problem.c.is_none() || format == arithmetic.addend(),
            d: &|format| format == case.replay.format(),
            scale: &|scale| scale == arithmetic.scale,
            k: problem.k,
        },
    );
    let differs = |c: &&Candidate| c.arithmetic != *arithmetic || c.convert_to != own.convert_to;
    let mut fitting: Vec<&Candidate> = Vec::new();
    let scheduled = |c: &&Candidate| is_scheduled(case, &c.arithmetic);
    for candidate in all.iter().filter(differs).filter(scheduled) {
        let replay = Replay {
            arithmetic: &candidate.arithmetic,
            convert_to: candidate.convert_to,
            ..*own
        };
        if trial.fits_replay(&replay) {
            fitting.push(candidate);
        }
    }
    // First rules of the same architecture, then captured ones, then in the order of the catalogue.
    let same = |c: &Candidate| {
        c.names
            .iter()
            .position(|n| n.architecture == case.architecture)
    };
    let best = |c: &Candidate| {
        c.names
            .iter()
            .position(|name| name.evidence == Evidence::Captured)
    };
    fitting.sort_by_key(|candidate| (same(candidate).is_none(), best(candidate).is_none()));
    let Some(first) = fitting.first() else {
        return Ok(Vec::new());
    };
    let name = same(first).or(best(first)).unwrap_or(0);
    let name = &first.names[name];
    let describe = |c: &Candidate, name: &crate::candidates::Name| {
        let conversion = c.convert_to.map_or(String::new(), |to| format!(" -> {to}"));
        format!(
            "{} {} (-> {}{conversion})",
            name.architecture, name.instruction, c.arithmetic.accumulator
        )
    };
    let names = fitting
        .iter()
        .flat_map(|c| c.names.iter().map(move |name| (c, name)));
    let others: Vec<_> = names
        .filter(|(c, other)| !(std::ptr::eq(**c, *first) && *other == name))
        .map(|(c, name)| describe(c, name))
        .collect();
    let too = match others.len() {
        0 => String::new(),
        1 => format!(". So does {}", others[0]),
        n if n <= NAMED => format!(". So do {}", others.join(", ")),
        n => format!(
            ". So do {}, and {} more",
            others[..NAMED].join(", "),
            n - NAMED
        ),
    };
    let (tested, own) = (trial.describe(), describe(first, name));
    let text = format!("Another unit or accumulation fits: {own}: {tested}{too}");
    let ask = Ask::Model {
        name: name.clone(),
        arithmetic: Box::new(first.arithmetic.clone()),
        convert_to: first.convert_to,
    };
    Ok(vec![Found::new(Hypothesis::OtherModel, text).asking(ask)])
}

/// FP32 operands with the other rounding to TF32.
fn tf32(case: &Case, trial: &Trial) -> Tested {
    let problem = case.replay.problem;
    for nearest in [true, false] {
        let side = |planes: Planes| planes.tensor().with_tf32_rounding(nearest);
        let (a, b) = (side(problem.a), side(problem.b));
        let (Some(a), Some(b)) = (a, b) else { continue };
        let rounded = Problem {
            a: problem.a.over(&a),
            b: problem.b.over(&b),
            ..problem
        };
        if trial.fits_replay(&with(case, rounded)) {
            let what = if nearest {
                "A and B are rounded to nearest (ties away) before they are multiplied"
            } else {
                "A and B are not rounded: the unit ignores their low 13 bits"
            };
            let found = trial.found(Hypothesis::Tf32Input, what);
            return Ok(vec![found.asking(Ask::Tf32Nearest(nearest))]);
        }
    }
    Ok(Vec::new())
}
