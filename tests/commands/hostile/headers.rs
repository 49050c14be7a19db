//! Headers that are no header of a plain array.

use super::{good, refused};
use crate::support::{Folder, Npy, halves};

/// The good product with another `a.npy`.
fn with(bytes: impl AsRef<[u8]>) -> Folder {
    let folder = good();
    folder.write("a.npy", bytes);
    folder
}

fn header(text: &str) -> Folder {
    with(Npy::with_header(text, halves(&[1.0; 6])).bytes())
}

#[test]
fn no_npy_file_at_all() {
    let words = ["is not a .npy file", "NUMPY"];
    refused(&with("PK\x03\x04 this is an archive"), &words);
    refused(&with("1.0, 2.0\n3.0, 4.0\n"), &words);
    refused(&with("\u{93}NUMPY"), &words);
    refused(&with("N"), &words);
    refused(&with(""), &["is empty"]);
}

#[test]
fn ends_within_its_header() {
    refused(&with(b"\x93NUMPY"), &["ends within its header"]);
    refused(&with(b"\x93NUMPY\x01\x00\x10"), &["ends within its header"]);
    refused(
        &with(b"\x93NUMPY\x02\x00\x10\x00"),
        &["ends within its header"],
    );
}

#[test]
fn versions_that_do_not_exist() {
    for (major, minor) in [(0, 0), (1, 1), (4, 0), (2, 1), (255, 255)] {
        let file = Npy::new("<f2", &[2, 3], halves(&[1.0; 6])).version(major, minor);
        let version = format!("version {major}.{minor};");
        refused(&with(file.bytes()), &[&version, "1.0, 2.0 and 3.0"]);
    }
}

#[test]
fn headers_longer_than_the_file() {
    let file = Npy::new("<f2", &[2, 3], halves(&[1.0; 6])).bytes();
    let mut one = file.clone();
    one[8..10].copy_from_slice(&[0xff, 0xff]);
    refused(&with(&one), &["is truncated", "header", "byte 65545"]);
    one[8..10].copy_from_slice(&[0x90, 0x00]);
    refused(&with(&one), &["is truncated", "byte 154", "ends at 140"]);
}

#[test]
fn pickled_objects() {
    for descr in ["|O", "O", "<O", "|O8"] {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 3), }}");
        let run = header(&text);
        match descr {
            "O" => refused(&run, &["\"O\""]),
            _ => refused(&run, &["pickled Python objects", "never loaded"]),
        }
    }
}

#[test]
fn structured_records() {
    let text = "{'descr': [('x', '<f2'), ('y', '<f2')], 'fortran_order': False, 'shape': (3,), }";
    refused(&header(text), &["structured records", "each field"]);
    let text = "{'descr': [('', '|O')], 'fortran_order': False, 'shape': (3,), }";
    refused(&header(text), &["structured records"]);
}

#[test]
fn dictionaries_that_are_none() {
    for (text, words) in [
        ("", "it ends where '{' was expected"),
        ("[]", "it has '[' where '{' was expected"),
        ("{}", "lacks the key 'descr'"),
        ("{'descr': '<f2'}", "lacks the key 'fortran_order'"),
        (
            "{'descr': '<f2', 'fortran_order': False, }",
            "lacks the key 'shape'",
        ),
        ("{'descr': '<f2', 'descr': '<f2'}", "\"descr\" twice"),
        ("{'desc': '<f2'}", "unknown key \"desc\""),
        ("{'descr': <f2}", "a quoted string was expected"),
        ("{'descr': '<f2}", "a string has no end"),
        ("{'descr': '<f\\x32'}", "an escape"),
        ("{'fortran_order': 0}", "True or False was expected"),
        ("{'fortran_order': None}", "True or False was expected"),
        ("{'shape': 6}", "it has '6' where '(' was expected"),
        ("{'shape': (6)}", "not a tuple"),
        ("{'shape': (2, -3)}", "a negative number"),
        ("{'shape': (2, 3.0)}", "it has '.' where ')' was expected"),
        ("{'shape': (2, 0x3)}", "it has 'x' where ')' was expected"),
        ("{'shape': (2, True)}", "something that is no number"),
        ("{'shape': (2, [3])}", "something that is no number"),
        ("{'shape': (,)}", "something that is no number"),
        (
            "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), } + {}",
            "text follows its closing brace",
        ),
        ("__import__('os').system('true')", "where '{' was expected"),
    ] {
        refused(&header(text), &["is not that of a plain array", words]);
    }
}

#[test]
fn a_header_that_is_no_text() {
    let mut file = Npy::new("<f2", &[2, 3], halves(&[1.0; 6])).bytes();
    file[30] = 0xff;
    refused(&with(&file), &["a header that is not text"]);
}

#[test]
fn control_characters_are_not_passed_on() {
    let run = header("{'descr': '\x1b[31m<f2\x07', 'fortran_order': False, 'shape': (3,)}");
    let run = run.tcverify("digest a.npy").refuses(&["a.npy", "\\u{1b}"]);
    assert!(
        !run.stderr.trim_end().chars().any(char::is_control),
        "{run:?}"
    );
}

#[test]
fn a_long_header_is_not_repeated_in_full() {
    let text = format!("{{'descr': '{}'}}", "x".repeat(5000));
    let folder = header(&text);
    let run = folder.tcverify("digest a.npy").refuses(&["a.npy", "..."]);
    assert!(run.stderr.len() < 400, "{run:?}");
}

#[test]
fn nesting_exhausts_no_stack() {
    for bracket in ["(", "[", "{"] {
        let deep = bracket.repeat(60_000);
        for text in [
            deep.clone(),
            format!("{{'shape': {deep}"),
            format!("{{'descr': {deep}"),
        ] {
            let file = Npy::with_header(&text, vec![]).version(2, 0).bytes();
            with(file).tcverify("digest a.npy").refuses(&["a.npy"]);
        }
    }
}
