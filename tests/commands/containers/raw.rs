//! Raw dumps, of which the path says everything; and files of other kinds, which are named.

use crate::support::{Folder, Npy, claims, halves, ran, table};

/// `a.bin` (4x32) and `b.bin` (32x8) of FP16, the same as `.npy`, and their product on an H100 in both forms.
fn dumps() -> Folder {
    let folder = Folder::new();
    let numbers = |count: usize, step: usize| -> Vec<u8> {
        let number = |i| (((i * step) % 97) as f32 - 48.0) / 16.0;
        halves(&(0..count).map(number).collect::<Vec<f32>>())
    };
    for (name, shape, step) in [("a", [4, 32], 31), ("b", [32, 8], 57)] {
        let bytes = numbers(shape[0] * shape[1], step);
        folder.write(&format!("{name}.bin"), &bytes);
        folder.save(&format!("{name}.npy"), &Npy::new("<f2", &shape, bytes));
    }
    folder.passes("replay --arch h100 --dtype fp16 a.npy b.npy -o d.npy");
    let d = folder.read("d.npy");
    folder.write("d.bin", &d[d.len() - 4 * 8 * 4..]);
    folder
}

const SAME: [&str; 3] = ["a.bin#4x32:fp16", "b.bin#32x8:fp16", "d.bin#4x8:fp32"];

#[test]
fn a_raw_dump_is_an_array() {
    let folder = dumps();
    let [a, b, d] = SAME;
    let of = |a: &str, b: &str, d: &str| folder.tcverify(&format!("check --arch h100 {a} {b} {d}"));
    claims! {folder, "check --arch h100 {a} {b} {d} | 0 | ^IDENTICAL"}
    // The same arrays as files that say what they hold, and the digest of the same elements.
    of("--dtype fp16 a.npy", b, "d.npy").expect(0);
    let digest = |array: &str| folder.stdout(&format!("digest {array}"));
    let payload = |array| digest(array).lines().last().unwrap().to_owned();
    assert_eq!(payload("a.npy"), payload("a.bin#4x32:fp16"));
    // One bit differs.
    let mut wrong = folder.read("d.bin");
    wrong[5] ^= 1;
    folder.write("wrong.bin", &wrong);
    claims! {folder, "check --arch h100 {a} {b} wrong.bin#4x8:fp32 | 1 | wrong.bin#4x8:fp32"}
    // As columns, and behind other bytes.
    let columns: Vec<u8> = (0..32 * 4 * 2)
        .map(|i| folder.read("a.bin")[((i / 2 % 4) * 32 + i / 8) * 2 + i % 2])
        .collect();
    folder.write("columns.bin", columns);
    of("--transpose-a columns.bin#32x4:fp16", b, d).expect(0);
    let all = [
        folder.read("a.bin"),
        folder.read("b.bin"),
        folder.read("d.bin"),
    ]
    .concat();
    folder.write("all.bin", all);
    claims! {folder, "check --arch h100 all.bin#4x32:fp16@0 all.bin#32x8:fp16@256 all.bin#4x8:fp32@768 | 0"}
    claims! {folder, "check --arch h100 all.bin#4x32:fp16@0 all.bin#32x8:fp16@254 all.bin#4x8:fp32@768 | 1"}
    // In a case of a batch, where paths begin in its folder.
    let case = format!(
        r#"{{"schema": "tcverify.manifest/1", "cases": [{{"name": "x", "arch": "h100", "a": "{a}", "b": "{b}", "d": "{d}"}}]}}"#
    );
    folder.write("cases.json", case);
    claims! {folder, "
        batch cases.json | 0
        inspect {a} | 0 | 4x32
    "}
}

#[test]
fn sizes_and_formats_must_be_right() {
    let folder = dumps();
    claims! {folder, "
        each check --arch h100 --dtype fp16 ~ b.npy d.npy | 2
        a.bin#4x31:fp16 | has 256 bytes, but 124 elements of fp16 are 248 bytes
        a.bin#4x33:fp16 | has 256 bytes, but 132 elements of fp16 are 264 bytes
        a.bin#4x32:fp16@2 | has 254 bytes from byte 2 on
        a.bin#4x32:fp17 | has no such format
        a.bin#4x32:tf32 | has no such format
        a.bin#4x32 | #64x512:bf16
        a.bin | #64x512:bf16
        a.bin#99999999999x99999999999:fp16 | which no memory can hold
        a.npy#4x32:fp16 | whose one array has no name
        absent.bin#4x32:fp16 | absent.bin
    "}
}

#[test]
fn files_of_other_kinds_are_named() {
    let folder = dumps();
    for (name, bytes, said) in table! {
        ("a.npy.gz", &b"\x1f\x8b\x08\0\0\0\0\0"[..], "is compressed by gzip, not an array; unpack it first"),
        ("zip.npy", b"\x1f\x8b\x08\0\0\0\0\0", "is compressed by gzip"),
        ("a.h5", b"\x89HDF\r\n\x1a\n\0\0", "is an HDF5 file, not an array; save the array: numpy.save"),
        ("a.gguf", b"GGUF\x03\0\0\0", "is a GGUF file"),
        ("a.mat", b"MATLAB 5.0 MAT-file, Platform", "scipy.io.loadmat"),
        ("a.onnx", b"\x08\x07\x12\x07", "is named like an ONNX model"),
        ("a.nsys-rep", b"\0\0\0\0", "holds no arrays"),
        ("a.csv", b"1.0,2.0\n3.0,4.0\n", "numpy.loadtxt('FILE', delimiter=',', ndmin=2)"),
        ("a.hex", b"0x3c00 0xbc00\n", "int(x, 16)"),
        ("a.json", b"[[1, 2], [3, 4]]", "is JSON, not an array"),
        ("a.txt", b"once upon a time", "is text, not an array"),
        ("empty", b"", "is empty"),
    } {
        folder.write(name, bytes);
        let run = ran! {folder, "check --arch h100 --dtype fp16 {name} b.npy d.npy"}.expect(2);
        assert!(run.stderr.contains(said), "{name}: {}", run.stderr);
    }
    // Leading axes of one are as if they were not there.
    folder.save(
        "d1.npy",
        &Npy::new("<f4", &[1, 1, 4, 8], folder.read("d.bin")),
    );
    folder.passes("check --arch h100 --dtype fp16 a.npy b.npy d1.npy");
}
