//! Dot products of processors: captured rows on every engine, wrong rules that fail on them, and the processor that these
//! tests run on, where it has the instructions.

use serde_json::{Value, json};
use tcverify::emu::step::{Formats, Step};
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::Format;
use tcverify::probe::{Case, Prepared, Suite, here, replay};
use tcverify_kernels::{Lanes, Native};

use crate::support::case::Case as Captured;
use crate::support::say;
use crate::support::vectors::{processors, replay_all};

#[test]
fn every_row_is_reproduced() {
    assert_eq!(replay_all("avx512", &processors()), 2816);
}

fn with(step: &Step, changes: Value) -> Step {
    let mut all = serde_json::to_value(step).expect("plain data");
    for (name, value) in changes.as_object().expect("constants") {
        all[name] = value.clone();
    }
    serde_json::from_value(all).expect("constants of the step")
}

#[test]
fn wrong_rules_fail() {
    let cases = processors();
    for (what, instruction, changes, least) in [
        (
            "the even product first",
            "vdpbf16ps",
            json!({"chains": [[0, 1]]}),
            10,
        ),
        (
            "two sums, then C",
            "vdpbf16ps",
            json!({"chains": [[0], [1]]}),
            10,
        ),
        (
            "subnormal numbers kept",
            "vdpbf16ps",
            json!({"flush": false}),
            5,
        ),
        (
            "another NaN of invalid operations",
            "vdpbf16ps",
            json!({"invalid": "7fc00000"}),
            5,
        ),
        (
            "the same, saturating",
            "vpdpbusd",
            json!({"overflow": "saturate"}),
            1,
        ),
        (
            "the same, modulo 2^32",
            "vpdpbusds",
            json!({"overflow": "wrap"}),
            5,
        ),
        (
            "saturating after two products",
            "vpdpbusds",
            json!({"group": 2}),
            1,
        ),
        (
            "saturating after eight",
            "vpdpbusds",
            json!({"group": 8}),
            1,
        ),
    ] {
        let own: Vec<&Captured> = cases
            .iter()
            .filter(|case| case.instruction == instruction)
            .collect();
        let failed: usize = own
            .iter()
            .map(|case| {
                let right = case.choice().arithmetic;
                let step = with(&right.step, changes.clone());
                case.mismatches(&Arithmetic { step, ..right })
            })
            .sum();
        say(format_args!(
            "avx512: {instruction}, {what}: {failed} rows fail"
        ));
        assert!(failed >= least, "{instruction}, {what}: {failed}");
    }
}

/// AMX's two texts are two arithmetics.
#[test]
fn texts_that_contradict_each_other_give_other_bits() {
    let amx = Catalogue::builtin().find("amx").expect("in the catalogue");
    let operands = [Format::Bf16; 2];
    // Neither is taken unless it is named.
    assert!(amx.select(None, operands, None).is_err());
    let of = |name: &str| {
        amx.select(Some(name), operands, None)
            .expect("a rule")
            .arithmetic
    };
    let suite = Suite::new(Format::Bf16, Format::Bf16, Format::Fp32).expect("has probes");
    let [sdm, guide] =
        ["tdpbf16ps-sdm", "tdpbf16ps-guide"].map(|name| replay::answers(&of(name), &suite.cases));
    let differing = sdm
        .iter()
        .zip(&guide)
        .filter(|(one, other)| one != other)
        .count();
    assert!(differing > 100, "{differing}");
}

/// An instruction's definition in floating point of the host, apart from the model: as the sheet of the processor has it.
fn by_hand(c: u32, a: u32, b: u32) -> u32 {
    let part = |lane: u32, odd: bool| if odd { lane & 0xffff_0000 } else { lane << 16 };
    let sum = fma(part(a, true), part(b, true), c);
    fma(part(a, false), part(b, false), sum)
}

