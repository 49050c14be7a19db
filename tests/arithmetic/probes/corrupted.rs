//! Answers that no machine of a known kind gives are not explained away.

use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::Format;
use tcverify::probe::infer::{Contradicted, Verdict, infer};
use tcverify::probe::replay;

use super::machine::{answered, suite};

fn machine(arch: &str, format: Format) -> Arithmetic {
    let arch = Catalogue::builtin().find(arch).unwrap();
    arch.select(None, [format; 2], None).unwrap().arithmetic
}

#[track_caller]
fn contradicted(machine: &Arithmetic, change: impl Fn(&mut [u64])) -> Box<Contradicted> {
    let (suite, mut answers) = answered(machine);
    change(&mut answers);
    match infer(&suite, &answers).unwrap() {
        Verdict::Contradicted(best) => best,
        Verdict::Explained(found) => panic!("explained by {:?}", found.arithmetic),
    }
}

#[test]
fn one_wrong_bit_is_noticed_and_shown() {
    let ampere = machine("ampere", Format::Fp16);
    let (suite, answers) = answered(&ampere);
    // One that no constant hangs on: a sum of ordinary numbers.
    let victim = suite
        .cases
        .iter()
        .rposition(|case| case.family == "mixed")
        .unwrap();
    let best = contradicted(&ampere, |answers| answers[victim] ^= 1);
    assert_eq!(best.cases.len(), 1, "{:?}", best.arithmetic.step);
    assert_eq!(best.cases[0].case, victim);
    assert_eq!(best.cases[0].expected, answers[victim]);
    assert_eq!(best.cases[0].answered, answers[victim] ^ 1);
    // The hypothesis is the machine, as far as answers tell.
    assert_eq!(replay::answers(&best.arithmetic, &suite.cases), answers);
}

#[test]
fn a_stuck_bit_is_noticed() {
    let best = contradicted(&machine("rtx-blackwell", Format::E2m1), |answers| {
        answers.iter_mut().for_each(|d| *d |= 1 << 20);
    });
    assert!(best.cases.len() > 1000);
}

/// Two NaN codes, as no kind of step has them.
#[test]
fn two_nans_are_noticed() {
    let volta = machine("volta", Format::Fp16);
    let best = contradicted(&volta, |answers| {
        let nan = answers.iter_mut().find(|d| **d == 0x7fff_ffff).unwrap();
        *nan = 0x7fc0_0000;
    });
    assert_eq!(best.cases.len(), 1);
}

#[test]
fn answers_must_be_answers() {
    let suite = suite(Format::Fp16, Format::Fp16, Format::Fp16);
    let zeros = vec![0; suite.cases.len()];
    assert!(infer(&suite, &zeros[1..]).unwrap_err().contains("answers"));
    let mut wide = zeros;
    wide[7] = 0x1_0000;
    assert!(infer(&suite, &wide).unwrap_err().contains("answer 7"));
}

/// A wrong constant of a recognised machine is refused by the probes: for each constant of some
/// machines, the nearest other values give another answer somewhere.
#[test]
fn wrong_constants_answer_otherwise() {
    let ampere = machine("ampere", Format::Bf16);
    let (suite, answers) = answered(&ampere);
    for (name, values) in [
        ("group", &["4", "7", "9", "16"][..]),
        ("fraction_bits", &["23", "25"]),
        ("alignment", &["\"rne\"", "\"rna\"", "\"rd\""]),
        ("zero_exponent", &["-133", "-131", "-126"]),
        ("precision", &["23", "14"]),
        ("rounding", &["\"rne\"", "\"rna\"", "\"rd\""]),
        ("nan", &["\"7fc00000\""]),
    ] {
        for value in values {
            let mut step = serde_json::to_value(&ampere.step).unwrap();
            step[name] = serde_json::from_str(value).unwrap();
            let wrong = Arithmetic {
                step: serde_json::from_value(step).unwrap(),
                ..ampere.clone()
            };
            assert!(wrong.check().is_ok());
            let other = replay::answers(&wrong, &suite.cases);
            assert_ne!(other, answers, "{name} {value}");
        }
    }
}
