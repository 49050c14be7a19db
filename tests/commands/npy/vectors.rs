//! Vectors and axes of one, as NumPy's `matmul` takes them.

use crate::support::random::Random;
use crate::support::{Folder, Npy, claims, halves, table};

const UNIT: &str = "--arch hopper --dtype fp16";
const K: usize = 64;

/// Numbers of few bits and many magnitudes, whose sums round.
fn drawn(count: usize) -> Vec<u8> {
    let mut random = Random::named("vectors");
    let number =
        |_| random.between(-2047, 2047) as f32 * f32::from(random.pick(&[1i16, 3, 9])) / 64.0;
    halves(&(0..count).map(number).collect::<Vec<_>>())
}

/// A product in the folder: its arrays in the shapes in which a user may have them, and D computed by matrices.
fn product(a: [&[usize]; 2], b: [&[usize]; 2], c: [&[usize]; 2]) -> Folder {
    let folder = Folder::new();
    let count = |shape: &[usize]| shape.iter().product::<usize>();
    let numbers = drawn(count(a[0]) + count(b[0]) + count(c[0]));
    let (of_a, rest) = numbers.split_at(2 * count(a[0]));
    let (of_b, of_c) = rest.split_at(2 * count(b[0]));
    for (file, descr, shape, data) in [
        ("ma.npy", "<f2", a[0], of_a),
        ("mb.npy", "<f2", b[0], of_b),
        ("mc.npy", "<f2", c[0], of_c),
        ("a.npy", "<f2", a[1], of_a),
        ("b.npy", "<f2", b[1], of_b),
        ("c.npy", "<f2", c[1], of_c),
    ] {
        folder.save(file, &Npy::new(descr, shape, data.to_vec()));
    }
    claims! {folder, "replay {UNIT} --acc fp16 --c mc.npy ma.npy mb.npy -o md.npy | 0"}
    let payload = folder.read("md.npy").split_off(128);
    assert_eq!(payload.len(), of_c.len());
    folder.save("d.npy", &Npy::new("<f2", c[1], payload));
    folder
}

#[test]
fn a_product_of_vectors_is_that_of_rows_and_columns() {
    for (a, b, c, index) in table! {
        ([&[1, K][..], &[K][..]], [&[K, 5][..]; 2], [&[1, 5][..], &[5][..]], "[0, 3]"),
        ([&[5, K]; 2], [&[K, 1], &[K]], [&[5, 1], &[5]], "[3, 0]"),
        ([&[1, K], &[K]], [&[K, 1], &[K]], [&[1, 1], &[]], "[0, 0]"),
        ([&[5, K]; 2], [&[K, 3], &[1, K, 3]], [&[5, 3], &[1, 5, 3]], "[1, 0]"),
        ([&[2, 5, K]; 2], [&[K, 3], &[1, 1, K, 3]], [&[2, 5, 3], &[1, 2, 5, 3]], "[0, 1, 0]"),
    } {
        let folder = product(a, b, c);
        let check = format!("check {UNIT} --acc fp16 --c c.npy a.npy b.npy d.npy");
        folder.passes(&check);
        claims! {folder, "replay {UNIT} --acc fp16 --c c.npy a.npy b.npy -o r.npy | 0"}
        assert_eq!(folder.read("r.npy"), folder.read("md.npy"));
        // A wrong element has an index of two axes.
        let mut wrong = folder.read("d.npy");
        let at = if c[0].iter().product::<usize>() > 1 {
            3
        } else {
            0
        };
        wrong[128 + 2 * at] ^= 1;
        folder.write("d.npy", &wrong);
        let run = folder.differs(&check);
        assert!(run.stdout.contains(index), "{index}: {}", run.stdout);
    }
}

#[test]
fn all_that_judges_takes_vectors_alike() {
    let folder = product([&[1, K], &[K]], [&[K, 40]; 2], [&[1, 40], &[40]]);
    let operands = "--c c.npy a.npy b.npy d.npy";
    claims! {folder, "identify {operands} | 0 | hopper"}
    let unit = format!("{UNIT} --acc fp16");
    let commit = format!("commit {unit} {operands} -o c.json");
    folder.passes(&commit);
    let report = format!("check {unit} {operands} --against c.json --json r.json");
    folder.passes(&report);
    folder.passes("verify-report r.json");
    // Rows of a committed D are of its axes.
    claims! {folder, "commit prove --commitment c.json --blocks 0 d.npy -o p.json --rows rows.npy | 0"}
    folder.passes("commit verify --commitment c.json p.json rows.npy");
    let challenge = "audit challenge c.json --beacon 8430af44c2b90c8d --elements 9 -o ch.json";
    folder.passes(challenge);
    let files = "--commitment c.json --challenge ch.json -o o.bin";
    claims! {folder, "audit open {unit} {operands} {files} | 0"}
    let files = "--commitment c.json --own-challenge ch.json o.bin";
    claims! {folder, "audit verify {unit} {files} --a a.npy --c c.npy | 0"}
}

#[test]
fn vectors_stored_transposed_are_the_same() {
    let folder = product([&[1, K], &[K]], [&[K, 1], &[K]], [&[1, 1], &[]]);
    let turned = "--transpose-a --transpose-b --c c.npy a.npy b.npy d.npy";
    folder.passes(&format!("check {UNIT} --acc fp16 {turned}"));
}
