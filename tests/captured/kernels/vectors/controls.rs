//! Schedules that are wrong in one decision, each with how many of the captured products it gets wrong.

use tcverify::emu::schedule::{
    Empty, Grain, Level, Merge, Multiply, Order, Partials, Parts, SliceLength, Start, WithoutC,
};

use super::{Output, Setup, mismatches, outputs};
use crate::support::engines::engines;

/// A schedule that is wrong in one decision, and how many outputs it gets wrong.
struct Control {
    what: &'static str,
    outputs: usize,
    of: fn(&Output) -> bool,
    change: fn(&Output, &mut Setup),
}

fn product(output: &Output) -> bool {
    !output.is_instruction()
}

fn is_split(output: &Output) -> bool {
    output.slices() > 1
}

fn pairwise(output: &Output) -> bool {
    output.scheme() == "pairwise"
}

fn serial(output: &Output) -> bool {
    output.scheme() == "serial"
}

fn slow(output: &Output) -> bool {
    product(output) && !output.entry.fast_accum
}

fn fast(output: &Output) -> bool {
    product(output) && output.entry.fast_accum
}

fn merge_of(setup: &mut Setup) -> &mut Merge {
    &mut setup.spec().split.as_mut().expect("a split").merge
}

fn order(setup: &mut Setup, wanted: Order) {
    let Merge::Sum { order, .. } = merge_of(setup) else {
        panic!("parts are kept");
    };
    *order = wanted;
}

fn deal(setup: &mut Setup, k: usize) {
    let spec = setup.spec();
    spec.tile_k = Some(k);
    let split = spec.split.as_mut().expect("a split");
    let Parts::Interleaved { grain, .. } = &mut split.parts else {
        panic!("tiles are dealt out");
    };
    *grain = Some(Grain::K(k));
}

fn contiguous(output: &Output, setup: &mut Setup) {
    setup.spec().split.as_mut().expect("a split").parts = Parts::Slices {
        count: Some(output.slices()),
        grain: None,
        length: SliceLength::Ceil,
        empty: Empty::Zero,
    };
}

