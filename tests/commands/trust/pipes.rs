//! Files that are no files: nobody waits for somebody who may never write.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, claims, filled, good};

/// Every option that names a document of people, and every place that reads one.
const LINES: &str = "
    check ~ | --model pipe --dtype fp16 a.npy b.npy d.npy | --arch a100 --dtype fp16 pipe b.npy d.npy
    check --arch a100 --dtype fp16 a.npy b.npy d.npy ~ | --schedule-file pipe | --kernel-log pipe | --kernel-table pipe
        | --against pipe | --json pipe | --html pipe -q | --github
    schedules --file pipe
    batch ~ | pipe | a.npy --policy pipe
    shard ~ | plan -n 1 --signer pipe --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json
        | run plan.json 0 --sign pipe -o part.json | run pipe 0 -o part.json | merge plan.json pipe
    verify-report ~ | pipe | report.json
    audit challenge pipe --beacon 1 --elements 1
    sweep --op silu --dtype bf16 --against pipe
    screen judge --suite pipe a.npy
    infer pipe a.npy
    commit verify --commitment pipe pipe d.npy
    inspect pipe
    replay --arch a100 --dtype fp16 a.npy b.npy -o pipe
    generate generate:1:normal:4x4 --dtype fp16 --role a -o pipe
";

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
    for line in filled(LINES) {
        let mut command = folder.command();
        let child = command
            .args(line.split(' '))
            .env("GITHUB_STEP_SUMMARY", "pipe");
        let child = child.stdout(Stdio::null()).stderr(Stdio::piped());
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
    crate::attest::keys(&folder);
    let key = folder.path("1.pem");
    claims! {folder, "shard plan -n 1 --signer 1.pub.pem --arch a100 --dtype fp16 a.npy b.npy d.npy -o plan.json | 0"}
    for (mode, warned) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let run = folder.passes("shard run plan.json 0 --sign 1.pem -o part.json");
        let warning = "warning: 1.pem: other users can read this private key";
        assert_eq!(run.stderr.contains(warning), warned, "{mode:o}: {run:?}");
    }
}
