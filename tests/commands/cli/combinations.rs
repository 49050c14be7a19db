//! What an architecture does not have, and what it is said to have instead.

use crate::support::{Folder, Npy, Run, Says, halves, listed, rows, words};

fn check(arguments: &str) -> Run {
    let folder = Folder::new();
    let one = Npy::new("<f2", &[1, 1], halves(&[1.0]));
    for name in ["a.npy", "b.npy", "d.npy"] {
        folder.save(name, &one);
    }
    folder.tcverify(&format!("check {arguments} a.npy b.npy d.npy"))
}

/// The error has a first line that says what is wrong, and a line for each possibility.
#[track_caller]
fn lists(arguments: &str, first: &str, possible: &[&str]) {
    let run = check(arguments).expect(2);
    assert_eq!(run.stdout, "");
    let mut lines = run.stderr.lines();
    assert_eq!(lines.next(), Some(first));
    let lines: Vec<_> = lines.collect();
    for line in &lines {
        line.begins("  ");
    }
    for wanted in possible {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = lines.iter().any(|line| words(line) == *wanted);
        assert!(found, "{wanted:?} is not among {lines:#?}");
    }
}

#[test]
fn a_format_the_architecture_lacks() {
    for [given, then, said] in rows! {"
        --arch volta --dtype bf16 | error: volta does not multiply bf16*bf16; supported:
            | mma fp16*fp16 -> fp32 | mma fp16*fp16 -> fp16
        --arch a100 --dtype e4m3 | error: ampere does not multiply e4m3*e4m3; supported:
            | mma tf32*tf32 -> fp32 | mma fp64*fp64 -> fp64
    "}
    {
        lists(given, then, &listed(said));
    }
}

#[test]
fn an_accumulator_the_format_lacks() {
    lists(
        "--arch ampere --dtype bf16 --acc f16",
        "error: ampere does not multiply bf16*bf16 with fp16 accumulation; supported:",
        &["mma fp16*fp16 -> fp16"],
    );
}

#[test]
fn a_pair_that_does_not_go_together() {
    lists(
        "--arch hopper --dtype fp16 --dtype-b bf16",
        "error: hopper does not multiply fp16*bf16; supported:",
        &["wgmma fp16*fp16 -> fp32"],
    );
}

#[test]
fn a_format_the_instruction_lacks() {
    lists(
        "--arch hopper --dtype fp64 --instruction wgmma",
        "error: hopper does not multiply fp64*fp64 through wgmma; supported:",
        &words! {"wgmma tf32*tf32 -> fp32 | other instructions: see 'tcverify archs hopper'"},
    );
}

#[test]
fn an_instruction_the_architecture_lacks() {
    check("--arch ampere --dtype fp16 --instruction wgmma")
        .refuses(&["ampere has no instruction \"wgmma\"", "it has mma"]);
    check("--arch hopper --dtype fp16 --instruction tcgen05").refuses(&["it has wgmma, mma"]);
}

#[test]
fn an_unknown_architecture_has_a_nearest() {
    for (name, nearest) in [
        ("hoper", "hopper"),
        ("ampère", "ampere"),
        ("blackwel", "blackwell"),
    ] {
        let run = check(&format!("--arch {name} --dtype fp16"));
        run.refuses(&[
            &format!("{name:?}"),
            &format!("did you mean {nearest:?}?"),
            "tcverify archs",
        ]);
    }
    // Another number is another GPU.
    for name in ["h1000", "rtx4091", "NVIDIA L21"] {
        let run = Folder::new().words(["archs", name]);
        run.stderr.lacks("did you mean");
        run.refuses(&["give a GPU's target instead: sm_90", "gfx942"]);
    }
}
