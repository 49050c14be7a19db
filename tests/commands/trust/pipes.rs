//! Files that are no files: nobody waits for somebody who may never write.
#![cfg(unix)]

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Folder, claims, good};

/// Every option that names a document of people, and every place that reads one.
const LINES: [&str; 26] = [
    "check --model pipe --dtype fp16 a.npy b.npy d.npy",
    "check --arch a100 --dtype fp16 --schedule-file pipe a.npy b.npy d.npy",
    "check --arch a100 --dtype fp16 --kernel-log pipe a.npy b.npy d.npy",
    "check --arch a100 --dtype fp16 --kernel-table pipe a.npy b.npy d.npy",
    "check --arch a100 --dtype fp16 --against pipe a.npy b.npy d.npy",
    "check --arch a100 --dtype fp16 pipe b.npy d.npy",
    "schedules --file pipe",
    "batch pipe",
    "batch a.npy --policy pipe",
    "shard plan -n 1 --signer pipe --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json",
    "shard run plan.json 0 --sign pipe -o part.json",
    "shard run pipe 0 -o part.json",
    "shard merge plan.json pipe",
    "verify-report pipe",
    "verify-report report.json",
    "audit challenge pipe --beacon 1 --elements 1",
    "sweep --op silu --dtype bf16 --against pipe",
    "screen judge --suite pipe a.npy",
    "infer pipe a.npy",
    "commit verify --commitment pipe pipe d.npy",
    "inspect pipe",
    "check --arch a100 --dtype fp16 a.npy b.npy d.npy --json pipe",
    "check --arch a100 --dtype fp16 a.npy b.npy d.npy --html pipe -q",
    "check --arch a100 --dtype fp16 a.npy b.npy d.npy --github",
    "replay --arch a100 --dtype fp16 a.npy b.npy -o pipe",
    "generate generate:1:normal:4x4 --dtype fp16 --role a -o pipe",
];

fn pipe(folder: &Folder, name: &str) {
    let made = Command::new("mkfifo").arg(folder.path(name)).status();
    assert!(made.is_ok_and(|status| status.success()));
}

#[test]
fn no_named_pipe_is_waited_for() {
    let folder = good();
    folder.passes("shard plan -n 1 --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json");
    folder.passes("check --arch a100 --dtype fp16 a.npy b.npy d.npy --json report.json -q");
    pipe(&folder, "pipe");
    // A report whose request names one.
    let report = folder.text("report.json");
    let named = report.replacen("\"arch\": \"a100\"", "\"model\": \"pipe\"", 1);
    assert_ne!(named, report);
    folder.write("report.json", named);
    for line in LINES {
        let mut child = folder.command();
        child
            .args(line.split(' '))
            .env("GITHUB_STEP_SUMMARY", "pipe");
        child
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped());
        let mut child = child.spawn().unwrap();
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                panic!("waits for ever: {line}");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(2), "{line}");
    }
}

/// A shell's own pipe is read to its end.
#[test]
fn a_pipe_that_was_handed_over_is_read() {
    let folder = good();
    let hopper = folder.stdout("archs a100 --json");
    folder.write("model.json", hopper);
    let script = "cat model.json | \"$0\" check --model /dev/stdin --dtype fp16 a.npy b.npy d.npy";
    let mut shell = folder.shell("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_tcverify")]);
    folder.run(&mut shell).expect(0);
    pipe(&folder, "pipe");
    let run = folder.child("check --model pipe --dtype fp16 a.npy b.npy d.npy");
    run.refuses(&["pipe", "is a named pipe"]);
}

/// Whose key file others may read is told so, and the part is signed all the same.
#[test]
fn a_key_that_others_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = good();
    let pem = |kind: &str, base64: &str| {
        format!("-----BEGIN {kind} KEY-----\n{base64}\n-----END {kind} KEY-----\n")
    };
    let private = "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7";
    let public = "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
    folder.write("public.pem", pem("PUBLIC", public));
    let key = folder.write("key.pem", pem("PRIVATE", private));
    claims! {folder, "shard plan -n 1 --signer public.pem --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json | 0"}
    for (mode, warned) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let run = folder.passes("shard run plan.json 0 --sign key.pem -o part.json");
        let said = run
            .stderr
            .contains("warning: key.pem: other users can read this private key");
        assert_eq!(said, warned, "{mode:o}: {run:?}");
    }
}
