//! `commit prove` and `commit verify`.

use serde_json::{Value, json};
use tcverify::io::tree::{Hash, node};

use super::{column, commit, committed, different, edit, tampered};
use crate::support::{Folder, Members, Npy, claims, floats, listed, rows, set, sha256};

/// The commitment, and a proof of blocks 1 and 3 with their rows.
fn proven() -> Folder {
    let folder = committed();
    folder.passes("commit prove --commitment c.json --blocks 3,1,3 d.npy -o p.json --rows r.npy");
    folder
}

fn verify(folder: &Folder, arguments: &str) -> crate::support::Run {
    folder.tcverify(&format!("commit verify --commitment c.json {arguments}"))
}

/// A proof changed in this way proves nothing, with or without rows.
#[track_caller]
fn refused(folder: &Folder, change: impl FnOnce(&mut Value), words: &[&str]) {
    edit(folder, "p.json", "x.json", change);
    let words = [&["x.json: proves nothing"], words].concat();
    different(verify(folder, "x.json"), &words);
    different(verify(folder, "x.json r.npy"), &words);
}

#[test]
fn blocks_are_proven_with_and_without_their_rows() {
    let folder = proven();
    let proof: Value = folder.document("p.json");
    let commitment: Value = folder.document("c.json");
    assert_eq!(proof["schema"], "tcverify.proof/1");
    assert_eq!(proof["root"], commitment["d"]["root"]);
    let blocks = proof.list("blocks");
    let numbers: Vec<_> = blocks.iter().map(|b| b.number("block")).collect();
    assert_eq!(numbers, [1, 3]);
    // Rows 3 to 5 and row 9, of 8 bytes each.
    let d = &folder.read("d.npy")[128..];
    assert_eq!(
        folder.read("r.npy")[128..],
        [&d[24..48], &d[72..80]].concat()
    );
    assert_eq!(blocks[0]["leaf"], sha256([&[0], &d[24..48]].concat()));
    let run = verify(&folder, "p.json r.npy").expect(0);
    assert_eq!(
        run.stdout,
        "proven  block 1, rows 3 to 5\nproven  block 3, rows 9 to 9\n\
         r.npy has the rows of these blocks of the committed D (4 blocks)\n"
    );
    let run = verify(&folder, "p.json").expect(0);
    assert!(run.stdout.ends_with("no rows were given\n"), "{run:?}");
    assert_eq!(verify(&folder, "p.json r.npy -q").expect(0).stdout, "");
}

#[test]
fn every_block_of_every_size() {
    for rows in 1..=9 {
        let folder = Folder::new();
        let values: Vec<f32> = (0..rows).map(|i| i as f32).collect();
        let halves = crate::support::halves(&values);
        folder.save("a.npy", &Npy::new("<f2", &[rows, 1], halves));
        folder.save("b.npy", &Npy::new("<f2", &[1, 1], vec![0, 0x3c]));
        folder.save("d.npy", &column(&values));
        commit(&folder, "a.npy b.npy d.npy --block-rows 2 -o c.json").expect(0);
        let blocks: Vec<_> = (0..rows.div_ceil(2)).map(|b| b.to_string()).collect();
        let prove = "commit prove --commitment c.json d.npy -o p.json --rows r.npy --blocks";
        folder.passes(&format!("{prove} {}", blocks.join(",")));
        verify(&folder, "p.json r.npy").expect(0);
        assert_eq!(folder.read("r.npy")[128..], folder.read("d.npy")[128..]);
        let beyond = format!("{prove} {}", blocks.len());
        claims! {folder, "{beyond} | refused | --blocks requests block | 0 to"}
    }
}

#[test]
fn only_the_committed_d_is_proven() {
    let folder = proven();
    folder.write("e.npy", tampered(&folder));
    let before = folder.names();
    let prove = |d: &str| {
        let run = format!("commit prove --commitment c.json --blocks 0 {d} -o q.json --rows s.npy");
        folder.tcverify(&run)
    };
    different(
        prove("e.npy"),
        &["e.npy", "its root is", "the commitment has"],
    );
    different(
        prove("a.npy"),
        &["a.npy", "is [10, 3], but the commitment has [10, 2]"],
    );
    assert_eq!(folder.names(), before);
    let same = "commit prove --commitment c.json --blocks 0 d.npy -o q.json --rows q.json";
    claims! {folder, "{same} | refused | cannot go to the same place"}
    let over = "commit prove --commitment c.json --blocks 0 d.npy -o d.npy";
    folder.tcverify(over).refuses(&["d.npy", "would overwrite"]);
    let over = "commit prove --commitment c.json --blocks 0 d.npy -o c.json";
    claims! {folder, "{over} | refused | c.json | would overwrite"}
}

