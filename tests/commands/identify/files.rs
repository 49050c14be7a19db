//! Files, formats and shapes.

use crate::support::{Folder, Members, Npy, claims, ran};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.f16("a.npy", &[1, 2], &[1.0, 2.0]);
    folder.f16("b.npy", &[2, 1], &[1.0, 3.0]);
    folder.f32("d.npy", &[1, 1], &[7.0]);
    folder
}

#[test]
fn the_text_names_models_and_operands_that_separate_them() {
    claims! {folder(), r"identify a.npy b.npy d.npy | 0
        | give the one element of D; this D cannot distinguish them
        | tcverify check --arch volta --instruction mma --dtype fp16 --acc fp32 a.npy b.npy d.npy\n
        | differs from volta mma on k=0\_"}
}

/// Codes without a type can be of any format of their width.
#[test]
#[ignore = "long"]
fn formats_are_found_where_files_cannot_say_them() {
    let folder = Folder::new();
    // 3 * 5 in E2M3 and much else in other formats.
    folder.save("a.npy", &Npy::new("|u1", &[1, 1], vec![0x14]));
    folder.save("b.npy", &Npy::new("|u1", &[1, 1], vec![0x1a]));
    folder.f32("d.npy", &[1, 1], &[15.0]);
    let report = folder.json("identify --json - a.npy b.npy d.npy");
    let fits = report.list("fits");
    assert!(!fits.is_empty());
    for fit in fits {
        let pair = [&fit["arithmetic"]["a"], &fit["arithmetic"]["b"]];
        assert_eq!(pair, ["e2m3", "e2m3"], "{fit}");
    }
    assert_eq!(report["schema"], "tcverify.identification/1");
}

/// Files of 16-bit words may be FP16 or BF16: kernels of both are searched.
#[test]
fn kernels_of_codes_without_a_type_are_found() {
    let folder = Folder::new();
    for (seed, shape, role) in [(1, "24x1536", "a"), (2, "1536x40", "b")] {
        let made = format!("generate generate:{seed}:normal:{shape} --dtype bf16 --role {role} -q");
        folder.passes(&format!("{made} -o {role}.npy"));
    }
    let made =
        "replay --arch h100 --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 3";
    folder.passes(&format!("{made} a.npy b.npy -q -o d.npy"));
    claims! {folder, "identify --arch h100 a.npy b.npy d.npy | 0
    | --dtype bf16 --acc fp32 --schedule cublas-workspace --split-k 3"}
}

#[test]
fn a_result_of_no_model_exits_with_1() {
    let folder = folder();
    folder.f32("d.npy", &[1, 1], &[7.5]);
    claims! {folder, r"identify a.npy b.npy d.npy | 1 | ^NONE  gives this D, of\_"}
    assert_eq!(
        folder.differs("identify --quiet a.npy b.npy d.npy").stdout,
        ""
    );
}

#[test]
fn results_rounded_to_fewer_bits() {
    let folder = folder();
    folder.save("d.npy", &Npy::new("<V2", &[1, 1], vec![0xe0, 0x40]));
    claims! {folder, "identify a.npy b.npy d.npy | 0 | fp16*fp16 -> fp32, rounded to bf16"}
}

#[test]
fn a_sample_can_be_all() {
    claims! {folder(), "identify --quick a.npy b.npy d.npy | 0 | give the one element of D"}
}

#[test]
fn what_cannot_be_is_said() {
    let folder = folder();
    let refuses = |arguments: &str, words: &[&str]| {
        ran! {folder, "identify {arguments}"}.refuses(words);
    };
    claims! {folder, "identify --dtype e4m3 a.npy b.npy d.npy | refused | a.npy | requested formats | fp16"}
    refuses("a.npy b.npy a.npy", &["a.npy", "1x2", "1x1"]);
    refuses("a.npy a.npy d.npy", &["inner dimensions differ"]);
    refuses("missing.npy b.npy d.npy", &["missing.npy"]);
    folder.save(
        "d8.npy",
        &Npy::new("<f8", &[1, 1], 7.3f64.to_le_bytes().to_vec()),
    );
    refuses("a.npy b.npy d8.npy", &["no model in the catalogue"]);
}

#[test]
fn operands_may_be_generated() {
    let folder = Folder::new();
    let product = "generate:1:normal:40x64 generate:1:normal:64x40";
    claims! {folder, "replay --arch a100 --dtype bf16 {product} -o d.npy | 0"}
    let run = folder.passes(&format!("identify --dtype bf16 --json - {product} d.npy"));
    let report = run.json();
    assert_eq!(report.list("fits").len(), 1);
    assert_eq!(report["fits"][0]["names"][1]["architecture"], "ada");
    claims! {folder, "identify {product} d.npy | refused | generate:1:normal:40x64 | --dtype"}
}

/// Operands that torch drew need no file here either.
#[test]
fn numbers_of_torch_are_operands() {
    let folder = Folder::new();
    let operands =
        "generate:torch-cuda-randn:420:0:132:31x256 generate:torch-cuda-randn:420:4:132:256x16";
    claims! {folder, "replay --arch h100 --dtype bf16 {operands} -q -o d.npy | 0"}
    assert!(
        folder
            .stdout(&format!("identify --dtype bf16 {operands} d.npy"))
            .contains("hopper wgmma")
    );
    claims! {folder, "compare --dtype bf16 d.npy d.npy {operands} | 0"}
}
