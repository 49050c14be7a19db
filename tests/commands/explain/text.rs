//! What people read.

use crate::support::{Says, words};

use super::asked::{Element, choice, text};
use tcverify::explain::Wish;
use tcverify::num::Format;

/// Sixteen products in two steps of Ampere; the last one of the first step is cut off.
fn sixteen() -> Element {
    let mut a = [0.0; 16];
    let mut b = [0.0; 16];
    (a[0], b[0]) = (1.5, 1.5);
    (a[1], b[1]) = (-0.0009765625, 0.0009765625);
    (a[7], b[7]) = (2f32.powi(-13), 2f32.powi(-13));
    (a[8], b[8]) = (-1.5, 1.5);
    Element::halves(&a, &b)
}

#[test]
fn sixteen_products_in_full() {
    let shown = text(&sixteen().explain(
        &choice("ampere", "mma", Format::Fp16),
        None,
        Wish::default(),
    ));
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[0], "COMPUTED  D[0, 0]");
    for words in words! {"
        K = 16 in 2 steps | computed  0xb5800000 -9.536743e-7 = -2^-20 | exact     -63*2^-26
        | step 1 of 2, k 0 to 7 | k 0  0x3e00 1.5
        | exponent  0, set by k 0; terms are truncated to multiples of 2^-24 | step 2 of 2, k 8 to 15
        | exponent  1, set by the accumulator; terms are truncated to multiples of 2^-23
    "}
    {
        assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    }
    // Zero products take one line, not one each.
    assert!(lines.len() < 45, "{} lines", lines.len());
    shown.lacks("k 3  0x0000");
}

/// A long chain stays readable, and every step can be asked for.
#[test]
fn a_long_chain_is_folded() {
    let a: Vec<f32> = (0..4096)
        .map(|k| ((k * 37 % 101) as f32 - 50.0) / 64.0)
        .collect();
    let b: Vec<f32> = (0..4096)
        .map(|k| ((k * 53 % 97) as f32 - 48.0) / 32.0)
        .collect();
    let element = Element::halves(&a, &b);
    let hopper = choice("hopper", "wgmma", Format::Fp16);
    let shown = text(&element.explain(&hopper, None, Wish::default()));
    let lines = shown.lines().count();
    assert!((30..200).contains(&lines), "{lines} lines");
    for words in [
        "step 1 of 256, k 0 to 15",
        "step 256 of 256, k 4080 to 4095",
        "\nsteps ",
    ] {
        assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    }
    let asked = text(&element.explain(&hopper, None, Wish::These([7].into())));
    asked.says("step 7 of 256, k 96 to 111");
    let all = text(&element.explain(&hopper, None, Wish::All));
    assert_eq!(all.matches("\nstep ").count(), 256);
    all.lacks("\nsteps ");
}

#[test]
fn a_wrong_d_comes_with_what_would_give_it() {
    let element = sixteen();
    let ampere = choice("ampere", "mma", Format::Fp16);
    // The accumulator after the first step.
    let early = element
        .first(8, &ampere.arithmetic)
        .replay(&ampere.arithmetic);
    let shown = text(&element.explain(&ampere, Some((Format::Fp32, early)), Wish::default()));
    shown.begins("DIFFERENT  D[0, 0]");
    shown.says("the chain stopped after 2 to 8 of 16 products: k 8 and later are missing");
}

/// A step of thousands of products shows some of them, and all if they are asked for.
#[test]
fn long_steps_are_shortened() {
    let element = Element::halves(&vec![1.5; 4096], &vec![0.75; 4096]);
    let exact = choice("exact", "dot", Format::Fp16);
    let shown = text(&element.explain(&exact, None, Wish::default()));
    assert!(shown.lines().count() < 100, "{shown}");
    shown.says("more products (--steps 1)");
    for wish in [Wish::These([1].into()), Wish::All] {
        let all = text(&element.explain(&exact, None, wish));
        assert!(all.lines().count() > 4096, "{} lines", all.lines().count());
    }
}
