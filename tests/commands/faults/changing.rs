//! Inputs that change while they are read.

use std::fs::{self, File, OpenOptions};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::LONG;
use crate::support::{Folder, Npy, Says};

/// Starts the program and waits until it has mapped the file of this name.
fn reading(folder: &Folder, arguments: &str, name: &str) -> Child {
    let mapped = |maps: String| maps.contains(name);
    started(folder, arguments, |id| {
        fs::read_to_string(format!("/proc/{id}/maps")).is_ok_and(mapped)
    })
}

/// Starts the program and waits until it is as far as that.
fn started(folder: &Folder, arguments: &str, far: impl Fn(u32) -> bool) -> Child {
    let mut command = folder.command();
    command.args(arguments.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let start = Instant::now();
    while !far(child.id()) {
        assert!(child.try_wait().unwrap().is_none(), "ended too soon");
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "never got that far"
        );
    }
    child
}

/// A file of two gigabytes that takes no room.
fn sparse(folder: &Folder, name: &str) -> File {
    let head = Npy::new("<f4", &[1 << 29], Vec::new()).bytes();
    let path = folder.write(name, &head);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(head.len() as u64 + (1 << 31)).unwrap();
    file
}

#[test]
fn truncated() {
    // Whoever is slow to start may meet a file that is short already, which is another error.
    for patience in [0, 5, 20, 80, 300] {
        let folder = Folder::new();
        let file = sparse(&folder, "x.npy");
        let child = reading(&folder, "digest x.npy", "x.npy");
        sleep(Duration::from_millis(patience));
        file.set_len(4096).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(output.stdout.is_empty());
        assert!(
            said.starts_with("error: ") && said.ends_with('\n'),
            "{said}"
        );
        assert_eq!(said.matches('\n').count(), 1, "{said}");
        if said.contains("was truncated, or became unreadable, while it was being read; no verdict")
        {
            return;
        }
        said.says("truncated");
    }
    panic!("the file was never truncated in time");
}

/// The reports that were to be written leave nothing behind.
#[test]
fn truncated_with_reports_to_write() {
    let folder = Folder::new();
    folder.write("report.json", "old");
    let d = sparse(&folder, "d.npy");
    let arguments = "check --arch ampere --dtype fp16 --json report.json --html new.html \
        generate:1:normal:16384x16 generate:2:normal:16x32768 d.npy";
    drop(d);
    // The shape is D's now.
    let head = Npy::new("<f4", &[16384, 32768], Vec::new()).bytes();
    let path = folder.write("d.npy", &head);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(head.len() as u64 + (1 << 31)).unwrap();
    let child = reading(&folder, arguments, "d.npy");
    let start = Instant::now();
    while super::temporary(&folder).len() < 2 && start.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(1));
    }
    file.set_len(4096).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said.says("while it was being read");
    assert_eq!(folder.names(), ["d.npy", "report.json"]);
    assert_eq!(folder.read("report.json"), b"old");
}

#[test]
fn written_again() {
    let folder = Folder::new();
    let zeros = Npy::new("<f4", &[64, 64], vec![0; 4 << 12]);
    let path = folder.save("d.npy", &zeros);
    let arguments = format!("check {LONG} d.npy --json report.json");
    let change = [
        |file: &File| file.set_modified(SystemTime::UNIX_EPOCH).unwrap(),
        |file: &File| file.set_len(1 << 20).unwrap(),
    ];
    for change in change {
        // Small files are read at once, and outputs are opened after that.
        let child = started(&folder, &arguments, |_| {
            !super::temporary(&folder).is_empty()
        });
        change(&OpenOptions::new().write(true).open(&path).unwrap());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said.begins("error: d.npy: was changed while it was being read");
        assert!(output.stdout.is_empty());
        assert_eq!(folder.names(), ["d.npy"]);
        folder.save("d.npy", &zeros);
    }
}
