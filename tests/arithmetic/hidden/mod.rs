//! Machines outside the vocabulary are refused, or what is inferred of them computes what they do.
//!
//! Two hundred machines with one habit or two that no kind of step has, in arithmetic that shares nothing
//! with the library. Each answers the probes. If `infer` explains it, fresh elements are compared: one
//! that differs is a wrong name, and there must be none. `TCVERIFY_HIDDEN_ELEMENTS` is how many.
//!
//! A run looks at a third of the machines, every habit among them: `TCVERIFY_HIDDEN_MACHINES` says at which
//! (0, 1 or 2; 0 if it is not set), or at `all`, or at some (`40..80`, of which nothing is said as a whole).

mod fresh;
mod integers;
mod rdna;
mod scaled;
mod sums;

use rayon::prelude::*;
use tcverify::num::Format;
use tcverify::probe::infer::{Verdict, infer};
use tcverify::probe::suite::Tag;
use tcverify::probe::{Case, replay};

use super::probes::machine::suite;
use crate::support::hidden::machine::{Cut, Distance, Machine, Order};
use crate::support::hidden::number::{BF16, Dice, E4M3, E5M2, FP16, FP32, Layout, TF32};
use fresh::{Element, element};

/// Machines that there are.
const ALL: usize = 200;

const HABITS: [&str; 12] = [
    "shift modulo 2^n",
    "shift clamped",
    "sticky jam",
    "floor",
    "subnormals flushed",
    "saturation",
    "two accumulators",
    "another order",
    "C apart or a tree",
    "wider accumulator",
    "sums wrap around",
    "negative underflow",
];

fn habit(machine: &mut Machine, which: usize, dice: &mut Dice) {
    match which {
        0 => machine.distance = Distance::Modulo(dice.pick(&[32, 64, 128, 256])),
        1 => machine.distance = Distance::Clamped(dice.pick(&[12, 20, 25, 26, 28, 31, 63, 127])),
        2 => machine.cut = Cut::Jam,
        3 => machine.cut = dice.pick(&[Cut::Floor, Cut::Nearest]),
        4 => machine.flush[dice.below(3)] = true,
        5 => machine.saturate = true,
        6 => machine.accumulators = 2,
        7 => machine.order = dice.pick(&[Order::Descending, Order::Strided]),
        8 => machine.order = dice.pick(&[Order::Tree, Order::AddendLast]),
        9 => machine.extra = dice.pick(&[1, 2, 3, 6, 8]),
        10 => machine.wrap = Some(2 + dice.below(6) as u32),
        _ => machine.minus_zero = true,
    }
}

const FORMATS: [(Format, Layout); 5] = [
    (Format::Fp16, FP16),
    (Format::Bf16, BF16),
    (Format::Tf32, TF32),
    (Format::E4m3, E4M3),
    (Format::E5m2, E5M2),
];

/// Machine `i`, and what it is.
fn hidden(i: usize) -> (Format, Machine, String) {
    let mut dice = Dice(0x1d3b_0000 + i as u64);
    let (format, layout) = dice.pick(&FORMATS);
    let mut machine = Machine::plain(layout, &mut dice);
    let mut habits = vec![i % HABITS.len()];
    if i % 3 == 2 {
        habits.push(dice.below(HABITS.len()));
    }
    let mut names = Vec::new();
    for which in habits {
        habit(&mut machine, which, &mut dice);
        names.push(HABITS[which]);
    }
    let names = names.join(" and ");
    (format, machine, names)
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Refused,
    Found,
    Wrong(usize, String),
}

/// `dot` is the machine, of whose operands `layout` is the format.
fn judge(
    format: Format,
    layout: Layout,
    dot: &dyn Fn(&Element) -> u64,
    seed: u64,
    elements: usize,
) -> Outcome {
    judge_as([format, Format::Fp32], [layout, FP32], dot, seed, elements)
}

