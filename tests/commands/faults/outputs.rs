//! Places that fill up, and readers that leave.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::{CHECK, good, temporary};
use crate::support::{claims, filled, fixture, say, table};

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full() {
    for arguments in [
        "replay --arch ampere --dtype fp16 a.npy b.npy -o /dev/full".to_owned(),
        "generate generate:1:normal:9x9 --dtype fp16 --role a -o /dev/full".to_owned(),
        "commit --arch ampere --dtype fp16 a.npy b.npy d.npy -o /dev/full".to_owned(),
        format!("{CHECK} --json /dev/full"),
        format!("{CHECK} --html /dev/full"),
        format!("{CHECK} --junit /dev/full"),
        format!("{CHECK} --markdown /dev/full"),
    ] {
        let folder = good();
        let run = folder.fails(&arguments);
        let run = run.mentions(&["error: /dev/full: cannot be written: No space left"]);
        assert_eq!(run.stderr.matches('\n').count(), 1, "{run:?}");
        assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy"]);
    }
}

/// As a disk that fills up on the way.
#[test]
fn files_may_grow_no_more() {
    let generate = "generate generate:1:normal:999x99 --dtype fp16 --role a -o new.npy";
    let html = format!("{CHECK} --html new.npy");
    let replay = "replay --arch ampere --dtype fp16 generate:1:normal:99x9 generate:2:normal:9x99 -o new.npy";
    for arguments in [generate, &html, replay] {
        for old in [None, Some("old")] {
            let folder = good();
            if let Some(old) = old {
                folder.write("new.npy", old);
            }
            let before = folder.names();
            let run = folder.limited("ulimit -f 2", arguments).expect(2);
            run.mentions(&["error: new.npy: cannot be written: File too large"]);
            assert_eq!(folder.names(), before);
            if let Some(old) = old {
                assert_eq!(folder.read("new.npy"), old.as_bytes());
            }
        }
    }
    // A folder of files.
    let folder = good();
    let before = folder.names();
    let probe = folder.limited("ulimit -f 2", "probe --dtype fp16 -o probes");
    probe
        .expect(2)
        .mentions(&["probes: cannot be written: File too large"]);
    assert_eq!(folder.names(), before);
}

#[test]
fn readers_that_leave() {
    let papers = fixture("ampere-mma-fp16-f32");
    let file = |name: &str| papers.join(name).display().to_string();
    let [a, b, c, d] = ["a.npy", "b.npy", "c.npy", "d.npy"].map(file);
    let inputs = format!("--dtype fp16 --c {c} {a} {b} {d}");
    for (code, commands) in table! {
        (1, format!("~ | check --arch volta {inputs} | explain --arch volta {inputs} --at 2,0,0")),
        (1, format!("check --arch volta {inputs} ~ | --json - | --html - | --github")),
        (0, format!("~ | check --arch ampere {inputs} | identify {inputs} | replay --arch ampere --dtype fp16 {a} {b} -o -")),
        (0, format!("~ {a} {b} {c} | digest | inspect")),
        (0, "~ | archs | archs --json | archs hopper | schedules | features --arch v100 --dtype fp16".into()),
        (0, "~ | completions bash | --help | check --help".into()),
    } {
        for arguments in filled(&commands) {
            let folder = good();
            let mut command = folder.command();
            command.args(arguments.split_whitespace());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().expect("the program starts");
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
            assert!(!said.contains("panicked"), "{arguments}: {said}");
            assert!(!said.contains("error"), "{arguments}: {said}");
            assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy"]);
        }
    }
}

/// Of an input, of a folder it lies in, of any kind of input.
#[test]
fn files_that_may_not_be_read() {
    let folder = good();
    fs::create_dir(folder.path("folder")).unwrap();
    for (arguments, words) in table! {
        ("check --arch ampere --dtype fp16 folder b.npy d.npy", "folder: is a directory"),
        ("check --arch ampere --dtype fp16 a.npy b.npy folder", "folder: is a directory"),
        ("check --model folder --dtype fp16 a.npy b.npy d.npy", "folder: "),
        ("check --arch ampere --dtype fp16 --schedule-file folder a.npy b.npy d.npy", "folder: "),
        ("check --arch ampere --dtype fp16 --against folder a.npy b.npy d.npy", "folder: "),
        ("infer folder d.npy", "folder"),
        ("digest folder", "folder: is a directory"),
        ("inspect folder", "folder: is a directory"),
    } {
        folder.tcverify(arguments).refuses(&[words]);
    }
    let path = folder.path("a.npy");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        say(format_args!(
            "not checked: a file that may not be read, as this user may read all"
        ));
        return;
    }
    claims! {folder, "{CHECK} | refused | a.npy: cannot be opened: Permission denied"}
    assert!(temporary(&folder).is_empty());
}
