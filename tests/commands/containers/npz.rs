//! ZIP archives that lie, or that two programs could read differently.

use super::write::{Member, zip, zip_as};
use super::{npy, refused};
use crate::support::{Folder, Npy};

fn with(members: &[Member]) -> Folder {
    raw(zip(members))
}

fn raw(bytes: Vec<u8>) -> Folder {
    let folder = Folder::new();
    folder.write("x.npz", bytes);
    folder
}

fn good() -> Member {
    Member::stored("a.npy", &npy(&[1.0, 2.0]))
}

#[test]
fn members_that_are_not_read() {
    let not = |member: Member, words: &[&str]| refused(&with(&[member]), "x.npz#a", words);
    for flags in [1, 1 << 6, 1 << 13] {
        not(Member { flags, ..good() }, &["is encrypted"]);
    }
    for method in [1, 9, 12, 14, 93, 95, 99] {
        let words = format!("is compressed by method {method};");
        not(Member { method, ..good() }, &[&words]);
    }
    let second = [&0x7075u16.to_le_bytes()[..], &[5, 0, 1, 0, 0, 0, 0]].concat();
    not(
        Member {
            extra: second,
            ..good()
        },
        &["has two names"],
    );
    not(Member { crc: 7, ..good() }, &["is damaged", "00000007"]);
    not(
        Member {
            crc: 7,
            ..Member::deflated("a.npy", &npy(&[1.0]))
        },
        &["is damaged", "00000007"],
    );
    not(
        Member::stored("a.npy", b"no array"),
        &["is not a .npy file"],
    );
    not(
        Member::deflated("a.npy", b"no array"),
        &["is not a .npy file"],
    );
}

#[test]
fn names_that_are_no_text() {
    let folder = with(&[
        Member {
            name: b"\xff.npy".to_vec(),
            ..good()
        },
        Member {
            name: "é.npy".into(),
            ..good()
        },
        good(),
    ]);
    refused(&folder, "x.npz#é", &["not marked as UTF-8"]);
    refused(&folder, "x.npz#\u{fffd}", &["not marked as UTF-8"]);
    folder.tcverify("digest x.npz#a").expect(0);
}

#[test]
fn names_that_two_readers_take_for_different_members() {
    let member = |name: &str, value: f32| Member::stored(name, &npy(&[value]));
    let folder = with(&[
        member("a.npy", 1.0),
        member("a", 2.0),
        member("b.npy", 3.0),
        member("b.npy.npy", 4.0),
        member("c.npy\0.npy", 5.0),
        member("d.npy", 6.0),
    ]);
    let not = |name: &str, words: &str| refused(&folder, &format!("x.npz#{name}"), &[words]);
    not("a", "one of two that its name could mean");
    not("b.npy", "one of two that its name could mean");
    folder.tcverify("digest x.npz#b x.npz#d").expect(0);
    let run = folder.tcverify("inspect x.npz").expect(2);
    assert!(run.stdout.contains("has a name with a NUL"), "{run:?}");
}

#[test]
fn two_readers_must_see_the_same() {
    let twice = [good(), Member::stored("a.npy", &npy(&[3.0]))];
    refused(&with(&twice), "x.npz#a", &["the member \"a.npy\" twice"]);
    let other = Member {
        local_name: Some(b"b.npy".to_vec()),
        ..good()
    };
    refused(&with(&[other]), "x.npz#a", &["another name at its data"]);
    // The second begins within the first.
    let nested = zip(&[good()]);
    let outer = Member::stored("b.npy", &nested);
    let inner = Member {
        place: Some(35),
        ..good()
    };
    refused(&with(&[outer, inner]), "x.npz#a", &["members that overlap"]);
    let file = zip(&[good()]);
    refused(
        &raw([b"junk", &file[..]].concat()),
        "x.npz#a",
        &["is no .npz file"],
    );
    refused(
        &raw([&file[..], b"junk"].concat()),
        "x.npz#a",
        &["after its directory"],
    );
    // A file within a file: both directories are whole.
    refused(&raw([&file[..], &file].concat()), "x.npz#a", &["x.npz"]);
    let mut comment = file.clone();
    let end = comment.len();
    comment[end - 2] = 3;
    comment.extend(b"abc");
    refused(&raw(comment), "x.npz#a", &["a comment"]);
    // How many members, how long the directory is, and where.
    for (at, words) in [(14, "does not lie"), (10, "does not lie"), (6, "x.npz")] {
        let mut lie = file.clone();
        lie[end - at] ^= 1;
        refused(&raw(lie), "x.npz#a", &[words]);
    }
    let mut count = file;
    count[end - 12] = 9;
    refused(
        &raw(count),
        "x.npz#a",
        &["has 1 members, but is said to have 9"],
    );
}

