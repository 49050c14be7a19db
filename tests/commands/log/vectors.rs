//! Notes, checkpoints and trees that others published.

use crate::support::{Says, table, words};

use tcverify::io::tree::{Hash, Tree, leaf, root_of};
use tcverify::sign::PublicKey;
use tcverify::tlog::{Checkpoint, Key, KeyKind, Note, posix_of, rfc3339};
use tcverify::tlog::{consistency, is_consistent};

/// Go's golang.org/x/mod/sumdb/note.
const NEUMANN: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
/// C2SP's signed-note.
const FOO: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
/// Go's checksum database.
const SUM: &str = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";

fn note(text: &str, name: &str, signature: &str) -> Note {
    let bytes = format!("{text}\n\u{2014} {name} {signature}\n");
    let note = Note::parse(&bytes).unwrap();
    assert_eq!(note.text, text);
    assert_eq!(note.bytes(), bytes);
    note
}

fn published() -> [(Note, Key); 3] {
    let key = |text: &str| {
        let key: Key = text.parse().unwrap();
        assert_eq!(key.to_string(), text);
        key
    };
    table! {
        (note("If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
            "PeterNeumann",
            "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="), key(NEUMANN)),
        (note("This is an example message.\n", "example.com/foo",
            "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM="), key(FOO)),
        (note("go.sum database tree\n63096908\n8lHrQPRYe4KT4WQ9/Qk8/taKnD6IRHbFgfN7vQE2Y54=\n", "sum.golang.org",
            "Az3gri/oVBN1jAhNZ/iS+W31psFAWRT20/GyrhpU6taFwulQGetBkH5S7wpGXdS935jiIGiUUAXBVHzT/P6fYhqAmAk="), key(SUM)),
    }
}

#[test]
fn published_notes_are_of_their_keys() {
    for (note, key) in published() {
        note.confirm(&key).unwrap();
        for at in 0..note.text.len() {
            let mut text = note.text.clone().into_bytes();
            text[at] ^= 1;
            let changed = Note {
                text: String::from_utf8_lossy(&text).into_owned(),
                ..note.clone()
            };
            assert!(changed.confirm(&key).is_err(), "byte {at}");
        }
        let other: Key = FOO.parse().unwrap();
        assert_eq!(note.confirm(&other).is_ok(), other == key);
        // A witness's key of the same name and bytes is another key.
        let witness = Key {
            kind: KeyKind::Cosignature,
            ..key
        };
        assert!(note.confirm(&witness).is_err());
    }
}

#[test]
fn a_published_checkpoint_is_read() {
    let [.., (note, key)] = published();
    let checkpoint = Checkpoint::parse(&note.text).unwrap();
    assert_eq!(checkpoint.origin, "go.sum database tree");
    assert_eq!(checkpoint.size, 63_096_908);
    assert_eq!(checkpoint.text(), note.text);
    // Its origin is not the name of its key, which a log of ours has.
    let error = Checkpoint::of_log(&note, &key).unwrap_err().to_string();
    error.says("belongs to a log other than sum.golang.org");
    // As C2SP prints it, with another origin, the signature is not of it.
    let text = note
        .text
        .replace("go.sum database tree", "example.com/behind-the-sofa");
    let printed = Note { text, ..note };
    assert!(printed.confirm(&key).is_err());
}

#[test]
fn keys_that_are_none() {
    let [name, id, bytes] = [
        "example.com/foo",
        "530d903a",
        "AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
    ];
    for wrong in [
        String::new(),
        name.into(),
        format!("{name}+{id}"),
        format!("{name}+530d903b+{bytes}"),
        format!("{name}+530D903A+{bytes}"),
        format!("+{id}+{bytes}"),
        format!("example.com/bar+{id}+{bytes}"),
        format!("{name}+{id}+{bytes}="),
        format!("{name}+{id}+AQ=="),
        format!("{name}+{id}+Bukyeg=="),
        format!("{name}+{id}+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ] {
        assert!(wrong.parse::<Key>().is_err(), "{wrong}");
    }
    let public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    let public = PublicKey::parse(public).unwrap();
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\nb", &"a".repeat(300)] {
        assert!(
            Key::new(name, KeyKind::Ed25519, public).is_err(),
            "{name:?}"
        );
    }
}

