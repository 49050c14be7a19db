//! Audits of operations: rows, opened and computed again, are what the whole gives; what is wrong or of another rule is
//! found.

use super::{BEACON, challenge, json, tamper};
use crate::support::{Folder, Members, Run, claims, ran, read_rows, rows, set};

/// An operation on arrays that a seed determines.
struct Audited {
    words: &'static str,
    /// `NAME=SPEC`; those behind a star are cut by rows.
    arrays: &'static str,
}

/// Every kind of rule; rows of a batch, halves of a row, angles that a row's token chooses, a block that depends on the
/// number of rows.
const OPERATIONS: &str = "
    rms_norm --variant vllm --eps 1e-5 --dtype bf16 | *x=generate:1:normal:2x5x128 weight=generate:2:normal:1x128
    rms_norm --variant vllm --eps 1e-5 --dtype bf16 | *x=generate:1:normal:300x1024 weight=generate:2:normal:1x1024
    layer_norm --eps 1e-5 --dtype fp32 | *x=generate:1:normal:6x32 weight=generate:2:normal:1x32
    softmax --dtype fp16 | *x=generate:1:normal:3x4x32
    silu_and_mul --dtype bf16 | *x=generate:1:normal:7x16
    add --dtype fp16 | *x=generate:1:normal:5x8 *other=generate:2:normal:5x8
    rope --variant vllm --layout bhsd --dtype fp32
        | *x=generate:1:normal:2x3x4x16 cos=generate:2:normal:4x8 sin=generate:3:normal:4x8
    quantize_fp8 --variant vllm-group --group 16 --dtype bf16 | *x=generate:1:normal:6x64
    # One scale for all of it.
    quantize_fp8 --variant vllm-tensor --dtype bf16 | x=generate:1:normal:6x64
";

