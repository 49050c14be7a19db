//! Units as AMD's RDNA has them: without a habit they are found, with one refused, or what is inferred computes what they do.

use rayon::prelude::*;
use tcverify::emu::Catalogue;
use tcverify::num::Format;

use super::fresh::{Element, element};
use super::{Outcome, elements, judge_as};
use crate::amd::dot;
use crate::support::hidden::number::{BF16, Dice, FP16, Layout};
use crate::support::hidden::rdna::{HABITS, Habit, Unit};

const UNITS: usize = 3 * HABITS.len();

fn format(layout: Layout) -> Format {
    match layout {
        FP16 => Format::Fp16,
        BF16 => Format::Bf16,
        _ => Format::Fp32,
    }
}

fn hidden(i: usize) -> Unit {
    let mut dice = Dice(0xd4a_0000 + i as u64);
    let mut unit = Unit::plain(&mut dice);
    unit.habit = HABITS[i % HABITS.len()];
    unit
}

fn judge(unit: &Unit, seed: u64) -> Outcome {
    let dot = |element: &Element| unit.dot(&element.a, &element.b, element.c);
    let layouts = [unit.operand, unit.result];
    judge_as(layouts.map(format), layouts, &dot, seed, elements())
}

#[test]
#[ignore = "long"]
fn units_of_rdna_get_no_wrong_name() {
    let (units, whole) = super::of_a_run(UNITS, HABITS.len());
    let outcomes: Vec<_> = units
        .par_iter()
        .map(|&i| (hidden(i), judge(&hidden(i), i as u64)))
        .collect();
    let (mut found, mut refused, mut wrong) = (Vec::new(), 0, Vec::new());
    for (unit, outcome) in outcomes {
        match outcome {
            Outcome::Found => found.push(unit.habit),
            Outcome::Refused if unit.habit == Habit::None => {
                wrong.push(format!("refused without a habit: {unit:?}"));
            }
            Outcome::Refused => refused += 1,
            Outcome::Wrong(n, how) => wrong.push(format!("{n} differ\n  {unit:?}\n  {how}")),
        }
    }
    println!(
        "hidden units of RDNA: {} of {} found ({found:?}), {refused} refused, {} wrong",
        found.len(),
        units.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!whole || 2 * refused >= units.len(), "{refused} refused");
}

/// Of both rules, every format, order and widths one off.
#[test]
#[ignore = "long"]
fn units_of_rdna_are_found() {
    (0..12).into_par_iter().for_each(|i| {
        let unit = Unit::plain(&mut Dice(0xaad_0000 + i));
        assert_eq!(judge(&unit, i), Outcome::Found, "{unit:?}");
    });
}

/// With the widths that are known a unit computes what the catalogue's rule does.
#[test]
fn known_widths_are_the_catalogues() {
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..60 {
        let unit = Unit::plain(&mut Dice(0xbee_0000 + i));
        if (unit.product_bits, unit.leading_bits) != (24, 26) {
            continue;
        }
        let (arch, instruction) = match (unit.complement, &unit.order[..]) {
            (true, _) => ("rdna3", "wmma"),
            (false, [0, 1, ..]) => ("rdna4", "wmma-wave64"),
            (false, _) => ("rdna4", "wmma-wave32"),
        };
        let (operand, result) = (format(unit.operand), format(unit.result));
        let arch = Catalogue::builtin().find(arch).unwrap();
        let model = arch.select(Some(instruction), [operand; 2], Some(result));
        let model = model.unwrap().arithmetic;
        let mut dice = Dice(i);
        for _ in 0..400 {
            let element = element(&mut dice, unit.operand, unit.result);
            let ours = dot(&model, &element.a, &element.b, element.c);
            let theirs = unit.dot(&element.a, &element.b, element.c);
            assert_eq!(ours, theirs, "{unit:x?} {element:x?}");
        }
        seen.insert((instruction, operand, result));
    }
    assert!(seen.len() > 8, "{seen:?}");
}
