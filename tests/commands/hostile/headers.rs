//! Headers that are no header of a plain array.

use super::{good, refused};
use crate::support::{Folder, Npy, halves, table};

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
fn files_that_are_no_plain_array() {
    let npy = || Npy::new("<f2", &[2, 3], halves(&[1.0; 6]));
    let version = |major, minor| npy().version(major, minor).bytes();
    let at = |place: usize, bytes: &[u8]| {
        let mut file = npy().bytes();
        file[place..][..bytes.len()].copy_from_slice(bytes);
        file
    };
    let descr = |descr: &str| {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2, 3), }}");
        Npy::with_header(&text, halves(&[1.0; 6])).bytes()
    };
    let known = "1.0, 2.0 and 3.0";
    let pickled = ["pickled Python objects", "never loaded"];
    let rows: [(&str, Vec<u8>, [&str; 2]); 22] = table! {
        ("an archive", "PK\x03\x04 this is an archive".into(), ["is not a .npy file", "NUMPY"]),
        ("numbers", "1.0, 2.0\n3.0, 4.0\n".into(), ["is text; save its numbers", "numpy.loadtxt"]),
        ("UTF-8", "\u{93}NUMPY".into(), ["is not a .npy file", "NUMPY"]),
        ("one letter", "N".into(), ["is text, not an array", ""]),
        ("nothing", vec![], ["is empty", ""]),
        ("no version", b"\x93NUMPY".into(), ["ends within its header", ""]),
        ("half a length", b"\x93NUMPY\x01\x00\x10".into(), ["ends within its header", ""]),
        ("half a long length", b"\x93NUMPY\x02\x00\x10\x00".into(), ["ends within its header", ""]),
        ("version 0.0", version(0, 0), ["version 0.0;", known]),
        ("version 1.1", version(1, 1), ["version 1.1;", known]),
        ("version 4.0", version(4, 0), ["version 4.0;", known]),
        ("version 2.1", version(2, 1), ["version 2.1;", known]),
        ("version 255.255", version(255, 255), ["version 255.255;", known]),
        ("the longest header", at(8, &[0xff, 0xff]), ["is truncated", "its header should end at byte 65545"]),
        ("a header longer than the file", at(8, &[0x90, 0]),
            ["is truncated", "end at byte 154, but the file ends at 140"]),
        ("no text", at(30, &[0xff]), ["a header that is not text", ""]),
        ("|O", descr("'|O'"), pickled),
        ("O", descr("'O'"), ["\"O\"", ""]),
        ("<O", descr("'<O'"), pickled),
        ("|O8", descr("'|O8'"), pickled),
        ("records", descr("[('x', '<f2'), ('y', '<f2')]"), ["structured records", "each field"]),
        ("records of objects", descr("[('', '|O')]"), ["structured records", ""]),
    };
    for (what, file, words) in rows {
        println!("{what}");
        refused(&with(file), &words);
    }
}

#[test]
fn dictionaries_that_are_none() {
    for (text, words) in table! {
        ("", "it ends where '{' was expected"),
        ("[]", "it has '[' where '{' was expected"),
        ("{}", "the key 'descr' is missing"),
        ("{'descr': '<f2'}", "the key 'fortran_order' is missing"),
        ("{'descr': '<f2', 'fortran_order': False, }", "the key 'shape' is missing"),
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
        ("{'shape': (2, True)}", "something that is not a number"),
        ("{'shape': (2, [3])}", "something that is not a number"),
        ("{'shape': (,)}", "something that is not a number"),
        ("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), } + {}", "it has text after its closing brace"),
        ("__import__('os').system('true')", "where '{' was expected"),
    } {
        refused(
            &header(text),
            &["is not the header of a plain array", words],
        );
    }
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
