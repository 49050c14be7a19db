//! Every machine of the catalogue is recognised by its answers.

use std::collections::HashSet;
use std::mem::discriminant;

use rayon::prelude::*;
use serde_json::json;
use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Catalogue};
use tcverify::num::Format;
use tcverify::probe::infer::{Finding, known};

use super::machine::{answered, recognised};

/// Constants that the catalogue's machines leave open, by kind of step: those whose values differ only
/// in what these formats cannot express. Nothing else may be open.
fn may_be_open(machine: &Arithmetic, finding: &Finding) -> bool {
    let kind = serde_json::to_value(&machine.step).unwrap()["kind"].clone();
    let wide = |f: Format| f.exponent_bits() == 8;
    let narrow = |f: Format| f.bytes() == 1;
    match (kind.as_str().unwrap(), finding.name.as_str()) {
        // Shows only if terms can lie far below it.
        ("fused", "zero_exponent") => !wide(machine.a) && finding.others.len() > 1,
        // With few exponents in A and B and the few of FP16, no term is ever cut.
        ("fused", "alignment" | "fraction_bits") => {
            narrow(machine.a) && narrow(machine.b) && machine.accumulator == Format::Fp16
        }
        // A half filled with zeros is a half, and zeros lie below every FP8 product.
        ("fused_halves", "half.group" | "half.zero_exponent") => true,
        // C is never subnormal between instructions, and -0 shows only the last boundary.
        ("pairwise_flush", "span") => true,
        // More bits than the final floor keeps; no limit, or one beyond FP32.
        ("fused_floor", "sum_fraction_bits" | "zero_exponent" | "addend_window") => true,
        ("sticky_rne", "zero_exponent" | "width") => true,
        // FP4 has no infinity and no NaN to mask.
        ("sticky_rne", "sparse_mask") => machine.a == Format::E2m1,
        // Below every result.
        ("block_dot", "zero_exponent") => finding.others.len() > 1,
        // ExecContext something for one format.
        ("sticky_rne", "ieee_top") => machine.a != Format::E4m3,
        // Modulo 2^32 it decides nothing, and of products without sign no sum ever comes back into range.
        ("integer_sum", "group") => {
            let unsigned = [machine.a, machine.b].iter().all(|f| f.sign_mask() == 0);
            unsigned || serde_json::to_value(&machine.step).unwrap()["overflow"] == "wrap"
        }
        // Zeros end no group, so that nothing shows how many an instruction has, unless their order does.
        ("complement_dot" | "floored_pairs", "groups.order") => {
            finding.value == json!(ascending(finding))
        }
        // Only FP16 results reach the floor, and BF16 ones are cut far above.
        ("complement_dot" | "floored_pairs", "least_leading") => {
            machine.accumulator != Format::Fp16
        }
        // A C of less than one unit, and products so small or sums so near zero that it shows.
        ("floored_pairs", "vanishing_c") => true,
        ("floored_pairs", "leading_bits") => machine.accumulator == Format::Bf16,
        // FP4 reaches no more than four bits above its scales.
        ("block_window", "product_bits") => true,
        // Of UE4M3 no result is subnormal.
        ("block_window", "least_sum") => machine
            .scale
            .is_some_and(|scale| scale.format == Format::Ue4m3),
        _ => false,
    }
}

/// The order of as many groups that is no order.
fn ascending(finding: &Finding) -> Vec<usize> {
    (0..finding.value.as_array().map_or(0, Vec::len)).collect()
}

#[test]
#[ignore = "long"]
fn every_machine_is_recognised() {
    let mut seen = HashSet::new();
    let mut machines = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                for &pair in &rule.operands {
                    let machine = Arithmetic::of(rule, pair);
                    let name = &architecture.name;
                    let what = format!("{name} {} {pair:?} {}", instruction.name, rule.accumulator);
                    // A simulator's chain of halves and a processor's in an order of its own are not inferred, slices below; of pairs with scales some are enough.
                    let some = pair[0] == pair[1] || pair == [Format::E2m1, Format::E4m3];
                    let chain = matches!(
                        machine.step,
                        Step::HalfChain(_)
                            | Step::OrderedFma(_)
                            | Step::RoundedDot(_)
                            | Step::Sliced(_)
                            | Step::SlicedIntegers(_)
                    );
                    if chain || machine.scale.is_some() && !some {
                        continue;
                    }
                    // Equal digests are equal arithmetic, so equal answers.
                    if seen.insert(machine.sha256()) {
                        machines.push((what, machine));
                    }
                }
            }
        }
    }
    assert!(machines.len() > 150, "{}", machines.len());
    // Machines that answer the same suite follow one another.
    machines.sort_by_cached_key(|(_, machine)| {
        let formats = [machine.a, machine.b, machine.accumulator];
        (
            formats,
            machine.scale.map(|scale| (scale.format, scale.block)),
        )
    });
    machines.par_iter().for_each(|(what, machine)| {
        let found = recognised(what, machine);
        assert_eq!(
            discriminant(&found.arithmetic.step),
            discriminant(&machine.step),
            "{what}"
        );
        for finding in &found.constants {
            assert!(
                finding.determined() || may_be_open(machine, finding),
                "{what}: {} could be {}",
                finding.name,
                finding.allowed()
            );
            // What counts as determined was tried with other values, and each failed a case.
            let only = ["group", "lanes", "scaling"].contains(&finding.name.as_str());
            assert!(
                !finding.determined() || only || !finding.refuted.is_empty(),
                "{what}: nothing else was tried for {}",
                finding.name
            );
        }
    });
}

/// Pairs to odd, and fused ones in two directions.
#[test]
fn dots_of_arm_are_recognised() {
    let arm = Catalogue::builtin().find("arm").unwrap();
    for instruction in ["bfdot", "bfdot-ebf", "bfdot-ebf-fz", "bfdot-ebf-rz"] {
        let choice = arm.select(Some(instruction), [Format::Bf16; 2], Some(Format::Fp32));
        let machine = choice.unwrap().arithmetic;
        let found = recognised(instruction, &machine);
        assert_eq!(found.arithmetic.step, machine.step, "{instruction}");
    }
}

/// Of all phases together, and of the first alone: slices, groups and roundings.
#[test]
fn slices_are_recognised() {
    let wormhole = Catalogue::builtin().find("wormhole").unwrap();
    for fidelity in ["hifi4", "lofi"] {
        let choice = wormhole.select(Some(fidelity), [Format::Bf16; 2], Some(Format::Fp32));
        let machine = choice.unwrap().arithmetic;
        let found = recognised(fidelity, &machine);
        assert_eq!(
            discriminant(&found.arithmetic.step),
            discriminant(&machine.step)
        );
        for finding in &found.constants {
            let below_all = finding.name == "zero_exponent";
            let one_phase = finding.name == "tile" && fidelity == "lofi";
            assert!(
                finding.determined() || below_all || one_phase,
                "{fidelity}: {} could be {}",
                finding.name,
                finding.allowed()
            );
        }
    }
}

#[test]
fn the_catalogue_is_named() {
    let hopper = Catalogue::builtin().find("hopper").unwrap();
    let choice = hopper.select(None, [Format::Bf16; 2], None).unwrap();
    let (suite, answers) = answered(&choice.arithmetic);
    let rules = known(&suite, &answers, &choice.arithmetic);
    let names: Vec<_> = rules
        .iter()
        .map(|k| format!("{} {} {}", k.architecture, k.instruction, k.same))
        .collect();
    for name in [
        "hopper wgmma true",
        "hopper mma true",
        "blackwell tcgen05 true",
    ] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|n| n.starts_with("ampere")), "{names:?}");
}
