//! Presets can be told apart by D: a schedule that is confirmed says something.

use rayon::prelude::*;
use tcverify::emu::Engine;
use tcverify::emu::schedule::Per;
use tcverify::kernels::Platform;
use tcverify::num::Format::{self, Bf16, Fp16, Fp32, Tf32};

use super::operands::Kind;
use super::presets::closed;
use super::product::{ONE, Product, Unit, Wish, shape};
use super::straight::{NAMES, Open};
use crate::support::random::Random;

/// Pairs that no operands can tell apart: one spec.
const ALIKE: [[&str; 2]; 1] = [
    // Whole tiles of 64 in order, what is behind K is zeros, one epilogue.
    ["batch-invariant", "cutlass-sm90"],
];

/// Pairs that only differ where a chain from +0 ends in -0, or in formats that are not drawn here.
const CLOSE: [[&str; 2]; 2] = [
    // The same order of the same sums.
    ["cublas-nvjet-fp8", "cublas-ada-fp8"],
    // Zeros behind K in a last tile, or no tiles.
    ["cublas-nvjet", "cublas-magma"],
];

/// Kernels of CUDA cores: their threads take single k, which no instruction of a tensor core can.
const CUDA_CORES: [&str; 3] = ["cublas-gemmsn", "cublas-gemv", "cublas-dot"];

const OPEN: Open = Open {
    slices: 3,
    workers: 5,
};

fn fast() -> Engine<'static> {
    Platform::available()
        .pop()
        .map_or(Engine::Exact, Platform::engine)
}

/// The scales that a preset wants, and another one has to be drawn with as well.
fn per(names: [&str; 2]) -> Option<Per> {
    let of = |name| closed(name, OPEN).scales.map(|scaling| scaling.per);
    names.into_iter().find_map(of)
}

/// The first draw that two presets make different D of.
fn told_apart(names: [&str; 2], unit: &Unit) -> Option<usize> {
    let specs = names.map(|name| closed(name, OPEN));
    let results: [Format; 3] = [Fp32, Bf16, Fp16];
    (0..60).find(|draw| {
        let mut random = Random::named(&format!("apart {draw}"));
        let wish = Wish {
            c: (draw % 2 == 0).then_some(Fp32),
            // Of two schedules whose scales are alpha, or of one, it is 1.
            alpha: if names
                .iter()
                .any(|name| name.starts_with("cublas-ada") || name.starts_with("cublas-nvjet-fp8"))
            {
                ONE
            } else {
                random.pick(&[0x3f2a_aaab, 0xbf2a_aaab])
            },
            beta: 0x3e99_999a,
            result: results[draw % 3],
            per: per(names),
            ..Wish::plain(
                shape(6, 7, [311, 129, 121, 385, 4][draw / 2 % 5]),
                // Sums of few tiny numbers are zeros now and then.
                [Kind::Normal, Kind::Cancelling, Kind::Tiny][draw / 10 % 3],
            )
        };
        let mut product = Product::draw(unit, wish, &mut random);
        let pers = specs
            .each_ref()
            .map(|r| r.scales.as_ref().map(|scaling| scaling.per));
        if let ([Some(one), Some(other)], Some(scales)) = (pers, &mut product.scales)
            && one != other
        {
            // Scales that differ would show by themselves.
            for scales in scales {
                let first = scales[0];
                scales.fill(first);
            }
        }
        let [one, other] = specs
            .each_ref()
            .map(|spec| product.replay(unit, spec, fast()));
        one != other
    })
}

#[test]
fn any_two_presets_make_different_bits_of_some_operands() {
    let tf32 = Unit::new("ampere", "mma", Tf32, Fp32);
    let fp16 = Unit::new("hopper", "wgmma", Fp16, Fp32);
    // Zero points are taken off integers, which no other schedule has; `wrong_vllm` tells those two apart.
    // Tiles of Arm's kernels have fewer k than a step of these units; `straight_arm` has their orders.
    let left_out = ["-azp", "openblas-", "iree-"];
    let suits = |name: &&str| !left_out.iter().any(|part| name.contains(part));
    let names: Vec<&str> = NAMES.into_iter().filter(suits).collect();
    assert_eq!(names.len(), NAMES.len() - 5);
    let pairs: Vec<[&str; 2]> = names
        .iter()
        .enumerate()
        .flat_map(|(i, &one)| names[i + 1..].iter().map(move |&other| [one, other]))
        .collect();
    assert_eq!(pairs.len(), names.len() * (names.len() - 1) / 2);
    let fma = Unit::new("ieee-fma", "fma", Fp16, Fp32);
    let unexpected = pairs.into_par_iter().flat_map_iter(|names| {
        let terms = |name: &str| closed(name, OPEN).split_terms.is_some();
        let units = match names.into_iter().any(|name| CUDA_CORES.contains(&name)) {
            // Terms are of wide operands, which those kernels do not split.
            true if names.into_iter().any(terms) => vec![],
            true => vec![&fma],
            false if names.into_iter().any(terms) => vec![&tf32],
            false => vec![&tf32, &fp16],
        };
        let alike = ALIKE.contains(&names) || CLOSE.contains(&names);
        units.into_iter().filter_map(move |unit| {
            let found = told_apart(names, unit);
            let wrong = found.is_none() != alike;
            wrong.then(|| format!("{names:?} on {}: {found:?}", unit.name))
        })
    });
    let unexpected: Vec<String> = unexpected.collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

/// Two names for one traversal have one spec, not just equal results.
#[test]
fn what_cannot_be_told_apart_is_the_same_spec() {
    for names in ALIKE {
        let [one, other] = names.map(|name| closed(name, OPEN));
        assert_eq!(one.sha256(), other.sha256(), "{names:?}");
    }
}
