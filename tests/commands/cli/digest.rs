//! `tcverify digest`: what it hashes.

use serde_json::json;

use crate::support::{Folder, Npy, claims, floats, halves, le16, sha256};

#[test]
fn of_the_file_and_of_the_payload() {
    let folder = Folder::new();
    let x = Npy::new("<f4", &[2, 3], floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    folder.save("x.npy", &x);
    let file = sha256(x.bytes());
    let payload = sha256(floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let run = folder.passes("digest x.npy");
    assert_eq!(
        run.stdout,
        format!("x.npy  <f4 2x3\n  file     {file}\n  payload  {payload}\n")
    );
    let entry = json!({
        "path": "x.npy",
        "descr": "<f4",
        "format": null,
        "shape": [2, 3],
        "file_sha256": file,
        "payload_sha256": payload,
    });
    let run = folder.passes("digest --json x.npy x.npy");
    assert_eq!(run.json(), json!([entry, entry]));
}

#[test]
fn the_payload_is_in_c_order_and_little_endian() {
    let folder = Folder::new();
    folder.save("c.npy", &Npy::new("<u2", &[2, 2], le16(&[1, 2, 3, 4])));
    folder.save("f.npy", &Npy::fortran("<i2", &[2, 2], le16(&[1, 3, 2, 4])));
    let big = vec![0, 1, 0, 2, 0, 3, 0, 4];
    folder.save("b.npy", &Npy::new(">u2", &[2, 2], big));
    let run = folder.passes("digest --json c.npy f.npy b.npy");
    for entry in run.json().as_array().unwrap() {
        assert_eq!(entry["payload_sha256"], sha256(le16(&[1, 2, 3, 4])));
    }
}

#[test]
fn as_a_format() {
    let folder = Folder::new();
    folder.f32("x.npy", &[2], &[1.0, -2.5]);
    let payload = |rest: &str| {
        folder.json(&format!("digest --json x.npy {rest}"))[0]["payload_sha256"].clone()
    };
    assert_eq!(payload("--dtype fp16"), sha256(halves(&[1.0, -2.5])));
    assert_eq!(payload("--dtype bf16"), sha256(le16(&[0x3f80, 0xc020])));
    assert_eq!(payload("--dtype e4m3"), sha256([0x38, 0xc2]));
    assert_eq!(payload("--dtype fp32"), sha256(floats(&[1.0, -2.5])));
    claims! {folder, "digest x.npy --dtype e2m1 | refused | x.npy | [1] | -2.5 | 0xc0200000 | e2m1"}
}

#[test]
fn of_scalars_vectors_and_empty_arrays() {
    let folder = Folder::new();
    folder.f32("scalar.npy", &[], &[1.0]);
    folder.save("vector.npy", &Npy::fortran(">f4", &[2], vec![0; 8]));
    folder.save("empty.npy", &Npy::new("<f4", &[0, 3], vec![]));
    let text = folder.stdout("digest scalar.npy vector.npy empty.npy");
    for line in [
        "scalar.npy  <f4 scalar".to_owned(),
        "vector.npy  >f4 2".to_owned(),
        "empty.npy  <f4 0x3".to_owned(),
        format!("  payload  {}", sha256(floats(&[1.0]))),
        format!("  payload  {}", sha256([0; 8])),
        format!("  payload  {}", sha256("")),
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is not in {text}");
    }
}

#[test]
fn all_of_them_or_none() {
    let folder = Folder::new();
    folder.f32("x.npy", &[1], &[1.0]);
    claims! {folder, "digest x.npy missing.npy | refused | missing.npy | cannot be opened"}
}
