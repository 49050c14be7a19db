//! Openings, challenges and commitments that somebody forged: each is refused in a sentence.

use serde_json::json;
use tcverify::audit::{AuditError, Challenge, OwnCopies, Proven};
use tcverify::commit::Commitment;

use tcverify::io::tree::Hash;

use super::{BEACON, PLAIN, Product, VERIFY, challenge};
use crate::support::{Folder, Members, Says, claims, rows, set, sha256, table};

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
    let whole = &read.opening[..];
    assert!((0..whole.len()).all(|length| read.verdict(&whole[..length]).is_err()));
    let cut = &whole[..whole.len() - 32];
    for (opening, outcome) in table! {
        ([whole, &[0]].concat(), "1"),
        ([whole, whole].concat(), "1 | &has bytes after its end"),
        (cut.to_vec(), "1 | &o.bin: proves nothing: it is cut off"),
        (Vec::new(), "refused | o.bin | is empty"),
        (b"tcverify.opening/2\n".to_vec(), "refused | o.bin: is not an opening"),
    } {
        folder.write("o.bin", opening);
        claims! {folder, "{VERIFY} | {outcome}"}
    }
}

/// Lines that are the commitment's, but not those that were asked for in that place.
#[test]
fn swapped_and_repeated_lines_are_refused() {
    let (folder, read) = opened();
    for (array, what) in [("a", "row"), ("d", "block")] {
        let (start, bytes, count) = read.lines(array);
        assert!(count > 2);
        let line = |i: usize| start + i * bytes..start + (i + 1) * bytes;
        let mut repeated = read.opening.clone();
        repeated[line(1)].copy_from_slice(&read.opening[line(0)]);
        let mut swapped = repeated.clone();
        swapped[line(0)].copy_from_slice(&read.opening[line(1)]);
        for forged in [swapped, repeated] {
            folder.write("o.bin", &forged);
            claims! {folder, "{VERIFY} | 1 | &o.bin: proves nothing: {what}
            | &does not lead to the committed root"}
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
    claims! {folder, "
        audit challenge c.json --beacon another --elements 12 -o ch.json | 0
        {VERIFY} | 1 | &it does not answer this challenge | &beacon=
        audit challenge c.json --beacon {BEACON} --elements 11 -o ch.json | 0
        {VERIFY} | 1 | &elements=12 | &elements=11
    "}
    let forged = String::from_utf8_lossy(&read.opening[..200]).into_owned();
    let head = forged.split_once("\n\n").unwrap().0.len() + 2;
    let forge = |said: &str, other: &str| {
        let other = forged[..head].replace(said, other);
        folder.write("o.bin", [other.as_bytes(), &read.opening[head..]].concat());
        folder.differs(VERIFY)
    };
    // The head of the other challenge does not help.
    forge("elements=12", "elements=11").mentions(&["proves nothing"]);
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
        let run = forge("arrays=a,b,d", &format!("arrays={arrays}"));
        run.stderr.says("o.bin: proves nothing");
        run.stderr.lacks("\u{1b}[2J");
    }
}

#[test]
fn challenges_that_were_edited_are_none() {
    let (folder, _) = opened();
    let good = folder.document("ch.json");
    let (second, zeros) = (&good["elements"][1], "00".repeat(32));
    let last = good.list("elements").len() - 1;
    let fewer = json!(good.list("elements")[..last]);
    let other = "is not a challenge: its elements or lines differ from those";
    for [at, value, words] in rows! {r#"
        elements.0 | [0, 0, 0] | {other}
        elements.0 | {second} | {other}
        elements | {fewer} | {other}
        beacon | "mine" | {other}
        opened.0.lines.0 | 1099511627776 | {other}
        population | 1 | {other}
        draw_sha256 | "{zeros}" | {other}
        elements | [] | a challenge can draw 1 to
        beacon | "a b" | a beacon's value must be
        schema | "tcverify.challenge/2" | its schema is
        more | 1 | unknown field
        commitment_sha256 | "{zeros}" | is a challenge to the commitment with SHA-256
    "#}
    {
        let mut edited = good.clone();
        set(&mut edited, at, value);
        folder.write("ch.json", edited.to_string());
        PLAIN.open(&folder, "").refuses(&["ch.json", words]);
        claims! {folder, "{VERIFY} | refused | ch.json | {words}"}
    }
    folder.write("ch.json", "[]");
    claims! {folder, "{VERIFY} | refused | ch.json | is not a challenge"}
    PLAIN
        .open(&folder, "")
        .refuses(&["ch.json", "is not a challenge"]);
}

/// The auditor names model and schedule: a commitment to others proves nothing of them.
#[test]
fn another_model_or_schedule_is_refused() {
    let (folder, _) = opened();
    let of_schedule = "schedule is another order as you state it, but the commitment has one chain over k (--schedule)";
    claims! {folder, "
        each audit verify ~ --commitment c.json --own-challenge ch.json o.bin
        --arch a100 --dtype bf16 | 1 | &the commitment names the model with SHA-256 | &ampere
        --arch h100 --dtype fp16 | 1 | &the commitment names the model with SHA-256
        --arch h100 --dtype bf16 --schedule cutlass-sm90 | 1 | &{of_schedule}
        --arch h100 --dtype bf16 --alpha 2 | 1 | &{of_schedule}
        --arch h100 --dtype bf17 | 2
    "}
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
    let mut forged = folder.document("c.json");
    forged["d"]["format"] = json!("fp16");
    folder.write("c.json", forged.to_string());
    challenge(&folder, BEACON, 2).expect(0);
    let run = product.verify(&folder, "--d-dtype fp16").expect(1);
    run.mentions(&["not known how this unit stores fp32 sums as fp16"]);
}

#[test]
fn a_beacon_that_is_none_is_the_options_fault() {
    let (folder, _) = opened();
    let sha256 = sha256(folder.read("c.json"));
    claims! {folder, "
        each audit ~ --elements 2 --beacon `a b` | refused | error: --beacon: a beacon's value must be
        challenge c.json -o other.json
        verify --arch h100 --dtype bf16 --commitment c.json o.bin --commitment-sha256 {sha256}
    "}
}

/// A commitment that somebody wrote by hand allocates nothing and proves nothing.
#[test]
fn commitments_that_contradict_themselves_are_none() {
    let (folder, _) = opened();
    let good = folder.document("c.json");
    let (huge, digest) = (u64::MAX >> 1, sha256(""));
    let bias = format!(r#"{{"format":"fp32","shape":[1,9],"lines":"rows","root":"{digest}"}}"#);
    // Changes are apart by `;`.
    for [changes, said] in rows! {r#"
        inputs.a.shape = [33, 70] | a is [33, 70] in Rows
        inputs.a.shape = [70] | [70] is not a shape that has lines
        inputs.a.lines = "columns" | a is [32, 70] in Columns
        inputs.b.lines = "whole" | b is [70, 9] in Whole
        product.transpose_b = true | b is [70, 9] in Columns
        product.sparse = "2:4" | its product has a compressed A
        # Only B may be one matrix of a batch.
        product.batch = [2]; d.shape = [2, 32, 9] | a is [32, 70] in Rows
        product.k = {huge} | a is [32, 70]
        product.k = {huge}; inputs.a.shape = [32, {huge}]; inputs.b.shape = [{huge}, 9] | no memory can hold
        inputs.a.payload_sha256 = "{digest}" | unknown field `payload_sha256`
        inputs.a.root = - | missing field `root`
        inputs.bias = {bias} | bias is cut into lines
    "#}
    {
        let mut edited = good.clone();
        for change in changes.split("; ") {
            let (at, value) = change.split_once(" = ").expect("PLACE = JSON");
            set(&mut edited, at, value);
        }
        folder.write("c.json", edited.to_string());
        challenge(&folder, BEACON, 3).refuses(&["c.json", said]);
    }
}

/// Large dimensions that fit a memory's addresses: nothing is allocated for them.
#[test]
fn what_a_commitment_claims_is_not_allocated() {
    let (folder, _) = opened();
    let (m, k) = (1u64 << 29, 1u64 << 30);
    let mut value = folder.document("c.json");
    value["product"]["m"] = json!(m);
    value["product"]["k"] = json!(k);
    value["inputs"]["a"]["shape"] = json!([m, k]);
    value["inputs"]["b"]["shape"] = json!([k, 9]);
    value["d"]["shape"] = json!([m, 9]);
    folder.write("c.json", value.to_string());
    let run = |arguments: &str| folder.limited("ulimit -v 4000000", arguments);
    run("audit challenge c.json --beacon 1 --elements 12 -o ch.json").expect(0);
    let digest = sha256(folder.read("c.json"));
    folder.write(
        "o.bin",
        format!("tcverify.opening/1\ncommitment={digest}\nbeacon=1\nelements=12\narrays=a,b,d\n\n"),
    );
    let cut = "it is cut off: after its head there are 0 bytes";
    run(VERIFY).expect(1).mentions(&[cut]);
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
    claims! {folder, "audit open --arch h100 --dtype bf16 generate:9:normal:24x70 generate:2:normal:70x9 d.npy \
    --commitment c.json --challenge ch.json -o o.bin | 1 | &the root of A is"}
}
