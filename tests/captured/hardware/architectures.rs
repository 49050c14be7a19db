//! A result of one generation, replayed as another: the wrong `--arch` does not pass.

use super::controls::named;
use crate::support::vectors::captured;

/// Case, instruction and architecture to take it for, and how many results then differ.
const CONFUSED: [(&str, &str, &str, usize); 18] = [
    ("v100-fp16-fp32", "mma", "turing", 631),
    ("v100-fp16-fp32", "mma", "ampere", 631),
    ("v100-fp16-fp32", "mma", "hopper", 764),
    ("a100-fp16-fp32", "mma", "volta", 968),
    ("a100-fp16-fp32", "mma", "hopper", 376),
    ("a100-bf16-fp32", "mma", "hopper", 224),
    ("a100-tf32-fp32", "mma", "hopper", 223),
    ("a100-fp16-fp16", "mma", "volta", 655),
    ("ada-fp16-fp32", "mma", "blackwell", 425),
    ("ada-e4m3-fp32", "wgmma", "hopper", 535),
    ("ada-e4m3-fp16", "mma", "hopper", 1076),
    ("ada-e5m2-fp32", "mma", "rtx-blackwell", 2498),
    ("h100-fp16-fp32", "mma", "ampere", 875),
    ("h100-e4m3-fp32", "mma", "ada", 399),
    ("h100-e4m3-fp32", "tcgen05", "blackwell", 1502),
    ("h100-e5m2-fp16", "wgmma", "hopper", 843),
    ("b200-bf16-fp32", "mma", "ampere", 546),
    ("b200-e5m2-fp32", "tcgen05", "blackwell", 873),
];

#[test]
fn results_of_another_architecture_differ() {
    let Some(cases) = captured("results taken for another architecture's") else {
        return;
    };
    let counted = CONFUSED.map(|(name, instruction, arch, _)| {
        let case = named(&cases, name);
        let wrong = case.choice_on(arch, instruction).arithmetic;
        (name, instruction, arch, case.mismatches(&wrong))
    });
    assert_eq!(counted, CONFUSED);
    assert!(CONFUSED.iter().all(|(.., count)| *count > 0));
}

/// What cannot be told apart: generations that share a rule's constants.
#[test]
fn generations_with_the_same_constants_agree() {
    let Some(cases) = captured("generations with the same constants") else {
        return;
    };
    for (name, arch) in [
        ("a100-fp16-fp32", "turing"),
        ("a100-tf32-fp32", "ada"),
        ("h100-bf16-fp32", "blackwell"),
        ("b200-fp16-fp32", "rtx-blackwell"),
    ] {
        let case = named(&cases, name);
        let same = case.choice_on(arch, "mma").arithmetic;
        assert_eq!(case.mismatches(&same), 0, "{name} as {arch}");
    }
}
