//! Files that are no commitment or no proof.

use serde_json::json;
use tcverify::commit::{Commitment, Proof};

use super::{MODEL, committed, edit};
use crate::support::{Folder, claims, rows, set, table};

/// What a file is refused with where a commitment is read.
#[track_caller]
fn malformed(folder: &Folder, words: &str) {
    claims! {folder, "
        check {MODEL} --against x.json a.npy b.npy d.npy | refused | x.json | {words}
        commit prove --commitment x.json --blocks 0 d.npy -o p.json | refused | x.json | {words}
        commit verify --commitment x.json good.json | refused | x.json | {words}
    "}
}

fn with_proof() -> Folder {
    let folder = committed();
    folder.passes("commit prove --commitment c.json --blocks 1 d.npy -o good.json");
    folder
}

#[test]
fn files_that_are_no_commitment() {
    let folder = with_proof();
    let twice = folder.text("c.json").replacen('{', "{\"schema\": \"\",", 1);
    for (text, words) in table! {
        ("", "is empty"),
        ("{", "is not a commitment"),
        ("[]", "is not a commitment"),
        ("{}", "is not a commitment: missing field"),
        ("\u{93}NUMPY", "is not a commitment"),
        (&"[".repeat(100_000), "is not a commitment"),
        (&twice, "duplicate field `schema`"),
    } {
        folder.write("x.json", text);
        malformed(&folder, words);
    }
    let large = "AA".repeat(32);
    let zeros = "00".repeat(32);
    let huge = u64::MAX >> 1;
    for [at, value, words] in rows! {r#"
        schema | "tcverify.commitment/3" | its schema is not
        more | 1 | unknown field `more`
        d.more | 1 | unknown field
        schedule | "{zeros}" | is not a commitment
        schedule | null | is not a commitment
        inputs.scale_a | null | is not a commitment
        inputs.c | - | missing field `c`
        d.root | "00" | 64 lower-case hexadecimal
        d.root | "{large}" | 64 lower-case hexadecimal
        d.block_rows | 0 | a block must have at least one row
        d.block_rows | -1 | is not a commitment
        d.block_rows | 1.5 | is not a commitment
        d.format | "fp17" | unknown variant
        d.shape | [2, 10] | its D is [2, 10], but its product gives [10, 2]
        schema | - | missing field | schema
        model_sha256 | - | missing field | model_sha256
        product | - | missing field | product
        inputs | - | missing field | inputs
        d | - | missing field | d
    "#}
    {
        edit(&folder, "c.json", "x.json", |d| set(d, at, value));
        malformed(&folder, words);
    }
    edit(&folder, "c.json", "x.json", |d| {
        d["d"]["\u{1b}[31m"] = json!(1)
    });
    malformed(&folder, "unknown field | \\u{1b}");
    for (rows, words) in [
        (huge, "no memory can hold a D"),
        (0, "is not the shape of a D"),
    ] {
        edit(&folder, "c.json", "x.json", |d| {
            d["d"]["shape"] = json!([rows, 2]);
            d["product"]["m"] = json!(rows);
        });
        malformed(&folder, words);
    }
    claims! {folder, "commit verify --commitment missing.json good.json | refused | missing.json | cannot be opened"}
}

/// A byte that is another makes it no commitment, or another one; a proof does not survive it.
#[test]
fn any_byte_changed() {
    let folder = with_proof();
    let (commitment, proof) = (folder.read("c.json"), folder.read("good.json"));
    let parsed = Commitment::parse(&commitment).unwrap();
    let mutants = |good: &[u8]| -> Vec<Vec<u8>> {
        let change = |at: usize| {
            let old = good[at];
            let others = [*b"0\",}", [0, old ^ 1, old ^ 0x20, old ^ 0x80]].concat();
            let bad = others.into_iter().chain([old.wrapping_add(1)]);
            let bad = bad.filter(move |&new| new != old);
            bad.map(move |new| [&good[..at], &[new], &good[at + 1..]].concat())
        };
        let whole = (0..good.len()).filter(|&at| !good[at].is_ascii_whitespace());
        whole.flat_map(change).collect()
    };
    for bad in mutants(&commitment) {
        if let Ok(other) = Commitment::parse(&bad) {
            assert_ne!(other, parsed);
            assert_ne!(other.differences(&parsed), Vec::<String>::new());
        }
    }
    let whole = Proof::parse(&proof).unwrap();
    whole.check(&parsed.result, None).unwrap();
    for bad in mutants(&proof) {
        if let Ok(other) = Proof::parse(&bad) {
            assert_ne!(other, whole);
            let message = other.check(&parsed.result, None).unwrap_err().to_string();
            assert!(!message.is_empty());
        }
    }
    let cut = |whole: &[u8], read: &dyn Fn(&[u8]) -> bool| {
        assert!(!(0..whole.len() - 1).any(|length| read(&whole[..length])));
    };
    cut(&commitment, &|part| Commitment::parse(part).is_ok());
    cut(&proof, &|part| Proof::parse(part).is_ok());
}

#[test]
fn files_that_are_no_proof() {
    let folder = with_proof();
    let verify = "commit verify --commitment c.json x.json | refused | x.json | is not a proof";
    let commitment = folder.text("c.json");
    for text in [
        "{",
        "[]",
        "{}",
        "\u{93}NUMPY",
        &"[".repeat(100_000),
        &commitment,
    ] {
        folder.write("x.json", text);
        claims! {folder, "{verify}"}
    }
    for [at, value, words] in rows! {r#"
        schema | "tcverify.proof/2" | its schema is not
        more | 1 | unknown field
        blocks.0.block | -1 | invalid value
        blocks.0.leaf | "zz" | hexadecimal
        blocks.0.path.0 | 7 | invalid type
    "#}
    {
        edit(&folder, "good.json", "x.json", |proof| {
            set(proof, at, value)
        });
        claims! {folder, "{verify} | {words}"}
    }
}
