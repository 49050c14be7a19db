//! Situations that people reported, made again with synthetic data: what the program answers each.
//!
//! The folder `field-cases` of the vectors has them: `make.py` makes the inputs, `run.sh` asks.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Folder, lines, listed, say};

/// Cases, and what each of their commands has to say: the number of the command, and words of one line.
const ANSWERED: &str = r"
    gpu-names | 0 NVIDIA Ampere (ampere) | 1 NVIDIA Ada Lovelace (ada) | 2 NVIDIA Hopper (hopper)
        | 3 NVIDIA Blackwell (RTX) (rtx-blackwell) | 4 NVIDIA Blackwell (RTX) (rtx-blackwell)
        | 5 Turing without tensor cores (sm_75) | 6 NVIDIA Volta (volta) | 7 NVIDIA Ampere (ampere)
        | 8 NVIDIA Ada Lovelace (ada) | 9 NVIDIA Ada Lovelace (ada) | 10 NVIDIA Ada Lovelace (ada)
        | 11 AMD CDNA 3 (cdna3) | 12 AMD CDNA 3 (cdna3) | 13 AMD CDNA 3 (cdna3) | 14 AMD CDNA 2 (cdna2)
        | 15 NVIDIA Ampere (ampere) | 16 NVIDIA Ada Lovelace (ada)
    bias-rounded-twice | 0 The product is rounded to bf16 before the bias is added, and the sum is rounded again
    cdna-int8 | 0 IDENTICAL | 1 IDENTICAL | 2 B's memory was read in groups of 4 k (as int8x4)
    empty-k-panic | 0 DIFFERENT | 1 DIFFERENT | 2 [0, 0] of 10x32, K = 0 in 0 steps | 3 NONE  gives this D
    nvfp4-checkpoint | 0 IDENTICAL | 1 IDENTICAL | 2 numpy.stack([p & 15, p >> 4], -1)
    p100 | 0 NVIDIA Pascal (sm_60, sm_61), which is not modelled
        | 1 NVIDIA Pascal (sm_60, sm_61), which is not modelled
    raw-and-text | 0 raw elements are read by their shape and format
        | 1 numpy.loadtxt('FILE', delimiter=',', ndmin=2) | 2 int(x, 16) | 3 is a GGUF file
        | 4 is compressed by gzip
    compare-words | 0 The unit of the left takes subnormal operands as zeros
        | 1 TF32 against FP32: the left multiplies the operands as TF32
        | 1 the right as FP32 (a chain of FP32 multiply-adds | 2 A and B are multiplied as TF32
    fp8-overflow-nan | 0 become NaN instead of saturating: a policy of conversions, not a fault
        | 1 become NaN instead of saturating: a policy of conversions, not a fault
    fragment-k | 0 k 0 to 7 and 8 to 15 of every 16 are exchanged in A
        | 1 neighbouring k are exchanged in A or in B, which cannot be told | 2 every 8x8 block of A is transposed
        | 3 registers c1 and c2 of every 16x8 accumulator are exchanged
    named-but-not-applied | 0 The bias was left out | 1 The sum was not multiplied by alpha
        | 2 ReLU was not applied
    scale-first-block-for-all | 0 Every block of 128 k uses the scale of A's first block (k 0 to 127)
    scale-left-out | 0 The scale of the result (0.125) was left out | 1 The scales of A were left out
    scale-mantissa-cut | 0 The scales of A are cut to powers of two (their mantissa is ignored)
    scale-swizzled | 0 The scales of A are read in 128x4 blocks, but stored row by row
        | 1 seem to lie in 128x4 blocks, as torch._scaled_mm takes them
    sparse-metadata | 0 Rows 16 to 31 use the metadata of rows 0 to 15
    splitk-bf16-adds | 0 3 slices of 256 k, each rounded to BF16, are added in BF16, every sum rounded
    tf32-nearest | 0 A and B are multiplied as TF32, rounded to nearest
        | 1 FP32 operands rounded to the nearest TF32
        | 2 TF32 against FP32: the left multiplies the operands as TF32, rounded to nearest
        | 3 A and B are multiplied as FP32, with all their bits, not as TF32
    wrong-leading-dimension | 0 B's memory (64x32, row by row) was read column by column
        | 1 A was read with rows 32 elements apart, not 64 | 2 D's file holds the result column by column
    zero-points | 0 42 is subtracted from A and -26 is subtracted from B first (zero points)
    fn-fnuz | 1 The codes of A are E4M3, not E4M3FNUZ, and the codes of B are E4M3, not E4M3FNUZ
        | 2 E4M3FNUZ against E4M3
";

/// What each command of a case prints, its lines whole.
fn answers(root: &std::path::Path, python: &str, name: &str) -> Vec<String> {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_tcverify");
    let run = |command: &mut Command| {
        command.env("TCVERIFY", program).env("COLUMNS", "20000");
        folder.run(command)
    };
    let made = run(folder.shell(python).arg(root.join(name).join("make.py")));
    assert_eq!(made.code, Some(0), "{name}: {made:?}");
    let script = std::fs::read_to_string(root.join(name).join("run.sh")).unwrap();
    let script = format!("exec 2>&1\n{script}");
    let asked = run(folder.shell("bash").args(["-c", &script]));
    let all = asked.stdout.split("[exit code").map(str::to_owned);
    all.collect()
}

#[test]
fn field_cases_are_answered() {
    let Some(root) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: field-cases: TCVERIFY_VECTORS is not set"
        ));
        return;
    };
    let root = PathBuf::from(root).join("field-cases");
    let python = std::env::var("TCVERIFY_TEST_PYTHON").unwrap_or("python3".into());
    let modules = Command::new(&python)
        .args(["-c", "import numpy, ml_dtypes"])
        .output();
    if !modules.is_ok_and(|run| run.status.success()) || !root.is_dir() {
        say(format_args!(
            "SKIPPED: field-cases: they need a Python with numpy and ml_dtypes (TCVERIFY_TEST_PYTHON)"
        ));
        return;
    }
    let all = std::fs::read_dir(&root).unwrap();
    let all = all
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    let mut missing = Vec::new();
    let mut answered = 0;
    for case in lines(ANSWERED).into_iter().map(listed) {
        let (name, before) = (case[0], missing.len());
        let answers = answers(&root, &python, name);
        for expected in &case[1..] {
            let (command, words) = expected.split_once(' ').unwrap();
            let said = &answers[command.parse::<usize>().unwrap()];
            // What was refuted or left undecided is no answer.
            let told = |line: &str| line.to_lowercase().contains(&words.to_lowercase());
            let mut lines = said.lines().filter(|line| !line.contains("no cause"));
            if !lines.any(told) {
                missing.push(format!("{name}, command {command}: {words:?} in {said}"));
            }
        }
        answered += usize::from(missing.len() == before);
    }
    say(format_args!("field-cases: {answered} of {all} answered"));
    assert!(missing.is_empty(), "{}", missing.join("\n\n"));
}
