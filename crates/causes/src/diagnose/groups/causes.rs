//! Causes of a group of mismatches.

use crate::diagnose::Element as Operands;
use crate::diagnose::case::SAMPLE;
use crate::diagnose::estimate::{noise, value};
use crate::diagnose::flipped_bits::Line;
use crate::diagnose::groups::partition::clipped;
use crate::diagnose::groups::{Group, Shape};
use crate::diagnose::trial::{Stored, Work, first_of};
use crate::diagnose::whole::batch_matrices;
use crate::diagnose::whole::computation;
use crate::diagnose::whole::missing_products;
use crate::diagnose::whole::permutation;
use crate::diagnose::whole::schedule;
use crate::diagnose::whole::unfinished_chains;
use crate::diagnose::whole::whole;
use crate::diagnose::{Case, Chain, Found, Hypothesis, Single, stored_codes, trial, variation};
use crate::emu::Element;
use crate::forms::grouped;
use crate::num::{Number, decimal};
use crate::random::mix;

/// What reports call the test of a group's operands.
const INPUTS: &str = "a flipped bit of A, B or C";

/// Why a fit is not reported.
const CHANCE: &str = "an element has too few bits to exclude a chance fit";

/// Most lines of a group that are searched one by one.
const LINES: usize = 4;

/// Most matching elements of a line or a rectangle that hypotheses are tested on.
const BESIDE: usize = 64;

/// Up to this K the chain of a single element is searched for faults.
const SHORT_K: usize = 1024;

/// A part of a group, and what fits it.
pub struct Part {
    pub group: Group,
    pub found: Vec<Found>,
    /// The text says where.
    pub placed: bool,
}

impl Part {
    fn of(group: &Group, found: impl IntoIterator<Item = Found>) -> Part {
        Part {
            group: group.clone(),
            found: found.into_iter().collect(),
            placed: false,
        }
    }
}

/// The first likely cause of the group, or of single lines of it and of the rest. `only`: there is no other group.
pub fn parts(
    case: &Case,
    group: &Group,
    (controls, only): (&[Stored], bool),
    works: [&Work; 2],
) -> Vec<Part> {
    let [computing, _] = works;
    if let Some(found) = stored_codes::constant_in(case, group) {
        return vec![Part::of(group, [found])];
    }
    let different: Vec<Stored> = group
        .sample(SAMPLE)
        .into_iter()
        .map(|at| case.stored(at))
        .collect();
    if !computing.spend(case.price(&different)) {
        let ledger = &computing.ledger;
        [stored_codes::FLIPPED, INPUTS]
            .iter()
            .for_each(|what| ledger.leave(what, trial::SPENT));
        return vec![Part::of(group, [])];
    }
    let pairs = reproduced(case, &different);
    if group.shape == Shape::Element {
        let found = element(case, pairs[0], only, computing);
        let placed = found.as_ref().is_some_and(|(_, placed)| *placed);
        return vec![Part {
            placed,
            ..Part::of(group, found.map(|(found, _)| found))
        }];
    }
    let format = case.replay.format();
    if let Some(bit) = stored_codes::flipped_bit(format, &pairs) {
        let field = stored_codes::field(format, bit);
        let text = format!(
            "only bit {bit} ({field}) differs, in all {} tested elements",
            pairs.len()
        );
        let found = Found::new(Hypothesis::BitFlipped, text).at([bit as usize]);
        return vec![Part::of(group, [found])];
    }
    computing.ledger.refute(stored_codes::FLIPPED);
    // Where all of an area is off by as much, no rounding does it.
    let dense = matches!(group.shape, Shape::Lines { .. } | Shape::Rectangle { .. });
    let dense = dense && group.mismatches == group.area(case.size());
    let all = group.mismatches == case.comparison.elements;
    if let Some(by) = stored_codes::off_by(format, &pairs).filter(|_| dense || all) {
        let text = stored_codes::of_distance(format, by, pairs.len());
        let found = Found::new(Hypothesis::OffByUlps, text).at([by.unsigned_abs() as usize]);
        return vec![Part::of(group, [found])];
    }
    let (mut parts, rest) = lines(case, group, computing);
    if let Some(rest) = rest {
        let found = together(case, &rest, (controls, only), works);
        parts.push(Part::of(&rest, found));
    }
    parts
}

