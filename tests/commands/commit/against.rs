//! `commit`, and `check --against` it.

use serde_json::{Value, json};

use super::{MODEL, commit, committed, different, edit, tampered};
use crate::support::{Folder, Members, Npy, Run, Says, claims, floats, halves, holds, sha256};
use tcverify::commit::{Along, Lines};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

fn check(folder: &Folder, arguments: &str) -> Run {
    folder.tcverify(&format!("check {MODEL} --against c.json {arguments}"))
}

#[test]
fn a_commitment_says_what_it_commits_to() {
    let folder = committed();
    let run = commit(&folder, "a.npy b.npy d.npy --block-rows 3").expect(0);
    assert_eq!(run.raw, folder.read("c.json"));
    let found = run.json();
    assert_eq!(found["schema"], "tcverify.commitment/1");
    let input = |name: &str, shape: [usize; 2], along| {
        let along: Along = serde_json::from_value(json!(along)).unwrap();
        let lines = Lines::new(Format::Fp16, shape.to_vec(), along).unwrap();
        let payload = folder.read(&format!("{name}.npy"))[128..].to_vec();
        let tensor = Tensor::from_payload(Format::Fp16, shape.to_vec(), payload);
        let root = lines.root(name, lines.tree(&tensor).root());
        json!({"format": "fp16", "shape": shape, "lines": along, "root": root})
    };
    assert_eq!(
        found["inputs"],
        json!({"a": input("a", [10, 3], "rows"), "b": input("b", [3, 2], "columns"), "c": null})
    );
    holds! {found, "d.block_rows = 3 | d.shape = [10, 2]"}
    assert_eq!(found.get("schedule"), None);
    let report = folder.tcverify(&format!("check {MODEL} a.npy b.npy d.npy --json -"));
    let report = report.expect(0).json();
    assert_eq!(found["model_sha256"], report["rule"]["model"]["sha256"]);
    assert_eq!(found["product"], report["rule"]["product"]);
    let run = commit(&folder, "a.npy b.npy d.npy -o again.json").expect(0);
    let digest = sha256(folder.read("again.json"));
    assert_eq!(run.stdout, format!("{digest}  again.json\n"));
}

#[test]
fn how_d_is_stored_makes_no_difference() {
    let folder = committed();
    let d: Vec<f32> = folder.read("d.npy")[128..]
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let columns: Vec<f32> = [0, 1]
        .iter()
        .flat_map(|j| (0..10).map(|i| d[2 * i + j]).collect::<Vec<_>>())
        .collect();
    folder.save("f.npy", &Npy::fortran("<f4", &[10, 2], floats(&columns)));
    let wide: Vec<u8> = d.iter().flat_map(|&v| f64::from(v).to_be_bytes()).collect();
    folder.save("w.npy", &Npy::new(">f8", &[10, 2], wide));
    for file in ["f.npy", "w.npy"] {
        let run = commit(&folder, &format!("a.npy b.npy {file} --block-rows 3")).expect(0);
        assert_eq!(run.raw, folder.read("c.json"), "{file}");
        check(&folder, &format!("a.npy b.npy {file}")).expect(0);
    }
}

#[test]
fn what_was_committed_is_judged_and_recorded() {
    let folder = committed();
    let report = check(&folder, "a.npy b.npy d.npy --json -")
        .expect(0)
        .json();
    let commitment: serde_json::Value = folder.document("c.json");
    assert_eq!(
        report["commitment"],
        json!({
            "path": "c.json",
            "file_sha256": sha256(folder.read("c.json")),
            "root": commitment["d"]["root"],
        })
    );
    let text = check(&folder, "a.npy b.npy d.npy --digests")
        .expect(0)
        .stdout;
    let line = format!(
        "    commitment file  {}  c.json\n",
        sha256(folder.read("c.json"))
    );
    assert!(text.contains(&line), "{text}");
    assert_eq!(
        folder
            .json(&format!("check {MODEL} a.npy b.npy d.npy --json -"))
            .get("commitment"),
        None
    );
    check(&folder, "a.npy b.npy d.npy --rows 2..5").expect(0);
}