fn operations() -> Vec<Audited> {
    let of = |[words, arrays]: [&'static str; 2]| Audited { words, arrays };
    read_rows(OPERATIONS).into_iter().map(of).collect()
}

impl Audited {
    fn sources(&self) -> String {
        self.arrays.replace('*', "")
    }

    fn commit(&self, folder: &Folder) {
        let (words, arrays) = (self.words, self.sources());
        folder.passes(&format!("commit --op {words} {arrays} y=d.npy -o c.json"));
    }

    /// A result, and a commitment to it.
    fn committed(&self) -> Folder {
        let folder = Folder::new();
        let (words, arrays) = (self.words, self.sources());
        folder.passes(&format!("replay --op {words} {arrays} -o d.npy"));
        self.commit(&folder);
        folder
    }

    fn open(&self, folder: &Folder, rest: &str) -> Run {
        let (words, arrays) = (self.words, self.sources());
        folder.tcverify(&format!(
            "audit open --op {words} {arrays} y=d.npy --commitment c.json --challenge ch.json -o o.bin {rest}"
        ))
    }

    fn verify(&self, folder: &Folder, rest: &str) -> Run {
        // What is not needed is stated.
        let with = if self.words.starts_with("layer_norm") {
            "--with weight"
        } else {
            ""
        };
        verify(folder, self.words, &format!("{with} {rest}"))
    }
}

fn verify(folder: &Folder, words: &str, rest: &str) -> Run {
    ran! {folder, "audit verify --op {words} --commitment c.json --own-challenge ch.json o.bin {rest}"}
}

#[test]
fn rows_give_what_the_whole_gives() {
    for audited in operations() {
        let folder = audited.committed();
        let committed = json(&folder, "c.json");
        for array in audited.arrays.split(' ') {
            let (name, _) = array.split_once('=').unwrap();
            let (name, lines) = name
                .strip_prefix('*')
                .map_or((name, "whole"), |name| (name, "rows"));
            assert_eq!(
                committed["inputs"][name]["lines"], lines,
                "{array} of {}",
                audited.words
            );
        }
        let shape = committed["y"].list("shape").iter();
        let all: u64 = shape.map(|axis| axis.as_u64().unwrap()).product();
        let drawn = all.min(1500);
        challenge(&folder, BEACON, drawn).expect(0);
        audited.open(&folder, "").expect(0);
        let report = audited.verify(&folder, "--json -").expect(0).json();
        let verdict = ["identical", "identical_in_part"][usize::from(drawn < all)];
        assert_eq!(report["verdict"], verdict, "{}", audited.words);
        // One wrong bit of an element that is drawn.
        let format = committed["y"].string("format");
        if drawn < all || format == "fp32" {
            continue;
        }
        let index = json(&folder, "ch.json")["elements"][drawn as usize / 2].clone();
        let width = if format == "e4m3" { 1 } else { 2 };
        tamper(&folder, drawn as usize / 2, width);
        audited.commit(&folder);
        challenge(&folder, BEACON, drawn).expect(0);
        audited.open(&folder, "").expect(0);
        let report = audited.verify(&folder, "--json -").expect(1).json();
        assert_eq!(report["mismatches"], 1, "{}", audited.words);
        assert_eq!(report["wrong"][0]["index"], index, "{}", audited.words);
    }
}

/// A rule that is not the one that computed the result is found by its bits, and one that was not committed to is none.
#[test]
fn another_rule() {
    let norm = &operations()[0];
    let folder = norm.committed();
    challenge(&folder, BEACON, 320).expect(0);
    norm.open(&folder, "").expect(0);
    let eager = "rms_norm --variant hf-eager --eps 1e-5 --dtype bf16";
    let arrays = norm.sources();
    claims! {folder, "
        each audit verify ~ --commitment c.json --own-challenge ch.json o.bin
        --op {eager} | 1 | &but the commitment has
        --op rms_norm --variant vllm --eps 1e-6 --dtype bf16 | 1 | &but the commitment has
        --op layer_norm --eps 1e-5 --dtype bf16 | 1 | &but the commitment has
        --arch a100 --dtype bf16 | 1 | &--op
        each ~
        # A result of vLLM's, said to be Hugging Face's.
        commit --op {eager} {arrays} y=d.npy -o c.json | 0
        audit challenge c.json --beacon {BEACON} --elements 640 -o ch.json | 0
        audit open --op {eager} {arrays} y=d.npy --commitment c.json --challenge ch.json -o o.bin | 0
    "}
    let report = verify(&folder, eager, "--json -").expect(1).json();
    assert_ne!(report["mismatches"], 0);
}

/// What an auditor has is not opened, and must be what was committed.
#[test]
fn own_copies() {
    let folder = Folder::new();
    let weight: Vec<f32> = (0..128).map(|i| 1.0 + i as f32).collect();
    folder.f32("w.npy", &[128], &weight);
    folder.f32("other.npy", &[127], &weight[1..]);
    let words = "rms_norm --eps 1e-5 --dtype fp32";
    let arrays = "x=generate:1:normal:4x128 weight=w.npy";
    claims! {folder, "
        replay --op {words} {arrays} -o d.npy | 0
        commit --op {words} {arrays} y=d.npy -o c.json | 0
        audit challenge c.json --beacon {BEACON} --elements 512 -o ch.json | 0
        audit open --op {words} {arrays} y=d.npy --commitment c.json --challenge ch.json -o o.bin --without weight | 0
        audit verify --op {words} --commitment c.json --own-challenge ch.json o.bin | 1 | &(--own weight=FILE)
        each audit verify --op {words} --commitment c.json --own-challenge ch.json o.bin --own ~
        weight=w.npy | 0
        weight=other.npy | 1 | &weight
        weight | refused | NAME=FILE
    "}
}

/// Lines that are not as many as the result's rows are of no operation.
#[test]
fn hostile_commitments() {
    let norm = &operations()[0];
    let folder = norm.committed();
    let good = folder.document("c.json");
    for [place, value] in rows! {r#"
        inputs.x.lines | "columns"
        inputs.x.shape | [2, 4, 64]
        inputs.x.shape | [1099511627776, 1099511627776]
        y.shape | []
        y.block_rows | 0
        rule_sha256 | "00"
        parameters | []
    "#}
    {
        let mut bad = good.clone();
        set(&mut bad, place, value);
        folder.write("c.json", bad.to_string());
        challenge(&folder, BEACON, 3).refuses(&["c.json"]);
    }
}
