//! Worked examples of the literature, each number derived by hand.

use crate::support::table;
use tcverify::emu::{Catalogue, Choice, Wanted, WantedScale};
use tcverify::explain::{Explanation, Of, Step, Term, Wish};
use tcverify::num::Format;

use super::asked::{Element, choice, shown};

fn only(explanation: &Explanation) -> &Step {
    assert_eq!(explanation.steps, 1);
    shown(explanation)[0]
}

fn explained(element: &Element, choice: &Choice) -> Explanation {
    element.explain(choice, None, Wish::Notable)
}

fn term(step: &Step, of: Of) -> &Term {
    let mut terms = step.stages.iter().flat_map(|stage| &stage.terms);
    terms.find(|term| term.of == of).expect("a term")
}

/// 2^-e as a float.
fn p(e: i32) -> f32 {
    2f32.powi(-e)
}

/// Fasi et al., docs/steps.md: the same 2.25 with exponents 0 and 1.
#[test]
fn volta_does_not_normalise_products() {
    let volta = choice("volta", "mma", Format::Fp16);
    let small = [p(11), p(11), p(11)];
    let other = [p(12), p(12), p(12)];
    let with = |x: f32, y: f32| {
        Element::halves(&[&[x], &small[..]].concat(), &[&[y], &other[..]].concat())
    };

    let kept = explained(&with(1.5, 1.5), &volta);
    let step = only(&kept);
    let stage = &step.stages[0];
    assert_eq!((stage.exponent, stage.grid), (Some(0), Some(-23)));
    assert_eq!((step.cut_terms, step.after.code), (0, 0x4010_0001));
    assert!(term(step, Of::Product(0)).sets_exponent);
    assert_eq!(term(step, Of::Product(2)).kept.to_string(), "2^-23");
    // 2.25 + 3 * 2^-23 = (9 * 2^21 + 3) * 2^-23, cut to 2.25 + 2^-22.
    assert_eq!(stage.sum.as_ref().unwrap().to_string(), "0x1200003*2^-23");
    assert_eq!(step.rounded_off.as_ref().unwrap().to_string(), "-2^-23");
    assert_eq!(step.lost.as_ref().unwrap().to_string(), "-2^-23");

    let gone = explained(&with(1.0, 2.25), &volta);
    let step = only(&gone);
    let stage = &step.stages[0];
    assert_eq!((stage.exponent, stage.grid), (Some(1), Some(-22)));
    assert_eq!((step.cut_terms, step.after.code), (3, 0x4010_0000));
    assert_eq!(step.largest_cut.to_string(), "2^-23");
    assert!(term(step, Of::Product(1)).kept.is_zero());
    assert_eq!(stage.sum.as_ref().unwrap().to_string(), "2.25");
    assert_eq!(step.lost.as_ref().unwrap().to_string(), "-3*2^-23");
}

/// Hawkeye, algorithm 5: 1 - 1 + 2^-e survives as far as fraction bits reach.
#[test]
fn generations_keep_different_bits() {
    for (arch, instruction, e, survives) in [
        ("volta", "mma", 23, true),
        ("volta", "mma", 24, false),
        ("ampere", "mma", 24, true),
        ("ampere", "mma", 25, false),
        ("hopper", "mma", 25, true),
        ("hopper", "wgmma", 25, true),
        ("hopper", "wgmma", 26, false),
    ] {
        let element = Element::halves(&[1.0, 1.0, p(12)], &[1.0, -1.0, p(e - 12)]);
        let explanation = explained(&element, &choice(arch, instruction, Format::Fp16));
        let step = only(&explanation);
        let value = format!("2^-{e}");
        assert_eq!(explanation.exact.as_ref().unwrap().value.to_string(), value);
        assert_eq!(explanation.ieee_chain.unwrap().value().to_string(), value);
        let term = term(step, Of::Product(2));
        assert_eq!((term.exact.to_string(), term.exponent), (value.clone(), -e));
        if survives {
            assert_eq!(step.after.value().to_string(), value, "{arch} {e}");
            assert!(term.cut.is_zero() && step.lost.as_ref().unwrap().is_zero());
        } else {
            assert_eq!(step.after.code, 0, "{arch} {e}");
            assert_eq!(term.cut.to_string(), value);
            assert_eq!(step.lost.as_ref().unwrap().to_string(), format!("-{value}"));
        }
    }
}