#[test]
fn records_of_64_bits() {
    let member = Member {
        zip64: true,
        ..good()
    };
    raw(zip_as(std::slice::from_ref(&member), true))
        .tcverify("digest x.npz#a")
        .expect(0);
    raw(zip_as(std::slice::from_ref(&member), false))
        .tcverify("digest x.npz#a")
        .expect(0);
    raw(zip_as(&[good()], true))
        .tcverify("digest x.npz#a")
        .expect(0);
    let file = zip_as(&[member], true);
    let record = file.len() - 22 - 20 - 56;
    for at in [4, 24, 32, 40, 48, 56 + 8] {
        for bit in [1, 0x80] {
            let mut lie = file.clone();
            lie[record + at] ^= bit;
            refused(&raw(lie), "x.npz#a", &[]);
        }
    }
}

#[test]
fn sizes_that_lie() {
    let size = |size| Member { size, ..good() };
    for lie in [0, 1, 7, 135, 137, u64::from(u32::MAX) - 1] {
        refused(&with(&[size(lie)]), "x.npz#a", &["is stored in 136 bytes"]);
        let deflated = Member {
            size: lie,
            ..Member::deflated("a.npy", &npy(&[1.0, 2.0]))
        };
        refused(
            &with(&[deflated]),
            "x.npz#a",
            &["\"a.npy\"", ""].map(|_| "x.npz#a"),
        );
    }
    let huge = Member {
        zip64: true,
        ..size(u64::MAX)
    };
    refused(&with(&[huge]), "x.npz#a", &["x.npz"]);
    let mut rest = Member::deflated("a.npy", &npy(&[1.0]));
    rest.data.push(0);
    refused(&with(&[rest]), "x.npz#a", &["does not inflate to the"]);
    let mut short = Member::deflated("a.npy", &npy(&[1.0]));
    short.data.pop();
    refused(&with(&[short]), "x.npz#a", &["x.npz#a"]);
    let mut wild = Member::deflated("a.npy", &npy(&[1.0]));
    wild.data = vec![0xff; 40];
    refused(&with(&[wild]), "x.npz#a", &["cannot be inflated"]);
}

/// A member that says that it holds 2^40 elements, and inflates to a little.
fn boast() -> Member {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }";
    let start = Npy::with_header(text, vec![0; 64]);
    Member {
        size: (1 << 42) + start.data_start() as u64,
        zip64: true,
        ..Member::deflated("a.npy", &start.bytes())
    }
}

/// Half a gigabyte of zeros in a member that is said to hold two numbers.
fn bomb() -> Member {
    let mut bytes = npy(&[1.0, 2.0]);
    let size = bytes.len() as u64;
    let crc = crc32fast::hash(&bytes);
    bytes.resize(1 << 29, 0);
    Member {
        size,
        crc,
        ..Member::deflated("a.npy", &bytes)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lie_costs_no_memory() {
    let cramped =
        |folder: &Folder| folder.limited("ulimit -v 400000", "--threads 1 digest x.npz#a");
    cramped(&with(&[boast()])).refuses(&["x.npz#a", "does not inflate to the 43980465"]);
    cramped(&with(&[bomb()])).refuses(&["x.npz#a", "does not inflate to the 136 bytes"]);
    // What is truly too large is an error too, and no crash.
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (536870912,), }";
    let honest = Npy::with_header(text, vec![0; 1 << 29]).bytes();
    cramped(&with(&[Member::deflated("a.npy", &honest)])).refuses(&[
        "x.npz#a",
        "takes 5368",
        "bytes of memory, which cannot be had",
    ]);
    cramped(&with(&[good()])).expect(0);
}
