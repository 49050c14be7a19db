//! GPGPU-Sim's functional `wmma.mma`.

use proptest::prelude::*;
use tcverify::emu::{Arithmetic, Catalogue, Wanted};
use tcverify::num::Format::{self, Fp16, Fp32};

use super::dot::Dot;
use crate::support::case::Case;
use crate::support::vectors::{OPEN, cases, replay_all};

fn arithmetic(addend: Format, accumulator: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find("gpgpu-sim").unwrap();
    let wanted = Wanted {
        instruction: None,
        operands: [Fp16; 2],
        accumulator: Some(accumulator),
        addend: Some(addend),
        scale: None,
    };
    arch.choose(&wanted).unwrap().arithmetic
}

const PAIRS: [(Format, Format); 4] = [(Fp16, Fp16), (Fp16, Fp32), (Fp32, Fp16), (Fp32, Fp32)];

fn open_cases(what: &str) -> Option<Vec<Case>> {
    cases(OPEN, what, 8, |about| about["arch"] == "gpgpu-sim")
}

#[test]
fn every_predicted_result_is_reproduced() {
    let Some(cases) = open_cases("GPGPU-Sim results") else {
        return;
    };
    let results = replay_all(OPEN, &cases);
    assert!(results > 1000, "{results}");
}

/// The tensor core that the simulator stands for computes something else.
#[test]
fn volta_differs() {
    let Some(cases) = open_cases("Volta in place of GPGPU-Sim") else {
        return;
    };
    let same_format = cases.iter().filter(|case| case.addend == case.accumulator);
    let near = same_format.filter(|case| case.about["inputs"] == "near");
    let differing: Vec<_> = near
        .map(|case| case.mismatches(&case.choice_on("volta", "mma").arithmetic))
        .collect();
    assert_eq!(differing.len(), 2);
    assert!(differing.iter().all(|&n| n > 100), "{differing:?}");
}

/// Printed with the description of the model: executed in the simulator.
#[test]
fn printed_vectors() {
    let with = |places: &[(usize, u64)], rest: u64| {
        let mut codes = vec![rest; 16];
        places.iter().for_each(|&(k, code)| codes[k] = code);
        codes
    };
    let one = with(&[], 0x3c00);
    for (what, a, b, c, d) in [
        (
            "rounded to FP32 before it is cut",
            with(&[(0, 0x6800), (1, 0x1400)], 0),
            with(&[(0, 0x3c00), (1, 0x9400)], 0),
            0,
            0x4500_0000,
        ),
        (
            "one first",
            one.clone(),
            with(&[(0, 0x3c00)], 0x1000),
            0,
            0x3f80_0000,
        ),
        (
            "one last",
            one,
            with(&[(15, 0x3c00)], 0x1000),
            0,
            0x3f80_e000,
        ),
        (
            "overflow before C",
            with(&[(0, 0x7bff)], 0),
            with(&[(0, 0x4000)], 0),
            u64::from((-65504f32).to_bits()),
            0x7f80_0000,
        ),
        (
            "C with all of its bits",
            with(&[(0, 0x3c01)], 0),
            with(&[(0, 0x3c01)], 0),
            0x3f80_0000,
            0x4000_2000,
        ),
    ] {
        let found = Dot::plain(&a, &b, c).replay(&arithmetic(Fp32, Fp32));
        assert_eq!(found, d, "{what}: {found:08x}");
    }
}

/// FP16 of an f32, cut toward zero, by comparing with what `half` rounds to.
fn cut(x: f32) -> half::f16 {
    if x.abs() >= 65536.0 {
        return half::f16::INFINITY.copysign(half::f16::from_f32(x));
    }
    let near = half::f16::from_f32(x.clamp(-65504.0, 65504.0));
    if near.to_f32().abs() > x.abs() {
        half::f16::from_bits(near.to_bits() - 1)
    } else {
        near
    }
}

/// The simulator's loop in native arithmetic; finite operands only.
fn native(a: &[u64], b: &[u64], c: u64, (addend, accumulator): (Format, Format)) -> u64 {
    let half = |code: u64| half::f16::from_bits(code as u16).to_f32();
    let mut d = half::f16::ZERO;
    for k in 0..16 {
        let [a, b] = [a, b].map(|x| x.get(k).map_or(0.0, |&code| half(code)));
        d = cut(d.to_f32() + a * b);
    }
    let c = match addend {
        Fp16 => half(c),
        _ => f32::from_bits(c as u32),
    };
    let sum = d.to_f32() + c;
    match (addend, accumulator) {
        (Fp32, Fp32) => sum.to_bits().into(),
        (_, Fp32) => cut(sum).to_f32().to_bits().into(),
        _ => cut(sum).to_bits().into(),
    }
}

/// Finite halves: any, or near 1.
fn finite() -> impl Strategy<Value = u64> {
    let all = (any::<bool>(), 0..0x7c00u64);
    let near = (any::<bool>(), 0x3000..0x4400u64);
    prop_oneof![all, near].prop_map(|(negative, code)| code | u64::from(negative) << 15)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_native_arithmetic(
        a in prop::collection::vec(finite(), 1..=16),
        b in prop::collection::vec(finite(), 16),
        half_c in finite(),
        single_c in any::<u32>(),
        pair in 0..4usize,
    ) {
        let (addend, accumulator) = PAIRS[pair];
        let b = &b[..a.len()];
        let c = if addend == Fp16 { half_c } else { u64::from(single_c) };
        let expected = native(&a, b, c, PAIRS[pair]);
        // A sum that is NaN has the sign and payload of the host's.
        let nan = accumulator.unpack(expected).is_nan();
        let found = Dot::plain(&a, b, c).replay(&arithmetic(addend, accumulator));
        prop_assert!(found == expected || (nan && accumulator.unpack(found).is_nan()));
    }
}

/// x86's: the default NaN is negative and quiet; a NaN operand goes on.
#[test]
fn nan_results() {
    let d = |a: u64, b: u64, c: u64| Dot::plain(&[a], &[b], c).replay(&arithmetic(Fp16, Fp16));
    assert_eq!(d(0x7c00, 0, 0), 0xfe00, "infinity times zero");
    assert_eq!(d(0x7c00, 0x3c00, 0xfc00), 0xfe00, "infinity minus infinity");
    assert_eq!(d(0x3c00, 0x3c00, 0x7e01), 0x7e01, "a NaN of C");
    assert_eq!(d(0x7e00, 0x3c00, 0), 0x7e00, "a NaN of A");
}
