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
    assert_eq!(replay_all("avx512", &processors()), 3840);
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
            "subnormal numbers flushed",
            "vfmaddph",
            json!({"flush": true}),
            20,
        ),
        (
            "another NaN of invalid operations",
            "vfmaddph",
            json!({"invalid": "7e00"}),
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

fn rule(arch: &str, instruction: Option<&str>, a: Format, b: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).expect("in the catalogue");
    let choice = arch.select(instruction, [a, b], None);
    choice.expect("a rule").arithmetic
}

/// AMX's two texts are two arithmetics, and the one that processors have is the default.
#[test]
fn texts_that_contradict_each_other_give_other_bits() {
    let bf16 = |name| rule("amx", name, Format::Bf16, Format::Bf16);
    let (sdm, guide) = (bf16(Some("tdpbf16ps-sdm")), bf16(Some("tdpbf16ps-guide")));
    assert_eq!(bf16(None), sdm);
    let suite = Suite::new(Format::Bf16, Format::Bf16, Format::Fp32).expect("has probes");
    let [sdm, guide] = [sdm, guide].map(|model| replay::answers(&model, &suite.cases));
    let differing = sdm
        .iter()
        .zip(&guide)
        .filter(|(one, other)| one != other)
        .count();
    assert!(differing > 100, "{differing}");
}

fn dot(model: &Arithmetic, a: &[u64], b: &[u64], c: u64) -> u64 {
    let formats = model.formats();
    let case = Case {
        a: a.to_vec(),
        b: b.to_vec(),
        c,
        ..Case::default()
    };
    Prepared::new(formats, &case).answer(formats, &model.step)
}

/// Rows run on an Emerald Rapids.
#[test]
fn worked_examples_of_tiles() {
    let model = rule("amx", None, Format::Bf16, Format::Bf16);
    // The even chain: 2^-126, less a power of two that only rounding with an endless exponent may drop.
    for (a, b, expected) in [
        (0x1b00, 0x9a00, 0),           // -2^-148
        (0x1a80, 0x9a00, 0),           // -2^-149
        (0x1a00, 0x9a00, 0),           // -2^-150
        (0x1a00, 0x9980, 0x0080_0000), // -2^-151, a tie
        (0x1980, 0x9980, 0x0080_0000),
        (0x1980, 0x9780, 0x0080_0000), // -2^-156
    ] {
        let mut row = [0u64; 32];
        let mut column = [0u64; 32];
        (row[0], column[0], row[2], column[2]) = (0x2000, 0x2000, a, b);
        assert_eq!(dot(&model, &row, &column, 0), expected, "{a:x} {b:x}");
        let negated = if expected == 0 {
            0
        } else {
            0x8000_0000 | expected
        };
        (column[0], column[2]) = (0xa000, b ^ 0x8000);
        assert_eq!(dot(&model, &row, &column, 0), negated, "{a:x} {b:x}");
    }
    // A narrow tile ends with its last pair, whose -0 stays; a full one goes on with zeros.
    let tiny = [0x9f00, 0x9f00];
    assert_eq!(dot(&model, &tiny, &[0x1f00; 2], 0x8000_0000), 0x8000_0000);
    let full = |last: usize| {
        let mut row = [0u64; 32];
        (row[last], row[last + 1]) = (0x9f00, 0x9f00);
        dot(&model, &row, &[0x1f00; 32], 0x8000_0000)
    };
    assert_eq!((full(0), full(30)), (0, 0x8000_0000));
    // An odd K fills its pair up: the odd chain ends with +0.
    assert_eq!(dot(&model, &tiny[..1], &[0x1f00], 0x8000_0000), 0);
    // NaN: C's, then the even chain's; in a chain the last one's.
    let nan = |first: [(usize, u64); 2], c| {
        let mut row = [0x3f80u64; 32];
        for (k, code) in first {
            row[k] = code;
        }
        dot(&model, &row, &[0x3f80; 32], c)
    };
    assert_eq!(nan([(0, 0x7fc1); 2], 0x7f81_2345), 0x7fc1_2345);
    assert_eq!(nan([(0, 0x7fc1), (1, 0x7fc2)], 0), 0x7fc1_0000);
    assert_eq!(nan([(2, 0x7fc1), (1, 0x7fc2)], 0), 0x7fc1_0000);
    assert_eq!(nan([(0, 0x7fc1), (2, 0x7fc2)], 0), 0x7fc2_0000);
    assert_eq!(nan([(0, 0x7f80), (1, 0xff80)], 0), 0xffc0_0000);
}

