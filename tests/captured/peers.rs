//! Results of another emulator, MMA-Sim 2.1.1: products over several steps, the whole exponent
//! range, subnormals, infinities and NaNs. A model's word, not silicon's; but written by others.

use std::collections::BTreeMap;

use crate::support::case::Case;
use crate::support::vectors::{PEERS, cases, replay_all};
use crate::support::wrong::*;
use tcverify::emu::Catalogue;
use tcverify::num::{Format, Rounding};

/// NVIDIA's cases, but for those with block scales; AMD's have a test of their own.
fn peers(what: &str) -> Option<Vec<Case>> {
    cases(PEERS, what, 184, |about| {
        let arch = about["arch"].as_str().unwrap_or_default();
        let arch = Catalogue::builtin().find(arch);
        arch.is_ok_and(|arch| arch.title.starts_with("NVIDIA")) && about.get("kind").is_none()
    })
}

#[test]
fn every_peer_result_is_reproduced() {
    let Some(cases) = peers("peer results") else {
        return;
    };
    let results = replay_all(PEERS, &cases);
    assert_eq!(results, 184 * 24 * 24);

    let inputs = |kind: &str| cases.iter().filter(|c| c.about["inputs"] == kind).count();
    let counted = ["near", "wide", "low", "special"].map(inputs);
    assert_eq!(counted, [50, 50, 42, 42], "cases by kind of input");
}

/// A wrong model, the rules that have to refute it (by arithmetic; the name of the rule), and in how
/// many cases of those it differs.
struct Control {
    what: &'static str,
    change: Change,
    refuted_by: fn(&Case) -> bool,
    cases: usize,
}

const CONTROLS: [Control; 13] = [
    Control {
        what: "half the products a step",
        change: half_group,
        refuted_by: |_| true,
        cases: 151,
    },
    Control {
        what: "twice the products a step",
        change: double_group,
        refuted_by: |_| true,
        cases: 153,
    },
    Control {
        what: "a fraction bit less",
        change: one_bit_less,
        refuted_by: shows_alignment,
        cases: 89,
    },
    Control {
        what: "a fraction bit more",
        change: one_bit_more,
        refuted_by: shows_alignment,
        cases: 85,
    },
    Control {
        what: "terms aligned to nearest",
        change: align_to_nearest,
        refuted_by: shows_alignment,
        cases: 88,
    },
    Control {
        what: "terms aligned down",
        change: align_down,
        refuted_by: shows_alignment,
        cases: 111,
    },
    Control {
        what: "FP32 rounded to nearest",
        change: round_to_nearest,
        refuted_by: is_fp32,
        cases: 74,
    },
    Control {
        what: "FP16 rounded toward zero",
        change: round_to_zero,
        refuted_by: |case| !is_fp32(case),
        cases: 49,
    },
    Control {
        what: "rounded down",
        change: round_down,
        refuted_by: |_| true,
        cases: 123,
    },
    Control {
        what: "a bit less of result",
        change: one_bit_less_of_result,
        refuted_by: |_| true,
        cases: 135,
    },
    Control {
        what: "15 significant bits of FP8's result",
        change: one_bit_more_of_result,
        refuted_by: |case| is_fp32(case) && thirteen_bits(case),
        cases: 15,
    },
    Control {
        what: "zeros with the exponent of FP16's subnormals",
        change: |a| fused(a).zero_exponent = -14,
        refuted_by: |case| is_fp32(case) && case.a.format().bytes() > 1,
        cases: 17,
    },
    Control {
        what: "another NaN",
        change: |a| fused(a).nan.0 ^= 1,
        refuted_by: |case| case.about["inputs"] == "special",
        cases: 42,
    },
];

fn is_fp32(case: &Case) -> bool {
    case.accumulator == Format::Fp32
}

/// Ada's and Hopper's FP8.
fn thirteen_bits(case: &Case) -> bool {
    fused(&mut case.choice().arithmetic).fraction_bits == 13
}

/// An FP16 result has too few bits to show where terms of 24 or more were cut.
fn shows_alignment(case: &Case) -> bool {
    is_fp32(case) || thirteen_bits(case)
}

#[test]
fn wrong_models_differ_under_every_rule() {
    let Some(cases) = peers("wrong models of peer results") else {
        return;
    };
    let mut counted = Vec::new();
    for control in &CONTROLS {
        let mut by_rule: BTreeMap<String, usize> = BTreeMap::new();
        let mut refuting = 0;
        for case in cases.iter().filter(|case| (control.refuted_by)(case)) {
            let wrong = changed(&case.choice().arithmetic, control.change);
            let mismatches = case.mismatches(&wrong);
            *by_rule.entry(rule(case)).or_default() += mismatches;
            refuting += usize::from(mismatches > 0);
        }
        let unnoticed: Vec<_> = by_rule.iter().filter(|(_, n)| **n == 0).collect();
        assert!(unnoticed.is_empty(), "{}: {unnoticed:?}", control.what);
        counted.push((control.what, refuting));
    }
    assert_eq!(counted, CONTROLS.map(|c| (c.what, c.cases)));
}

/// `case` without its kind of input.
fn rule(case: &Case) -> String {
    let rule = case.name.rsplit_once('-');
    rule.map_or(&*case.name, |(rule, _)| rule).to_owned()
}

/// Ties to even are seen only where sums are short: with FP8 operands.
#[test]
fn ties_to_even_show_in_fp16_results_of_fp8() {
    let Some(cases) = peers("ties away in peer results") else {
        return;
    };
    let fp8 = |case: &&Case| !is_fp32(case) && case.a.format().bytes() == 1;
    let mut by_rule: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases.iter().filter(fp8) {
        let away = changed(&case.choice().arithmetic, |a| {
            fused(a).rounding = Rounding::NearestAway;
        });
        *by_rule.entry(rule(case)).or_default() += case.mismatches(&away);
    }
    assert_eq!(
        by_rule.len(),
        13,
        "FP8, FP6 and FP4 rules with FP16 results"
    );
    assert!(by_rule.values().all(|&n| n > 0), "{by_rule:?}");
}