#[test]
fn other_rows_are_refused() {
    let folder = proven();
    let mut rows = folder.read("r.npy");
    for at in 128..rows.len() {
        rows[at] ^= 1;
        folder.write("x.npy", &rows);
        let block = if at < 128 + 24 { 1 } else { 3 };
        different(
            verify(&folder, "p.json x.npy"),
            &[&format!("the rows of block {block} differ")],
        );
        rows[at] ^= 1;
    }
    // Of other blocks, too few, or of another shape.
    let d = folder.read("d.npy")[128..].to_vec();
    let save = |shape: &[usize], bytes: &[u8]| {
        folder.save("x.npy", &Npy::new("<f4", shape, bytes.to_vec()));
    };
    save(&[4, 2], &[&d[72..80], &d[24..48]].concat());
    different(
        verify(&folder, "p.json x.npy"),
        &["the rows of block 1 differ"],
    );
    save(&[3, 2], &d[24..48]);
    different(
        verify(&folder, "p.json x.npy"),
        &["[3, 2], but these blocks have", "[4, 2]"],
    );
    save(&[2, 4], &[&d[24..48], &d[72..80]].concat());
    different(verify(&folder, "p.json x.npy"), &["[2, 4]"]);
    verify(&folder, "p.json missing.npy").refuses(&["missing.npy"]);
    folder.save("x.npy", &Npy::new("<f8", &[4, 2], vec![0x11; 64]));
    verify(&folder, "p.json x.npy").refuses(&["x.npy", "fp32 cannot represent"]);
}

