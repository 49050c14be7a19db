//! The catalogue's own claims: "captured" is said of a constant only where captured results fail
//! with another value, and of a rule only where there are captured results.

use std::collections::BTreeMap;

use tcverify::emu::step::{Code, IntegerOverflow, IntegerSum, OrderedFma, Step};
use tcverify::emu::{Architecture, Arithmetic, Catalogue, Choice, Evidence, Instruction, Rule};
use tcverify::num::{Format, Rounding};

use crate::b200;
use crate::support::case::Case;
use crate::support::vectors::{OPEN, PEERS, amx, arm, captured, cases, processors, rdna};
use crate::support::wrong::*;

/// What digests of an H100's products show, and `tests/arithmetic/cuda_digests.rs` checks.
const DIGESTED: &str = "hopper wgmma bf16 with C None to fp32";

/// Other values that captured results have to refute before a constant counts as measured.
fn alternatives(constant: &str, right: &Arithmetic) -> Vec<(String, Step)> {
    if matches!(right.step, Step::ComplementDot(_) | Step::FlooredPairs(_)) {
        return super::super::rdna::neighbours(constant, &right.step);
    }
    if let Step::OrderedFma(step) = &right.step {
        let step = OrderedFma {
            chains: match constant {
                "chains" if step.chains.len() > 1 => vec![(0..right.step.span()).collect()],
                "chains" => vec![step.chains[0].iter().rev().copied().collect()],
                _ => step.chains.clone(),
            },
            flush: step.flush != (constant == "flush"),
            invalid: match constant {
                "invalid" => Code(if step.invalid.0 > 0xffff {
                    0x7fc0_0000
                } else {
                    0x7e00
                }),
                _ => step.invalid,
            },
            ..step.clone()
        };
        return vec![(constant.to_owned(), step.into())];
    }
    if let Step::IntegerSum(step) = &right.step {
        let other = match step.overflow {
            IntegerOverflow::Wrap => IntegerOverflow::Saturate,
            IntegerOverflow::Saturate => IntegerOverflow::Wrap,
        };
        let steps = match constant {
            "group" => vec![
                (step.group / 2, step.overflow),
                (step.group * 2, step.overflow),
            ],
            _ => vec![(step.group, other)],
        };
        let named = steps.into_iter().map(|(group, overflow)| {
            let step = IntegerSum { group, overflow };
            (format!("{constant}: {group} {overflow:?}"), step.into())
        });
        return named.collect();
    }
    let change = |what: &str, change: &dyn Fn(&mut Arithmetic)| {
        (format!("{constant} {what}"), changed(right, change).step)
    };
    let mut right_now = right.clone();
    let toward_zero = |rounding| rounding == Rounding::TowardZero;
    match constant.rsplit('.').next().unwrap_or(constant) {
        "fraction_bits" => vec![change("- 1", &one_bit_less), change("+ 1", &one_bit_more)],
        "precision" => vec![change("- 1", &one_bit_less_of_result)],
        "alignment" => vec![change("RNE", &align_to_nearest), change("RD", &align_down)],
        // Ties are rare: to nearest is told from truncation, not one kind of it from the other.
        "rounding" if toward_zero(fused(&mut right_now).rounding) => {
            vec![change("RNE", &round_to_nearest), change("RD", &round_down)]
        }
        "rounding" => vec![change("RZ", &round_to_zero), change("RD", &round_down)],
        // The halves of FP8 have no other size that `span` and `first` would allow.
        "group" if matches!(right.step, Step::FusedHalves(_)) => vec![],
        "group" => vec![change("/ 2", &half_group)],
        // Ada's FP8: another NaN fails on products of whole kernels, which have a test of their own.
        "nan"
            if [right.a, right.b]
                .iter()
                .all(|f| matches!(f, Format::E4m3 | Format::E5m2))
                && right.accumulator == Format::Fp32
                && right.step.span() == 16 =>
        {
            vec![]
        }
        "span" => vec![change("16", &|a| halves(a).span = 16)],
        "closing" => vec![change("RZ", &|a| halves(a).closing = Rounding::TowardZero)],
        "period" | "first" => [
            (32, 0..16),
            (16, 0..8),
            (8, 0..4),
            (4, 1..3),
            (4, 2..4),
            (2, 0..1),
        ]
        .map(|(period, first)| {
            change(&format!("{first:?} of {period}"), &|a| {
                halves(a).period = period;
                halves(a).first = first.clone().collect();
            })
        })
        .into(),
        other => panic!("no captured result can show {other}: its evidence is not captured"),
    }
}

