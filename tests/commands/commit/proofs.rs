//! `commit prove` and `commit verify`.

use serde_json::{Value, json};
use tcverify::io::tree::{Hash, node};

use super::{MODEL, column, committed, edit, tampered};
use crate::support::{Folder, Npy, claims, floats, holds, rows, set, sha256, table};

const VERIFY: &str = "commit verify --commitment c.json";

/// The commitment, and a proof of blocks 1 and 3 with their rows.
fn proven() -> Folder {
    let folder = committed();
    folder.passes("commit prove --commitment c.json --blocks 3,1,3 d.npy -o p.json --rows r.npy");
    folder
}

/// A proof changed in this way proves nothing, with or without rows.
#[track_caller]
fn refused(folder: &Folder, change: impl FnOnce(&mut Value), words: &str) {
    edit(folder, "p.json", "x.json", change);
    claims! {folder, "
        {VERIFY} x.json | different | x.json: proves nothing | {words}
        {VERIFY} x.json r.npy | different | x.json: proves nothing | {words}
    "}
}

#[test]
fn blocks_are_proven_with_and_without_their_rows() {
    let folder = proven();
    let proof: Value = folder.document("p.json");
    let commitment: Value = folder.document("c.json");
    holds! {proof, "schema = tcverify.proof/1 | blocks.0.block = 1 | blocks.1.block = 3 | blocks.2 = null"}
    assert_eq!(proof["root"], commitment["d"]["root"]);
    // Rows 3 to 5 and row 9, of 8 bytes each.
    let d = &folder.payload("d.npy");
    assert_eq!(folder.payload("r.npy"), [&d[24..48], &d[72..80]].concat());
    assert_eq!(
        proof["blocks"][0]["leaf"],
        sha256([&[0], &d[24..48]].concat())
    );
    assert_eq!(
        folder.stdout(&format!("{VERIFY} p.json r.npy")),
        "proven  block 1, rows 3 to 5\nproven  block 3, rows 9 to 9\n\
         r.npy has the rows of these blocks of the committed D (4 blocks)\n"
    );
    let without = folder.stdout(&format!("{VERIFY} p.json"));
    assert!(without.ends_with("no rows were given\n"), "{without}");
    assert_eq!(folder.stdout(&format!("{VERIFY} p.json r.npy -q")), "");
}

#[test]
fn every_block_of_every_size() {
    for rows in 1..=9 {
        let folder = Folder::new();
        let values: Vec<f32> = (0..rows).map(|i| i as f32).collect();
        folder.f16("a.npy", &[rows, 1], &values);
        folder.f16("b.npy", &[1, 1], &[1.0]);
        folder.save("d.npy", &column(&values));
        let blocks: Vec<_> = (0..rows.div_ceil(2)).map(|b| b.to_string()).collect();
        let (count, blocks) = (blocks.len(), blocks.join(","));
        let prove = "commit prove --commitment c.json d.npy -o p.json --rows r.npy --blocks";
        claims! {folder, "
            commit {MODEL} a.npy b.npy d.npy --block-rows 2 -o c.json | 0
            {prove} {blocks} | 0
            {VERIFY} p.json r.npy | 0
            {prove} {count} | refused | --blocks requests block | 0 to
        "}
        assert_eq!(folder.payload("r.npy"), folder.payload("d.npy"));
    }
}

#[test]
fn only_the_committed_d_is_proven() {
    let folder = proven();
    folder.write("e.npy", tampered(&folder));
    let before = folder.names();
    claims! {folder, "
        each commit prove --commitment c.json --blocks 0 ~
        e.npy -o q.json --rows s.npy | different | e.npy | its root is | the commitment has
        a.npy -o q.json --rows s.npy | different | a.npy | is [10, 3], but the commitment has [10, 2]
        d.npy -o q.json --rows q.json | refused | cannot go to the same place
        d.npy -o d.npy | refused | d.npy | would overwrite
        d.npy -o c.json | refused | c.json | would overwrite
    "}
    assert_eq!(folder.names(), before);
}

#[test]
fn other_rows_are_refused() {
    let folder = proven();
    let mut rows = folder.read("r.npy");
    for at in 128..rows.len() {
        rows[at] ^= 1;
        folder.write("x.npy", &rows);
        let block = if at < 128 + 24 { 1 } else { 3 };
        claims! {folder, "{VERIFY} p.json x.npy | different | the rows of block {block} differ"}
        rows[at] ^= 1;
    }
    // Of other blocks, too few, or of another shape.
    let d = folder.payload("d.npy");
    for (shape, bytes, words) in table! {
        ([4, 2], [&d[72..80], &d[24..48]].concat(), "the rows of block 1 differ"),
        ([3, 2], d[24..48].to_vec(), "[3, 2], but these blocks have | [4, 2]"),
        ([2, 4], [&d[24..48], &d[72..80]].concat(), "[2, 4]"),
    } {
        folder.save("x.npy", &Npy::new("<f4", &shape, bytes));
        claims! {folder, "{VERIFY} p.json x.npy | different | {words}"}
    }
    folder.save("x.npy", &Npy::new("<f8", &[4, 2], vec![0x11; 64]));
    claims! {folder, "
        {VERIFY} p.json missing.npy | refused | missing.npy
        {VERIFY} p.json x.npy | refused | x.npy | fp32 cannot represent
    "}
}

#[test]
fn a_tampered_proof_proves_nothing() {
    let folder = proven();
    let lead = "does not lead to the committed root";
    let digest = sha256("another");
    for [at, value, words] in rows! {r#"
        blocks.0.leaf | "{digest}" | block 1 | {lead}
        blocks.1.path.0 | "{digest}" | block 3 | {lead}
        blocks.0.path.1 | "{digest}" | block 1 | {lead}
        root | "{digest}" | it is for the root
        blocks.0.block | 0 | block 0 | {lead}
        blocks.0.block | 2 | block 2 | {lead}
        blocks.1.block | 4 | no block 4 | 0 to 3
        blocks.1.block | 18446744073709551615 | no block
        blocks | [] | it has no blocks
        blocks.0.path | [] | the path of block 1 has | not the right number
    "#}
    {
        refused(&folder, |document| set(document, at, value), words);
    }
}

#[test]
fn blocks_in_another_order_prove_nothing() {
    let folder = proven();
    let swap = |p: &mut Value| p["blocks"].as_array_mut().unwrap().swap(0, 1);
    refused(&folder, swap, "not in ascending order");
    let twice = |p: &mut Value| p["blocks"][1] = p["blocks"][0].clone();
    refused(&folder, twice, "not in ascending order");
    // Payloads swapped under their numbers.
    let exchange = |p: &mut Value| {
        let leaf = p["blocks"][0]["leaf"].take();
        p["blocks"][0]["leaf"] = p["blocks"][1]["leaf"].take();
        p["blocks"][1]["leaf"] = leaf;
    };
    refused(&folder, exchange, "does not lead");
}

#[test]
fn a_path_too_short_or_too_long_proves_nothing() {
    let folder = proven();
    type Change = fn(&mut Vec<Value>);
    let changes: [Change; 3] = [
        |path| drop(path.pop()),
        |path| path.push(path[0].clone()),
        |path| *path = vec![json!(sha256("")); 1000],
    ];
    for change in changes {
        let change = |p: &mut Value| change(p["blocks"][0]["path"].as_array_mut().unwrap());
        refused(
            &folder,
            change,
            "the path of block 1 has | not the right number",
        );
    }
}

/// A proof from the same D, cut into another number of blocks, and a node passed off as a leaf.
#[test]
fn a_proof_for_another_tree_proves_nothing() {
    let folder = proven();
    claims! {folder, "
        commit {MODEL} a.npy b.npy d.npy --block-rows 2 -o other.json | 0
        commit prove --commitment other.json --blocks 1 d.npy -o q.json | 0
        {VERIFY} q.json | different | it is for the root
    "}
    edit(&folder, "q.json", "x.json", |proof| {
        proof["root"] = folder.document("c.json")["d"]["root"].clone();
    });
    claims! {folder, "{VERIFY} x.json | different | proves nothing | block 1"}

    // Four blocks: the upper two hashes of the tree look like a tree of two blocks, of six rows each.
    let block = folder.document("p.json")["blocks"][0].clone();
    let hash = |value: &Value| Hash::parse(value.as_str().unwrap()).unwrap();
    let left = node(hash(&block["path"][0]), hash(&block["leaf"]));
    let upper = json!([{"block": 0, "leaf": left, "path": [block["path"][1]]}]);
    edit(&folder, "c.json", "coarse.json", |c| {
        c["d"]["block_rows"] = json!(6)
    });
    refused(
        &folder,
        |p| p["blocks"] = upper,
        "the path of block 0 has 1 hashes",
    );
    claims! {folder, "commit verify --commitment coarse.json x.json | different
    | block 0 does not lead to the committed root"}
}

/// The root binds format, shape and height of blocks: other words for the same bytes are refused.
#[test]
fn a_commitment_read_otherwise_refuses_the_proof() {
    let folder = proven();
    let shaped = r#"d.shape [2,5,2] product.batch [2] product.m 5 inputs.a.shape [2,5,3] inputs.b.shape [2,3,2]"#;
    for (changes, rows) in table! {
        (r#"d.format "int32""#, ""),
        ("d.block_rows 4", ""),
        (shaped, "r.npy"),
    } {
        edit(&folder, "c.json", "other.json", |commitment| {
            let words: Vec<&str> = changes.split(' ').collect();
            words
                .chunks(2)
                .for_each(|change| set(commitment, change[0], change[1]));
        });
        claims! {folder, "commit verify --commitment other.json p.json {rows} | different
        | does not lead to the committed root"}
    }
}

#[test]
fn batches_fortran_order_and_containers() {
    let folder = Folder::new();
    let codes: Vec<f32> = (0..12).map(|i| i as f32).collect();
    folder.f16("a.npy", &[2, 3, 1], &codes[..6]);
    folder.f16("b.npy", &[2, 1, 2], &[1.0; 4]);
    claims! {folder, "
        replay --arch ampere --dtype fp16 a.npy b.npy -o d.npy | 0
        commit {MODEL} a.npy b.npy d.npy --block-rows 4 -o c.json | 0
    "}
    // The second block begins in the second matrix.
    let d = folder.codes32("d.npy");
    let from = |at: usize| f32::from_bits(d[at % 2 * 6 + at / 2 % 3 * 2 + at / 6]);
    let turned: Vec<f32> = (0..12).map(from).collect();
    folder.save("f.npy", &Npy::fortran("<f4", &[2, 3, 2], floats(&turned)));
    claims! {folder, "
        commit prove --commitment c.json --blocks 1 f.npy -o p.json --rows r.npy | 0
        {VERIFY} p.json r.npy | 0
    "}
    assert_eq!(folder.payload("r.npy"), folder.payload("d.npy")[32..48]);
}
