//! Promotion of every length, against a loop: where kernels promote by themselves, and where they hand over.

use rayon::prelude::*;
use tcverify::emu::schedule::{AddendAt, Level, Merge, ScheduleSpec, Start};
use tcverify::num::Format::{Bf16, E4m3, Fp16, Fp32};

use super::operands::KINDS;
use super::own::{add, narrow};
use super::product::{Dot, Product, Unit, Wish, shape};
use crate::support::engines::{engines, name};
use crate::support::random::Random;

/// Chains of so many k from zero on, the first from C; each is added to a sum that starts from +0 or is the
/// first one.
fn promoted(dot: &Dot, every: usize, from_first: bool) -> u64 {
    let mut main = if from_first { None } else { Some(0) };
    let pairs = dot.a.chunks(every).zip(dot.b.chunks(every));
    for (i, (a, b)) in pairs.enumerate() {
        let c = dot.c.filter(|_| i == 0).map_or(0, |(code, _)| code as u32);
        let sum = dot.unit.mma(c, a, b);
        main = Some(main.map_or(sum, |main| add(main, sum)));
    }
    narrow(main.expect("K is not 0"), dot.result)
}

#[test]
fn promotions_of_every_length() {
    let units = [
        Unit::new("ada", "mma", E4m3, Fp32),
        Unit::new("hopper", "wgmma", Bf16, Fp32),
        Unit::new("volta", "mma", Fp16, Fp32),
    ];
    let mut cases = Vec::new();
    for unit in &units {
        for every in [16, 48, 128, 160, 256, 400] {
            for k in [1, 127, 128, 129, 600, 1000] {
                cases.extend(KINDS.map(|kind| (unit, every, k, kind)));
            }
        }
    }
    assert_eq!(cases.len(), 3 * 6 * 6 * KINDS.len());
    cases.into_par_iter().for_each(|(unit, every, k, kind)| {
        let case = format!("{} {every} {k} {kind:?}", unit.name);
        let mut random = Random::named(&case);
        let wish = Wish {
            c: random.once_in(3).then_some(Fp32),
            result: random.pick(&[Fp32, Bf16]),
            ..Wish::plain(shape(5, 37, k), kind)
        };
        let product = Product::draw(unit, wish, &mut random);
        for start in [Start::Zero, Start::First] {
            let level = Level {
                merge: Merge::serial(start),
                ..Level::promotion(every)
            };
            let spec = ScheduleSpec {
                inner: vec![level],
                addend: AddendAt::Start,
                ..ScheduleSpec::plain()
            };
            let own = product.straight(unit, |dot| promoted(dot, every, start == Start::First));
            for engine in engines() {
                let library = product.replay(unit, &spec, engine);
                assert!(library == own, "{case}, {start:?}, {}", name(engine));
            }
        }
    });
}
