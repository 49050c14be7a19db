//! FP8 through `mma.sync` on Hopper and Blackwell: two interleaved halves, then one add of C.

use tcverify::emu::Arithmetic;
use tcverify::emu::step::Step;
use tcverify::num::Rounding;
use tcverify::tensor::Tensor;

use super::controls::{Controls, named};
use crate::support::case::{Case, codes};
use crate::support::vectors::captured;
use crate::support::wrong::*;

fn dealt(arithmetic: &mut Arithmetic, period: usize, first: impl IntoIterator<Item = usize>) {
    let halves = halves(arithmetic);
    halves.period = period;
    halves.first = first.into_iter().collect();
}

/// With FP16 results only one way to halve 32 products fits: k mod 4 in {0, 1}, these first.
#[test]
fn other_halves_fail() {
    Controls {
        changes: [
            ("contiguous", |a| dealt(a, 32, 0..16)),
            ("contiguous, last first", |a| dealt(a, 32, 16..32)),
            ("runs of 8", |a| dealt(a, 16, 0..8)),
            ("runs of 8, last first", |a| dealt(a, 16, 8..16)),
            ("runs of 4", |a| dealt(a, 8, 0..4)),
            ("runs of 4, last first", |a| dealt(a, 8, 4..8)),
            ("runs of 2, last first", |a| dealt(a, 4, 2..4)),
            ("the middle of 4", |a| dealt(a, 4, 1..3)),
            ("even", |a| dealt(a, 2, [0])),
            ("odd", |a| dealt(a, 2, [1])),
            ("32 products in one half", |a| dealt_wide(a)),
        ],
        counts: &[
            (
                "b200-e4m3-fp16",
                [781, 784, 803, 772, 765, 791, 803, 753, 810, 792, 548],
            ),
            (
                "b200-e5m2-fp16",
                [581, 609, 596, 603, 607, 604, 632, 584, 589, 605, 386],
            ),
            (
                "h100-e4m3-fp16",
                [789, 791, 799, 758, 766, 786, 789, 749, 797, 803, 544],
            ),
            (
                "h100-e5m2-fp16",
                [583, 615, 595, 608, 597, 606, 622, 590, 590, 601, 386],
            ),
        ],
    }
    .verify("wrong halves of FP8 products");
}

/// Each half returns an FP16 number to nearest, and so does the add of C.
#[test]
fn other_roundings_fail() {
    Controls {
        changes: [
            ("halves toward zero", round_to_zero),
            ("halves down", round_down),
            ("halves away", round_away),
            ("halves a bit short", one_bit_less_of_result),
            ("closing toward zero", closing_to_zero),
        ],
        counts: &[
            ("b200-e4m3-fp16", [1344, 1370, 226, 1196, 977]),
            ("b200-e5m2-fp16", [1030, 1025, 275, 1062, 892]),
            ("h100-e4m3-fp16", [1331, 1364, 220, 1189, 948]),
            ("h100-e5m2-fp16", [1041, 1040, 276, 1076, 909]),
        ],
    }
    .verify("wrong roundings of FP8 halves");
}

/// FP32 results prove that C comes last, once in 32 products, to nearest.
#[test]
fn fp32_results_pin_the_closing_add() {
    Controls {
        changes: [
            ("closing toward zero", closing_to_zero),
            ("C after 16 products", |a| halves(a).span = 16),
            ("13 fraction bits", |a| fused(a).fraction_bits = 13),
        ],
        counts: &[
            ("b200-e4m3-fp32", [908, 451, 1376]),
            ("b200-e5m2-fp32", [887, 461, 757]),
        ],
    }
    .verify("wrong closing adds");
}

/// What a native FP8 unit would do: one fused dot-add, C among the terms.
#[test]
fn a_plain_fused_step_fails() {
    Controls {
        changes: [
            ("32 products, 25 bits", |a| plain(a, 32, 25)),
            ("32 products, 13 bits", |a| plain(a, 32, 13)),
            ("16 products, 25 bits", |a| plain(a, 16, 25)),
            ("16 products, 13 bits", |a| plain(a, 16, 13)),
        ],
        counts: &[
            ("b200-e4m3-fp16", [951, 962, 1086, 1078]),
            ("b200-e4m3-fp32", [875, 2494, 1100, 2497]),
            ("b200-e5m2-fp16", [822, 826, 1012, 1033]),
            ("b200-e5m2-fp32", [873, 2498, 1107, 2498]),
            ("h100-e4m3-fp16", [954, 960, 1130, 1124]),
            ("h100-e5m2-fp16", [833, 843, 1033, 1041]),
        ],
    }
    .verify("plain models of emulated FP8");
}

/// The same halves, but C enters the first of them.
#[test]
fn adding_c_first_fails() {
    let Some(cases) = captured("C added first") else {
        return;
    };
    let counted = C_FIRST.map(|(name, _)| {
        let case = dealt_out(named(&cases, name));
        let chain = changed(&case.choice().arithmetic, |a| plain(a, 16, 25));
        (name, case.mismatches(&chain))
    });
    assert_eq!(counted, C_FIRST);
}

const C_FIRST: [(&str, usize); 6] = [
    ("b200-e4m3-fp16", 1005),
    ("b200-e4m3-fp32", 1127),
    ("b200-e5m2-fp16", 948),
    ("b200-e5m2-fp32", 1128),
    ("h100-e4m3-fp16", 951),
    ("h100-e5m2-fp16", 941),
];

/// A case whose products are in the order in which the halves take them.
fn dealt_out(case: &Case) -> Case {
    let (low, high): (Vec<usize>, Vec<usize>) = (0..32).partition(|k| k % 4 < 2);
    let order = [low, high].concat();
    let reorder = |tensor: &Tensor| {
        let before = codes(tensor);
        let dots = before.chunks(32);
        let after: Vec<u64> = dots.flat_map(|dot| order.iter().map(|&k| dot[k])).collect();
        Tensor::from_codes(tensor.format(), tensor.shape().to_vec(), &after)
    };
    Case {
        a: reorder(&case.a),
        b: reorder(&case.b),
        ..case.clone()
    }
}

fn dealt_wide(arithmetic: &mut Arithmetic) {
    dealt(arithmetic, 4, 0..4);
    fused(arithmetic).group = 32;
}

fn plain(arithmetic: &mut Arithmetic, group: usize, fraction_bits: u32) {
    let mut step = fused(arithmetic).clone();
    step.group = group;
    step.fraction_bits = fraction_bits;
    arithmetic.step = Step::Fused(step);
}

fn closing_to_zero(arithmetic: &mut Arithmetic) {
    halves(arithmetic).closing = Rounding::TowardZero;
}
