//! `commit`, and `check --against` it.

use serde_json::json;

use super::{MODEL, committed, edit, tampered};
use crate::support::{Folder, Members, Npy, Says, claims, floats, holds, rows, set, sha256};
use tcverify::commit::{Along, Lines};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

const AGAINST: &str = "check --arch ampere --dtype fp16 --against c.json";

#[test]
fn a_commitment_says_what_it_commits_to() {
    let folder = committed();
    let run = folder.passes(&format!("commit {MODEL} a.npy b.npy d.npy --block-rows 3"));
    assert_eq!(run.raw, folder.read("c.json"));
    let found = run.json();
    let input = |name: &str, shape: [usize; 2], along| {
        let along: Along = serde_json::from_value(json!(along)).unwrap();
        let lines = Lines::new(Format::Fp16, shape.to_vec(), along).unwrap();
        let payload = folder.payload(&format!("{name}.npy"));
        let tensor = Tensor::from_payload(Format::Fp16, shape.to_vec(), payload);
        let root = lines.root(name, lines.tree(&tensor).root());
        json!({"format": "fp16", "shape": shape, "lines": along, "root": root})
    };
    let inputs =
        json!({"a": input("a", [10, 3], "rows"), "b": input("b", [3, 2], "columns"), "c": null});
    assert_eq!(found["inputs"], inputs);
    holds! {found, "schema = tcverify.commitment/1 | d.block_rows = 3 | d.shape = [10, 2]"}
    assert_eq!(found.get("schedule"), None);
    let report = folder.json(&format!("check {MODEL} a.npy b.npy d.npy --json -"));
    assert_eq!(found["model_sha256"], report["rule"]["model"]["sha256"]);
    assert_eq!(found["product"], report["rule"]["product"]);
    let said = folder.stdout(&format!("commit {MODEL} a.npy b.npy d.npy -o again.json"));
    let digest = sha256(folder.read("again.json"));
    assert_eq!(said, format!("{digest}  again.json\n"));
}

#[test]
fn how_d_is_stored_makes_no_difference() {
    let folder = committed();
    let d: Vec<f32> = folder
        .codes32("d.npy")
        .into_iter()
        .map(f32::from_bits)
        .collect();
    let columns: Vec<f32> = (0..20).map(|i| d[i % 10 * 2 + i / 10]).collect();
    folder.save("f.npy", &Npy::fortran("<f4", &[10, 2], floats(&columns)));
    let wide: Vec<u8> = d.iter().flat_map(|&v| f64::from(v).to_be_bytes()).collect();
    folder.save("w.npy", &Npy::new(">f8", &[10, 2], wide));
    for file in ["f.npy", "w.npy"] {
        let run = folder.passes(&format!("commit {MODEL} a.npy b.npy {file} --block-rows 3"));
        assert_eq!(run.raw, folder.read("c.json"), "{file}");
        claims! {folder, "{AGAINST} a.npy b.npy {file} | 0"}
    }
}

