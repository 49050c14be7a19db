//! Results of real GPUs.

use crate::support::Folder;
use crate::support::case::Case;
use crate::support::vectors::captured;
use serde_json::Value;

fn identify(case: &Case, options: &str) -> (i32, Value) {
    let path = |file: &str| case.directory.join(file).display().to_string();
    let [a, b, c, d] = ["a.npy", "b.npy", "c.npy", "d.npy"].map(path);
    let folder = Folder::new();
    let run = folder.tcverify(&format!("identify {options} --json - --c {c} {a} {b} {d}"));
    let code = run.code.expect("it was not killed");
    (code, run.json())
}

fn names(report: &Value) -> Vec<String> {
    let fits = report["fits"].as_array().unwrap();
    let named = fits.iter().flat_map(|fit| fit["names"].as_array().unwrap());
    named
        .map(|name| {
            let text = |key: &str| name[key].as_str().unwrap().to_owned();
            text("architecture") + " " + &text("instruction")
        })
        .collect()
}

/// Without being told any format, every captured result is traced to the GPU that made it.
#[test]
fn every_captured_result_finds_its_maker() {
    let Some(cases) = captured("identification of captured results") else {
        return;
    };
    let mut alone = 0;
    for case in &cases {
        let (code, report) = identify(case, "");
        let names = names(&report);
        let maker = format!("{} {}", case.choice().architecture.name, case.instruction);
        assert!(
            names.contains(&maker),
            "{}: {maker} is not in {names:?}",
            case.name
        );
        assert_eq!(code, 0, "{}", case.name);
        alone += usize::from(report["fits"].as_array().unwrap().len() == 1);
    }
    // The rest are FP16 results, which are too short to tell, and B200's FP8 (see the catalogue).
    assert!(
        alone >= 14,
        "only {alone} of {} have one arithmetic",
        cases.len()
    );
}

/// A Volta result with FP32 bits has one arithmetic; nothing of another generation gives it.
#[test]
fn the_generations_are_told_apart() {
    let Some(cases) = captured("generations told apart") else {
        return;
    };
    for (name, expected) in [
        ("v100-fp16-fp32", &["volta mma", "turing mma-m8n8k4"][..]),
        ("a100-fp16-fp32", &["turing mma", "ampere mma", "ada mma"]),
    ] {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let (_, report) = identify(case, "");
        assert_eq!(names(&report), expected, "{name}");
    }
}

/// One bit of one element changed: no model gives D, and the maker comes first among the rest.
#[test]
fn a_single_flipped_bit_leaves_none() {
    let Some(cases) = captured("a flipped bit") else {
        return;
    };
    let case = cases
        .iter()
        .find(|case| case.name == "h100-bf16-fp32")
        .unwrap();
    let mut bytes = std::fs::read(case.directory.join("d.npy")).unwrap();
    let last = bytes.len() - 4;
    bytes[last] ^= 1;
    let folder = Folder::new();
    let d = folder.write("d.npy", bytes);
    let path = |file: &str| case.directory.join(file).display().to_string();
    let [a, b, c] = ["a.npy", "b.npy", "c.npy"].map(path);
    let run = folder.tcverify(&format!(
        "identify --dtype bf16 --json - --c {c} {a} {b} {}",
        d.display()
    ));
    let report = run.expect(1).json();
    assert!(names(&report).is_empty());
    let nearest = &report["others"][0];
    assert_eq!(nearest["mismatches"], 1, "{nearest}");
    assert_eq!(nearest["names"][0]["architecture"], "hopper");
}