/// What is published alone: each rule beside the one that would be wrong.
#[test]
fn published_products_of_processors() {
    let (one, half) = (0x3c00, 0x3800);
    // FP16's smallest number is no subnormal one of FP32; BF16's is.
    for arch in ["amx", "avx10"] {
        let model = rule(arch, None, Format::Fp16, Format::Fp16);
        assert_eq!(dot(&model, &[1, 0], &[one, 0], 0), 0x3380_0000, "{arch}");
        // A subnormal C counts as zero.
        assert_eq!(dot(&model, &[0, 0], &[one, 0], 0x0040_0000), 0, "{arch}");
    }
    let bf16 = rule("amx", None, Format::Bf16, Format::Bf16);
    assert_eq!(dot(&bf16, &[1, 0], &[0x7f00, 0], 0), 0);
    // VDPPHPS adds the odd product first, to C; TDPFP16PS adds C last.
    let (amx, avx10) = (
        rule("amx", None, Format::Fp16, Format::Fp16),
        rule("avx10", None, Format::Fp16, Format::Fp16),
    );
    // C = 2^24, 1 + 1: each is lost beside C, their sum is not.
    let lost = |model: &Arithmetic| dot(model, &[one, one], &[one, one], 0x4b80_0000);
    assert_eq!((lost(&amx), lost(&avx10)), (0x4b80_0001, 0x4b80_0000));
    // C = -2^24, then 2^24 of the odd product, then 0.5.
    let (a, b) = ([half, 0x6c00], [one, 0x6c00]);
    assert_eq!(dot(&avx10, &a, &b, 0xcb80_0000), 0x3f00_0000);
    let even_first = Arithmetic {
        step: with(&avx10.step, json!({"chains": [[0, 1]]})),
        ..avx10
    };
    assert_eq!(dot(&even_first, &a, &b, 0xcb80_0000), 0);

    // TF32: from +0, and C last.
    let model = rule("amx", None, Format::Tf32, Format::Tf32);
    let ones = [0x3f80_0000; 2];
    assert_eq!(dot(&model, &ones, &ones, 0x4b80_0000), 0x4b80_0001);
    let from_c = json!({"from_zero": false});
    let from_c = Arithmetic {
        step: with(&model.step, from_c),
        ..model.clone()
    };
    assert_eq!(dot(&from_c, &ones, &ones, 0x4b80_0000), 0x4b80_0000);
    // 13 bits of an operand are ignored.
    assert_eq!(dot(&model, &[0x3f80_1fff], &[0x3f80_0000], 0), 0x3f80_0000);

    // FP8: 1 + 2^-24 + 2^-24, the last in another word. A chain loses both.
    let model = rule("amx", None, Format::E5m2, Format::E5m2);
    let (one, small) = (0x3c, 0x0c); // 2^-12
    let row = [one, small, 0, 0, small, 0, 0, 0];
    assert_eq!(dot(&model, &row, &row, 0), 0x3f80_0001);
    let chain = json!({"exact": false});
    let chain = Arithmetic {
        step: with(&model.step, chain),
        ..model.clone()
    };
    assert_eq!(dot(&chain, &row, &row, 0), 0x3f80_0000);
    // C is added to the rounded sum: 1 + 2^-24 is 1 before 2^-24 comes, which alone would make it more.
    assert_eq!(dot(&model, &row[..4], &row[..4], 0x3380_0000), 0x3f80_0000);
    // Any NaN loses its payload; E4M3 has no infinity.
    assert_eq!(dot(&model, &row, &row, 0x7fc1_2345), 0xffc0_0000);
    assert_eq!(dot(&model, &[0x7d], &[one], 0), 0xffc0_0000);
    let mixed = rule("amx", None, Format::E4m3, Format::E5m2);
    assert_eq!(dot(&mixed, &[0x7f], &[one], 0), 0xffc0_0000);
    assert_eq!(dot(&mixed, &[0x38], &[0x7c], 0), 0x7f80_0000);
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
        let answered = Native::Vdpbf16ps.run(&c, &[a], &[b]);
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
        let [arch, instruction] = here::model(native);
        let arch = Catalogue::builtin().find(arch).expect("in the catalogue");
        let choice = arch.select(Some(instruction), [a, b], Some(accumulator));
        let right = choice.expect("a rule").arithmetic;
        let of = |model: &Arithmetic| replay::answers(model, &suite.cases);
        let differing = answers.iter().zip(of(&right)).filter(|(a, b)| **a != *b);
        assert_eq!(differing.count(), 0, "{}", native.name());
        say(format_args!(
            "{}: {} probes answered as by the model",
            native.name(),
            answers.len()
        ));
        let change = match native {
            Native::Vdpbf16ps => json!({"chains": [[0, 1]]}),
            Native::Vfmaddph => json!({"flush": true}),
            Native::Tdpbf16ps => json!({"chains": [[0, 1]]}),
            Native::Vpdpbusds => json!({"overflow": "wrap"}),
            _ => json!({"overflow": "saturate"}),
        };
        let step = with(&right.step, change);
        let wrong = Arithmetic { step, ..right };
        assert!(answers != of(&wrong), "{}", native.name());
    }
}

/// Random tiles, narrow ones too, where the processor has them.
#[test]
fn random_tiles() {
    let model = rule("amx", None, Format::Bf16, Format::Bf16);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    for tile in 0..512 {
        let words = [16, 1, 3, 8][tile % 4];
        // Raw codes, near 1, and products about the smallest normal number.
        let mode = random() % 3;
        let mut number = || match mode {
            0 => random() & 0xffff,
            1 => random() & 0x807f | (0x7a + random() % 10) << 7,
            _ => random() & 0x807f | (0x38 + random() % 16) << 7,
        };
        let mut operand = || -> Vec<Lanes> {
            let word = |_| std::array::from_fn(|_| number() << 16 | number());
            (0..words).map(word).collect()
        };
        let (a, b) = (operand(), operand());
        let c: Lanes = std::array::from_fn(|_| number() << 16 | number());
        let Some(answered) = Native::Tdpbf16ps.run(&c, &a, &b) else {
            return say(format_args!("not checked: this processor has no TDPBF16PS"));
        };
        for lane in 0..c.len() {
            let codes = |of: &[Lanes]| -> Vec<u64> {
                let halves = |word: &Lanes| [word[lane] & 0xffff, word[lane] >> 16].map(u64::from);
                of.iter().flat_map(halves).collect()
            };
            let ours = dot(&model, &codes(&a), &codes(&b), c[lane].into());
            assert_eq!(u64::from(answered[lane]), ours, "tile {tile}, lane {lane}");
        }
    }
}
