//! Formats, shapes, options and forms.

use super::{compare, made, says};
use crate::support::{Folder, Npy, floats};

fn folder() -> Folder {
    made(&[
        "generate generate:1:normal:32x64 --dtype bf16 --role a -o a.npy",
        "generate generate:2:normal:64x48 --dtype bf16 --role b -o b.npy",
        "replay --arch h100 --dtype bf16 a.npy b.npy -o fp32.npy",
        "replay --arch h100 --dtype bf16 --d-dtype bf16 a.npy b.npy -o bf16.npy",
        "replay --arch a100 --dtype bf16 a.npy b.npy -o other.npy",
    ])
}

/// A result of fewer bits is the rounded one, or it is not.
#[test]
fn the_same_sums_rounded() {
    let folder = folder();
    let (text, found) = compare(&folder, "fp32.npy bf16.npy", 0);
    says(&text, &["EQUAL", "after the left one is rounded to bf16"]);
    assert_eq!(
        (&found["rounded"], &found["format"]),
        (&"left".into(), &"bf16".into())
    );
    let mut bytes = folder.read("bf16.npy");
    *bytes.last_mut().unwrap() ^= 1;
    folder.write("wrong.npy", bytes);
    let (_, found) = compare(&folder, "fp32.npy wrong.npy", 1);
    assert_eq!(found["mismatch_count"], 1);
}

/// Numbers that were widened to be saved count in their own format.
#[test]
fn numbers_that_were_widened() {
    let folder = Folder::new();
    let narrow = |last: f32| -> Vec<f32> {
        let mut all: Vec<f32> = (0..64)
            .map(|i| f32::from_bits(0x3f80_0000 + (i << 16)))
            .collect();
        all[63] = last;
        all
    };
    for (name, last) in [
        ("x.npy", 1.5e30),
        ("y.npy", f32::from_bits(1.5e30f32.to_bits() & 0xffff_0000)),
    ] {
        let last = f32::from_bits(last.to_bits() & 0xffff_0000);
        folder.save(name, &Npy::new("<f4", &[8, 8], floats(&narrow(last))));
    }
    folder.save("z.npy", &Npy::new("<f4", &[8, 8], floats(&narrow(1.6e30))));
    let (_, found) = compare(&folder, "x.npy y.npy", 0);
    assert_eq!(
        (&found["format"], &found["widened"]),
        (&"bf16".into(), &true.into())
    );
    // One number of more bits, and they are FP32.
    let (_, found) = compare(&folder, "x.npy z.npy", 1);
    assert_eq!(
        (&found["format"], &found["widened"]),
        (&"fp32".into(), &false.into())
    );
}

#[test]
fn every_form_says_it() {
    let folder = folder();
    let words = "fp32.npy other.npy a.npy b.npy --arch h100 --arch a100 --html page.html --junit r.xml --markdown r.md";
    folder
        .tcverify(&format!("compare {words} --quiet"))
        .expect(1);
    for name in ["page.html", "r.xml", "r.md"] {
        let text = String::from_utf8(folder.read(name)).unwrap();
        for words in [
            "both explained",
            "the same order of additions, but different units",
            "left",
            "right",
        ] {
            assert!(text.contains(words), "{words} is not in {name}:\n{text}");
        }
        assert!(!text.contains("reproduced"), "{name} speaks of a replay");
    }
    let brief = folder
        .tcverify("compare --brief fp32.npy other.npy")
        .expect(1);
    assert!(brief.stdout.starts_with("DIFFERENT  "), "{}", brief.stdout);
}

/// Two runs give the same bytes.
#[test]
fn the_document_is_the_same_again() {
    let folder = folder();
    let run = || {
        folder
            .tcverify("compare fp32.npy other.npy a.npy b.npy --arch h100 --json -")
            .expect(1)
            .stdout
    };
    assert_eq!(run(), run());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    folder.save("codes.npy", &Npy::new("|u1", &[2, 2], vec![1, 2, 3, 4]));
    folder.save(
        "wide.npy",
        &Npy::new("<f4", &[48, 32], floats(&[0.5; 48 * 32])),
    );
    folder.save(
        "whole.npy",
        &Npy::new("<i4", &[32, 48], vec![0; 4 * 32 * 48]),
    );
    for (words, said) in [
        ("fp32.npy codes.npy", &["left is 32x48", "right is 2x2"][..]),
        ("fp32.npy wide.npy", &["is one of them transposed?"]),
        (
            "fp32.npy whole.npy",
            &[
                "left holds fp32",
                "right holds int32",
                "different formats cannot be compared bit by bit",
            ],
        ),
        ("fp32.npy other.npy --arch h100", &["needs A and B"]),
        ("fp32.npy other.npy --schedules always", &["needs A and B"]),
        ("fp32.npy other.npy --budget 1", &["needs A and B"]),
        ("fp32.npy other.npy --c none.npy", &["needs A and B"]),
        ("fp32.npy other.npy --explain 2", &["only to two runs"]),
        (
            "fp32.npy other.npy --rows1 0:8",
            &["8x48", "32x48", "--rows2 0:8"],
        ),
        (
            "fp32.npy other.npy --rows1 30:40 --rows2 30:40",
            &["it has 32"],
        ),
        ("fp32.npy none.npy", &["none.npy"]),
        (
            "generate:1:normal:32x48 fp32.npy",
            &["a generated array is not the result of a product"],
        ),
        ("fp32.npy other.npy b.npy a.npy", &["64x48"]),
        ("fp32.npy other.npy --json fp32.npy", &["fp32.npy"]),
    ] {
        folder.tcverify(&format!("compare {words}")).refuses(said);
    }
    // There is no verdict to sign.
    folder
        .tcverify("compare fp32.npy other.npy --attest a.json --attest-key key.pem")
        .expect(2);
}