#[test]
fn a_tampered_proof_proves_nothing() {
    let folder = proven();
    let lead = "does not lead to the committed root";
    let digest = sha256("another");
    for [at, value, said_all] in rows! {r#"
        blocks.0.leaf | "{digest}" | block 1 | {lead}
        blocks.1.path.0 | "{digest}" | block 3 | {lead}
        blocks.0.path.1 | "{digest}" | block 1 | {lead}
        root | "{digest}" | it is for the root
        blocks.0.block | 0 | block 0 | {lead}
        blocks.0.block | 2 | block 2 | {lead}
        blocks.1.block | 4 | no block 4 | 0 to 3
        blocks.1.block | 18446744073709551615 | no block
    "#}
    {
        refused(
            &folder,
            |document| set(document, at, value),
            &listed(said_all),
        );
    }
}

#[test]
fn blocks_in_another_order_or_none_prove_nothing() {
    let folder = proven();
    let swap = |p: &mut Value| p["blocks"].as_array_mut().unwrap().swap(0, 1);
    refused(&folder, swap, &["not in ascending order"]);
    refused(
        &folder,
        |p| p["blocks"][1] = p["blocks"][0].clone(),
        &["not in ascending order"],
    );
    refused(&folder, |p| p["blocks"] = json!([]), &["it has no blocks"]);
    // Payloads swapped under their numbers.
    let exchange = |p: &mut Value| {
        let leaf = p["blocks"][0]["leaf"].take();
        p["blocks"][0]["leaf"] = p["blocks"][1]["leaf"].take();
        p["blocks"][1]["leaf"] = leaf;
    };
    refused(&folder, exchange, &["does not lead"]);
}

#[test]
fn a_path_too_short_or_too_long_proves_nothing() {
    let folder = proven();
    let path = |p: &mut Value| p["blocks"][0]["path"].as_array_mut().unwrap().clone();
    let words = ["the path of block 1 has", "not the right number"];
    refused(
        &folder,
        |p| {
            let mut shorter = path(p);
            shorter.pop();
            p["blocks"][0]["path"] = json!(shorter);
        },
        &words,
    );
    refused(
        &folder,
        |p| {
            let mut longer = path(p);
            longer.push(longer[0].clone());
            p["blocks"][0]["path"] = json!(longer);
        },
        &words,
    );
    refused(&folder, |p| p["blocks"][0]["path"] = json!([]), &words);
    let endless = vec![json!(sha256("")); 1000];
    refused(&folder, |p| p["blocks"][0]["path"] = json!(endless), &words);
}

/// A proof from the same D, cut into another number of blocks, and a node passed off as a leaf.
#[test]
fn a_proof_for_another_tree_proves_nothing() {
    let folder = proven();
    commit(&folder, "a.npy b.npy d.npy --block-rows 2 -o other.json").expect(0);
    folder.passes("commit prove --commitment other.json --blocks 1 d.npy -o q.json");
    different(verify(&folder, "q.json"), &["it is for the root"]);
    edit(&folder, "q.json", "x.json", |proof| {
        let commitment: Value = folder.document("c.json");
        proof["root"] = commitment["d"]["root"].clone();
    });
    different(verify(&folder, "x.json"), &["proves nothing", "block 1"]);

    // Four blocks: the upper two hashes of the tree look like a tree of two blocks, of six rows each.
    let proof: Value = folder.document("p.json");
    let hash = |value: &Value| Hash::parse(value.as_str().unwrap()).unwrap();
    let (leaf, path) = (
        hash(&proof["blocks"][0]["leaf"]),
        &proof["blocks"][0]["path"],
    );
    let left = node(hash(&path[0]), leaf);
    edit(&folder, "c.json", "coarse.json", |c| {
        c["d"]["block_rows"] = json!(6)
    });
    edit(&folder, "p.json", "x.json", |p| {
        p["blocks"] = json!([{"block": 0, "leaf": left, "path": [path[1]]}]);
    });
    let run = folder.tcverify("commit verify --commitment coarse.json x.json");
    different(run, &["block 0 does not lead to the committed root"]);
    refused(
        &folder,
        |p| p["blocks"] = json!([{"block": 0, "leaf": left, "path": [path[1]]}]),
        &["the path of block 0 has 1 hashes"],
    );
}

/// The root binds format, shape and height of blocks: other words for the same bytes are refused.
#[test]
fn a_commitment_read_otherwise_refuses_the_proof() {
    let folder = proven();
    for (change, rows) in [
        (
            (|c: &mut Value| c["d"]["format"] = json!("int32")) as fn(&mut Value),
            false,
        ),
        (|c| c["d"]["block_rows"] = json!(4), false),
        (
            |c| {
                c["d"]["shape"] = json!([2, 5, 2]);
                c["product"]["batch"] = json!([2]);
                c["product"]["m"] = json!(5);
                c["inputs"]["a"]["shape"] = json!([2, 5, 3]);
                c["inputs"]["b"]["shape"] = json!([2, 3, 2]);
            },
            true,
        ),
    ] {
        edit(&folder, "c.json", "other.json", change);
        let rows = if rows { "r.npy" } else { "" };
        let run = format!("commit verify --commitment other.json p.json {rows}");
        different(
            folder.tcverify(&run),
            &["does not lead to the committed root"],
        );
    }
}

#[test]
fn batches_fortran_order_and_containers() {
    let folder = Folder::new();
    let codes: Vec<f32> = (0..12).map(|i| i as f32).collect();
    folder.save(
        "a.npy",
        &Npy::new("<f2", &[2, 3, 1], crate::support::halves(&codes[..6])),
    );
    folder.save(
        "b.npy",
        &Npy::new("<f2", &[2, 1, 2], crate::support::halves(&[1.0; 4])),
    );
    folder.passes("replay --arch ampere --dtype fp16 a.npy b.npy -o d.npy");
    commit(&folder, "a.npy b.npy d.npy --block-rows 4 -o c.json").expect(0);
    // The second block begins in the second matrix.
    let d = folder.read("d.npy")[128..].to_vec();
    let number = |at: usize| f32::from_le_bytes(d[4 * at..4 * at + 4].try_into().unwrap());
    let mut turned = Vec::new();
    for j in 0..2 {
        for i in 0..3 {
            for batch in 0..2 {
                turned.push(number(batch * 6 + i * 2 + j));
            }
        }
    }
    folder.save("f.npy", &Npy::fortran("<f4", &[2, 3, 2], floats(&turned)));
    folder.passes("commit prove --commitment c.json --blocks 1 f.npy -o p.json --rows r.npy");
    assert_eq!(folder.read("r.npy")[128..], d[32..48]);
    verify(&folder, "p.json r.npy").expect(0);
}
