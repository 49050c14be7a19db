//! Operands that tell two models apart do so.

use tcverify::candidates::{Candidate, Conditions, candidates};
use tcverify::emu::step::{ComplementDot, Groups, Sliced, Step, StickyRne};
use tcverify::emu::{Arithmetic, Catalogue, Element, Engine, Problem, Replay};
use tcverify::identify::{comparable, separate};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

fn all(d: Format) -> Vec<Candidate> {
    candidates(
        Catalogue::builtin(),
        &Conditions {
            blocks: false,
            a: &|_| true,
            b: &|_| true,
            c: &|_| true,
            d: &|format| format == d,
            scale: &|scale| scale.is_none(),
            k: 1,
        },
    )
}

fn result(candidate: &Candidate, a: &[u64], b: &[u64], c: u64) -> u64 {
    let arithmetic: &Arithmetic = &candidate.arithmetic;
    let a = Tensor::from_codes(arithmetic.a, vec![1, a.len()], a);
    let b = Tensor::from_codes(arithmetic.b, vec![b.len(), 1], b);
    let c = Tensor::from_codes(arithmetic.addend(), vec![1, 1], &[c]);
    let replay = Replay {
        problem: Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap(),
        arithmetic,
        convert_to: candidate.convert_to,
        engine: Engine::Exact,
        kernel: None,
    };
    let element = Element {
        batch: 0,
        row: 0,
        column: 0,
    };
    replay.elements(&[element])[0]
}

/// Vortex's units differ in an exponent of zeros that is below whatever could show it.
fn indistinct(one: &Candidate, other: &Candidate) -> bool {
    let step = |candidate: &Candidate| match &candidate.arithmetic.step {
        Step::StickyRne(step) => Some(StickyRne {
            zero_exponent: 0,
            // Means nothing to other formats.
            ieee_top: step.ieee_top && candidate.arithmetic.a == Format::E4m3,
            ..step.clone()
        }),
        _ => None,
    };
    // Without a C, of which format it would be decides nothing.
    let only_c = one.arithmetic.step == other.arithmetic.step
        && one.arithmetic.addend() != other.arithmetic.addend();
    // RDNA 3's dot2 and wmma take the same pairs in the same order.
    let pairs = |candidate: &Candidate| match &candidate.arithmetic.step {
        Step::ComplementDot(step) if step.groups.order.is_sorted() => Some(ComplementDot {
            groups: Groups {
                order: vec![0],
                ..step.groups.clone()
            },
            ..step.clone()
        }),
        _ => None,
    };
    let same_pairs = pairs(one).is_some() && pairs(one) == pairs(other);
    // What one phase goes over before the next decides nothing where there is one. Wormhole's fault shows in one sum of
    // billions: captured rows meet it.
    let slices = |candidate: &Candidate| match &candidate.arithmetic.step {
        Step::Sliced(step) => Some(Sliced {
            tile: if step.phases.len() == 1 {
                16
            } else {
                step.tile
            },
            minus_one: None,
            ..step.clone()
        }),
        _ => None,
    };
    let same_slices = slices(one).is_some() && slices(one) == slices(other);
    only_c || same_pairs || same_slices || (step(one).is_some() && step(one) == step(other))
}

/// Any two different models of FP16 or E4M3 operands with FP32 results are separated, and the
/// operands show it when they are replayed anew.
#[test]
fn every_two_models_are_separated() {
    for format in [Format::Fp16, Format::E4m3] {
        let models: Vec<_> = all(Format::Fp32)
            .into_iter()
            .filter(|c| (c.arithmetic.a, c.arithmetic.b) == (format, format))
            .collect();
        assert!(models.len() > 5, "{} for {format}", models.len());
        for (i, one) in models.iter().enumerate() {
            for other in models[..i].iter().filter(|other| !indistinct(one, other)) {
                assert!(comparable(one, other));
                let found = separate(one, other, 1);
                let names = || format!("{:?} and {:?}", one.names[0], other.names[0]);
                let dot = found.unwrap_or_else(|| panic!("{} are not separated", names()));
                let results = [one, other].map(|c| result(c, &dot.a, &dot.b, dot.c));
                assert_eq!(results, dot.results, "{}", names());
                assert_ne!(results[0], results[1], "{}", names());
            }
        }
    }
}

#[test]
fn a_model_is_not_separated_from_itself() {
    let models = all(Format::Fp32);
    assert_eq!(separate(&models[0], &models[0], 1), None);
}

#[test]
fn models_that_read_the_files_otherwise_are_not_compared() {
    let models = all(Format::Fp32);
    let of = |format| models.iter().find(|c| c.arithmetic.a == format).unwrap();
    assert!(!comparable(of(Format::Fp16), of(Format::Bf16)));
    assert_eq!(separate(of(Format::Fp16), of(Format::Bf16), 1), None);
}

/// Equal arithmetic is one candidate with several names.
#[test]
fn candidates_are_distinct() {
    let models = all(Format::Fp32);
    for (i, one) in models.iter().enumerate() {
        let same = |other: &&Candidate| {
            (&other.arithmetic, other.convert_to) == (&one.arithmetic, one.convert_to)
        };
        assert_eq!(models[..i].iter().find(same).map(|c| &c.names), None);
    }
    let shared = models.iter().filter(|c| c.names.len() > 1).count();
    assert!(shared > 5, "{shared}");
}
