//! What a tampered D is traced back to, and what it is not.

use crate::support::{Says, table};

use std::collections::BTreeSet;

use tcverify::emu::Choice;
use tcverify::explain::{Found, Hypothesis, MAX_SEARCHED_K, Wish};
use tcverify::num::Format;

use super::asked::{Element, choice};
use crate::support::random::Random;

fn wgmma() -> Choice<'static> {
    choice("hopper", "wgmma", Format::Fp16)
}

/// K = 64 in four steps of 16; no product is zero.
fn element(name: &str) -> Element {
    let mut random = Random::named(name);
    let mut codes = || -> Vec<u64> {
        let code = |_| (random.bits() & 0x83ff) | (random.between(12, 17) as u64) << 10;
        (0..64).map(code).collect()
    };
    let (a, b) = (codes(), codes());
    Element::new(&a, &b).with_c(0.718_281_8)
}

#[track_caller]
fn found(element: &Element, choice: &Choice, format: Format, d: u64) -> Vec<Found> {
    let explanation = element.explain(choice, Some((format, d)), Wish::Notable);
    assert!(
        !explanation.given.unwrap().same,
        "D has not been tampered with"
    );
    let search = explanation.search.unwrap();
    // In few bits some flip of an input always fits.
    assert!(search.skipped.is_empty() || format == Format::Bf16);
    search.found
}

/// Fails unless the hypothesis is found, at this place, and no other.
#[track_caller]
fn finds(element: &Element, d: u64, hypothesis: Hypothesis, at: &[usize]) {
    let found = found(element, &wgmma(), Format::Fp32, d);
    let kinds: Vec<_> = found.iter().map(|found| found.hypothesis).collect();
    assert_eq!(kinds, [hypothesis], "{found:?}");
    assert_eq!(found[0].at, at, "{found:?}");
}

/// Without these k.
fn without(element: &Element, gone: std::ops::Range<usize>) -> Element {
    let rest = |codes: &[u64]| -> Vec<u64> {
        let all = codes.iter().enumerate();
        all.filter(|(k, _)| !gone.contains(k))
            .map(|(_, c)| *c)
            .collect()
    };
    Element {
        a: rest(&element.a),
        b: rest(&element.b),
        ..element.clone()
    }
}

#[test]
fn a_chain_that_stopped_early() {
    let element = element("stopped");
    let arithmetic = wgmma().arithmetic;
    for count in [16, 37, 48, 62] {
        let d = element.first(count, &arithmetic).replay(&arithmetic);
        finds(&element, d, Hypothesis::StoppedEarly, &[count]);
    }
    finds(&element, element.c.unwrap(), Hypothesis::StoppedEarly, &[0]);
}

#[test]
fn a_missing_step() {
    let element = element("step");
    for step in 0..3 {
        let rest = without(&element, 16 * step..16 * step + 16);
        let d = rest.replay(&wgmma().arithmetic);
        finds(&element, d, Hypothesis::StepMissing, &[step + 1]);
    }
}

#[test]
fn a_product_missing_or_flipped() {
    let element = element("product");
    for k in [0, 15, 16, 40] {
        let mut other = element.clone();
        (other.a[k], other.b[k]) = (0, 0);
        let d = other.replay(&wgmma().arithmetic);
        finds(&element, d, Hypothesis::ProductMissing, &[k]);
        let mut other = element.clone();
        other.b[k] ^= 0x8000;
        let d = other.replay(&wgmma().arithmetic);
        finds(&element, d, Hypothesis::ProductFlipped, &[k]);
    }
}

#[test]
fn c_left_out_or_added_last() {
    let late = |element: &Element| {
        let mut without = element.clone();
        without.c = None;
        let sum = without.replay(&wgmma().arithmetic);
        let c = f32::from_bits(element.c.unwrap() as u32);
        (sum, u64::from((f32::from_bits(sum as u32) + c).to_bits()))
    };
    // Often it makes no difference when C is added, or a nearest-even unit gives the same.
    let element = (0..100)
        .map(|i| element(&format!("c {i}")))
        .find(|element| {
            let d = late(element).1;
            let other = d != element.replay(&wgmma().arithmetic);
            other && found(element, &wgmma(), Format::Fp32, d).len() == 1
        })
        .unwrap();
    let (sum, late) = late(&element);
    finds(&element, sum, Hypothesis::COmitted, &[]);
    finds(&element, late, Hypothesis::CAddedLast, &[]);
}

#[test]
fn a_flipped_bit() {
    let element = element("bit");
    let d = element.replay(&wgmma().arithmetic);
    for (bit, field) in [
        (17, "of the fraction"),
        (25, "of the exponent"),
        (31, "the sign"),
    ] {
        let found = found(&element, &wgmma(), Format::Fp32, d ^ 1 << bit);
        let kinds: Vec<_> = found.iter().map(|found| found.hypothesis).collect();
        assert_eq!(kinds, [Hypothesis::BitFlipped], "{found:?}");
        assert_eq!(found[0].at, [bit]);
        assert!(found[0].text.contains(field), "{found:?}");
    }
}

