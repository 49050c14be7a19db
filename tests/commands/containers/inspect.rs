//! `tcverify inspect`: lists and counts.

use serde_json::json;

use super::npy;
use super::write::{Member, safetensors, zip};
use crate::support::{Folder, Members, Npy, Says, claims, holds, le16, le32, sha256};

#[test]
fn everything_is_counted() {
    let folder = Folder::new();
    let codes = [0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 0x0001, 0x83ff, 0x3c00];
    folder.save("x.npy", &Npy::fortran("<f2", &[4, 2], le16(&codes)));
    let run = folder.passes("inspect --json x.npy");
    let in_c_order = [0, 4, 1, 5, 2, 6, 3, 7].map(|i| codes[i]);
    assert_eq!(
        run.json()["files"],
        json!([{
            "path": "x.npy",
            "file_sha256": sha256(folder.read("x.npy")),
            "arrays": [{
                "name": null,
                "descr": "<f2",
                "fortran_order": true,
                "format": "fp16",
                "shape": [4, 2],
                "payload_sha256": sha256(le16(&in_c_order)),
                "counts": {
                    "nan": 1, "infinite": 2, "zero": 2, "subnormal": 2, "min": "-Inf", "max": "+Inf",
                },
            }],
        }])
    );
    assert_eq!(run.json()["schema"], "tcverify.inspection/1");
}

#[test]
fn all_arrays_or_the_one_named() {
    let folder = Folder::new();
    let member = |name: &str, value| Member::deflated(name, &npy(&[value]));
    folder.write("x.npz", zip(&[member("b.npy", 1.0), member("a.npy", 2.0)]));
    let text = folder.stdout("inspect x.npz");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "x.npz");
    assert!(
        lines[3].starts_with("  b      <f4   fp32     1        0"),
        "{text}"
    );
    assert!(lines[4].ends_with(&sha256(2f32.to_le_bytes())), "{text}");
    assert_eq!(lines.len(), 5);
    let text = folder.stdout("inspect x.npz#a");
    assert_eq!(text.lines().count(), 4);
    text.begins("x.npz#a\n");
}

#[test]
fn elements_of_no_known_format_are_hashed_and_not_counted() {
    let folder = Folder::new();
    let values = le32(&[0x3f80_0000, 0xffc0_0000]);
    folder.save("x.npy", &Npy::new("<u4", &[2], values.clone()));
    let array = |arguments: &str| {
        folder.json(&format!("inspect --json {arguments}"))["files"][0]["arrays"][0].clone()
    };
    let unknown = array("x.npy");
    holds! {unknown, "format = null | counts = null"}
    assert_eq!(unknown["payload_sha256"], sha256(&values));
    let known = array("--dtype fp32 x.npy");
    assert_eq!(known["counts"]["nan"], 1);
    assert_eq!(
        (&known["counts"]["min"], &known["counts"]["max"]),
        (&json!("1"), &json!("1"))
    );
    folder.save("i.npy", &Npy::new("|i1", &[3], vec![0x80, 0, 5]));
    let integers = array("i.npy");
    assert_eq!(
        (&integers["counts"]["min"], &integers["counts"]["max"]),
        (&json!("-128"), &json!("5"))
    );
    folder.save("e.npy", &Npy::new("<f4", &[0, 3], vec![]));
    assert_eq!(array("e.npy")["counts"]["min"], json!(null));
}

#[test]
fn what_cannot_be_read_is_said_and_is_no_success() {
    let folder = Folder::new();
    let model = safetensors(&[
        ("good", "F32", &[1], &[0; 4]),
        ("mask", "BOOL", &[2], &[0, 1]),
    ]);
    folder.write("x.safetensors", model);
    let run = folder.fails("inspect x.safetensors");
    run.says("\n  mask   not read: its elements are BOOL");
    assert!(run.stdout.contains(&sha256([0; 4])), "{run:?}");
    let run = run.mentions(&["one array was not read"]);
    assert_eq!(run.stderr.lines().count(), 1);
    let json = folder.fails("inspect --json x.safetensors").json();
    let error = json["files"][0]["arrays"][1].string("error");
    error.begins("its elements are BOOL");
    claims! {folder, "
        inspect x.safetensors#mask | refused | x.safetensors#mask | BOOL
        inspect x.safetensors missing.npy | refused | missing.npy
    "}
    folder.save("x.npy", &Npy::new("<f4", &[1], vec![1; 4]));
    claims! {folder, "inspect --dtype e4m3 x.npy | refused | x.npy | e4m3 cannot represent"}
}

/// The same on one thread and on many, in every layout.
#[test]
fn counts_do_not_depend_on_threads_or_layout() {
    let folder = Folder::new();
    let word = |i: u32| i.wrapping_mul(2_654_435_761);
    let codes: Vec<u32> = (0..200_000).map(word).collect();
    let bytes = le32(&codes);
    let turned: Vec<u32> = (0..200_000)
        .map(|i| word(i % 400 * 500 + i / 400))
        .collect();
    folder.save("c.npy", &Npy::new("<f4", &[400, 500], bytes.clone()));
    folder.save("f.npy", &Npy::fortran("<f4", &[400, 500], le32(&turned)));
    folder.save("v.npy", &Npy::new("<V2", &[400_000], bytes));
    let run = |threads: &str| {
        folder.json(&format!(
            "--threads {threads} inspect --json c.npy f.npy v.npy"
        ))["files"]
            .clone()
    };
    let one = run("1");
    assert_eq!(one, run("7"));
    assert_eq!(one[0]["arrays"][0]["counts"], one[1]["arrays"][0]["counts"]);
    assert!(one[2]["arrays"][0]["counts"].number("nan") > 100);
}