/// A commitment to a wrong D is kept: the verdict is that of the arithmetic.
#[test]
fn a_committed_d_can_still_be_wrong() {
    let folder = committed();
    folder.write("d.npy", tampered(&folder));
    commit(&folder, "a.npy b.npy d.npy -o c.json").expect(0);
    let run = check(&folder, "a.npy b.npy d.npy").expect(1);
    run.begins("DIFFERENT");
}

#[test]
fn another_file_or_model_is_named() {
    let folder = committed();
    folder.write("e.npy", tampered(&folder));
    let before = folder.names();
    let json = "--json report.json";
    different(
        check(&folder, &format!("a.npy b.npy e.npy {json}")),
        &["c.json", "the root of D is"],
    );
    assert_eq!(folder.names(), before, "a report was written");
    let mut b = folder.read("b.npy");
    b[128] ^= 1;
    folder.write("x.npy", b);
    different(check(&folder, "a.npy x.npy d.npy"), &["the root of B is"]);
    different(
        check(&folder, "a.npy x.npy e.npy"),
        &["the root of B is", "; the root of D is"],
    );
    different(
        check(&folder, "a.npy b.npy d.npy --c d.npy"),
        &["C is given, but the commitment has none"],
    );
    let other = "check --arch volta --dtype fp16 --against c.json a.npy b.npy d.npy";
    different(folder.tcverify(other), &["the model's SHA-256 is"]);
    different(
        check(&folder, "a.npy b.npy d.npy --c d.npy --quiet"),
        &["C is given"],
    );
}

#[test]
fn a_transposition_is_part_of_the_product() {
    let folder = Folder::new();
    folder.save(
        "s.npy",
        &Npy::new("<f2", &[2, 2], halves(&[1.0, 2.0, 2.0, 5.0])),
    );
    folder.passes(&format!("replay {MODEL} s.npy s.npy -o d.npy"));
    commit(&folder, "s.npy s.npy d.npy -o c.json").expect(0);
    check(&folder, "s.npy s.npy d.npy").expect(0);
    different(
        check(&folder, "s.npy s.npy d.npy --transpose-a"),
        &["the product is [] of 2x2 transposed by 2x2, but the commitment has [] of 2x2 by 2x2"],
    );
}

#[test]
fn scales_and_rounded_results_are_committed_to() {
    let folder = Folder::new();
    folder.save("a.npy", &Npy::new("|u1", &[2, 32], vec![0x22; 64]));
    folder.save("b.npy", &Npy::new("|u1", &[32, 2], vec![0x22; 64]));
    folder.save("s.npy", &Npy::new("|u1", &[2, 1], vec![127, 128]));
    folder.save("t.npy", &Npy::new("|u1", &[1, 2], vec![127, 126]));
    let model =
        "--arch b200 --instruction tcgen05-mxf8f6f4 --dtype e4m3 --scale-dtype ue8m0 a.npy b.npy";
    let scales = "--scale-a s.npy --scale-b t.npy --d-dtype bf16";
    folder.passes(&format!("replay {model} {scales} -o d.npy"));
    folder.passes(&format!("commit {model} {scales} d.npy -o c.json"));
    let check = |scales: &str| {
        let run = format!("check {model} {scales} d.npy --d-dtype bf16 --against c.json");
        folder.tcverify(&run)
    };
    check("--scale-a s.npy --scale-b t.npy").expect(0);
    folder.save("u.npy", &Npy::new("|u1", &[2, 1], vec![127, 129]));
    different(
        check("--scale-a u.npy --scale-b t.npy"),
        &["the root of the scales of A is"],
    );
}

#[test]
fn the_scale_of_results_is_committed_to() {
    let folder = Folder::new();
    let product = "--arch h100 --dtype e4m3 --schedule cublas-nvjet-fp8 --d-dtype e4m3 \
        generate:1:normal:4x128 generate:2:normal:128x8";
    let with = |command: &str, scale: &str, rest: &str| {
        folder.tcverify(&format!("{command} {product} {scale} {rest}"))
    };
    // All results saturate: D is the same for larger scales.
    let scale = "--scale-result 1000000";
    with("replay", scale, "-o d.npy").expect(0);
    with("commit", scale, "d.npy -o c.json").expect(0);
    let check = |scale: &str| with("check", scale, "d.npy --against c.json");
    let report = check(scale).expect(0);
    report.says("scale of D 1000000");
    with("check", "--scale-result 2000000", "d.npy").expect(0);
    different(check("--scale-result 2000000"), &["as the result's scale"]);
    different(check(""), &["no scale of the result"]);
}