/// One computation that gives the whole group.
fn together(
    case: &Case,
    group: &Group,
    (controls, only): (&[Stored], bool),
    works: [&Work; 2],
) -> Vec<Found> {
    let different = group.sample(SAMPLE).into_iter();
    let different: Vec<Stored> = different.map(|at| case.stored(at)).collect();
    // Scattered elements are compared with controls from all of D, others with their neighbours.
    let beside = match group.shape {
        Shape::Scattered if only => return Vec::new(),
        Shape::Scattered => controls.to_vec(),
        _ => beside(case, group),
    };
    let trials = works.map(|work| case.trial(&different, &beside, work));
    if group.shape == Shape::Scattered {
        return whole(case, &trials);
    }
    let [computing, scheduling] = &trials;
    let found = first_of(&[
        &|| {
            computing.test(permutation::TRIED[0], || {
                permutation::permuted(case, computing, 0)
            })
        },
        &|| {
            computing.test(permutation::TRIED[1], || {
                permutation::permuted(case, computing, 1)
            })
        },
        &|| {
            computing.test("misplaced tiles", || {
                permutation::tile(case, computing, group)
            })
        },
        &|| {
            computing.test(unfinished_chains::TRIED, || {
                unfinished_chains::stopped_early(case, computing)
            })
        },
        &|| {
            computing.test(computation::ADDENDS, || {
                computation::addends(case, computing)
            })
        },
        &|| {
            computing.test(missing_products::TRIED, || {
                missing_products::missing(case, computing)
            })
        },
        &|| {
            computing.test(batch_matrices::EQUALS_C, || {
                batch_matrices::equals_c(case, computing)
            })
        },
        &|| {
            computing.test(batch_matrices::TRIED, || {
                batch_matrices::matrices(case, computing)
            })
        },
        &|| variation::of_part(case, computing),
        &|| schedule::schedules(case, scheduling),
    ]);
    found.into_iter().take(1).collect()
}

/// Elements with the codes they should have.
fn reproduced(case: &Case, stored: &[Stored]) -> Vec<(Stored, u64)> {
    let at: Vec<Element> = stored.iter().map(|stored| stored.at).collect();
    let codes = case.replay.elements(&at);
    stored.iter().copied().zip(codes).collect()
}

/// Matching elements of the group's area.
fn beside(case: &Case, group: &Group) -> Vec<Stored> {
    let size = case.size();
    let mut beside = Vec::new();
    for i in 0..4 * BESIDE as u64 {
        let pick = |range: [usize; 2], word: u64| range[0] + word as usize % (range[1] - range[0]);
        let at = match &group.shape {
            Shape::Lines { side, lines, .. } => {
                let line = lines[mix(2 * i) as usize % lines.len()];
                let along = mix(2 * i + 1) as usize % size.length(*side);
                size.element(*side, line, along)
            }
            _ => [
                pick(group.rows, mix(2 * i)),
                pick(group.columns, mix(2 * i + 1)),
            ],
        };
        if group.covers(at, size) && !group.holds(at) && beside.len() < BESIDE {
            beside.push(case.stored(at));
        }
    }
    beside
}

/// A flipped bit of A for every row, or of B for every column. Lines without one stay together as the rest.
fn lines(case: &Case, group: &Group, work: &Work) -> (Vec<Part>, Option<Group>) {
    let size = case.size();
    let Shape::Lines { side, lines, dense } = &group.shape else {
        return (Vec::new(), Some(group.clone()));
    };
    let (side, dense) = (*side, *dense);
    if lines.len() > LINES {
        work.ledger.leave(INPUTS, "many rows or columns differ");
        return (Vec::new(), Some(group.clone()));
    }
    let of_lines = |numbers: Vec<usize>| {
        let rects = numbers.iter().flat_map(|number| {
            let [rows, columns] = match side {
                0 => [[*number, number + 1], [0, size.n]],
                _ => {
                    let (batch, column) = (number / size.n, number % size.n);
                    [[batch * size.m, (batch + 1) * size.m], [column, column + 1]]
                }
            };
            let clip = move |rect| clipped(rect, rows, columns);
            group.rects.iter().filter_map(clip)
        });
        let rects = rects.collect();
        let shape = Shape::Lines {
            side,
            lines: numbers,
            dense,
        };
        Group::new(shape, rects)
    };
    let (mut parts, mut rest) = (Vec::new(), Vec::new());
    for &number in lines {
        let one = of_lines(vec![number]);
        match flipped(case, &one, (side, number), work) {
            Ok(Some(found)) => parts.push(Part::of(&one, [found])),
            Ok(None) => rest.push(number),
            Err(why) => {
                work.ledger.leave(INPUTS, why);
                rest.push(number);
            }
        }
    }
    if parts.is_empty() {
        work.ledger.refute(INPUTS);
    }
    let rest = (!rest.is_empty()).then(|| of_lines(rest));
    (parts, rest)
}

