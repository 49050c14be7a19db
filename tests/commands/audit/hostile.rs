//! Openings, challenges and commitments that somebody forged: each is refused in a sentence.

use serde_json::{Value, json};
use tcverify::audit::{AuditError, Challenge, OwnCopies, Proven};
use tcverify::commit::Commitment;

use tcverify::io::tree::Hash;

use super::{BEACON, PLAIN, Product, challenge, json};
use crate::support::{Folder, Says, rows, set, sha256};

/// A commitment, a challenge and its opening, as the library reads them.
struct Read {
    commitment: Commitment,
    challenge: Challenge,
    opening: Vec<u8>,
}

fn read(folder: &Folder) -> Read {
    let text = folder.read("c.json");
    let commitment = Commitment::parse(&text).unwrap();
    let sha256 = Hash::of([&text[..]]);
    let challenge = Challenge::parse(&folder.read("ch.json"), (&commitment, sha256)).unwrap();
    Read {
        commitment,
        challenge,
        opening: folder.read("o.bin"),
    }
}

impl Read {
    fn verdict(&self, opening: &[u8]) -> Result<(), AuditError> {
        let own = OwnCopies::new();
        Proven::new(&self.commitment, &self.challenge, opening, &own).map(drop)
    }

    /// Where an array's lines begin, and the bytes of a line with its path.
    fn lines(&self, array: &str) -> (usize, usize, usize) {
        let head = self
            .opening
            .windows(2)
            .position(|pair| pair == b"\n\n")
            .unwrap()
            + 2;
        let count = |name: &str| {
            let opened = self.challenge.opened.iter().find(|o| o.array == name);
            opened.unwrap().lines.len()
        };
        match array {
            "a" => (head, 140 + 5 * 32, count("a")),
            _ => {
                let bytes = 36 + 5 * 32;
                (self.opening.len() - bytes * count("d"), bytes, count("d"))
            }
        }
    }
}

fn opened() -> (Folder, Read) {
    // 32 rows: every path of A and D is as long as any other.
    let product = Product {
        operands: "generate:1:normal:32x70 generate:2:normal:70x9",
        ..PLAIN
    };
    let folder = product.committed("--block-rows 1");
    product.opened(&folder, 12, "");
    let read = read(&folder);
    (folder, read)
}