#[test]
fn options_that_do_not_go_together() {
    let folder = committed();
    let digest = sha256("");
    claims! {folder, "check {MODEL} --against c.json a.npy b.npy --d-digest {digest} | 2 | --d-digest
    | --against"}
    commit(&folder, "a.npy b.npy")
        .expect(2)
        .mentions(&["<D.npy>"]);
    commit(&folder, "a.npy b.npy d.npy --block-rows 0").expect(2);
    let before = folder.read("d.npy");
    commit(&folder, "a.npy b.npy d.npy -o d.npy").refuses(&["d.npy", "would overwrite"]);
    assert_eq!(folder.read("d.npy"), before);
    let before = folder.read("c.json");
    for option in ["--json", "--html", "--junit", "--markdown"] {
        check(&folder, &format!("a.npy b.npy d.npy {option} c.json"))
            .refuses(&["c.json", "would overwrite"]);
    }
    assert_eq!(folder.read("c.json"), before);
}

/// A field of the commitment that is another is found, whichever it is.
#[test]
fn every_field_counts() {
    let folder = committed();
    let digest = json!(sha256("another"));
    type Change<'a> = (&'a str, serde_json::Value, i32);
    let changes: [Change; 13] = [
        ("/model_sha256", digest.clone(), 1),
        ("/inputs/a/root", digest.clone(), 1),
        ("/inputs/a/format", json!("bf16"), 1),
        ("/inputs/b/shape", json!([2, 3]), 2),
        (
            "/inputs/c",
            json!({"format": "fp32", "shape": [10, 2], "lines": "rows", "root": digest}),
            1,
        ),
        ("/product/k", json!(4), 2),
        ("/product/m", json!(9), 2),
        ("/product/transpose_b", json!(true), 2),
        ("/d/block_rows", json!(4), 1),
        ("/d/format", json!("fp16"), 1),
        ("/d/shape", json!([5, 4]), 2),
        ("/d/root", digest.clone(), 1),
        ("/schema", json!("tcverify.commitment/3"), 2),
    ];
    for (field, value, code) in changes {
        edit(&folder, "c.json", "other.json", |document| {
            *document.pointer_mut(field).unwrap() = value;
        });
        let run = format!("check {MODEL} --against other.json a.npy b.npy d.npy");
        let run = folder.tcverify(&run).expect(code);
        run.mentions(&["other.json"]);
    }
}

/// Every form of the report names the root; a schedule is a part of what is committed.
#[test]
fn reports_name_the_commitment_and_commitments_the_schedule() {
    let folder = committed();
    check(
        &folder,
        "a.npy b.npy d.npy --html r.html --junit r.xml --markdown r.md",
    )
    .expect(0);
    let commitment: Value = folder.document("c.json");
    let root = commitment["d"].string("root");
    for name in ["r.html", "r.xml", "r.md"] {
        let text = folder.text(name);
        assert!(text.contains(root), "{name}");
    }
    let tiles = "--schedule cutlass-sm80 --alpha 1";
    commit(&folder, &format!("{tiles} a.npy b.npy d.npy -o s.json")).expect(0);
    let scheduled: Value = folder.document("s.json");
    assert_eq!(scheduled["schedule"]["alpha"], "3f800000");
    let against = |options: &str| {
        folder.tcverify(&format!(
            "check {MODEL} {options} a.npy b.npy d.npy --against s.json"
        ))
    };
    against(tiles).expect(0);
    for other in [
        "",
        "--schedule cutlass-sm80 --tile-k 64",
        "--schedule cutlass-sm80 --alpha 2",
    ] {
        let run = against(other).expect(1);
        run.stderr.says("the schedule is");
    }
}
