//! Units that multiply blocks by scales: with a habit they are refused, or what is inferred of them computes
//! what they do.

use rayon::prelude::*;
use tcverify::emu::Scale;
use tcverify::num::Format;
use tcverify::probe::infer::{Verdict, infer};
use tcverify::probe::suite::Tag;
use tcverify::probe::{Case, replay};

use super::Outcome;
use crate::probes::machine::scaled;
use crate::support::hidden::narrow::{Narrow, Top};
use crate::support::hidden::number::Dice;
use crate::support::hidden::scaled::{HABITS, Habit, Scales, Unit};

const UNITS: usize = 48;

const fn narrow(exponent_bits: u32, fraction_bits: u32, top: Top) -> Narrow {
    Narrow {
        exponent_bits,
        fraction_bits,
        top,
    }
}

const OPERANDS: [(Format, Narrow); 5] = [
    (Format::E2m1, narrow(2, 1, Top::Numbers)),
    (Format::E4m3, narrow(4, 3, Top::OneNan)),
    (Format::E5m2, narrow(5, 2, Top::Infinity)),
    (Format::E3m2, narrow(3, 2, Top::Numbers)),
    (Format::E2m3, narrow(2, 3, Top::Numbers)),
];

/// Operands and scales of unit `i`, and the unit.
fn hidden(i: usize, habit: Habit) -> ([Format; 2], Scale, Unit) {
    let mut dice = Dice(0x5ca1_e000 + i as u64);
    // FP4 most of the time, whose sums scales meet.
    let (format, of) = match i % 3 {
        2 => dice.pick(&OPERANDS[1..]),
        _ => OPERANDS[0],
    };
    let (format_scale, scales) = match i % 3 {
        0 => (Format::Ue4m3, Scales::Floats),
        _ => (Format::Ue8m0, Scales::Powers),
    };
    let mut unit = Unit::plain([of, of], scales, &mut dice);
    unit.habit = habit;
    let scale = Scale {
        format: format_scale,
        block: unit.block,
    };
    ([format; 2], scale, unit)
}

/// Operands, scales and C of any size, or near one another, some of which cancel.
fn element(dice: &mut Dice, unit: &Unit) -> Case {
    let blocks = 1 + dice.below(6);
    let k = blocks * unit.block;
    let spread = dice.pick(&[0, 2, 6, 20, 60, 254]);
    let middle = match dice.below(3) {
        0 => dice.below(255) as i32,
        _ => 127,
    };
    let scales = [(); 2].map(|()| {
        let code = |dice: &mut Dice| match unit.scales {
            Scales::Floats => dice.below(256) as u64,
            Scales::Powers if dice.chance(200) => 255,
            Scales::Powers => {
                let off = dice.below(2 * spread + 1) as i32 - spread as i32;
                (middle + off).clamp(0, 254) as u64
            }
        };
        (0..blocks).map(|_| code(dice)).collect::<Vec<u64>>()
    });
    let dense = dice.chance(2);
    let draw = |dice: &mut Dice, of: Narrow| {
        let code = dice.below(1 << of.bits()) as u64;
        if dense || dice.chance(8) { code } else { 0 }
    };
    let [x, y] = unit.operands;
    let (mut a, mut b): (Vec<u64>, Vec<u64>) =
        (0..k).map(|_| (draw(dice, x), draw(dice, y))).unzip();
    for _ in 0..dice.below(3) {
        let (from, to) = (dice.below(k), dice.below(k));
        (a[to], b[to]) = (a[from] ^ 1 << (x.bits() - 1), b[from]);
    }
    let c = match dice.below(4) {
        0 => 0,
        1 => dice.next() & 0xffff_ffff,
        _ => {
            let field = 2 * (middle - 127) + 127 + dice.below(60) as i32 - 30;
            let fraction = dice.next() & 0x7f_ffff;
            (dice.below(2) as u64) << 31 | (field.clamp(0, 254) as u64) << 23 | fraction
        }
    };
    Case {
        family: "fresh",
        purpose: String::new(),
        tells: "",
        tag: Tag::default(),
        a,
        b,
        c,
        scales,
    }
}

fn answer(unit: &Unit, case: &Case) -> u64 {
    unit.dot(&case.a, &case.b, case.c, [&case.scales[0], &case.scales[1]])
}

fn judge(formats: [Format; 2], scale: Scale, unit: &Unit, seed: u64) -> Outcome {
    let [a, b] = formats;
    let suite = scaled([a, b, Format::Fp32], Some(scale));
    let answers: Vec<u64> = suite.cases.iter().map(|case| answer(unit, case)).collect();
    let found = match infer(&suite, &answers).unwrap() {
        Verdict::Contradicted(best) => {
            if std::env::var("TCVERIFY_HIDDEN_SHOW").is_ok() {
                eprintln!(
                    "{unit:?}\n  {} beside {}",
                    best.cases.len(),
                    serde_json::to_string(&best.arithmetic.step).unwrap()
                );
            }
            return Outcome::Refused;
        }
        Verdict::Explained(found) => found,
    };
    let mut dice = Dice(seed);
    let mut wrong = Vec::new();
    for _ in 0..super::elements() {
        let case = element(&mut dice, unit);
        let model = replay::answers(&found.arithmetic, std::slice::from_ref(&case))[0];
        let truth = answer(unit, &case);
        if model != truth {
            wrong.push((case, model, truth));
        }
    }
    match wrong.first() {
        None => Outcome::Found,
        Some((case, model, truth)) => Outcome::Wrong(
            wrong.len(),
            format!(
                "{}; {case:x?}: {model:x}, not {truth:x}",
                found.arithmetic.step.summary()
            ),
        ),
    }
}

#[test]
#[ignore = "long"]
fn hidden_units_with_scales_get_no_wrong_name() {
    let (units, whole) = super::of_a_run(UNITS, HABITS.len());
    let outcomes: Vec<_> = units
        .par_iter()
        .map(|&i| {
            let (formats, scale, unit) = hidden(i, HABITS[i % HABITS.len()]);
            let outcome = judge(formats, scale, &unit, i as u64);
            (i, formats, unit, outcome)
        })
        .collect();
    let (mut found, mut refused, mut wrong) = (Vec::new(), 0, Vec::new());
    for (i, formats, unit, outcome) in outcomes {
        match outcome {
            Outcome::Found => found.push(format!("{:?}", unit.habit)),
            Outcome::Refused => refused += 1,
            Outcome::Wrong(n, how) => {
                wrong.push(format!("{i}: {formats:?}: {n} differ\n  {unit:?}\n  {how}"))
            }
        }
    }
    println!(
        "hidden units with scales: {} of {} found ({}), {refused} refused, {} wrong",
        found.len(),
        units.len(),
        found.join(", "),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        !whole || !found.is_empty() && 2 * refused >= units.len(),
        "{} found, {refused} refused",
        found.len()
    );
}

#[test]
#[ignore = "long"]
fn units_with_scales_without_a_habit_are_found() {
    (0..9).into_par_iter().for_each(|i| {
        let (formats, scale, unit) = hidden(i, Habit::None);
        assert_eq!(
            judge(formats, scale, &unit, i as u64),
            Outcome::Found,
            "{formats:?} {unit:?}"
        );
    });
}
