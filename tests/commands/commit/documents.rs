//! Files that are no commitment or no proof.

use serde_json::{Value, json};
use tcverify::commit::{Commitment, Proof};

use super::{MODEL, committed, edit};
use crate::support::{Folder, claims, listed, rows, set};

#[track_caller]
fn malformed(folder: &Folder, words: &[&str]) {
    let words = [&["x.json"], words].concat();
    for arguments in [
        format!("check {MODEL} --against x.json a.npy b.npy d.npy"),
        "commit prove --commitment x.json --blocks 0 d.npy -o p.json".to_owned(),
        "commit verify --commitment x.json good.json".to_owned(),
    ] {
        folder.tcverify(&arguments).refuses(&words);
    }
}

fn with_proof() -> Folder {
    let folder = committed();
    folder.passes("commit prove --commitment c.json --blocks 1 d.npy -o good.json");
    folder
}

#[test]
fn files_that_are_no_commitment() {
    let folder = with_proof();
    for (text, words) in [
        ("", "is empty"),
        ("{", "is not a commitment"),
        ("[]", "is not a commitment"),
        ("{}", "is not a commitment: missing field"),
        ("\u{93}NUMPY", "is not a commitment"),
        (&"[".repeat(100_000), "is not a commitment"),
    ] {
        folder.write("x.json", text);
        malformed(&folder, &[words]);
    }
    let changed = |change: &dyn Fn(&mut Value), words: &[&str]| {
        edit(&folder, "c.json", "x.json", change);
        malformed(&folder, words);
    };
    changed(
        &|d| d["schema"] = json!("tcverify.commitment/3"),
        &["its schema is not"],
    );
    changed(&|d| d["more"] = json!(1), &["unknown field `more`"]);
    changed(&|d| d["d"]["more"] = json!(1), &["unknown field"]);
    changed(
        &|d| d["d"]["\u{1b}[31m"] = json!(1),
        &["unknown field", "\\u{1b}"],
    );
    changed(
        &|d| d["schedule"] = json!("00".repeat(32)),
        &["is not a commitment"],
    );
    changed(&|d| d["schedule"] = json!(null), &["is not a commitment"]);
    changed(
        &|d| d["inputs"]["scale_a"] = json!(null),
        &["is not a commitment"],
    );
    changed(
        &|d| drop(d["inputs"].as_object_mut().unwrap().remove("c")),
        &["missing field `c`"],
    );
    changed(
        &|d| d["d"]["root"] = json!("00"),
        &["64 lower-case hexadecimal"],
    );
    changed(
        &|d| d["d"]["root"] = json!("AA".repeat(32)),
        &["64 lower-case hexadecimal"],
    );
    for [at, value, said_all] in rows! {r#"
        d.block_rows | 0 | a block must have at least one row
        d.block_rows | -1 | is not a commitment
        d.block_rows | 1.5 | is not a commitment
        d.format | "fp17" | unknown variant
        d.shape | [2, 10] | its D is [2, 10], but its product gives [10, 2]
    "#}
    {
        changed(&|document| set(document, at, value), &listed(said_all));
    }
    let huge = u64::MAX >> 1;
    changed(
        &|d| {
            d["d"]["shape"] = json!([huge, 2]);
            d["product"]["m"] = json!(huge);
        },
        &["no memory can hold a D"],
    );
    changed(
        &|d| {
            d["d"]["shape"] = json!([0, 2]);
            d["product"]["m"] = json!(0);
        },
        &["is not the shape of a D"],
    );
    for field in ["schema", "model_sha256", "product", "inputs", "d"] {
        edit(&folder, "c.json", "x.json", |d| {
            d.as_object_mut().unwrap().remove(field);
        });
        malformed(&folder, &["missing field", field]);
    }
    let twice = folder.text("c.json");
    folder.write("x.json", twice.replacen('{', "{\"schema\": \"\",", 1));
    malformed(&folder, &["duplicate field `schema`"]);
    let verify = "commit verify --commitment missing.json good.json";
    claims! {folder, "{verify} | refused | missing.json | cannot be opened"}
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
            let others = [
                0,
                b'0',
                b'"',
                b',',
                b'}',
                old ^ 1,
                old ^ 0x20,
                old ^ 0x80,
                old.wrapping_add(1),
            ];
            let bad = others.into_iter().filter(move |&new| new != old);
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
    for length in 0..commitment.len() - 1 {
        assert!(Commitment::parse(&commitment[..length]).is_err());
    }
    for length in 0..proof.len() - 1 {
        assert!(Proof::parse(&proof[..length]).is_err());
    }
}

#[test]
fn files_that_are_no_proof() {
    let folder = with_proof();
    let verify = |words: &[&str]| {
        let run = folder.tcverify("commit verify --commitment c.json x.json");
        run.refuses(&[&["x.json", "is not a proof"], words].concat());
    };
    for text in ["{", "[]", "{}", "\u{93}NUMPY", &"[".repeat(100_000)] {
        folder.write("x.json", text);
        verify(&[]);
    }
    folder.write("x.json", folder.read("c.json"));
    verify(&[]);
    let changed = |change: &dyn Fn(&mut Value), words: &[&str]| {
        edit(&folder, "good.json", "x.json", change);
        verify(words);
    };
    changed(
        &|p| p["schema"] = json!("tcverify.proof/2"),
        &["its schema is not"],
    );
    changed(&|p| p["more"] = json!(1), &["unknown field"]);
    changed(&|p| p["blocks"][0]["block"] = json!(-1), &["invalid value"]);
    changed(&|p| p["blocks"][0]["leaf"] = json!("zz"), &["hexadecimal"]);
    changed(&|p| p["blocks"][0]["path"][0] = json!(7), &["invalid type"]);
}
