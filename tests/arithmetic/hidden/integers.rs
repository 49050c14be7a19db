//! Units of integers with a habit are refused, or what is inferred of them computes what they do.

use rayon::prelude::*;
use tcverify::num::Format;
use tcverify::probe::infer::{Verdict, infer};
use tcverify::probe::suite::Tag;
use tcverify::probe::{Case, replay};

use super::Outcome;
use crate::probes::machine::suite;
use crate::support::hidden::integers::{End, Integers, Order, Unit};
use crate::support::hidden::number::Dice;

const UNITS: usize = 120;
const HABITS: [&str; 15] = [
    "clamped to fewer bits",
    "wrapped to fewer bits",
    "clamped at the end of K alone",
    "wrapped at 40 bits, then clamped",
    "symmetric",
    "wraps below alone",
    "descending",
    "strided",
    "even and odd products apart",
    "positive products first",
    "C last",
    "products clamped",
    "partial sums of fewer bits",
    "two accumulators",
    "sticky, or a floating-point register",
];

fn habit(unit: &mut Unit, which: usize, dice: &mut Dice) {
    let [x, y] = unit.operands;
    let product = x.bits + y.bits;
    match which {
        0 => (unit.accumulator, unit.end) = (24 + dice.below(8) as u32, End::Clamp),
        1 => (unit.accumulator, unit.end) = (24 + dice.below(8) as u32, End::Wrap),
        2 => (unit.group, unit.end) = (1 << 20, End::Clamp),
        3 => (unit.accumulator, unit.end) = (dice.pick(&[33, 34, 40, 48]), End::Clamp),
        4 => unit.end = End::Symmetric,
        5 => unit.end = End::OnlyAbove,
        6 => unit.order = Order::Descending,
        7 => unit.order = Order::Strided,
        8 => unit.order = Order::EvenAndOdd,
        9 => unit.order = Order::PositiveFirst,
        10 => unit.order = Order::AddendLast,
        11 => unit.partial = Some((1, product - 1, dice.pick(&[End::Clamp, End::Wrap]))),
        12 => {
            let n = dice.pick(&[2usize, 4, 8, 16]);
            let bits = product + dice.below(n.ilog2() as usize + 1) as u32;
            unit.partial = Some((n, bits, dice.pick(&[End::Clamp, End::Wrap])));
        }
        13 => unit.accumulators = 2,
        _ if dice.chance(2) => (unit.sticky, unit.end) = (true, End::Clamp),
        _ => unit.significant = Some(dice.pick(&[24, 28, 31])),
    }
}

fn formats(dice: &mut Dice) -> ([Format; 2], [Integers; 2]) {
    let integers = |bits, signed| Integers { bits, signed };
    let all = [
        (Format::Int8, integers(8, true)),
        (Format::Uint8, integers(8, false)),
        (Format::Int4, integers(4, true)),
        (Format::Uint4, integers(4, false)),
    ];
    // Mostly of one width, as units have them, and one of them with a sign, or few habits show.
    loop {
        let ((a, x), (b, y)) = (dice.pick(&all), dice.pick(&all));
        let usual = x.bits == y.bits && (x.signed || y.signed);
        if usual || dice.chance(8) {
            return ([a, b], [x, y]);
        }
    }
}

fn hidden(i: usize) -> ([Format; 2], Unit, &'static str) {
    let mut dice = Dice(0x17e6_e400 + i as u64);
    let (formats, operands) = formats(&mut dice);
    let mut unit = Unit::plain(operands, &mut dice);
    let which = i % HABITS.len();
    habit(&mut unit, which, &mut dice);
    (formats, unit, HABITS[which])
}

