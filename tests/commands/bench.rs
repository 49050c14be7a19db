//! `bench` measures, and `benches/compare.py` says what became slower.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Folder, Run, holds};

/// A run of few small products.
fn measured(folder: &Folder) -> Value {
    folder.json("bench --arch volta --size 48 --rounds 2 --budget 0 --threads 1 --json")
}

#[test]
fn a_run_says_what_it_depends_on() {
    let folder = Folder::new();
    let rows = measured(&folder);
    let rows = rows.as_array().expect("rows");
    assert!(rows.len() >= 2, "{rows:?}");
    for row in rows {
        holds! {row, "size = 48 | threads = 1"}
        assert!(row["kernels"].is_string());
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(number("rate") > 0.0 && number("gemm_rate") > 0.0);
        assert!(number("best") >= number("ratio"));
    }
}

#[test]
fn a_budget_and_rounds_are_numbers_that_can_be() {
    let folder = Folder::new();
    for (words, said) in [
        ("--rounds 0", "--rounds is 0"),
        ("--budget 5000", "--budget is 5000"),
        ("--budget nan", "--budget is NaN"),
        ("--size 0", "--size is 0"),
        ("--arch nothing", "nothing"),
    ] {
        folder.tcverify(&format!("bench {words}")).refuses(&[said]);
    }
}

/// The script, on a table in the folder.
fn compare(folder: &Folder, words: &[&str]) -> Option<Run> {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|done| done.status.success()) {
        println!("not checked: there is no python3");
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/compare.py");
    let mut command = folder.shell("python3");
    command
        .arg(script)
        .args(["--table", "table.json"])
        .args(words);
    Some(folder.run(&mut command))
}

#[track_caller]
fn says(run: &Run, words: &[&str]) {
    for word in words {
        assert!(run.stdout.contains(word), "{word:?} is not in {run:?}");
    }
}

#[test]
fn the_guard_says_what_became_slower() {
    let folder = Folder::new();
    let rows = measured(&folder);
    folder.write("run.json", rows.to_string());
    let Some(run) = compare(&folder, &["--write", "a machine", "run.json"]) else {
        return;
    };
    run.expect(0);
    let same = compare(&folder, &["run.json"]).expect("there is a python");
    says(&same.expect(0), &["a machine", "0 slower or missing"]);

    // One becomes slower, one is missing, one is new.
    let mut other = rows.clone();
    let list = other.as_array_mut().expect("rows");
    let slow = list[0]["model"].as_str().expect("a name").to_owned();
    for key in ["ratio", "best"] {
        // By more than the best of some short rounds can lie above their median.
        list[0][key] = json!(list[0][key].as_f64().expect("a number") / 20.0);
    }
    let gone = list[1]["model"].as_str().expect("a name").to_owned();
    list[1]["model"] = json!("another unit");
    folder.write("other.json", other.to_string());
    let run = compare(&folder, &["other.json"]).expect("there is a python");
    let lines = [
        &format!("slower   {slow}"),
        &format!("missing  {gone}"),
        "new      another unit",
        "2 slower or missing",
    ];
    says(&run.expect(1), &lines);

    // A low median with one round as before is noise.
    let mut noisy = rows.clone();
    let ratio = noisy[0]["ratio"].as_f64().expect("a number");
    noisy[0]["ratio"] = json!(ratio / 2.0);
    noisy[0]["best"] = json!(ratio);
    folder.write("noisy.json", noisy.to_string());
    let run = compare(&folder, &["noisy.json"]).expect("there is a python");
    run.expect(0);

    // Another size says nothing.
    let mut sized = rows;
    for row in sized.as_array_mut().expect("rows") {
        row["size"] = json!(96);
    }
    folder.write("sized.json", sized.to_string());
    let run = compare(&folder, &["sized.json"]).expect("there is a python");
    run.expect(2).mentions(&["48", "96"]);
}