/// Hopper's FP8: 13 fraction bits, 14 significant bits. 2^-7 is 0x04 in E4M3, 2^-6 0x08.
#[test]
fn hopper_fp8_keeps_thirteen_bits() {
    let wgmma = choice("hopper", "wgmma", Format::E4m3);
    for (small, cut, code) in [
        ([0x04, 0x08], "0", 0x3f80_0400),
        ([0x04, 0x04], "2^-14", 0x3f80_0000),
    ] {
        let element = Element::new(&[0x38, small[0]], &[0x38, small[1]]);
        let explanation = explained(&element, &wgmma);
        let step = only(&explanation);
        assert_eq!(step.stages[0].grid, Some(-13));
        assert_eq!(term(step, Of::Product(1)).cut.to_string(), cut);
        assert_eq!(step.after.code, code);
    }
}

/// FP8 through Hopper's mma.sync: k 0 and 1 of every four first, then the others, C at the end.
#[test]
fn two_halves_and_a_closing_add() {
    let mma = choice("hopper", "mma", Format::E4m3);
    let element = Element::new(&[0x38, 0, 0x40], &[0x38, 0, 0x38]).with_c(16_777_216.0);
    let explanation = explained(&element, &mma);
    let step = only(&explanation);
    let results: Vec<_> = step
        .stages
        .iter()
        .map(|stage| stage.results[0].code)
        .collect();
    // 1, then 1 + 2, then 2^24 + 3: halfway between numbers, to the even one.
    assert_eq!(results, [0x3f80_0000, 0x4040_0000, 0x4b80_0002]);
    assert_eq!(step.lost.as_ref().unwrap().to_string(), "1");
    let products = |stage: usize| -> Vec<_> {
        let terms = step.stages[stage].terms.iter();
        let k = |term: &Term| match term.of {
            Of::Product(k) => Some(k),
            _ => None,
        };
        terms.filter_map(k).collect()
    };
    assert_eq!((products(0), products(1)), (vec![0, 1], vec![2]));
}

fn with_scales(instruction: &str, operand: Format, scale: Format) -> Choice<'static> {
    let wanted = Wanted {
        instruction: Some(instruction),
        operands: [operand; 2],
        accumulator: None,
        addend: None,
        scale: Some(WantedScale {
            format: Some(scale),
            block: None,
        }),
    };
    let arch = Catalogue::builtin().find("blackwell").unwrap();
    arch.choose(&wanted).unwrap()
}

/// Sixteen products 1 * 1.5 under scales 1.5 and 0.5: 24 * 0.75 = 18, at exponent 0 - 1.
#[test]
fn parts_are_scaled_before_they_are_aligned() {
    let nvfp4 = with_scales("tcgen05-mxf4nvf4", Format::E2m1, Format::Ue4m3);
    let mut element = Element::new(&[2; 16], &[3; 16]);
    element.scales = Some([vec![0x3c], vec![0x30]]);
    let explanation = explained(&element, &nvfp4);
    let step = only(&explanation);
    let part = term(step, Of::Products([0, 16]));
    assert_eq!((part.exact.to_string(), part.exponent), ("18".into(), -1));
    assert_eq!(step.products[7].exact.to_string(), "1.125");
    assert_eq!(step.after.code, u64::from(18f32.to_bits()));
}

