//! Every rule of the catalogue over random operands: the trace arrives where the engine does, step by
//! step, and its numbers add up in another arithmetic.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use tcverify::emu::step::Step as Kind;
use tcverify::emu::{Arithmetic, Catalogue, Choice};
use tcverify::explain::{Of, Stage, Step, Wish};
use tcverify::num::Format;

use super::asked::{Element, shown};
use super::big;
use crate::support::random::Random;

#[test]
fn the_trace_is_what_the_engine_computes() {
    let mut seen = BTreeSet::new();
    let (mut steps, mut cut, mut lossy, mut special) = (0, 0, 0, 0);
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                for &operands in &rule.operands {
                    let arithmetic = Arithmetic::of(rule, operands);
                    if !seen.insert(arithmetic.sha256()) {
                        continue;
                    }
                    let choice = Choice {
                        architecture,
                        instruction,
                        rule,
                        arithmetic,
                        compressed: false,
                    };
                    let name = format!("{} {} {operands:?}", architecture.name, instruction.name);
                    let mut random = Random::named(&name);
                    for wild in [false, false, true] {
                        let element = draw(&mut random, &choice.arithmetic, wild);
                        let explanation = element.explain(&choice, None, Wish::All);
                        let trace = shown(&explanation);
                        let expected = element.replay(&choice.arithmetic);
                        assert_eq!(explanation.computed.code, expected, "{name}");
                        assert_eq!(trace.len(), explanation.steps, "{name}");
                        chained(&trace, &element, &choice.arithmetic, &name);
                        for step in trace {
                            adds_up(step, &element, &choice.arithmetic, &name);
                            steps += 1;
                            cut += step.cut_terms;
                            lossy += usize::from(step.lost.as_ref().is_some_and(|l| !l.is_zero()));
                            special += usize::from(step.lost.is_none());
                        }
                    }
                }
            }
        }
    }
    // What never happened has not been tested.
    assert!(seen.len() > 100, "{} rules", seen.len());
    let counts = (steps, cut, lossy, special);
    assert!(
        steps > 1000 && cut > 1000 && lossy > 500 && special > 50,
        "{counts:?}"
    );
}

/// Two full steps and a piece of a third, or as much as there can be.
fn draw(random: &mut Random, arithmetic: &Arithmetic, wild: bool) -> Element {
    let span = arithmetic.step.span();
    let k = match arithmetic.longest_k() {
        Some(most) => most - 1,
        None if span == 1 => 9,
        None => 2 * span + 1 + random.below(span),
    };
    let mut codes = |format: Format, count: usize| -> Vec<u64> {
        (0..count).map(|_| code(random, format, wild)).collect()
    };
    let (a, b) = (codes(arithmetic.a, k), codes(arithmetic.b, k));
    let c = codes(arithmetic.addend(), 1)[0];
    let scales = arithmetic.scale.map(|scale| {
        let blocks = k.div_ceil(scale.block);
        [codes(scale.format, blocks), codes(scale.format, blocks)]
    });
    Element {
        a,
        b,
        c: Some(c),
        scales,
    }
}

/// Any code, or a number not far from 1, or zero.
fn code(random: &mut Random, format: Format, wild: bool) -> u64 {
    let any = random.bits() & format.max_code();
    if wild && random.once_in(8) || format.is_integer() {
        return any;
    }
    if random.once_in(6) && format.zero(false) == 0 && format != Format::Ue8m0 {
        return 0;
    }
    let bias = format.bias();
    let reach = (bias - 1).clamp(0, 9);
    let field = (bias + random.between(-reach, reach)) as u64;
    let fraction = any & ((1 << (format.fraction_bits() + format.ignored_bits())) - 1);
    format.sign(random.once_in(2))
        | field << (format.fraction_bits() + format.ignored_bits())
        | fraction
}

/// Each step's result is a replay of K up to there, and the next one's beginning.
fn chained(trace: &[&Step], element: &Element, arithmetic: &Arithmetic, name: &str) {
    let mut before = element.c.unwrap();
    let mut next = 0;
    for (i, step) in trace.iter().enumerate() {
        let [first, end] = step.k;
        assert_eq!((step.step, first), (i + 1, next), "{name}");
        assert_eq!(step.before.code, before, "{name}");
        let prefix = element.first(end, arithmetic).replay(arithmetic);
        assert_eq!(step.after.code, prefix, "{name}, k to {end}");
        (before, next) = (step.after.code, end);
    }
    assert_eq!(next, element.k(), "{name}");
}