#[test]
fn captured_constants_are_pinned_by_results() {
    let what = "evidence of the catalogue's constants";
    let (Some(mut cases), Some(rdna), Some(amx)) = (captured(what), rdna(what), amx(what)) else {
        return;
    };
    cases.extend(rdna.into_iter().chain(processors()).chain(amx));
    let mut refuted = 0;
    for (place, cases) in by_rule(&cases) {
        let choice = cases[0].choice();
        for constant in choice.arithmetic.constants() {
            let known = choice.architecture.known_by(choice.rule, &constant.name);
            let known = known.unwrap_or_else(|| panic!("{place}: {} has no source", constant.name));
            if known.evidence != Evidence::Captured {
                continue;
            }
            for (what, step) in alternatives(&constant.name, &choice.arithmetic) {
                let wrong = |case: &&Case| {
                    let step = step.clone();
                    let right = case.choice().arithmetic;
                    case.mismatches(&Arithmetic { step, ..right })
                };
                let wrong: usize = cases.iter().map(wrong).sum();
                assert!(wrong > 0, "{place}: no captured result refutes {what}");
                refuted += 1;
            }
        }
    }
    assert!(refuted > 100, "only {refuted} wrong constants were tried");
}

#[test]
fn rules_are_known_as_their_results_are() {
    let what = "evidence of the catalogue's rules";
    let all = |collection, count| cases(collection, what, count, |_| true);
    let (Some(mut captured), Some(rdna), Some(amx), Some(arm), Some(peers), Some(open)) = (
        captured(what),
        rdna(what),
        amx(what),
        arm(what),
        all(PEERS, 212),
        all(OPEN, 28),
    ) else {
        return;
    };
    captured.extend(rdna.into_iter().chain(processors()).chain(amx));
    let Some(words) = b200::captured(what) else {
        return;
    };
    // A few words say something of a rule where a wrong constant fails on them, and not that of NaN alone.
    let mut pinned = b200::pinned(&words);
    pinned.retain(|_, constants| constants.iter().any(|name| name != "nan"));
    let (captured, mut compared) = (by_rule(&captured), by_rule(&peers));
    compared.extend(by_rule(&open));
    compared.extend(by_rule(&arm));
    let mut found = [0, 0];
    for arch in Catalogue::builtin().architectures() {
        for instruction in &arch.instructions {
            for rule in &instruction.rules {
                let place = place(arch, instruction, rule);
                let shown = captured.contains_key(&place)
                    || pinned.contains_key(&place)
                    || place == DIGESTED;
                let best = match (shown, compared.contains_key(&place)) {
                    (true, _) => Evidence::Captured,
                    (false, true) => Evidence::Compared,
                    (false, false) => Evidence::Published,
                };
                // What is not even published has no results.
                assert_eq!(rule.evidence.max(Evidence::Published), best, "{place}");
                found[0] += usize::from(best == Evidence::Captured);
                found[1] += usize::from(best == Evidence::Compared);
            }
        }
    }
    assert!(found[0] >= 10 && found[1] >= 20, "{found:?}");
}

/// The captured cases of each rule.
pub fn by_rule(cases: &[Case]) -> BTreeMap<String, Vec<&Case>> {
    let mut rules: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        let Choice {
            architecture,
            instruction,
            rule,
            ..
        } = case.choice_on(&case.arch, &instruction_of(case));
        let place = place(architecture, instruction, rule);
        rules.entry(place).or_default().push(case);
    }
    rules
}

/// The catalogue's name of a case's instruction. AMD's captures name shape and types (`f32_32x32x8bf16`); the catalogue names
/// the arithmetic, with those types behind it where one architecture has several.
fn instruction_of(case: &Case) -> String {
    let Some(shape) = case.instruction.strip_prefix("f32_") else {
        return case.instruction.clone();
    };
    let types = shape.trim_start_matches(|c: char| c.is_ascii_digit() || "x_".contains(c));
    let typed = format!("mfma-{types}");
    let arch = Catalogue::builtin().find(&case.arch).expect("a known one");
    let known = arch.instructions.iter().any(|own| own.name == typed);
    if known { typed } else { "mfma".to_owned() }
}

fn place(architecture: &Architecture, instruction: &Instruction, rule: &Rule) -> String {
    let scale = rule.scale.map(|scale| scale.to_string());
    format!(
        "{} {} {}{} with C {:?} to {}",
        architecture.name,
        instruction.name,
        rule.operands[0][0],
        scale.unwrap_or_default(),
        rule.addend,
        rule.accumulator
    )
}