#[test]
fn what_was_committed_is_judged_and_recorded() {
    let folder = committed();
    let report = folder.json(&format!("{AGAINST} a.npy b.npy d.npy --json -"));
    let digest = sha256(folder.read("c.json"));
    let root = &folder.document("c.json")["d"]["root"];
    assert_eq!(
        report["commitment"],
        json!({"path": "c.json", "file_sha256": digest, "root": root})
    );
    claims! {folder, "
        {AGAINST} a.npy b.npy d.npy --digests | 0 | commitment file  {digest}  c.json\\n
        {AGAINST} a.npy b.npy d.npy --rows 2..5 | 0
    "}
    let without = folder.json(&format!("check {MODEL} a.npy b.npy d.npy --json -"));
    assert_eq!(without.get("commitment"), None);
}

/// A commitment to a wrong D is kept: the verdict is that of the arithmetic.
#[test]
fn a_committed_d_can_still_be_wrong() {
    let folder = committed();
    folder.write("d.npy", tampered(&folder));
    claims! {folder, "
        commit {MODEL} a.npy b.npy d.npy -o c.json | 0
        {AGAINST} a.npy b.npy d.npy | 1 | ^DIFFERENT
    "}
}

#[test]
fn another_file_or_model_is_named() {
    let folder = committed();
    folder.write("e.npy", tampered(&folder));
    folder.flip("b.npy", "x.npy", 12, 1);
    let before = folder.names();
    claims! {folder, "
        {AGAINST} a.npy b.npy e.npy --json report.json | different | c.json | the root of D is
        {AGAINST} a.npy x.npy d.npy | different | the root of B is
        {AGAINST} a.npy x.npy e.npy | different | the root of B is | ; the root of D is
        {AGAINST} a.npy b.npy d.npy --c d.npy | different | C is given, but the commitment has none
        {AGAINST} a.npy b.npy d.npy --c d.npy --quiet | different | C is given
        check --arch volta --dtype fp16 --against c.json a.npy b.npy d.npy | different | the model's SHA-256 is
    "}
    assert_eq!(folder.names(), before, "a report was written");
}

#[test]
fn a_transposition_is_part_of_the_product() {
    let folder = Folder::new();
    folder.f16("s.npy", &[2, 2], &[1.0, 2.0, 2.0, 5.0]);
    claims! {folder, "
        replay {MODEL} s.npy s.npy -o d.npy | 0
        commit {MODEL} s.npy s.npy d.npy -o c.json | 0
        {AGAINST} s.npy s.npy d.npy | 0
        {AGAINST} s.npy s.npy d.npy --transpose-a | different
            | the product is [] of 2x2 transposed by 2x2, but the commitment has [] of 2x2 by 2x2
    "}
}

#[test]
fn scales_and_rounded_results_are_committed_to() {
    let folder = Folder::new();
    folder.save("a.npy", &Npy::new("|u1", &[2, 32], vec![0x22; 64]));
    folder.save("b.npy", &Npy::new("|u1", &[32, 2], vec![0x22; 64]));
    folder.save("s.npy", &Npy::new("|u1", &[2, 1], vec![127, 128]));
    folder.save("t.npy", &Npy::new("|u1", &[1, 2], vec![127, 126]));
    folder.save("u.npy", &Npy::new("|u1", &[2, 1], vec![127, 129]));
    let model = "--arch b200 --instruction tcgen05-mxf8f6f4 --dtype e4m3 --scale-dtype ue8m0 a.npy b.npy --d-dtype bf16 \
                 --scale-b t.npy";
    claims! {folder, "
        replay {model} --scale-a s.npy -o d.npy | 0
        commit {model} --scale-a s.npy d.npy -o c.json | 0
        check {model} --scale-a s.npy d.npy --against c.json | 0
        check {model} --scale-a u.npy d.npy --against c.json | different | the root of the scales of A is
    "}
}

#[test]
fn the_scale_of_results_is_committed_to() {
    let product = "--arch h100 --dtype e4m3 --schedule cublas-nvjet-fp8 --d-dtype e4m3 generate:1:normal:4x128 \
                   generate:2:normal:128x8";
    // All results saturate: D is the same for larger scales.
    claims! {Folder::new(), "
        replay {product} --scale-result 1000000 -o d.npy | 0
        commit {product} --scale-result 1000000 d.npy -o c.json | 0
        check {product} --scale-result 1000000 d.npy --against c.json | 0 | scale of D 1000000
        check {product} --scale-result 2000000 d.npy | 0
        check {product} --scale-result 2000000 d.npy --against c.json | different | as the result's scale
        check {product} d.npy --against c.json | different | no scale of the result
    "}
}

#[test]
fn options_that_do_not_go_together() {
    let folder = committed();
    let digest = sha256("");
    let before = ["c.json", "d.npy"].map(|name| folder.read(name));
    claims! {folder, "
        check {MODEL} --against c.json a.npy b.npy --d-digest {digest} | 2 | --d-digest | --against
        commit {MODEL} a.npy b.npy | 2 | <D.npy>
        commit {MODEL} a.npy b.npy d.npy --block-rows 0 | 2
        commit {MODEL} a.npy b.npy d.npy -o d.npy | refused | d.npy | would overwrite
        each {AGAINST} a.npy b.npy d.npy ~ | refused | c.json | would overwrite
        --json c.json
        --html c.json
        --junit c.json
        --markdown c.json
    "}
    assert_eq!(["c.json", "d.npy"].map(|name| folder.read(name)), before);
}

/// A field of the commitment that is another is found, whichever it is.
#[test]
fn every_field_counts() {
    let folder = committed();
    let digest = sha256("another");
    for [at, value, code] in rows! {r#"
        model_sha256 | "{digest}" | 1
        inputs.a.root | "{digest}" | 1
        inputs.a.format | "bf16" | 1
        inputs.b.shape | [2, 3] | 2
        inputs.c | {{"format": "fp32", "shape": [10, 2], "lines": "rows", "root": "{digest}"}} | 1
        product.k | 4 | 2
        product.m | 9 | 2
        product.transpose_b | true | 2
        d.block_rows | 4 | 1
        d.format | "fp16" | 1
        d.shape | [5, 4] | 2
        d.root | "{digest}" | 1
        schema | "tcverify.commitment/3" | 2
    "#}
    {
        edit(&folder, "c.json", "other.json", |document| {
            set(document, at, value)
        });
        claims! {folder, "check {MODEL} --against other.json a.npy b.npy d.npy | {code} | &other.json"}
    }
}

/// Every form of the report names the root; a schedule is a part of what is committed.
#[test]
fn reports_name_the_commitment_and_commitments_the_schedule() {
    let folder = committed();
    claims! {folder, "
        {AGAINST} a.npy b.npy d.npy --html r.html --junit r.xml --markdown r.md | 0
        commit {MODEL} --schedule cutlass-sm80 --alpha 1 a.npy b.npy d.npy -o s.json | 0
        each check {MODEL} a.npy b.npy d.npy --against s.json ~
        --schedule cutlass-sm80 --alpha 1 | 0
        --schedule cutlass-sm80 --tile-k 64 | 1 | &the schedule is
        --schedule cutlass-sm80 --alpha 2 | 1 | &the schedule is
        each ~
        check {MODEL} a.npy b.npy d.npy --against s.json | 1 | &the schedule is
    "}
    let commitment = folder.document("c.json");
    for name in ["r.html", "r.xml", "r.md"] {
        folder.text(name).says(commitment["d"].string("root"));
    }
    assert_eq!(folder.document("s.json")["schedule"]["alpha"], "3f800000");
}