fn adds_up(step: &Step, element: &Element, arithmetic: &Arithmetic, name: &str) {
    let place = format!("{name}, step {}", step.step);
    let mut sum = big::code(step.before.format, step.before.code);
    for (product, k) in step.products.iter().zip(step.k[0]..) {
        assert_eq!(product.k, k, "{place}");
        assert_eq!(
            (product.a.code, product.b.code),
            (element.a[k], element.b[k])
        );
        let mut factors = vec![(arithmetic.a, element.a[k]), (arithmetic.b, element.b[k])];
        if let (Some([a, b]), Some(scale)) = (&element.scales, arithmetic.scale) {
            let (a, b) = (a[k / scale.block], b[k / scale.block]);
            factors.extend([(scale.format, a), (scale.format, b)]);
            let shown = product.scales.as_ref().expect("scales are shown");
            assert_eq!((shown[0].code, shown[1].code), (a, b), "{place}");
        }
        let exact = big::product(&factors);
        assert_eq!(
            product.exact.finite().map(big::dyadic),
            exact,
            "{place}, k {k}"
        );
        sum = sum.zip(exact).map(|(sum, exact)| sum + exact);
    }
    assert_eq!(step.products.len(), step.k[1] - step.k[0], "{place}");
    assert_eq!(step.exact_sum.finite().map(big::dyadic), sum, "{place}");
    let after = big::code(step.after.format, step.after.code);
    let lost = after.clone().zip(sum).map(|(after, sum)| after - sum);
    assert_eq!(step.lost.as_ref().map(big::dyadic), lost, "{place}");
    for stage in &step.stages {
        stage_adds_up(stage, step, arithmetic, &place);
    }
    let last = step.stages.last().and_then(|stage| stage.sum.as_ref());
    if let (Some(sum), Some(off), Some(after)) = (last, &step.rounded_off, after) {
        assert_eq!(big::dyadic(sum) + big::dyadic(off), after, "{place}");
    }
    let cut = step.stages.iter().flat_map(|stage| &stage.terms);
    let cut = cut.filter(|term| term.exact != term.kept).count();
    assert_eq!(cut, step.cut_terms, "{place}");
    // A result that is no number names a culprit, and one that is a number none.
    assert_eq!(
        step.notes.is_empty(),
        step.after.value().finite().is_some(),
        "{place}"
    );
}

fn stage_adds_up(stage: &Stage, step: &Step, arithmetic: &Arithmetic, place: &str) {
    if stage.terms.is_empty() {
        assert!(!stage.results.is_empty(), "{place}: an empty stage");
        return;
    }
    let (exponent, grid) = (stage.exponent.unwrap(), stage.grid.unwrap());
    let most = stage.terms.iter().map(|term| term.exponent).max();
    assert_eq!(most, Some(exponent), "{place}");
    let unit = big::power(grid);
    let mut kept = BigInt::ZERO;
    for term in &stage.terms {
        let [exact, left, cut] = [&term.exact, &term.kept, &term.cut].map(big::dyadic);
        assert_eq!(&left + &cut, exact, "{place}: {term:?}");
        assert_eq!(
            &left % &unit,
            BigInt::ZERO,
            "{place}: {term:?} is off the grid"
        );
        assert_eq!(term.sets_exponent, term.exponent == exponent, "{place}");
        kept += left;
        // Cut toward zero, less than a unit of the grid is lost.
        if matches!(
            &arithmetic.step,
            Kind::Fused(_) | Kind::FusedHalves(_) | Kind::BlockDot(_)
        ) {
            assert!(cut.magnitude() < unit.magnitude(), "{place}: {term:?}");
            assert!(
                cut.sign() == exact.sign() || cut == BigInt::ZERO,
                "{place}: {term:?}"
            );
        }
        let products = |range: std::ops::Range<usize>| -> BigInt {
            let of = |k: usize| big::finite(&step.products[k - step.k[0]].exact);
            range.map(of).sum()
        };
        let expected = match (&term.of, &arithmetic.step) {
            // Vortex's lanes have a mind of their own.
            (_, Kind::StickyRne(_)) => continue,
            // Of slices, phase by phase.
            (_, Kind::Sliced(_)) => continue,
            (&Of::Product(k), _) => products(k..k + 1),
            (Of::Products(_), Kind::FlooredPairs(_)) => continue,
            (&Of::Products([first, end]), _) => products(first..end),
            (Of::Missing, _) => BigInt::ZERO,
            // C of a later group is the sum so far; sums of pairs are floored before.
            (Of::Addend, Kind::FusedHalves(_) | Kind::ComplementDot(_) | Kind::FlooredPairs(_))
            | (Of::AllProducts, _) => continue,
            (Of::Addend, _) => big::finite(&step.before.value()),
        };
        assert_eq!(exact, expected, "{place}: {term:?}");
    }
    if let Some(sum) = &stage.sum {
        // Vortex's sums may wrap.
        if !matches!(arithmetic.step, Kind::StickyRne(_)) {
            assert_eq!(big::dyadic(sum), kept, "{place}");
        }
    }
    // What is missing may be several terms, none of which is any product.
    let there = stage.terms.iter().map(|term| &term.of);
    let products: Vec<_> = there.filter(|of| **of != Of::Missing).collect();
    let mut once = products.clone();
    once.dedup();
    assert_eq!(products, once, "{place}: a term twice");
}