/// Scales that are powers of two move exponents: 1.5 * 1.5 with 2^3 and 2^-1.
#[test]
fn powers_of_two_move_the_exponent() {
    let mxfp8 = with_scales("tcgen05-mxf8f6f4", Format::E4m3, Format::Ue8m0);
    let mut element = Element::new(&[0x3c], &[0x3c]);
    element.scales = Some([vec![130], vec![126]]);
    let explanation = explained(&element, &mxfp8);
    let product = term(only(&explanation), Of::Product(0));
    assert_eq!(
        (product.exact.to_string(), product.exponent),
        ("9".into(), 2)
    );
}

/// 2^24 + 1 + 1: every IEEE addition ties to 2^24, the exact sum does not.
#[test]
fn references_lose_where_they_should() {
    let element = Element::halves(&[1.0, 1.0], &[1.0, 1.0]).with_c(16_777_216.0);
    let chain = explained(&element, &choice("ieee-fma", "fma", Format::Fp16));
    let lost: Vec<_> = shown(&chain)
        .iter()
        .map(|step| step.lost.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(lost, ["-1", "-1"]);
    assert_eq!(chain.computed.code, 0x4b80_0000);
    assert_eq!(chain.exact.as_ref().unwrap().value.to_string(), "16777218");
    assert_eq!(
        chain.exact.as_ref().unwrap().rounded.unwrap().code,
        0x4b80_0001
    );
    let exact = explained(&element, &choice("exact", "dot", Format::Fp16));
    let step = only(&exact);
    assert_eq!((step.after.code, step.k), (0x4b80_0001, [0, 2]));
    assert!(step.lost.as_ref().unwrap().is_zero());
}

#[test]
fn specials_name_their_terms() {
    let ampere = choice("ampere", "mma", Format::Fp16);
    let (inf, nan, one) = (0x7c00, 0x7e00, 0x3c00);
    for (a, b, notes) in table! {
        ([one, inf, one], [one, 0, one], vec!["NaN from k 1 (infinity times zero)"]),
        ([one, one, nan], [one, one, one], vec!["NaN from k 2"]),
        ([inf, one, one], [one, one, inf], vec!["+Inf from k 0, k 2"]),
        ([inf, one, one], [one, one, inf | 0x8000], vec!["+Inf from k 0", "-Inf from k 2"]),
        ([one; 3], [one; 3], vec![]),
    } {
        let explanation = explained(&Element::new(&a, &b), &ampere);
        assert_eq!(only(&explanation).notes, notes, "{a:x?} {b:x?}");
    }
    let bf16 = choice("ampere", "mma", Format::Bf16);
    let large = explained(&Element::new(&[0x7f00], &[0x7f00]), &bf16);
    assert_eq!(large.computed.code, 0x7f80_0000);
    assert_eq!(only(&large).notes, ["overflow: every term is finite"]);
    let c = Element::new(&[one], &[one]).with_c(f32::NEG_INFINITY);
    let explanation = explained(&c, &ampere);
    assert_eq!(only(&explanation).notes, ["-Inf from the accumulator"]);
}

/// INT8: 2^31 - 1 and one more, modulo 2^32 and clamped.
#[test]
fn integers_wrap_or_clamp() {
    let mut element = Element::new(&[1], &[1]);
    element.c = Some(0x7fff_ffff);
    for (instruction, code, lost) in [
        ("mma", 0x8000_0000, "-2^32"),
        ("mma-satfinite", 0x7fff_ffff, "-1"),
    ] {
        let explanation = explained(&element, &choice("ampere", instruction, Format::Int8));
        let step = only(&explanation);
        assert_eq!(step.after.code, code);
        let lost = lost.replace("2^32", "4294967296");
        assert_eq!(step.lost.as_ref().unwrap().to_string(), lost);
        assert_eq!(
            explanation.exact.as_ref().unwrap().value.to_string(),
            "2147483648"
        );
        assert_eq!(explanation.exact.as_ref().unwrap().rounded, None);
        assert_eq!(explanation.ieee_chain, None);
    }
}