/// The same of any results: formats of operands and of results.
fn judge_as(
    [format, accumulator]: [Format; 2],
    [layout, result]: [Layout; 2],
    dot: &dyn Fn(&Element) -> u64,
    seed: u64,
    elements: usize,
) -> Outcome {
    let suite = suite(format, format, accumulator);
    let answer = |case: &Case| {
        dot(&Element {
            a: case.a.clone(),
            b: case.b.clone(),
            c: case.c,
        })
    };
    let answers: Vec<u64> = suite.cases.iter().map(answer).collect();
    let found = match infer(&suite, &answers).unwrap() {
        Verdict::Contradicted(_) => return Outcome::Refused,
        Verdict::Explained(found) => found,
    };
    let mut dice = Dice(seed);
    let mut wrong = Vec::new();
    for _ in 0..elements {
        let element = element(&mut dice, layout, result);
        let truth = dot(&element);
        let case = Case {
            family: "fresh",
            purpose: String::new(),
            tells: "",
            tag: Tag::default(),
            a: element.a,
            b: element.b,
            c: element.c,
            scales: Default::default(),
        };
        let model = replay::answers(&found.arithmetic, std::slice::from_ref(&case))[0];
        if model != truth {
            wrong.push((case, model, truth));
        }
    }
    match wrong.first() {
        None => Outcome::Found,
        Some((case, model, truth)) => Outcome::Wrong(
            wrong.len(),
            format!(
                "{}; a {:x?} b {:x?} c {:x}: {model:x}, not {truth:x}",
                found.arithmetic.step.summary(),
                case.a,
                case.b,
                case.c
            ),
        ),
    }
}

fn judge_machine(format: Format, machine: &Machine, seed: u64) -> Outcome {
    let dot = |element: &Element| machine.dot(&element.a, &element.b, element.c);
    judge(format, machine.operand, &dot, seed, elements())
}

fn elements() -> usize {
    let given = std::env::var("TCVERIFY_HIDDEN_ELEMENTS");
    given.map_or(1500, |n| n.parse().expect("a number of elements"))
}

/// Those of `all` machines that a run looks at, and whether every habit is among them: `habits` after the other
/// have all.
fn of_a_run(all: usize, habits: usize) -> (Vec<usize>, bool) {
    let given = std::env::var("TCVERIFY_HIDDEN_MACHINES").unwrap_or("0".into());
    let range = given.split_once("..").map(|(from, to)| {
        let number = |text: &str| text.parse::<usize>().expect("a number of a machine");
        number(from)..number(to).min(all)
    });
    if let Some(range) = range {
        return (range.collect(), false);
    }
    const THIRDS: [&str; 3] = ["0", "1", "2"];
    let third = THIRDS.iter().position(|third| *third == given);
    assert!(
        third.is_some() || given == "all",
        "TCVERIFY_HIDDEN_MACHINES is {given}; it is 0, 1, 2, all or a range such as 40..80"
    );
    let of_run = |i: &usize| third.is_none_or(|third| i / habits % THIRDS.len() == third);
    ((0..all).filter(of_run).collect(), true)
}

#[test]
#[ignore = "long"]
fn hidden_machines_get_no_wrong_name() {
    let (machines, whole) = of_a_run(ALL, HABITS.len());
    let outcomes: Vec<_> = machines
        .par_iter()
        .map(|&i| {
            let (format, machine, habits) = hidden(i);
            let outcome = judge_machine(format, &machine, i as u64);
            (i, format, machine, habits, outcome)
        })
        .collect();
    let (mut found, mut refused, mut wrong) = (0, 0, Vec::new());
    for (i, format, machine, habits, outcome) in outcomes {
        match outcome {
            Outcome::Found => found += 1,
            Outcome::Refused => refused += 1,
            Outcome::Wrong(n, how) => {
                wrong.push(format!(
                    "{i}: {format}, {habits}: {n} differ\n  {machine:?}\n  {how}"
                ));
            }
        }
    }
    println!(
        "hidden machines: {found} of {} found, {refused} refused, {} wrong",
        machines.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Refusing everything would be no answer, finding everything no search.
    assert!(
        !whole || 10 * found >= machines.len() && 2 * refused >= machines.len(),
        "{found} found, {refused} refused"
    );
}

/// The same arithmetic without a habit is found: what is refused above is refused for its habit.
#[test]
fn machines_without_a_habit_are_found() {
    (0..15).into_par_iter().for_each(|i| {
        let (format, layout) = FORMATS[i % FORMATS.len()];
        let machine = Machine::plain(layout, &mut Dice(77 + i as u64));
        let outcome = judge_machine(format, &machine, i as u64);
        assert_eq!(outcome, Outcome::Found, "{format} {machine:?}");
    });
}
