//! Files, formats and shapes.

use crate::support::{Folder, Npy, Says, floats, halves};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.save("a.npy", &Npy::new("<f2", &[1, 2], halves(&[1.0, 2.0])));
    folder.save("b.npy", &Npy::new("<f2", &[2, 1], halves(&[1.0, 3.0])));
    folder.save("d.npy", &Npy::new("<f4", &[1, 1], floats(&[7.0])));
    folder
}

#[test]
fn the_text_names_models_and_operands_that_separate_them() {
    let text = folder()
        .tcverify("identify a.npy b.npy d.npy")
        .expect(0)
        .stdout;
    text.says_all([
        "give the one element of D; this D cannot distinguish them",
        "tcverify check --arch volta --instruction mma --dtype fp16 --acc fp32 a.npy b.npy d.npy\n",
        "differs from volta mma on k=0 ",
    ]);
}

/// Codes without a type can be of any format of their width.
#[test]
#[ignore = "long"]
fn formats_are_found_where_files_cannot_say_them() {
    let folder = Folder::new();
    // 3 * 5 in E2M3 and much else in other formats.
    folder.save("a.npy", &Npy::new("|u1", &[1, 1], vec![0x14]));
    folder.save("b.npy", &Npy::new("|u1", &[1, 1], vec![0x1a]));
    folder.save("d.npy", &Npy::new("<f4", &[1, 1], floats(&[15.0])));
    let report = folder
        .tcverify("identify --json - a.npy b.npy d.npy")
        .expect(0)
        .json();
    let fits = report["fits"].as_array().unwrap();
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
        folder.tcverify(&format!("{made} -o {role}.npy")).expect(0);
    }
    let made =
        "replay --arch h100 --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 3";
    folder
        .tcverify(&format!("{made} a.npy b.npy -q -o d.npy"))
        .expect(0);
    let search = "identify --arch h100 a.npy b.npy d.npy";
    let text = folder.tcverify(search).expect(0).stdout;
    let command = "--dtype bf16 --acc fp32 --schedule cublas-workspace --split-k 3";
    assert!(text.contains(command), "{text}");
}

#[test]
fn a_result_of_no_model_exits_with_1() {
    let folder = folder();
    folder.save("d.npy", &Npy::new("<f4", &[1, 1], floats(&[7.5])));
    let run = folder.tcverify("identify a.npy b.npy d.npy").expect(1);
    run.begins("NONE  gives this D, of ");
    assert_eq!(
        folder
            .tcverify("identify --quiet a.npy b.npy d.npy")
            .expect(1)
            .stdout,
        ""
    );
}

#[test]
fn results_rounded_to_fewer_bits() {
    let folder = folder();
    folder.save("d.npy", &Npy::new("<V2", &[1, 1], vec![0xe0, 0x40]));
    let text = folder
        .tcverify("identify a.npy b.npy d.npy")
        .expect(0)
        .stdout;
    text.says("fp16*fp16 -> fp32, rounded to bf16");
}

#[test]
fn a_sample_can_be_all() {
    let text = folder()
        .tcverify("identify --quick a.npy b.npy d.npy")
        .expect(0)
        .stdout;
    text.says("give the one element of D");
}

#[test]
fn what_cannot_be_is_said() {
    let folder = folder();
    let refuses = |arguments: &str, words: &[&str]| {
        folder
            .tcverify(&format!("identify {arguments}"))
            .refuses(words);
    };
    refuses(
        "--dtype e4m3 a.npy b.npy d.npy",
        &["a.npy", "requested formats", "fp16"],
    );
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
    folder
        .tcverify(&format!(
            "replay --arch a100 --dtype bf16 {product} -o d.npy"
        ))
        .expect(0);
    let run = folder
        .tcverify(&format!("identify --dtype bf16 --json - {product} d.npy"))
        .expect(0);
    let report = run.json();
    assert_eq!(report["fits"].as_array().unwrap().len(), 1);
    assert_eq!(report["fits"][0]["names"][1]["architecture"], "ada");
    folder
        .tcverify(&format!("identify {product} d.npy"))
        .refuses(&["generate:1:normal:40x64", "--dtype"]);
}

/// Operands that torch drew need no file here either.
#[test]
fn numbers_of_torch_are_operands() {
    let folder = Folder::new();
    let operands =
        "generate:torch-cuda-randn:420:0:132:31x256 generate:torch-cuda-randn:420:4:132:256x16";
    let made = format!("replay --arch h100 --dtype bf16 {operands} -q -o d.npy");
    folder.tcverify(&made).expect(0);
    assert!(
        folder
            .stdout(&format!("identify --dtype bf16 {operands} d.npy"))
            .contains("hopper wgmma")
    );
    let compare = format!("compare --dtype bf16 d.npy d.npy {operands}");
    folder.tcverify(&compare).expect(0);
}
