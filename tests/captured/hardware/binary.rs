//! Some captured results through the program itself.

use std::process::{Command, Output};

use super::controls::named;
use crate::support::case::Case;
use crate::support::vectors::captured;

/// `tcverify check` of a case, as a person would type it.
fn check(case: &Case, arch: &str, instruction: &str) -> Output {
    let file = |name: &str| case.directory.join(name);
    Command::new(env!("CARGO_BIN_EXE_tcverify"))
        .args(["check", "--arch", arch, "--instruction", instruction])
        .args(["--dtype", case.a.format().name()])
        .args(["--acc", case.accumulator.name(), "--json", "-", "--c"])
        .args([file("c.npy"), file("a.npy"), file("b.npy"), file("d.npy")])
        .output()
        .expect("the program starts")
}

fn verdict(output: &Output) -> String {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("the report is not JSON: {e}\n{errors}")
    });
    report["verdict"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn captured_results_are_identical() {
    let Some(cases) = captured("the program on captured results") else {
        return;
    };
    for (name, gpu, instruction) in [
        ("v100-fp16-fp16", "v100", "mma"),
        ("a100-fp16-fp32", "NVIDIA A100", "mma"),
        ("a100-tf32-fp32", "sm_80", "mma"),
        ("ada-e5m2-fp16", "rtx4090", "mma"),
        ("h100-e4m3-fp32", "H100", "wgmma"),
        ("b200-e4m3-fp16", "b200", "mma"),
    ] {
        let output = check(named(&cases, name), gpu, instruction);
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert_eq!(verdict(&output), "identical", "{name}");
    }
}

#[test]
fn results_of_another_gpu_are_different() {
    let Some(cases) = captured("the program on results of another GPU") else {
        return;
    };
    for (name, gpu, instruction) in [
        ("v100-fp16-fp32", "a100", "mma"),
        ("a100-fp16-fp32", "h100", "mma"),
        ("a100-tf32-fp32", "b200", "mma"),
        ("ada-e5m2-fp16", "h100", "wgmma"),
        ("h100-e4m3-fp32", "rtx5090", "mma"),
        ("b200-e4m3-fp16", "b200", "tcgen05"),
    ] {
        let output = check(named(&cases, name), gpu, instruction);
        assert_eq!(output.status.code(), Some(1), "{name} as {gpu}");
        assert_eq!(verdict(&output), "different", "{name} as {gpu}");
    }
}
