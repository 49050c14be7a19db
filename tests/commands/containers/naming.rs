//! Which array a path means.

use super::write::{Member, safetensors, zip};
use super::{npy, refused};
use crate::support::{Folder, Members, claims, ran, sha256};

fn digest(folder: &Folder, path: &str) -> String {
    let run = folder.passes(&format!("digest --json {path}"));
    run.json()[0].string("payload_sha256").to_owned()
}

/// Whoever can put a file beside a container must not be able to take the place of what is in it.
#[test]
fn a_path_that_could_mean_two_things_is_refused() {
    let folder = Folder::new();
    folder.write("x.npz", zip(&[Member::stored("a.npy", &npy(&[1.0]))]));
    assert_eq!(digest(&folder, "x.npz#a"), sha256(1f32.to_le_bytes()));
    folder.write("x.npz#a", npy(&[2.0]));
    refused(&folder, "x.npz#a", &["could mean", "the array \"a\" of"]);
    folder.remove("x.npz");
    assert_eq!(digest(&folder, "x.npz#a"), sha256(2f32.to_le_bytes()));

    let one = [Member::stored("b.npz#c.npy", &npy(&[1.0]))];
    folder.write("a.npz", zip(&one));
    assert_eq!(digest(&folder, "a.npz#b.npz#c"), sha256(1f32.to_le_bytes()));
    folder.write("a.npz#b.npz", zip(&[Member::stored("c.npy", &npy(&[2.0]))]));
    refused(&folder, "a.npz#b.npz#c", &["the array \"b.npz#c\" of"]);
    folder.remove("a.npz");
    assert_eq!(digest(&folder, "a.npz#b.npz#c"), sha256(2f32.to_le_bytes()));
}

#[test]
fn the_kind_of_a_file_of_another_name_is_in_its_first_bytes() {
    let folder = Folder::new();
    let bytes = 3f32.to_le_bytes();
    folder.write("one.zip", zip(&[Member::stored("a.npy", &npy(&[3.0]))]));
    folder.write("two.bin", safetensors(&[("a", "F32", &[1], &bytes)]));
    folder.write("three.dat", npy(&[3.0]));
    for path in ["one.zip#a", "two.bin#a", "three.dat"] {
        assert_eq!(digest(&folder, path), sha256(bytes), "{path}");
    }
    // A name that says what it is must be true.
    folder.write("x.npz", npy(&[1.0]));
    refused(&folder, "x.npz#a", &["is not a .npz file"]);
    folder.write("x.npy", zip(&[Member::stored("a.npy", &npy(&[3.0]))]));
    refused(&folder, "x.npy", &["is not a .npy file"]);
    folder.write("x.safetensors", npy(&[1.0]));
    refused(&folder, "x.safetensors#a", &["is not a .safetensors file"]);
}

#[test]
fn without_a_name_or_with_a_wrong_one_the_names_are_listed() {
    let folder = Folder::new();
    let member = |name: &str| Member::stored(&format!("{name}.npy"), &npy(&[1.0]));
    folder.write("x.npz", zip(&[member("alpha"), member("beta")]));
    let many: Vec<_> = (0..100).map(|i| member(&format!("t{i:02}"))).collect();
    folder.write("many.npz", zip(&many));
    folder.write("none.npz", zip(&[]));
    folder.write("plain.npy", npy(&[1.0]));
    claims! {folder, r##"
        each digest ~ | refused
        x.npz | FILE#NAME | it holds "alpha", "beta"
        x.npz#alpho | "alpho"; did you mean "alpha"? | it holds "alpha", "beta"
        x.npz#alpha.npy | did you mean "alpha"? | it holds "alpha", "beta"
        x.npz# | no array named ""; it holds
        many.npz#qqq | "t00" | "t23" and 76 more\n
        none.npz#a | it has no arrays
        plain.npy#a | whose one array has no name | leave out "#a"
        missing.npz#a | cannot be opened
    "##}
}

#[test]
fn names_are_shown_without_control_characters() {
    let folder = Folder::new();
    let long = "n".repeat(5000);
    let tensors = [
        ("\u{1b}[31m\n", "F32", &[1][..], &[0; 4][..]),
        (&long, "F32", &[1], &[0; 4]),
    ];
    folder.write("x.safetensors", safetensors(&tensors));
    let run = ran! {folder, "digest x.safetensors"}.refuses(&["\\u{1b}[31m\\n", "nnn..."]);
    assert!(run.stderr.len() < 400, "{run:?}");
}

#[test]
fn names_may_lead_anywhere_for_nothing_is_unpacked() {
    let folder = Folder::new();
    let names = ["../../up", "/etc/passwd", "a/b", "a\\b", "C:x", "ü"];
    let members = names.map(|name| Member {
        flags: 1 << 11,
        ..Member::stored(&format!("{name}.npy"), &npy(&[4.0]))
    });
    folder.write("x.npz", zip(&members));
    let before = folder.names();
    for name in names {
        assert_eq!(
            digest(&folder, &format!("x.npz#{name}")),
            sha256(4f32.to_le_bytes())
        );
    }
    assert_eq!(folder.names(), before);
}
