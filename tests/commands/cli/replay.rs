//! `tcverify replay`: D written, whole or not at all.

use crate::support::{Folder, Npy, Run, claims, doubles, halves, sha256};

const REPLAY: &str = "replay --arch h100 --dtype fp16 a.npy b.npy";

/// 3x2 by 2x2.
fn folder() -> Folder {
    let folder = Folder::new();
    let a = halves(&[1.0, 2.0, -3.0, 0.1, 5.5, 6.0]);
    let b = halves(&[1.5, 0.3, 0.7, 1.0]);
    folder.save("a.npy", &Npy::new("<f2", &[3, 2], a));
    folder.save("b.npy", &Npy::new("<f2", &[2, 2], b));
    folder
}

#[test]
fn what_it_writes_checks_as_identical() {
    let folder = folder();
    for (options, descr, width) in [
        ("", "<f4", 4),
        ("--d-dtype fp32", "<f4", 4),
        ("--d-dtype fp16", "<f2", 2),
        ("--d-dtype bf16", "<V2", 2),
        ("--acc f16", "<f2", 2),
        ("--transpose-b", "<f4", 4),
    ] {
        folder.passes(&format!("{REPLAY} {options} -o d.npy"));
        let file = folder.read("d.npy");
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3, 2), }}");
        assert_eq!(&file[10..10 + header.len()], header.as_bytes());
        // As NumPy has it, elements start at a multiple of 64.
        assert_eq!((file.len() - 6 * width) % 64, 0);
        claims! {folder, "check --arch h100 --dtype fp16 {options} a.npy b.npy d.npy -q | 0"}
    }
}

#[test]
fn fp64_too() {
    let folder = Folder::new();
    folder.save("a.npy", &Npy::new("<f8", &[1, 2], doubles(&[0.1, 0.2])));
    folder.save("b.npy", &Npy::new("<f8", &[2, 1], doubles(&[0.3, 0.4])));
    let rest = "--arch a100 --dtype fp64 a.npy b.npy";
    folder.passes(&format!("replay {rest} -o d.npy"));
    folder.passes(&format!("check {rest} d.npy"));
    let file = folder.read("d.npy");
    let d = 0.2_f64.mul_add(0.4, 0.1 * 0.3);
    assert_eq!(file[file.len() - 8..], d.to_le_bytes());
}

#[test]
fn a_batch_keeps_its_axes() {
    let folder = Folder::new();
    folder.f16("a.npy", &[2, 1, 1, 3], &[1.0; 6]);
    folder.f16("b.npy", &[2, 1, 3, 1], &[2.0; 6]);
    folder.passes(&format!("{REPLAY} -o d.npy"));
    let file = folder.read("d.npy");
    assert!(String::from_utf8_lossy(&file).contains("'shape': (2, 1, 1, 1), "));
}

#[test]
fn it_prints_the_payloads_digest() {
    let folder = folder();
    let run = folder.passes(&format!("{REPLAY} -o d.npy"));
    let file = folder.read("d.npy");
    let digest = sha256(&file[file.len() - 24..]);
    assert_eq!(run.stdout, format!("{digest}  d.npy\n"));
    claims! {folder, "check --arch h100 --dtype fp16 a.npy b.npy --d-digest {digest} | 0"}
    for quiet in ["-q", "--quiet"] {
        assert_eq!(folder.stdout(&format!("{REPLAY} -o d.npy {quiet}")), "");
    }
}

#[test]
fn a_dash_is_standard_output() {
    let folder = folder();
    folder.passes(&format!("{REPLAY} -o d.npy"));
    let run = folder.passes(&format!("{REPLAY} -o -"));
    assert_eq!(run.raw, folder.read("d.npy"));
    assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy"]);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let folder = folder();
    for (threads, name) in [(1, "one.npy"), (2, "two.npy"), (0, "all.npy")] {
        folder.passes(&format!("{REPLAY} -o {name} --threads {threads}"));
    }
    assert_eq!(folder.read("one.npy"), folder.read("two.npy"));
    assert_eq!(folder.read("one.npy"), folder.read("all.npy"));
}

#[test]
fn it_never_replaces_an_input() {
    let folder = folder();
    for input in ["a.npy", "b.npy", "./a.npy"] {
        let before = folder.read(input);
        let run = folder.tcverify(&format!("{REPLAY} -o {input}"));
        run.refuses(&[input, "would overwrite"]);
        assert_eq!(folder.read(input), before);
    }
    let c = Npy::new("<f2", &[3, 2], halves(&[1.0; 6]));
    folder.save("c.npy", &c);
    claims! {folder, "{REPLAY} --c c.npy -o c.npy | refused | c.npy | would overwrite"}
    assert_eq!(folder.read("c.npy"), c.bytes());
}

#[test]
fn it_replaces_an_older_file() {
    let folder = folder();
    folder.write("d.npy", "older");
    folder.passes(&format!("{REPLAY} -o d.npy"));
    assert!(folder.read("d.npy").starts_with(b"\x93NUMPY"));
    assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy"]);
}

/// Nothing but the inputs, and the older output as it was.
#[track_caller]
fn untouched(folder: &Folder) {
    assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy"]);
    assert_eq!(folder.read("d.npy"), b"older");
}

#[test]
fn a_refusal_leaves_no_trace() {
    let folder = folder();
    folder.write("d.npy", "older");
    for arguments in [
        "replay --arch h100 --dtype fp16 b.npy a.npy -o d.npy",
        "replay --arch h100 --dtype e2m1 a.npy b.npy -o d.npy",
        "replay --arch h100 --dtype bf16 a.npy b.npy -o d.npy",
        "replay --arch h100 --dtype fp16 --acc f16 --d-dtype fp32 a.npy b.npy -o d.npy",
        "replay --arch h100 --dtype fp16 a.npy c.npy -o d.npy",
        "replay --arch h101 --dtype fp16 a.npy b.npy -o d.npy",
    ] {
        folder.fails(arguments);
        untouched(&folder);
    }
}

#[cfg(unix)]
fn with_a_full_disk(folder: &Folder, arguments: &str) -> Run {
    // Files may not grow, and the signal that says so is ignored: writing fails.
    folder.limited("trap '' XFSZ; ulimit -f 0", arguments)
}

#[cfg(unix)]
#[test]
fn a_failure_in_the_middle_leaves_no_trace() {
    let folder = folder();
    folder.write("d.npy", "older");
    with_a_full_disk(&folder, &format!("{REPLAY} -o d.npy")).refuses(&["d.npy: cannot be written"]);
    untouched(&folder);
    let check = "check --arch h100 --dtype fp16 a.npy b.npy --json d.npy --d-digest";
    let digest = sha256("");
    with_a_full_disk(&folder, &format!("{check} {digest}")).refuses(&["d.npy: cannot be written"]);
    untouched(&folder);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed() {
    let folder = folder();
    folder.write("d.npy", "older");
    std::os::unix::fs::symlink("d.npy", folder.path("link.npy")).unwrap();
    folder.passes(&format!("{REPLAY} -o link.npy"));
    assert!(folder.path("link.npy").is_symlink());
    assert!(folder.read("d.npy").starts_with(b"\x93NUMPY"));
    std::os::unix::fs::symlink("a.npy", folder.path("input.npy")).unwrap();
    claims! {folder, "{REPLAY} -o input.npy | refused | input.npy | would overwrite"}
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.write("d.npy", "older");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        return; // Nothing is forbidden to whoever runs this.
    }
    claims! {folder, "{REPLAY} -o d.npy | refused | d.npy: cannot be written | ermission denied"}
    untouched(&folder);
}
