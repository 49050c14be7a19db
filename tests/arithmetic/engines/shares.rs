//! The kernels are what runs, and what runs is compared: nothing above would notice a fast engine
//! that asks the exact one for everything, or a comparison that compares nothing.

use tcverify::emu::step::Step;
use tcverify::kernels::{self, Platform};
use tcverify::num::Format;

use super::case::{Case, Shape};
use super::models;
use super::operands::{Addend, Kind};
use crate::support::case::codes;

#[test]
#[ignore = "long"]
fn ordinary_numbers_never_need_the_exact_engine() {
    let mut seen = Vec::new();
    for model in models::catalogue() {
        // What a kernel gives up follows from its constants.
        let arithmetic = &model.arithmetic;
        let kernel = (kernels::plan(arithmetic), arithmetic.formats());
        if seen.contains(&kernel) {
            continue;
        }
        seen.push(kernel);
        let shape = Shape::new(33, 70, 150);
        for c in [Addend::Missing, Addend::Ordinary, Addend::Zeros] {
            let case = Case::new(&model, shape, Kind::Ordinary, c, 6);
            let operands = case.operands();
            for platform in Platform::available() {
                let share = case.exact_share(&operands, platform);
                let name = format!("{} {} {c:?}", platform.name(), model.name);
                assert_eq!(share.total, 33 * 70 * 150, "{name}");
                assert_eq!(share.exact, 0, "{name}");
            }
        }
    }
}

#[test]
fn one_nan_stays_with_the_kernels() {
    for name in ["hopper wgmma fp16*fp16->fp32", "hopper mma e4m3*e4m3->fp32"] {
        let model = models::named(name);
        let case = Case::new(
            &model,
            Shape::new(512, 512, 512),
            Kind::OneSpecial,
            Addend::Missing,
            7,
        );
        let format = model.arithmetic.a;
        let special =
            |code: &u64| format.unpack(*code).is_nan() || format.unpack(*code).is_infinite();
        let operands = case.operands();
        assert_eq!(operands.a.iter().filter(|x| special(x)).count(), 1);
        for platform in Platform::available() {
            let share = case.exact_share(&operands, platform);
            assert_eq!(share.exact, 0, "{} {name}", platform.name());
        }
    }
}

/// BF16 spans more than a kernel can take at a time: some of its tiles are left to the exact
/// engine, others not.
#[test]
fn of_wide_numbers_only_some_need_the_exact_engine() {
    let model = models::named("hopper wgmma bf16*bf16->fp32");
    let shape = Shape::new(256, 256, 64);
    for (a, only_some) in [(Kind::Lines, true), (Kind::Wide, false)] {
        let case = Case::new(&model, shape, a, Addend::Missing, 8);
        let case = Case {
            b: Kind::Ordinary,
            ..case
        };
        let operands = case.operands();
        for platform in Platform::available() {
            let share = case.exact_share(&operands, platform);
            let name = format!("{} {a:?} {share:?}", platform.name());
            assert!(share.exact > 0, "{name}");
            assert_eq!(share.exact < share.total, only_some, "{name}");
        }
    }
}

#[test]
fn one_fraction_bit_more_makes_a_difference() {
    for name in [
        "hopper wgmma fp16*fp16->fp32",
        "ada mma e4m3*e5m2->fp32",
        "ampere mma bf16*bf16->fp32",
    ] {
        let model = models::named(name);
        let mut wrong = model.clone();
        let Step::Fused(fused) = &mut wrong.arithmetic.step else {
            panic!("{name} is fused")
        };
        fused.fraction_bits += 1;
        let shape = Shape::new(33, 65, 128);
        let case = Case::new(&model, shape, Kind::Ordinary, Addend::Ordinary, 9);
        let wrong = Case {
            model: wrong,
            ..case.clone()
        };
        let operands = case.operands();
        let right = codes(&case.exact(&operands));
        assert_eq!(case.model.arithmetic.accumulator, Format::Fp32);
        for platform in Platform::available() {
            let found = codes(&wrong.by(&operands, platform.engine()));
            let differing = right.iter().zip(&found).filter(|(x, y)| x != y).count();
            assert!(differing > right.len() / 50, "{name}: {differing}");
            assert_eq!(
                codes(&case.by(&operands, platform.engine())),
                right,
                "{name}"
            );
        }
    }
}
