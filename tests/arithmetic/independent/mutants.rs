//! The comparison can fail: with one constant changed, the slow model and the engine disagree.

use tcverify::emu::Arithmetic;
use tcverify::emu::step::{Direction, RoundedDot, Step};
use tcverify::num::{Format, Rounding};

use super::operands::{ALL, Dot, arithmetics};
use super::products::{engine, slow};
use crate::support::exact::{Exponents, Reference};
use crate::support::random::Random;
use crate::support::wrong::*;

/// A changed constant and where it has to show.
struct Mutant {
    what: &'static str,
    change: Change,
    shows: fn(&Arithmetic) -> bool,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        what: "a fraction bit less",
        change: one_bit_less,
        shows: cuts_terms,
    },
    Mutant {
        what: "a fraction bit more",
        change: one_bit_more,
        shows: cuts_terms,
    },
    Mutant {
        what: "terms aligned to nearest",
        change: align_to_nearest,
        shows: cuts_terms,
    },
    Mutant {
        what: "terms aligned down",
        change: align_down,
        shows: cuts_terms,
    },
    Mutant {
        what: "half the products a step",
        change: half_group,
        shows: |arithmetic| is_fused(arithmetic),
    },
    Mutant {
        what: "twice the products a step",
        change: double_group,
        shows: |arithmetic| is_fused(arithmetic),
    },
    Mutant {
        what: "zeros one lower",
        change: |a| fused(a).zero_exponent -= 1,
        shows: reaches_below_fp32,
    },
    Mutant {
        what: "zeros one higher",
        change: |a| fused(a).zero_exponent += 1,
        shows: reaches_below_fp32,
    },
    Mutant {
        what: "FP32 rounded to nearest",
        change: round_to_nearest,
        shows: |arithmetic| is_fused(arithmetic) && arithmetic.accumulator == Format::Fp32,
    },
    Mutant {
        what: "FP16 rounded toward zero",
        change: round_to_zero,
        shows: |arithmetic| has_fused(arithmetic) && arithmetic.accumulator == Format::Fp16,
    },
    Mutant {
        what: "FP16 rounded to nearest, ties away",
        change: round_away,
        shows: |arithmetic| has_fused(arithmetic) && arithmetic.accumulator == Format::Fp16,
    },
    Mutant {
        what: "a bit less of result",
        change: one_bit_less_of_result,
        shows: is_fused,
    },
    Mutant {
        what: "another NaN",
        change: |a| fused(a).nan.0 ^= 1,
        shows: has_fused,
    },
    Mutant {
        what: "halves exchanged",
        change: |a| halves(a).first = vec![2, 3],
        shows: |arithmetic| is_halves(arithmetic) && arithmetic.accumulator == Format::Fp16,
    },
    Mutant {
        what: "C added toward zero",
        change: |a| halves(a).closing = Rounding::TowardZero,
        shows: is_halves,
    },
    Mutant {
        what: "multiply-adds toward zero",
        change: |a| match &mut a.step {
            Step::FmaChain(chain) => chain.rounding = Rounding::TowardZero,
            other => panic!("{other:?} is no chain"),
        },
        shows: is_chain,
    },
    Mutant {
        what: "dot products rounded up",
        change: |a| dot(a).rounding = Direction::Up,
        shows: is_dot,
    },
    Mutant {
        what: "dot products' subnormals otherwise",
        change: |a| dot(a).flush ^= true,
        shows: is_dot,
    },
    Mutant {
        what: "another NaN of dot products",
        change: |a| dot(a).nan.0 ^= 1,
        shows: is_dot,
    },
    Mutant {
        what: "twice the products of a dot product",
        change: |a| {
            dot(a).payloads = false;
            dot(a).group *= 2;
            dot(a).fused *= 2;
        },
        shows: is_dot,
    },
    Mutant {
        what: "C added after the products' sum",
        change: |a| dot(a).with_c = false,
        shows: |arithmetic| is_dot(arithmetic) && dot(&mut arithmetic.clone()).with_c,
    },
];

fn dot(arithmetic: &mut Arithmetic) -> &mut RoundedDot {
    match &mut arithmetic.step {
        Step::RoundedDot(step) => step,
        other => panic!("no rounded dot product: {}", other.summary()),
    }
}

fn is_dot(arithmetic: &Arithmetic) -> bool {
    matches!(arithmetic.step, Step::RoundedDot(_))
}

fn has_fused(arithmetic: &Arithmetic) -> bool {
    is_fused(arithmetic) || is_halves(arithmetic)
}

fn is_fused(arithmetic: &Arithmetic) -> bool {
    matches!(arithmetic.step, Step::Fused(_))
}

fn is_halves(arithmetic: &Arithmetic) -> bool {
    matches!(arithmetic.step, Step::FusedHalves(_))
}

fn is_chain(arithmetic: &Arithmetic) -> bool {
    matches!(arithmetic.step, Step::FmaChain(_))
}

/// An FP16 result hides where terms of 24 bits and more were cut.
fn cuts_terms(arithmetic: &Arithmetic) -> bool {
    let thirteen = || fused(&mut arithmetic.clone()).fraction_bits == 13;
    is_fused(arithmetic) && (arithmetic.accumulator == Format::Fp32 || thirteen())
}

/// Only BF16 and TF32 have products below what zeros count as.
fn reaches_below_fp32(arithmetic: &Arithmetic) -> bool {
    is_fused(arithmetic) && matches!(arithmetic.a, Format::Bf16 | Format::Tf32)
}

/// Whether a few thousand dot products, of all kinds, tell two models apart.
fn differs(arithmetic: &Arithmetic, other: impl Fn(&Dot) -> u64) -> bool {
    let mut random = Random::named("mutants");
    let mut dots = (0..8_000).map(|i| Dot::random(arithmetic, ALL[i % ALL.len()], &mut random));
    dots.any(|dot| engine(arithmetic, &dot) != other(&dot))
}

#[test]
fn changed_constants_show() {
    let mut unnoticed = Vec::new();
    for mutant in MUTANTS {
        let mut tried = 0;
        for (place, arithmetic) in arithmetics() {
            if (mutant.shows)(&arithmetic) {
                let changed = changed(&arithmetic, mutant.change);
                if !differs(&arithmetic, |dot| slow(&changed, dot)) {
                    unnoticed.push(format!("{place}: {}", mutant.what));
                }
                tried += 1;
            }
        }
        assert!(tried > 0, "{}: no rule", mutant.what);
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

#[test]
fn normalised_products_show() {
    for (place, arithmetic) in arithmetics() {
        if cuts_terms(&arithmetic) {
            let normalised = Reference {
                arithmetic: &arithmetic,
                exponents: Exponents::Normalised,
            };
            let wrong = |dot: &Dot| normalised.dot(&dot.a, &dot.b, dot.c);
            assert!(differs(&arithmetic, wrong), "{place}");
        }
    }
}