#[test]
fn notes_that_are_none() {
    let line = "\u{2014} n AAAAAAA=\n";
    let good = format!("t\n\n{line}");
    Note::parse(&good).unwrap();
    for wrong in [
        String::new(),
        "t\n".into(),
        format!("t\n{line}"),
        "t\n\n".into(),
        format!("t\n\n{line}\n"),
        format!("t\n\n{}", line.trim_end()),
        format!("t\r\n\n{line}"),
        "t\n\n- n AAAAAAA=\n".into(),
        "t\n\n\u{2014} n AAA=\n".into(),
        "t\n\n\u{2014} n AAAAAAA\n".into(),
        "t\n\n\u{2014} n+ AAAAAAA=\n".into(),
        format!("t\n\n{}", line.repeat(65)),
    ] {
        assert!(Note::parse(&wrong).is_err(), "{wrong:?}");
    }
    for wrong in table! {
        "o\n1\n", "\n1\nAAAA\n", "o\n01\n{}\n", "o\n-1\n{}\n", "o\n1\nAAAA\n", "o\n1\n{}\n\nx\n", "o\n+1\n{}\n",
    } {
        let root = "8lHrQPRYe4KT4WQ9/Qk8/taKnD6IRHbFgfN7vQE2Y54=";
        let text = wrong.replace("{}", root);
        assert!(Checkpoint::parse(&text).is_err(), "{text:?}");
        Checkpoint::parse(&format!("o\n1\n{root}\nextension\n")).unwrap();
    }
}

/// transparency-dev/merkle, `testonly`.
#[test]
fn consistency_proofs_of_another_implementation() {
    let payloads: [&[u8]; 8] = [
        b"",
        &[0x00],
        &[0x10],
        &[0x20, 0x21],
        &[0x30, 0x31],
        &[0x40, 0x41, 0x42, 0x43],
        &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
        &[
            0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
            0x6e, 0x6f,
        ],
    ];
    let leaves = payloads.map(|payload| leaf([payload]));
    let hashes = |text: &[&str]| -> Vec<Hash> {
        text.iter().map(|hash| Hash::parse(hash).unwrap()).collect()
    };
    let [ca85, d37e, bc1a] = [
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ];
    let six = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";
    let two = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
    assert_eq!(consistency(&leaves, 6), hashes(&[six, ca85, d37e]));
    assert_eq!(consistency(&leaves[..5], 2), hashes(&[two, bc1a]));
    let tree = Tree::new(leaves.to_vec());
    assert_eq!(tree.path(5), hashes(&[bc1a, ca85, d37e]));
    assert_eq!(root_of(leaves[5], 5, 8, &tree.path(5)), Some(tree.root()));
}

/// Every pair of sizes, and every hash of a proof changed, left out or added.
#[test]
fn no_other_proof_of_consistency_is_taken() {
    let leaves: Vec<_> = (0..33u64).map(|i| leaf([&i.to_le_bytes()[..]])).collect();
    let root = |size: usize| Tree::new(leaves[..size].to_vec()).root();
    for all in 1..=leaves.len() {
        for first in 1..=all {
            let proof = consistency(&leaves[..all], first);
            let (one, two) = ((first as u64, root(first)), (all as u64, root(all)));
            assert!(is_consistent(one, two, &proof), "{first} of {all}");
            for at in 0..proof.len() {
                let mut other = proof.clone();
                other[at].0[7] ^= 4;
                assert!(!is_consistent(one, two, &other), "{first} of {all}, {at}");
                other.remove(at);
                assert!(
                    !is_consistent(one, two, &other),
                    "{first} of {all} without {at}"
                );
            }
            let more = [&proof[..], &[one.1]].concat();
            assert!(
                !is_consistent(one, two, &more),
                "{first} of {all}, one more"
            );
            let wrong = Hash([3; 32]);
            assert!(!is_consistent((one.0, wrong), two, &proof));
            assert!(!is_consistent(one, (two.0, wrong), &proof));
            if first < all {
                assert!(!is_consistent(two, one, &proof));
            }
        }
    }
    assert!(!is_consistent((0, root(1)), (1, root(1)), &[]));
    assert!(!is_consistent((0, root(1)), (0, root(1)), &[]));
}

#[test]
fn times() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (1_679_315_147, "2023-03-20T12:25:47Z"),
        (super::EIGHT, "2026-11-23T08:00:00Z"),
    ] {
        assert_eq!(rfc3339(seconds), text);
        assert_eq!(posix_of(text), Some(seconds));
    }
    for wrong in
        words! {"| 2026-11-23 | 2026-11-23 08:00:00Z | 2026-13-23T08:00:00Z | 2026-11-23T08:00:00"}
    {
        assert_eq!(posix_of(wrong), None, "{wrong}");
    }
    assert_eq!(rfc3339(u64::MAX), format!("{} s after 1970", u64::MAX));
}