const CONTROLS: [Control; 24] = [
    Control {
        what: "contiguous slices of tiles of 64",
        outputs: 226,
        of: is_split,
        change: contiguous,
    },
    Control {
        what: "contiguous slices of tiles of 128",
        outputs: 222,
        of: is_split,
        change: |output, setup| {
            contiguous(output, setup);
            setup.spec().tile_k = Some(128);
        },
    },
    Control {
        what: "interleaved tiles of 32",
        outputs: 216,
        of: is_split,
        change: |_, setup| deal(setup, 32),
    },
    Control {
        what: "interleaved tiles of 128",
        outputs: 212,
        of: is_split,
        change: |_, setup| deal(setup, 128),
    },
    Control {
        what: "no split",
        outputs: 224,
        of: is_split,
        change: |_, setup| setup.spec().split = None,
    },
    Control {
        what: "parts added in pairs, one after the other",
        outputs: 60,
        of: pairwise,
        change: |_, setup| order(setup, Order::Serial),
    },
    Control {
        what: "parts added in pairs, the last one first",
        outputs: 61,
        of: pairwise,
        change: |_, setup| order(setup, Order::Reverse),
    },
    Control {
        what: "parts added in pairs, neighbours first",
        outputs: 50,
        of: pairwise,
        change: |_, setup| order(setup, Order::Adjacent),
    },
    Control {
        what: "parts added one after the other, in pairs",
        outputs: 66,
        of: serial,
        change: |_, setup| order(setup, Order::Pairwise),
    },
    Control {
        what: "parts in D's format",
        outputs: 163,
        of: is_split,
        change: |_, setup| {
            let Merge::Sum { partials, .. } = merge_of(setup) else {
                panic!("parts are kept");
            };
            *partials = Partials::Result;
        },
    },
    Control {
        what: "parts added in place",
        outputs: 189,
        of: is_split,
        change: |_, setup| {
            setup.spec().scales = None;
            *merge_of(setup) = Merge::InPlace {};
        },
    },
    Control {
        what: "slow: no promotion",
        outputs: 124,
        of: slow,
        change: |_, setup| setup.spec().set_promotion(None),
    },
    Control {
        what: "slow: promotion every 64",
        outputs: 114,
        of: slow,
        change: |_, setup| setup.spec().set_promotion(Some(64)),
    },
    Control {
        what: "slow: promotion every 256",
        outputs: 111,
        of: slow,
        change: |_, setup| setup.spec().set_promotion(Some(256)),
    },
    Control {
        what: "fast: promotion every 128",
        outputs: 172,
        of: fast,
        change: |_, setup| setup.spec().set_promotion(Some(128)),
    },
    Control {
        what: "slow: promotion of every 128 k of one chain, parts forgotten",
        outputs: 105,
        of: |output| slow(output) && is_split(output),
        change: |_, setup| {
            setup.spec().split = None;
            setup.spec().inner = vec![Level::promotion(128)];
        },
    },
    Control {
        what: "no +0 where C is missing",
        outputs: 216,
        of: product,
        change: |_, setup| setup.spec().epilogue.without_c = WithoutC::Multiply,
    },
    Control {
        what: "alpha in two multiplications",
        outputs: 162,
        of: |output| product(output) && output.entry.k > 0,
        change: |output, setup| {
            *setup.values() = output.scaled(setup);
            let scaling = setup.spec().scales.as_mut().expect("the preset has some");
            scaling.multiply = Multiply::AThenB;
        },
    },
    Control {
        what: "subnormal alpha flushed",
        outputs: 52,
        of: product,
        change: |_, setup| {
            let alpha = &mut setup.values().alpha;
            if *alpha & 0x7f80_0000 == 0 {
                *alpha &= 0x8000_0000;
            }
        },
    },
    Control {
        what: "the scale of the result in alpha",
        outputs: 23,
        of: |output| output.entry.scale_result.is_some(),
        change: |_, setup| {
            let values = setup.values();
            let scale = values.scale_result.take().expect("there is one");
            let alpha = f32::from_bits(values.alpha) * f32::from_bits(scale);
            values.alpha = alpha.to_bits();
        },
    },
    Control {
        what: "no scale of the result",
        outputs: 31,
        of: |output| output.entry.scale_result.is_some(),
        change: |_, setup| setup.values().scale_result = None,
    },
    Control {
        what: "sums that start from +0: only a -0 would tell",
        outputs: 0,
        of: serial,
        change: |_, setup| {
            let Merge::Sum { start, .. } = merge_of(setup) else {
                panic!("parts are kept");
            };
            *start = Start::Zero;
        },
    },
    Control {
        what: "parts without a tile left out: a +0 tells nothing in series",
        outputs: 0,
        of: serial,
        change: |_, setup| {
            let split = setup.spec().split.as_mut().expect("a split");
            let Parts::Interleaved { empty, .. } = &mut split.parts else {
                panic!("tiles are dealt out");
            };
            *empty = Empty::Skipped;
        },
    },
    Control {
        what: "the partial tile first",
        outputs: 1,
        of: product,
        change: |_, setup| setup.spec().residue = tcverify::emu::schedule::Residue::First,
    },
];

#[test]
fn wrong_schedules_differ() {
    let Some(mut outputs) = outputs() else { return };
    let engine = *engines().last().expect("an engine");
    let mut unexpected = Vec::new();
    for control in &CONTROLS {
        let (of, rest): (Vec<Output>, Vec<Output>) = outputs.into_iter().partition(control.of);
        let [_, found] = mismatches(&of, engine, |output| {
            let mut setup = output.setup();
            (control.change)(output, &mut setup);
            setup
        });
        if found != control.outputs {
            let what = control.what;
            unexpected.push(format!("{what}: {found} of {}", of.len()));
        }
        outputs = rest;
        outputs.extend(of);
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