/// A flipped bit of one row of A (side 0) or one column of B that gives a line of D.
fn flipped(
    case: &Case,
    one: &Group,
    (side, number): (usize, usize),
    work: &Work,
) -> Result<Option<Found>, &'static str> {
    let size = case.size();
    let (batch, index) = (number / size.count(side), number % size.count(side));
    let line = Line { side, batch, index };
    let different = one.sample(SAMPLE).into_iter();
    let different: Vec<Stored> = different.map(|at| case.stored(at)).collect();
    if !work.spend(case.price(&different)) {
        return Err(trial::SPENT);
    }
    let pairs = reproduced(case, &different);
    let beside = beside(case, one);
    let flips = line
        .flips(&case.replay, (&pairs, &beside), 0, work)
        .ok_or(trial::SPENT)?;
    let name = ["A", "B"][side];
    let tested = pairs.len() + beside.len();
    let matrix = size.of_matrix(batch);
    let Some(flip) = flips.first() else {
        let replaced = line.replaced(&case.replay, (&pairs, &beside), work);
        let others = match replaced.len() {
            0 | 1 => String::new(),
            n => format!("; {} other numbers of the line could, too", n - 1),
        };
        return Ok(replaced.first().map(|&(k, code)| {
            let [row, column] = line.place(k);
            let format = [case.replay.arithmetic.a, case.replay.arithmetic.b][side];
            let [was, is] = [code, line.code(&case.replay, k)].map(|code| decimal(format, code));
            let text = format!(
                "{name}[{row}, {column}]{matrix} was {was}, not {is}, when D was computed: this gives all {tested} \
                 tested elements there, bit for bit{others}"
            );
            Found::new(Hypothesis::InputChanged, text).at([row, column])
        }));
    };
    let [row, column] = line.place(flip.k);
    let others = match flips.len() {
        1 => String::new(),
        n => format!("; {} other flips of the line do, too", n - 1),
    };
    let text = format!(
        "bit {} of {name}[{row}, {column}]{matrix} was flipped during the computation: this gives all {tested} tested \
         elements there, bit for bit ({} that differ and {} that do not){others}",
        flip.bit,
        pairs.len(),
        beside.len()
    );
    let at = [row, column, flip.bit as usize];
    Ok(Some(Found::new(Hypothesis::InputFlipped, text).at(at)))
}

/// The cause of one element alone, and whether its text says where.
fn element(
    case: &Case,
    (stored, reproduced): (Stored, u64),
    only: bool,
    work: &Work,
) -> Option<(Found, bool)> {
    let format = case.replay.format();
    let Element { batch, row, column } = stored.at;
    let problem = &case.replay.problem;
    let matrix = case.size().of_matrix(batch);
    let bit = stored_codes::flipped_bit(format, &[(stored, reproduced)]);
    if let Some(bit) = bit {
        let field = stored_codes::field(format, bit);
        let place = format!("bit {bit} ({field}) at row {row}, column {column}{matrix}");
        let elements = grouped(case.comparison.elements);
        let what = if only {
            format!("Only one bit of one element differs, of {elements} elements")
        } else {
            let all = grouped(case.comparison.mismatches);
            format!("One bit is flipped in one of the {all} elements that differ")
        };
        if case.is_narrow() && is_rounding(case, stored, reproduced, work) {
            let why = "it gives this D, but another order of sums may, too; see the next command";
            work.ledger.leave(stored_codes::FLIPPED, why);
            return None;
        }
        let found = Found::new(Hypothesis::BitFlipped, format!("{what}: {place}"));
        return Some((found.at([bit as usize]), true));
    }
    // Too much fits few bits by chance.
    let cost = (problem.k * problem.k) as u64;
    let why = match () {
        () if case.is_narrow() => Some(CHANCE),
        () if case.replay.kernel.is_some() => Some("there is a schedule"),
        () if problem.k > SHORT_K => Some("K is too long"),
        () if !work.spend(cost) => Some(trial::SPENT),
        () => None,
    };
    if bit.is_none() {
        work.ledger.refute(stored_codes::FLIPPED);
    }
    if let Some(why) = why {
        [INPUTS, missing_products::TRIED]
            .iter()
            .for_each(|what| work.ledger.leave(what, why));
        return None;
    }
    let operands = Operands::of(&case.replay, &stored.at);
    let accumulators = operands.accumulators();
    let single = Single {
        replay: &case.replay,
        at: stored.at,
        chain: Some(Chain {
            element: &operands,
            accumulators: &accumulators,
        }),
        reproduced: Number::new(format, reproduced),
        given: Number::new(format, stored.given),
    };
    let c_elsewhere = single.c_elsewhere().into_iter().next();
    let found = c_elsewhere
        .or_else(|| single.c_flipped())
        .or_else(|| single.faults().into_iter().next());
    if found.is_none() {
        // `explain` searches A and B.
        work.ledger.refute(missing_products::TRIED);
        work.ledger.leave(INPUTS, "see the next command");
    }
    found.map(|found| (found, false))
}

/// Whether another order of additions can move an element this far.
fn is_rounding(case: &Case, stored: Stored, reproduced: u64, work: &Work) -> bool {
    let (problem, arithmetic) = (&case.replay.problem, case.replay.arithmetic);
    if !work.spend(problem.k as u64) {
        return true;
    }
    let operands = Operands::of(&case.replay, &stored.at);
    let products = operands.estimates().map(f64::abs);
    let format = case.replay.format();
    let (given, expected) = (value(format, stored.given), value(format, reproduced));
    // Half a unit of either code, and what the additions lose.
    let unit = (-f64::from(format.fraction_bits())).exp2() * given.abs().max(expected.abs());
    let lost = noise(arithmetic.a, arithmetic.accumulator) * products.sum::<f64>();
    (given - expected).abs() <= 1.01 * unit + lost
}
