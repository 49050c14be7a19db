//! Identical, different, and what the text says of either.

use crate::support::{Folder, Npy, Run, fixture, floats, halves};

fn check_fixture(name: &str, arch: &str, rest: &str) -> Run {
    let at = fixture(name);
    let at = at.display();
    Folder::new().tcverify(&format!(
        "check --arch {arch} {rest} --c {at}/c.npy {at}/a.npy {at}/b.npy {at}/d.npy"
    ))
}

#[test]
fn every_worked_example_is_identical() {
    let root = fixture("");
    for entry in std::fs::read_dir(&root).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let about = std::fs::read_to_string(root.join(&name).join("provenance.json")).unwrap();
        let about: serde_json::Value = serde_json::from_str(&about).unwrap();
        let word = |key: &str| about[key].as_str().unwrap().to_owned();
        let rest = format!(
            "--dtype {} --dtype-b {} --acc {} --instruction {}",
            word("a_dtype"),
            word("b_dtype"),
            word("acc"),
            word("instruction")
        );
        let run = check_fixture(&name, &word("arch"), &rest).expect(0);
        assert!(run.stdout.starts_with("IDENTICAL  all "), "{name}: {run:?}");
        assert_eq!(run.stderr, "", "{name}");
    }
}

#[test]
fn another_generation_is_different() {
    let run = check_fixture("ampere-mma-fp16-f32", "volta", "--dtype fp16").expect(1);
    assert!(run.stdout.starts_with("DIFFERENT  "), "{run:?}");
    assert_eq!(run.stderr, "");
}

#[test]
fn names_of_gpus_and_compute_capabilities_do() {
    for arch in ["a100", "A100", "sm_80", "SM80", "RTX-3080", "ampere"] {
        check_fixture("ampere-mma-fp16-f32", arch, "--dtype fp16 --quiet").expect(0);
    }
}

#[test]
fn names_of_formats_are_understood_in_any_case() {
    for dtype in ["fp16", "FP16", "f16", "float16", "half"] {
        let rest = format!("--acc F32 --dtype {dtype} --d-dtype f32 --quiet");
        check_fixture("ampere-mma-fp16-f32", "ampere", &rest).expect(0);
    }
}

/// D = A here, for B is 1.
fn one_of_four_differs() -> Folder {
    let folder = Folder::new();
    folder.save(
        "a.npy",
        &Npy::new("<f2", &[4, 1], halves(&[1.0, 2.0, 3.0, 4.0])),
    );
    folder.save("b.npy", &Npy::new("<f2", &[1, 1], halves(&[1.0])));
    let given = floats(&[1.0, 2.0, -3.0, 4.0]);
    folder.save("d.npy", &Npy::new("<f4", &[4, 1], given));
    folder
}

#[test]
fn the_text_says_what_differs_and_where() {
    let folder = one_of_four_differs();
    let run = folder.tcverify("check --arch ampere --dtype fp16 a.npy b.npy d.npy");
    let text = run.expect(1).stdout;
    for line in [
        "DIFFERENT  1 of 4 elements of D differ (25 %)",
        "  model     ampere mma, fp16*fp16 -> fp32",
        "  product   4x1 by 1x1, plus 0",
        "  where     1 of 4 rows, 1 of 1 columns",
        "  how       1 in sign",
        "  largest   -2155872256 ulp at [2, 0]",
        "  [2, 0]  0x40400000  0xc0400000  0x80000000  -2155872256  3 -> -3",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is not in {text}");
    }
}

#[test]
fn every_label_of_the_text_is_apart_from_what_follows() {
    let folder = one_of_four_differs();
    let digest = "0".repeat(64);
    for rest in ["d.npy".to_owned(), format!("--d-digest {digest}")] {
        let run = folder.tcverify(&format!(
            "check --arch ampere --dtype fp16 a.npy b.npy {rest}"
        ));
        for line in run.expect(1).stdout.lines() {
            let words = line.split_whitespace();
            let widest = words.filter(|word| word.len() > 64).count();
            assert_eq!(widest, 0, "a digest runs into its label: {line}");
        }
    }
}
