//! Reports that are handed over: `verify-report` and the script that shares no code with it confirm the honest ones and
//! refuse those that somebody made up.

mod forged;
mod honest;
mod operations;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Folder, Run};

/// What they are called.
const HONEST: [&str; 13] = [
    "same",
    "other",
    "rows",
    "drawn",
    "wrong",
    "lenient",
    "tree",
    "digest",
    "scheduled",
    "beacon",
    "never",
    "narrow",
    "auto",
];

/// Two Ds for the same operands, and reports on them.
fn folder() -> Folder {
    let folder = Folder::new();
    for command in [
        "generate generate:1:normal:16x64 --dtype fp16 --role a -o a.npy",
        "generate generate:2:normal:64x24 --dtype fp16 --role b -o b.npy",
        "replay --arch a100 --dtype fp16 a.npy b.npy -o d.npy",
        "replay --arch v100 --dtype fp16 a.npy b.npy -o other.npy",
        "commit --arch a100 --dtype fp16 a.npy b.npy d.npy -o c.json",
        "check --arch auto --dtype fp16 a.npy b.npy d.npy --json auto.json -q",
    ] {
        folder.tcverify(command).expect(0);
    }
    let digest = "7".repeat(64);
    for (name, words, code) in [
        ("same", "d.npy", 0),
        ("other", "other.npy", 1),
        ("rows", "d.npy --rows 2..5", 0),
        ("drawn", "d.npy --sample 50 --seed 3", 0),
        ("wrong", "other.npy --sample 50 --seed 3", 1),
        ("lenient", "other.npy --nan any --zero any", 1),
        ("tree", "d.npy --tree --block-rows 4", 0),
        ("digest", &format!("--d-digest {digest}"), 1),
        (
            "beacon",
            "d.npy --sample 50 --seed-from c.json --beacon 8430af44",
            0,
        ),
        ("never", "d.npy --promote never", 0),
        ("narrow", "d.npy --instruction-k 4", 1),
        (
            "scheduled",
            "d.npy --schedule cutlass-splitk-parallel --split-k 2",
            1,
        ),
    ] {
        let words =
            format!("check --arch a100 --dtype fp16 a.npy b.npy {words} --json {name}.json -q");
        folder.tcverify(&words).expect(code);
    }
    folder
}

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&folder.read(&format!("{name}.json"))).unwrap()
}

fn script(folder: &Folder, arguments: &[&str]) -> Option<Run> {
    let numpy = Command::new("python3")
        .args(["-c", "import numpy"])
        .output();
    if !numpy.is_ok_and(|run| run.status.success()) {
        return None;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/verify_report.py");
    let mut command = folder.shell("python3");
    command.arg(script).args(arguments);
    Some(folder.run(&mut command))
}

/// Sets a field, or takes it away where null is no value of it.
fn forge(mut report: Value, at: &str, value: Value) -> Value {
    let optional = [
        "/schedule",
        "/reproduced/tree",
        "/reproduced/sample",
        "/commitment",
    ];
    let (above, name) = at.rsplit_once('/').unwrap();
    let last = report["inputs"].as_array().and_then(|all| all.last());
    let given = last.unwrap_or(&report["inputs"]["d"])["payload_sha256"].clone();
    let value = match value.as_str() {
        Some("the given D's") => given,
        _ => value,
    };
    let parent = match above {
        "" => &mut report,
        above => report.pointer_mut(above).unwrap_or_else(|| panic!("{at}")),
    };
    match parent {
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        Value::Object(fields) if value.is_null() && optional.contains(&at) => {
            fields.remove(name).unwrap();
        }
        Value::Object(fields) => {
            fields.insert(name.to_owned(), value);
        }
        _ => panic!("{at}"),
    }
    report
}

/// The script refuses all of these reports, which are named beside what is forged; an honest one it confirms.
fn passed_by_script(folder: &Folder, honest: &str, names: &[(String, String)]) {
    // One interpreter for all: it takes long to start.
    let program = "import contextlib, io, runpy, sys\n\
                   script = sys.argv[1]\n\
                   for name in sys.argv[2:]:\n\
                   \x20   sys.argv = [script, name]\n\
                   \x20   with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n\
                   \x20       try:\n\
                   \x20           runpy.run_path(script, run_name='__main__')\n\
                   \x20           code = 'none'\n\
                   \x20       except SystemExit as end:\n\
                   \x20           code = end.code\n\
                   \x20   print(name, code)\n";
    if script(folder, &[honest]).is_none() {
        println!("not checked: NumPy is not here: the script on forgeries");
        return;
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/verify_report.py");
    let mut command = folder.shell("python3");
    command.args(["-c", program]).arg(path).arg(honest);
    let run = folder
        .run(command.args(names.iter().map(|(name, _)| name)))
        .expect(0);
    let mut lines = run.stdout.lines();
    assert_eq!(lines.next(), Some(format!("{honest} 0").as_str()));
    let passed: Vec<_> = lines
        .zip(names)
        .filter(|(line, (name, _))| *line != format!("{name} 1") && *line != format!("{name} 2"))
        .map(|(_, (_, what))| what)
        .collect();
    assert!(passed.is_empty(), "the script lets through {passed:#?}");
    assert_eq!(run.stdout.lines().count(), names.len() + 1);
}