#[test]
fn any_byte_of_an_opening_counts() {
    let (_folder, read) = opened();
    read.verdict(&read.opening).unwrap();
    for at in 0..read.opening.len() {
        let mut forged = read.opening.clone();
        forged[at] ^= 1 << (at % 8);
        let error = read.verdict(&forged).unwrap_err().to_string();
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn any_length_but_its_own_is_refused() {
    let (folder, read) = opened();
    for length in 0..read.opening.len() {
        assert!(read.verdict(&read.opening[..length]).is_err(), "{length}");
    }
    let more = [&read.opening[..], &[0]].concat();
    assert!(read.verdict(&more).is_err());
    let twice = [&read.opening[..], &read.opening[..]].concat();
    let error = read.verdict(&twice).unwrap_err().to_string();
    error.says("has bytes after its end");
    folder.write("o.bin", &read.opening[..read.opening.len() - 32]);
    PLAIN
        .verify(&folder, "")
        .expect(1)
        .mentions(&["o.bin: proves nothing: it is cut off"]);
    folder.write("o.bin", "");
    PLAIN.verify(&folder, "").refuses(&["o.bin", "is empty"]);
    folder.write("o.bin", "tcverify.opening/2\n");
    PLAIN
        .verify(&folder, "")
        .refuses(&["o.bin: is not an opening"]);
}

/// Lines that are the commitment's, but not those that were asked for in that place.
#[test]
fn swapped_and_repeated_lines_are_refused() {
    let (folder, read) = opened();
    for (array, what) in [("a", "row"), ("d", "block")] {
        let (start, bytes, count) = read.lines(array);
        assert!(count > 2);
        let line = |i: usize| start + i * bytes..start + (i + 1) * bytes;
        let mut swapped = read.opening.clone();
        swapped[line(0)].copy_from_slice(&read.opening[line(1)]);
        swapped[line(1)].copy_from_slice(&read.opening[line(0)]);
        let mut repeated = read.opening.clone();
        repeated[line(1)].copy_from_slice(&read.opening[line(0)]);
        for forged in [swapped, repeated] {
            folder.write("o.bin", &forged);
            let words = format!("o.bin: proves nothing: {what} ");
            PLAIN
                .verify(&folder, "")
                .expect(1)
                .mentions(&[&words, "does not lead to the committed root"]);
        }
    }
    // Rows of A where those of D are, with all that belongs to them.
    let (a, of_a, _) = read.lines("a");
    let (d, of_d, _) = read.lines("d");
    let mut crossed = read.opening.clone();
    let count = of_a.min(of_d);
    crossed[d..d + count].copy_from_slice(&read.opening[a..a + count]);
    assert!(read.verdict(&crossed).is_err());
}

#[test]
fn an_opening_of_another_challenge_is_no_answer() {
    let (folder, read) = opened();
    challenge(&folder, "another", 12).expect(0);
    PLAIN
        .verify(&folder, "")
        .expect(1)
        .mentions(&["it does not answer this challenge", "beacon="]);
    challenge(&folder, BEACON, 11).expect(0);
    PLAIN
        .verify(&folder, "")
        .expect(1)
        .mentions(&["elements=12", "elements=11"]);
    // The head of the other challenge does not help.
    let forged = String::from_utf8_lossy(&read.opening[..200]).into_owned();
    let head = forged.split_once("\n\n").unwrap().0.len() + 2;
    let other = forged[..head].replace("elements=12", "elements=11");
    folder.write("o.bin", [other.as_bytes(), &read.opening[head..]].concat());
    PLAIN
        .verify(&folder, "")
        .expect(1)
        .mentions(&["proves nothing"]);
    // Arrays that are named twice, or in another order, or left out though they are D.
    challenge(&folder, BEACON, 12).expect(0);
    for arrays in [
        "a,b",
        "b,a,d",
        "a,a,b,d",
        "a,b,d,d",
        "",
        "a,b,c,d",
        "a,b,\u{1b}[2J",
    ] {
        let other = forged[..head].replace("arrays=a,b,d", &format!("arrays={arrays}"));
        folder.write("o.bin", [other.as_bytes(), &read.opening[head..]].concat());
        let run = PLAIN.verify(&folder, "").expect(1);
        run.stderr.says("o.bin: proves nothing");
        run.stderr.lacks("\u{1b}[2J");
    }
}

#[test]
fn challenges_that_were_edited_are_none() {
    let (folder, _) = opened();
    let good = json(&folder, "ch.json");
    let edited = |change: &dyn Fn(&mut Value), words: &str| {
        let mut value = good.clone();
        change(&mut value);
        folder.write("ch.json", value.to_string());
        PLAIN.verify(&folder, "").refuses(&["ch.json", words]);
        PLAIN.open(&folder, "").refuses(&["ch.json", words]);
    };
    let other = "is not a challenge: its elements or lines differ from those";
    edited(&|c| c["elements"][0] = json!([0, 0, 0]), other);
    edited(&|c| c["elements"][0] = c["elements"][1].clone(), other);
    edited(
        &|c| drop(c["elements"].as_array_mut().unwrap().pop()),
        other,
    );
    edited(&|c| c["beacon"] = json!("mine"), other);
    edited(&|c| c["opened"][0]["lines"][0] = json!(1u64 << 40), other);
    edited(&|c| c["population"] = json!(1), other);
    edited(&|c| c["draw_sha256"] = json!("00".repeat(32)), other);
    edited(&|c| c["elements"] = json!([]), "a challenge can draw 1 to");
    edited(&|c| c["beacon"] = json!("a b"), "a beacon's value must be");
    edited(
        &|c| c["schema"] = json!("tcverify.challenge/2"),
        "its schema is",
    );
    edited(&|c| c["more"] = json!(1), "unknown field");
    edited(
        &|c| c["commitment_sha256"] = json!("00".repeat(32)),
        "is a challenge to the commitment with SHA-256",
    );
    edited(&|c| *c = json!([]), "is not a challenge");
}

/// The auditor names model and schedule: a commitment to others proves nothing of them.
#[test]
fn another_model_or_schedule_is_refused() {
    let (folder, _) = opened();
    let verify = |model: &str| {
        folder.tcverify(&format!(
            "audit verify {model} --commitment c.json --own-challenge ch.json o.bin"
        ))
    };
    let of_model = "the commitment names the model with SHA-256";
    verify("--arch a100 --dtype bf16")
        .expect(1)
        .mentions(&[of_model, "ampere"]);
    verify("--arch h100 --dtype fp16")
        .expect(1)
        .mentions(&[of_model]);
    let of_schedule = "schedule is another order as you state it, but the commitment has one chain over k (--schedule)";
    for other in ["--schedule cutlass-sm90", "--alpha 2"] {
        verify(&format!("--arch h100 --dtype bf16 {other}"))
            .expect(1)
            .mentions(&[of_schedule]);
    }
    verify("--arch h100 --dtype bf17").expect(2);
}

/// Nobody knows how the unit stores such a D.
#[test]
fn results_of_no_known_rounding_are_refused() {
    let product = Product {
        model: "--arch wormhole --dtype bf16 --instruction hifi2 --acc fp32",
        ..PLAIN
    };
    let folder = product.committed("");
    product.opened(&folder, 2, "");
    product.verify(&folder, "").expect(0);
    let text = folder.text("c.json");
    let mut forged: Value = serde_json::from_str(&text).unwrap();
    forged["d"]["format"] = json!("fp16");
    folder.write("c.json", forged.to_string());
    challenge(&folder, BEACON, 2).expect(0);
    product
        .verify(&folder, "--d-dtype fp16")
        .expect(1)
        .mentions(&["not known how this unit stores fp32 sums as fp16"]);
}

#[test]
fn a_beacon_that_is_none_is_the_options_fault() {
    let (folder, _) = opened();
    for command in [
        "audit challenge c.json --elements 2 -o other.json",
        "audit verify --arch h100 --dtype bf16 --commitment c.json --elements 2 o.bin --commitment-sha256",
    ] {
        let sha256 = sha256(folder.read("c.json"));
        let mut words: Vec<&str> = command.split(' ').collect();
        if words[1] == "verify" {
            words.push(&sha256);
        }
        words.extend(["--beacon", "a b"]);
        let run = folder.words(words);
        run.refuses(&["error: --beacon: a beacon's value must be"]);
    }
}

/// A commitment that somebody wrote by hand allocates nothing and proves nothing.
#[test]
fn commitments_that_contradict_themselves_are_none() {
    let (folder, _) = opened();
    let good = json(&folder, "c.json");
    let huge = u64::MAX >> 1;
    let edited = |change: &dyn Fn(&mut Value), words: &str| {
        let mut value = good.clone();
        change(&mut value);
        folder.write("c.json", value.to_string());
        challenge(&folder, BEACON, 3).refuses(&["c.json", words]);
    };
    for [at, value, said] in rows! {r#"
        inputs.a.shape | [33, 70] | a is [33, 70] in Rows
        inputs.a.shape | [70] | [70] is not a shape that has lines
        inputs.a.lines | "columns" | a is [32, 70] in Columns
        inputs.b.lines | "whole" | b is [70, 9] in Whole
        product.transpose_b | true | b is [70, 9] in Columns
        product.sparse | "2:4" | its product has a compressed A
    "#}
    {
        edited(&|document| set(document, at, value), said);
    }
    // Only B may be one matrix of a batch.
    edited(
        &|c| {
            c["product"]["batch"] = json!([2]);
            c["d"]["shape"] = json!([2, 32, 9]);
        },
        "a is [32, 70] in Rows",
    );
    edited(&|c| c["product"]["k"] = json!(huge), "a is [32, 70]");
    edited(
        &|c| {
            c["product"]["k"] = json!(huge);
            c["inputs"]["a"]["shape"] = json!([32, huge]);
            c["inputs"]["b"]["shape"] = json!([huge, 9]);
        },
        "no memory can hold",
    );
    let digest = json!(sha256(""));
    edited(
        &|c| c["inputs"]["a"]["payload_sha256"] = digest.clone(),
        "unknown field `payload_sha256`",
    );
    edited(
        &|c| drop(c["inputs"]["a"].as_object_mut().unwrap().remove("root")),
        "missing field `root`",
    );
    edited(
        &|c| {
            c["inputs"]["bias"] =
                json!({"format": "fp32", "shape": [1, 9], "lines": "rows", "root": digest});
        },
        "bias is cut into lines",
    );
}

/// Large dimensions that fit a memory's addresses: nothing is allocated for them.
#[test]
fn what_a_commitment_claims_is_not_allocated() {
    let (folder, _) = opened();
    let (m, k) = (1u64 << 29, 1u64 << 30);
    let mut value = json(&folder, "c.json");
    value["product"]["m"] = json!(m);
    value["product"]["k"] = json!(k);
    value["inputs"]["a"]["shape"] = json!([m, k]);
    value["inputs"]["b"]["shape"] = json!([k, 9]);
    value["d"]["shape"] = json!([m, 9]);
    folder.write("c.json", value.to_string());
    let run = |arguments: &str| folder.limited("ulimit -v 4000000", arguments);
    run("audit challenge c.json --beacon 1 --elements 12 -o ch.json").expect(0);
    let digest = sha256(folder.read("c.json"));
    let head =
        format!("tcverify.opening/1\ncommitment={digest}\nbeacon=1\nelements=12\narrays=a,b,d\n\n");
    folder.write("o.bin", head);
    run("audit verify --arch h100 --dtype bf16 --commitment c.json --own-challenge ch.json o.bin")
        .expect(1)
        .mentions(&["it is cut off: after its head there are 0 bytes"]);
}

/// The prover opens nothing else than what was committed.
#[test]
fn only_what_was_committed_is_opened() {
    let folder = PLAIN.committed("");
    challenge(&folder, BEACON, 5).expect(0);
    super::tamper(&folder, 3, 4);
    let run = PLAIN.open(&folder, "").expect(1);
    run.mentions(&["these differ from the commitment", "the root of D is"]);
    assert!(!folder.names().contains(&"o.bin".to_owned()));
    let run = folder.differs(
        "audit open --arch h100 --dtype bf16 generate:9:normal:24x70 generate:2:normal:70x9 d.npy \
         --commitment c.json --challenge ch.json -o o.bin",
    );
    run.mentions(&["the root of A is"]);
}