fn fma(x: u32, y: u32, c: u32) -> u32 {
    if let Some(nan) = [x, y, c]
        .into_iter()
        .find(|&code| f32::from_bits(code).is_nan())
    {
        return nan | 0x0040_0000;
    }
    let daz = |code: u32| match code & 0x7f80_0000 {
        0 => f32::from_bits(code & 0x8000_0000),
        _ => f32::from_bits(code),
    };
    let sum = daz(x).mul_add(daz(y), daz(c));
    match sum {
        _ if sum.is_nan() => 0xffc0_0000,
        _ if sum.abs() < f32::MIN_POSITIVE => sum.to_bits() & 0x8000_0000,
        _ => sum.to_bits(),
    }
}

/// Lanes of every kind of number: the model, the definition by hand and, where there is one, the processor.
#[test]
fn random_lanes() {
    let arithmetic = Catalogue::builtin()
        .find("avx512")
        .expect("in the catalogue");
    let arithmetic = arithmetic.select(Some("vdpbf16ps"), [Format::Bf16; 2], None);
    let arithmetic = arithmetic.expect("a rule").arithmetic;
    let formats: Formats = arithmetic.formats();
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let (mut here, mut nans) = (true, 0);
    for _ in 0..4096 {
        let mut number = |shift: u32| match random() % 4 {
            0 => random() >> shift,
            1 => (random() & 0x8000_0000 | 0x3f00_0000 | random() & 0x00ff_ffff) >> shift,
            // Products about the smallest normal number.
            2 => (random() & 0x8000_0000 | (0x1f00_0000 + random() % 0x0100_0000)) >> shift,
            _ => (random() & 0x8000_0000 | (random() % 0x0200_0000)) >> shift,
        };
        let lane = |_| number(0);
        let c: Lanes = std::array::from_fn(lane);
        let pair = |_| number(16) << 16 | number(16);
        let a: Lanes = std::array::from_fn(pair);
        let pair = |_| number(16) << 16 | number(16);
        let b: Lanes = std::array::from_fn(pair);
        let answered = Native::Vdpbf16ps.run(&c, &a, &b);
        here &= answered.is_some();
        for lane in 0..c.len() {
            let halves = |code: u32| vec![u64::from(code & 0xffff), u64::from(code >> 16)];
            let case = Case {
                a: halves(a[lane]),
                b: halves(b[lane]),
                c: c[lane].into(),
                ..Case::default()
            };
            let model = Prepared::new(formats, &case).answer(formats, &arithmetic.step) as u32;
            let place = format!("{:08x} {:08x} {:08x}", c[lane], a[lane], b[lane]);
            let hand = by_hand(c[lane], a[lane], b[lane]);
            // Tiny after rounding as if exponents had no end: what the host rounds up to the smallest number may be.
            let unclear = [model, hand].map(|code| code & 0x7fff_ffff) == [0, 0x0080_0000];
            assert!(
                model == hand || unclear,
                "{place}: {model:08x}, by hand {hand:08x}"
            );
            if let Some(answered) = answered {
                assert_eq!(answered[lane], model, "{place}");
            }
            nans += usize::from(f32::from_bits(model).is_nan());
        }
    }
    assert!(nans > 100, "{nans}");
    if !here {
        say(format_args!(
            "not checked: this processor has no VDPBF16PS, so that it was not asked"
        ));
    }
}

/// All probes, asked of the processor that this runs on.
#[test]
fn the_processor_answers_as_its_model() {
    for native in Native::ALL {
        let [a, b, accumulator] = native.formats();
        let suite = Suite::new(a, b, accumulator).expect("has probes");
        let Some(answers) = here::answers(native, &suite) else {
            say(format_args!(
                "not checked: this processor has no {}",
                native.name()
            ));
            continue;
        };
        let of = |name: &str| {
            let avx512 = Catalogue::builtin()
                .find("avx512")
                .expect("in the catalogue");
            let choice = avx512.select(Some(name), [a, b], Some(accumulator));
            replay::answers(&choice.expect("a rule").arithmetic, &suite.cases)
        };
        assert_eq!(answers, of(native.name()), "{}", native.name());
        say(format_args!(
            "{}: {} probes answered as by the model",
            native.name(),
            answers.len()
        ));
        let wrong = match native {
            Native::Vdpbf16ps => continue,
            Native::Vpdpbusd => of("vpdpbusds"),
            Native::Vpdpbusds => of("vpdpbusd"),
        };
        assert_ne!(answers, wrong, "{}", native.name());
    }
}
