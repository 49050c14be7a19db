//! However the same numbers are stored, the same digests come out.

use serde_json::Value;

use crate::support::{Folder, Npy, floats, halves, holds, sha256, table};

const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
const D: [f32; 4] = [5.0, 5.0, 14.0, 11.5];

/// Exchanges rows and columns of a matrix of `rows` rows.
fn turned(values: &[f32], rows: usize) -> Vec<f32> {
    let columns = values.len() / rows;
    let at = |i: usize| values[i % rows * columns + i / rows];
    (0..values.len()).map(at).collect()
}

/// The other byte order.
fn swapped(bytes: &[u8], width: usize) -> Vec<u8> {
    let reverse = |element: &[u8]| element.iter().rev().copied().collect::<Vec<_>>();
    bytes.chunks(width).flat_map(reverse).collect()
}

#[test]
fn orders_byte_orders_and_versions_change_no_payload_digest() {
    let folder = Folder::new();
    let b = [1.0, 0.0, 2.0, 1.0, 0.0, 1.0];
    let (a16, b16, d32) = (halves(&A), halves(&b), floats(&D));
    let (af, bf, df) = (
        halves(&turned(&A, 2)),
        halves(&turned(&b, 3)),
        floats(&turned(&D, 2)),
    );

    let mut reports: Vec<Value> = Vec::new();
    for (a, b, d) in table! {
        (Npy::new("<f2", &[2, 3], a16.clone()), Npy::new("<f2", &[3, 2], b16.clone()),
            Npy::new("<f4", &[2, 2], d32.clone())),
        (Npy::fortran("<f2", &[2, 3], af.clone()), Npy::fortran("<f2", &[3, 2], bf),
            Npy::fortran("<f4", &[2, 2], df.clone())),
        (Npy::new(">f2", &[2, 3], swapped(&a16, 2)), Npy::new(">f2", &[3, 2], swapped(&b16, 2)),
            Npy::new(">f4", &[2, 2], swapped(&d32, 4))),
        (Npy::fortran(">f2", &[2, 3], swapped(&af, 2)).version(2, 0), Npy::new("<u2", &[3, 2], b16).version(3, 0),
            Npy::fortran(">u4", &[2, 2], swapped(&df, 4)).version(2, 0)),
        (Npy::new("<f4", &[2, 3], floats(&A)), Npy::new("<f4", &[3, 2], floats(&b)),
            Npy::new("<f4", &[2, 2], d32.clone())),
    } {
        folder.save("a.npy", &a);
        folder.save("b.npy", &b);
        folder.save("d.npy", &d);
        reports.push(folder.json("check --arch h100 --dtype fp16 a.npy b.npy d.npy --json -"));
    }
    for report in &reports {
        assert_eq!(report["inputs"]["a"]["payload_sha256"], sha256(&a16));
        for tensor in ["a", "b", "d"] {
            let digest = |report: &Value| report["inputs"][tensor]["payload_sha256"].clone();
            assert_eq!(digest(report), digest(&reports[0]), "{tensor}");
        }
        assert_eq!(report["reproduced"], reports[0]["reproduced"]);
        assert_eq!(report["reproduced"]["payload_sha256"], sha256(&d32));
        assert_eq!(report["outcome"], reports[0]["outcome"]);
    }
    assert_eq!(reports[1]["inputs"]["a"]["fortran_order"], true);
    assert_ne!(
        reports[0]["inputs"]["a"]["file_sha256"],
        reports[2]["inputs"]["a"]["file_sha256"]
    );
}

#[test]
fn a_mismatch_has_the_same_index_in_either_order() {
    let folder = Folder::new();
    folder.f16("a.npy", &[2, 1], &[1.0, 2.0]);
    folder.f16("b.npy", &[1, 3], &[1.0, 2.0, 3.0]);
    // The product but for [0, 2] and [1, 0].
    let given = [1.0, 2.0, 0.0, 0.0, 4.0, 6.0];
    folder.f32("c.npy", &[2, 3], &given);
    let given = floats(&turned(&given, 2));
    folder.save("f.npy", &Npy::fortran("<f4", &[2, 3], given));
    let outcome = |d: &str| {
        let check = format!("check --arch h100 --dtype fp16 a.npy b.npy {d} --json -");
        folder.differing(&check)["outcome"].clone()
    };
    assert_eq!(outcome("c.npy"), outcome("f.npy"));
    let first = &outcome("f.npy")["comparison"]["first"];
    holds! {first, "0.index = [0, 2] | 1.index = [1, 0]"}
}