/// Operands that cross the limits, or are as large as they can be, of any K up to twice that of probes.
fn element(dice: &mut Dice, operands: [Integers; 2]) -> (Vec<u64>, Vec<u64>, u64) {
    let k = match dice.below(4) {
        0 => 1 + dice.below(20),
        1 => 64,
        2 => 1 + dice.below(300),
        _ => 1024,
    };
    let mut sum = 0i128;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let (dense, run) = (dice.below(4), 1 + dice.below(64));
    let (mut least, mut greatest) = (0, 0);
    for at in 0..k {
        let code = |dice: &mut Dice, of: Integers| {
            let all = (1u64 << of.bits) - 1;
            match dice.below(6) {
                0 => 1 << (of.bits - 1),
                1 => all >> u32::from(of.signed),
                2 => all,
                _ => dice.next() & all,
            }
        };
        let (mut x, mut y) = (code(dice, operands[0]), code(dice, operands[1]));
        // Runs of one sign, then of the other; or every product; or few.
        let value = operands[0].value(x) * operands[1].value(y);
        let wanted = if at / run % 2 == 0 { 1 } else { -1 };
        if dense == 0 && value * wanted < 0 || dense == 1 && !dice.chance(9) {
            (x, y) = (0, 0);
        }
        sum += operands[0].value(x) * operands[1].value(y);
        (least, greatest) = (sum.min(least), sum.max(greatest));
        a.push(x);
        b.push(y);
    }
    let somewhere =
        |dice: &mut Dice, from: i128, to: i128| from + dice.below((to - from + 1) as usize) as i128;
    let c = match dice.below(8) {
        0 => 0,
        1 => i128::from(dice.next() as u32 as i32),
        2..5 => i128::from(i32::MAX) - somewhere(dice, least, greatest),
        _ => i128::from(i32::MIN) - somewhere(dice, least, greatest),
    };
    let c = c.clamp(i32::MIN.into(), i32::MAX.into());
    (a, b, c as i32 as u32 as u64)
}

fn judge(formats: [Format; 2], unit: &Unit, seed: u64) -> Outcome {
    let suite = suite(formats[0], formats[1], Format::Int32);
    let answers = suite.cases.iter();
    let answers: Vec<u64> = answers
        .map(|case| unit.dot(&case.a, &case.b, case.c))
        .collect();
    let found = match infer(&suite, &answers).unwrap() {
        Verdict::Contradicted(_) => return Outcome::Refused,
        Verdict::Explained(found) => found,
    };
    let mut dice = Dice(seed);
    let mut wrong = 0;
    for _ in 0..super::elements() {
        let (a, b, c) = element(&mut dice, unit.operands);
        let truth = unit.dot(&a, &b, c);
        let case = Case {
            family: "fresh",
            purpose: String::new(),
            tells: "",
            tag: Tag::default(),
            a,
            b,
            c,
            scales: Default::default(),
        };
        wrong += usize::from(replay::answers(&found.arithmetic, &[case])[0] != truth);
    }
    match wrong {
        0 => Outcome::Found,
        n => Outcome::Wrong(n, found.arithmetic.step.summary()),
    }
}

#[test]
#[ignore = "long"]
fn hidden_units_of_integers_get_no_wrong_name() {
    let (units, whole) = super::of_a_run(UNITS, HABITS.len());
    let outcomes: Vec<_> = units
        .par_iter()
        .map(|&i| {
            let (formats, unit, habit) = hidden(i);
            let outcome = judge(formats, &unit, i as u64);
            (i, formats, unit, habit, outcome)
        })
        .collect();
    let (mut found, mut refused, mut wrong) = (Vec::new(), 0, Vec::new());
    for (i, formats, unit, habit, outcome) in outcomes {
        match outcome {
            Outcome::Found => found.push(habit),
            Outcome::Refused => refused += 1,
            Outcome::Wrong(n, how) => wrong.push(format!(
                "{i}: {formats:?}, {habit}: {n} differ\n  {unit:?}\n  {how}"
            )),
        }
    }
    println!(
        "hidden units of integers: {} of {} found ({}), {refused} refused, {} wrong",
        found.len(),
        units.len(),
        found.join(", "),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Some habits show in no sum: what wraps around has no order, unsigned products lead out of range for good.
    assert!(
        !whole || 10 * found.len() >= units.len() && 2 * refused >= units.len(),
        "{} found, {refused} refused",
        found.len()
    );
}

#[test]
fn units_of_integers_without_a_habit_are_found() {
    (0..16).into_par_iter().for_each(|i| {
        let mut dice = Dice(0x91a1_0000 + i as u64);
        let (formats, operands) = formats(&mut dice);
        let unit = Unit::plain(operands, &mut dice);
        assert_eq!(
            judge(formats, &unit, i as u64),
            Outcome::Found,
            "{formats:?} {unit:?}"
        );
    });
}
