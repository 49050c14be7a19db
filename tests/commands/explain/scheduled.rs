//! Kernels: every chain, every operation between and after them, and the element that the replay computes.

use serde_json::Value;

use crate::support::{Folder, Members, claims, holds, ran};

const OPERANDS: &str = "generate:3:normal:9x200 generate:3:normal:200x33";

fn explain(folder: &Folder, product: &str, more: &str) -> Value {
    ran! {folder, "explain {product} {OPERANDS} d.npy --at 7,32 --json {more}"}
        .expect(0)
        .json()
}

fn events<'a>(explanation: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let events = explanation["kernel"].list("events");
    events.iter().filter(move |event| event["event"] == kind)
}

/// The last number of every trace is the element that `replay` wrote, which `explain` compares.
#[test]
fn every_schedule_ends_in_the_replayed_element() {
    for (arch, dtype, schedule, chains) in [
        ("a100", "bf16", "cutlass-sm80", 1),
        ("a100", "bf16", "cute-sm80", 1),
        ("a100", "bf16", "cublas-workspace --split-k 3", 3),
        ("a100", "bf16", "cublas-splitk-serial --split-k 5", 5),
        ("a100", "bf16", "cublas-sliced", 2),
        ("a100", "tf32", "cutlass-3xtf32-staged", 8),
        ("h100", "e4m3", "cutlass-fp8-promote", 2),
        ("h100", "bf16", "cutlass-stream-k --set workers=3", 3),
    ] {
        let folder = Folder::new();
        let product = format!("--arch {arch} --dtype {dtype} --d-dtype bf16 --schedule {schedule}");
        folder.passes(&format!("replay {product} {OPERANDS} -o d.npy"));
        let explanation = explain(&folder, &product, "");
        assert_eq!(explanation["given"]["same"], true, "{schedule}");
        assert_eq!(events(&explanation, "chain").count(), chains, "{schedule}");
        let last = events(&explanation, "rounded").last().unwrap();
        assert_eq!(last["to"]["code"], explanation["computed"]["code"]);
        // Steps are counted through all chains.
        let mut next = 1;
        for chain in events(&explanation, "chain") {
            if let Some(steps) = chain["steps"].as_array() {
                assert_eq!(steps[0], next, "{schedule}");
                next = steps[1].as_u64().unwrap() + 1;
            }
        }
        assert_eq!(explanation["steps"], next - 1, "{schedule}");
    }
}

#[test]
fn partial_sums_are_shown_with_their_roundings() {
    let folder = Folder::new();
    let product = "--arch a100 --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 3 --set grain=32 --tile-k 32";
    folder.passes(&format!("replay {product} {OPERANDS} -o d.npy"));
    let explanation = explain(&folder, product, "");
    assert_eq!(events(&explanation, "partial").count(), 3);
    // Each partial sum is rounded to BF16, and so is the total.
    assert_eq!(events(&explanation, "rounded").count(), 4);
    let operations: Vec<_> = events(&explanation, "operation").collect();
    assert_eq!(operations.len(), 3);
    // The first one is where the sum starts, and C counts as +0.
    let (sums, last) = operations.split_at(2);
    assert_eq!(sums[0]["stage"], "sum of partial sums");
    holds! {last, "0.operation = fma | 0.operands.2.code = 00000000"}
    // What one addition gives is what the next one starts from.
    for pair in sums.windows(2) {
        assert_eq!(pair[0]["result"]["code"], pair[1]["operands"][0]["code"]);
    }
    claims! {folder, "explain {product} {OPERANDS} d.npy --at 7,32 | 0 | partial sum 2 of 3
    | chain over k 96..192 (steps 13 to 24) | sum of partial sums | to bf16"}
}

/// Few chains are shown step by step, many only if somebody asks.
#[test]
fn steps_of_many_chains_are_shown_when_asked_for() {
    let folder = Folder::new();
    let product =
        "--arch a100 --dtype bf16 --d-dtype bf16 --schedule cutlass-splitk-serial --split-k 5";
    folder.passes(&format!("replay {product} {OPERANDS} -o d.npy"));
    let shown = |explanation: &Value| -> Vec<usize> {
        let chains = events(explanation, "chain");
        let length = |chain: &Value| chain.list("chain").len();
        chains.map(length).collect()
    };
    let few = explain(&folder, product, "");
    assert_eq!(shown(&few), [0; 5]);
    let asked = explain(&folder, product, "--steps 10");
    let entries = shown(&asked);
    assert!(
        entries[1] > 0 && entries[0] == 0 && entries[4] == 0,
        "{entries:?}"
    );
    let chain = events(&asked, "chain").nth(1).unwrap();
    let entries = chain.list("chain");
    let step = entries.iter().find(|entry| entry["step"] == 10).unwrap();
    // Eight products a step, eight steps in the slice before.
    holds! {step, "k = [72, 80] | products.0.k = 72"}
    claims! {folder, "explain {product} {OPERANDS} --at 7,32 --steps 99 | 2"}
}

#[test]
fn check_names_the_schedule_in_its_command_to_explain() {
    let folder = Folder::new();
    let product = "--arch a100 --dtype bf16 --d-dtype bf16";
    let workspace = "--schedule cublas-workspace --split-k 3";
    folder.passes(&format!("replay {product} {workspace} {OPERANDS} -o d.npy"));
    let other = "--schedule cublas-workspace --split-k 4 --tile-k 16";
    let run = folder.differs(&format!("check {product} {other} {OPERANDS} d.npy"));
    let lines: Vec<_> = run.stdout.lines().map(str::trim).collect();
    let command = lines
        .iter()
        .find_map(|line| Some(line.split_once("tcverify explain ")?.1))
        .unwrap();
    let options = "--schedule cublas-workspace --tile-k 16 --split-k 4";
    assert!(command.contains(options), "{command}");
    folder.differs(&format!("explain {command}"));
}