#[test]
fn a_rounding_to_fewer_bits() {
    let element = element("narrow");
    let d = f32::from_bits(element.replay(&wgmma().arithmetic) as u32);
    let bf16 = half::bf16::from_f32(d).to_f32();
    let fp16 = half::f16::from_f32(d).to_f32();
    assert_ne!(bf16, fp16);
    for (narrow, name) in [(bf16, "bf16"), (fp16, "fp16")] {
        let found = found(&element, &wgmma(), Format::Fp32, narrow.to_bits().into());
        let found: Vec<_> = found
            .iter()
            .filter(|found| found.hypothesis == Hypothesis::RoundedNarrower)
            .collect();
        assert!(
            found.iter().any(|found| found.text.contains(name)),
            "{found:?}"
        );
    }
}

/// FP16 products are multiples of 2^-48; an i128 holds their sum, and `as` rounds to nearest even.
fn exactly(element: &Element) -> f32 {
    let units = |x: f64| (x * 2f64.powi(60)) as i128;
    let half = |code: u64| half::f16::from_bits(code as u16).to_f64();
    let products = element.a.iter().zip(&element.b);
    let sum: i128 = products.map(|(&a, &b)| units(half(a) * half(b))).sum();
    let c = f32::from_bits(element.c.unwrap() as u32);
    (sum + units(c.into())) as f32 * 2f32.powi(-60)
}

fn chain(element: &Element) -> f32 {
    let half = |code: u64| half::f16::from_bits(code as u16).to_f32();
    let c = f32::from_bits(element.c.unwrap() as u32);
    let products = element.a.iter().zip(&element.b);
    products.fold(c, |c, (&a, &b)| half(a).mul_add(half(b), c))
}

#[test]
fn references_and_other_models() {
    let mut told = BTreeSet::new();
    for i in 0..20 {
        let element = element(&format!("reference {i}"));
        let ours = element.replay(&wgmma().arithmetic);
        let volta = choice("volta", "mma", Format::Fp16).arithmetic;
        let others = table! {
            (u64::from(chain(&element).to_bits()), Hypothesis::IeeeChain),
            (u64::from(exactly(&element).to_bits()), Hypothesis::ExactValue),
            (element.replay(&volta), Hypothesis::OtherModel),
        };
        for (d, hypothesis) in others.iter().filter(|(d, _)| *d != ours) {
            let found = found(&element, &wgmma(), Format::Fp32, *d);
            for &(other, kind) in &others {
                let claimed = found.iter().any(|found| found.hypothesis == kind);
                // `ieee-fma` and `exact` are models too, so that other models may be claimed with them.
                if kind != Hypothesis::OtherModel || *hypothesis == kind {
                    assert_eq!(claimed, other == *d, "{kind:?}: {found:?}");
                }
            }
            if *hypothesis == Hypothesis::OtherModel {
                let named = found.iter().any(|found| found.text.contains("volta mma"));
                assert!(named, "{found:?}");
            }
            told.insert(format!("{hypothesis:?}"));
        }
    }
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn nothing_is_claimed_of_a_number_from_nowhere() {
    for i in 0..20 {
        let element = element(&format!("nowhere {i}"));
        // Some bits of the fraction: near enough to be tempting.
        let d = element.replay(&wgmma().arithmetic) ^ 0x0005_a5a5;
        let found = found(&element, &wgmma(), Format::Fp32, d);
        assert_eq!(found, [], "{i}");
    }
}

#[test]
fn a_d_of_fewer_bits_is_compared_after_rounding() {
    let element = element("rounded");
    let arithmetic = wgmma().arithmetic;
    let code = element.first(48, &arithmetic).replay(&arithmetic);
    let d = half::bf16::from_f32(f32::from_bits(code as u32)).to_bits();
    let found = found(&element, &wgmma(), Format::Bf16, d.into());
    let early: Vec<_> = found
        .iter()
        .filter(|found| found.hypothesis == Hypothesis::StoppedEarly)
        .collect();
    assert!(
        early.iter().any(|found| found.at.contains(&48)),
        "{found:?}"
    );
}

#[test]
fn the_work_is_bounded_and_says_so() {
    let k = MAX_SEARCHED_K + 16;
    let element = Element::new(&vec![0x3c00; k], &vec![0x3c00; k]);
    let early = f32::from_bits(element.replay(&wgmma().arithmetic) as u32) - 16.0;
    let d = Some((Format::Fp32, early.to_bits().into()));
    let search = element.explain(&wgmma(), d, Wish::Notable).search.unwrap();
    let [chain, inputs] = &search.skipped[..] else {
        panic!("{:?}", search.skipped);
    };
    chain.says("K is 8208");
    inputs.begins("a flipped bit of A or B");
    assert!(!search.tried.contains(&"a flipped bit of A or B"));
    let early = |found: &Found| found.hypothesis == Hypothesis::StoppedEarly;
    assert!(!search.found.iter().any(early));
}
