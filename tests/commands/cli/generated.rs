//! Operands that a seed determines, in place of files.

use crate::support::{Folder, claims, listed, ran, rows, sha256};

const A: &str = "generate:7:normal:12x70";
const B: &str = "generate:7:normal:70x9";

#[test]
fn a_product_is_verified_from_a_digest_alone() {
    let folder = Folder::new();
    let model = "--arch h100 --dtype bf16";
    let line = folder.stdout(&format!("replay {model} {A} {B} -o d.npy"));
    let digest = line.split(' ').next().unwrap().to_owned();
    let check = format!("check {model} --d-digest {digest}");
    folder.passes(&format!("{check} {A} {B}"));
    folder.differs(&format!("{check} {A} generate:8:normal:70x9"));
    folder.passes(&format!("check {model} {A} {B} d.npy"));
}

#[test]
fn files_and_specs_are_the_same_operands() {
    let folder = Folder::new();
    for (spec, role, file) in [
        (A, "a", "a.npy"),
        ("generate:7:wide:9x70", "b", "b.npy"),
        ("generate:7:special:12x9", "c", "c.npy"),
    ] {
        let dtype = if role == "c" { "fp32" } else { "fp16" };
        claims! {folder, "generate --dtype {dtype} --role {role} {spec} -o {file} | 0"}
    }
    let check = |operands: &str| {
        let replay = format!("replay --arch ampere --dtype fp16 --transpose-b {operands} -o -");
        folder.passes(&format!("{replay} --quiet"))
    };
    let from_files = check("--c c.npy a.npy b.npy").stdout;
    let from_specs = check(&format!(
        "--c generate:7:special:12x9 {A} generate:7:wide:9x70"
    ))
    .stdout;
    assert_eq!(sha256(from_files), sha256(from_specs));
}

#[test]
fn the_report_has_the_digests_of_what_was_made() {
    let folder = Folder::new();
    folder.passes(&format!("generate --dtype bf16 --role a {A} -o a.npy"));
    let check = format!(
        "check --arch h100 --dtype bf16 --json - --d-digest {}",
        "0".repeat(64)
    );
    let report = folder.differing(&format!("{check} {A} {B}"));
    let a = &report["inputs"]["a"];
    assert_eq!(a["path"], A);
    assert_eq!(a["file_sha256"], sha256(folder.read("a.npy")));
}

#[test]
fn scales_are_made_as_well() {
    let folder = Folder::new();
    let product = "generate:1:normal:8x64 generate:1:normal:64x8";
    let scales = "--scale-a generate:1:normal:8x4 --scale-b generate:1:normal:4x8";
    let model = "--arch b200 --dtype e2m1 --scale-dtype ue4m3";
    folder.passes(&format!("replay {model} {scales} {product} -o d.npy"));
    folder.passes(&format!("check {model} {scales} {product} d.npy"));
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new();
    let refuses = |operand: &str, words: &[&str]| {
        ran! {folder, "replay --arch h100 --dtype bf16 {operand} {B} -o d.npy"}.refuses(words);
    };
    for [given, said] in rows! {r#"
        generate:7:odd:12x70 | generate:7:odd:12x70 | "odd" | cancel
        generate:7:normal:12 | "12" is not the shape of a matrix or a batch | ROWSxCOLUMNS
        generate:7:normal:12x71 | inner dimensions differ
        generate:7:normal:9999999x9999999 | elements
    "#}
    {
        refuses(given, &listed(said));
    }
    claims! {folder, "generate --dtype fp16 --role a a.npy -o b.npy | 2 | generate:"}
}
