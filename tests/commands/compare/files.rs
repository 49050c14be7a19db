//! Formats, shapes, options and forms.

use super::{compare, made, says};
use crate::support::{Folder, Npy, Says, floats, holds, listed, rows, words};
use serde_json::Value;

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
    says(
        &text,
        &words! {"EQUAL, after rounding | after the left one is rounded to bf16 | the files differ"},
    );
    assert_eq!(
        (&found["rounded"], &found["format"]),
        (&"left".into(), &"bf16".into())
    );
    let mut bytes = folder.read("bf16.npy");
    *bytes.last_mut().unwrap() ^= 1;
    folder.write("wrong.npy", bytes);
    let (_, found) = compare(&folder, "fp32.npy wrong.npy", 1);
    assert_eq!(found["mismatch_count"], 1);
    let (text, _) = compare(&folder, "fp32.npy fp32.npy", 0);
    says(&text, &["Both files hold the same bits"]);
    let (text, _) = compare(&folder, "fp32.npy fp32.npy --rows1 3:7 --rows2 3:7", 0);
    says(
        &text,
        &["EQUAL, in the chosen rows", "Other rows were not compared"],
    );
}

/// Operands that are generated, or of another type, are operands.
#[test]
fn generated_operands_that_differ() {
    let folder = folder();
    let [a, b] = ["generate:1:normal:32x64", "generate:2:normal:64x48"];
    let words = format!("fp32.npy other.npy {a} {b} --dtype bf16 --arch h100");
    let another = format!("{words} --a2 generate:5:normal:32x64");
    let (text, found) = compare(&folder, &another, 1);
    says(
        &text,
        &["INPUTS DIFFER", "A differs between left and right"],
    );
    assert_eq!(found["verdict"], "inputs_differ");
    // What is generated is what a file of the same numbers holds.
    let (_, found) = compare(&folder, &format!("{words} --a2 a.npy"), 1);
    holds! {found, "verdict = different | operands.0.same = true"}
}

/// The rule of one side says nothing of a result that its format does not hold.
#[test]
#[ignore = "long"]
fn the_other_result_is_of_a_wider_format() {
    let folder = made(&[
        "generate generate:1:normal:16x64 --dtype fp16 --role a -o a.npy",
        "generate generate:2:normal:64x16 --dtype fp16 --role b -o b.npy",
        "replay --arch h100 --dtype fp16 --d-dtype fp16 a.npy b.npy -o d.npy",
    ]);
    let numbers: Vec<f32> = (0..256).map(|i| 0.1 + i as f32).collect();
    folder.save("wide.npy", &Npy::new("<f4", &[16, 16], floats(&numbers)));
    let words = "d.npy wide.npy a.npy b.npy --dtype fp16 --arch h100";
    let (_, found) = compare(&folder, words, 1);
    assert_eq!(
        (&found["explained"], &found["rounded"]),
        (&"left".into(), &"right".into())
    );
}

/// Half of all differences is not half of those that have a distance.
#[test]
fn distances_of_nans() {
    let folder = Folder::new();
    let save = |name: &str, number: &dyn Fn(usize) -> f32| {
        let numbers: Vec<f32> = (0..100).map(number).collect();
        folder.save(name, &Npy::new("<f4", &[10, 10], floats(&numbers)));
    };
    let next = f32::from_bits(1f32.to_bits() + 1);
    save("ones.npy", &|_| 1.0);
    save("nans.npy", &|i| if i == 0 { next } else { f32::NAN });
    save("next.npy", &|i| if i == 0 { f32::NAN } else { next });
    let (text, _) = compare(&folder, "ones.npy nans.npy", 1);
    text.lacks("half of them");
    let (text, _) = compare(&folder, "ones.npy next.npy", 1);
    says(&text, &["half of them by 1 ulp or less"]);
}

/// A NaN is not near the exact sum.
#[test]
fn a_nan_is_no_distance_away() {
    let folder = folder();
    let mut numbers = vec![f32::NAN; 32 * 48];
    numbers[7] = 1.0;
    folder.save("nan.npy", &Npy::new("<f4", &[32, 48], floats(&numbers)));
    let (text, found) = compare(&folder, "fp32.npy nan.npy a.npy b.npy --arch h100", 1);
    says(&text, &["the right in 0 (some are NaN)"]);
    assert_eq!(found["correctly_rounded"]["farthest"][1], Value::Null);
    assert!(found["correctly_rounded"]["farthest"][0].is_number());
}

/// Where too many places differ to be grouped, and where NaNs do, nothing is said that was not looked at.
#[test]
fn a_pattern_is_only_denied_where_none_was_found() {
    let folder = Folder::new();
    let save = |name: &str, shape: [usize; 2], number: &dyn Fn(usize, usize) -> f32| {
        let [m, n] = shape;
        let all = (0..m).flat_map(|row| (0..n).map(move |column| number(row, column)));
        let numbers: Vec<f32> = all.collect();
        folder.save(name, &Npy::new("<f4", &shape, floats(&numbers)));
    };
    let denied = "share no row, column, tile or bit";
    let large = [1024, 512];
    save("large.npy", large, &|_, _| 1.0);
    save("lane.npy", large, &|row, column| {
        let hit = row % 8 == 3 && column % 2 == 0;
        f32::from_bits(
            1f32.to_bits()
                ^ if hit {
                    1 + (column as u32 >> 1) % 50
                } else {
                    0
                },
        )
    });
    let (text, _) = compare(&folder, "large.npy lane.npy", 1);
    says(&text, &["mismatches lie at row mod 8 = 3"]);
    assert!(!text.stdout.contains(denied), "{text:?}");
    let small = [16, 16];
    let scattered = |row, column| [(0, 1), (3, 9), (9, 4)].contains(&(row, column));
    save("small.npy", small, &|_, _| 1.0);
    save("nan.npy", small, &|row, column| {
        if scattered(row, column) {
            f32::NAN
        } else {
            1.0
        }
    });
    save("off.npy", small, &|row, column| {
        let bits = if scattered(row, column) {
            1 + row as u32
        } else {
            0
        };
        f32::from_bits(1f32.to_bits() ^ bits)
    });
    let (text, _) = compare(&folder, "small.npy nan.npy", 1);
    assert!(!text.stdout.contains(denied), "{text:?}");
    let (text, _) = compare(&folder, "small.npy off.npy", 1);
    says(&text, &[denied]);
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
    folder.differs(&format!("compare {words} --quiet"));
    for name in ["page.html", "r.xml", "r.md"] {
        let text = folder.text(name);
        for words in words! {"
            both explained | the same order of additions, but different units | left | right
        "}
        {
            assert!(text.contains(words), "{words} is not in {name}:\n{text}");
        }
        assert!(!text.contains("reproduced"), "{name} speaks of a replay");
    }
    let markdown = folder.text("r.md");
    // Each command stands in a block of its own.
    for command in ["tcverify check ", "tcverify explain "] {
        let blocks = markdown.matches(&format!("```sh\n{command}")).count();
        assert_eq!(blocks, 2, "{markdown}");
    }
    let page = folder.text("page.html");
    for side in ["left", "right"] {
        for words in [
            format!("To replay the {side} result:"),
            format!("To explain the first mismatch in the {side} result:"),
        ] {
            assert_eq!(page.matches(&words).count(), 1, "{words}");
        }
        assert_eq!(
            markdown.matches(&format!("  # {side}\n")).count(),
            2,
            "{markdown}"
        );
    }
    page.says("<title>fp32.npy = other.npy: Different, both explained - ");
    let brief = folder.differs("compare --brief fp32.npy other.npy");
    brief.begins("DIFFERENT  ");
    assert!(brief.stdout.ends_with("in fp32\n"), "{}", brief.stdout);
}

/// Two runs give the same bytes.
#[test]
fn the_document_is_the_same_again() {
    let folder = folder();
    let run = || {
        folder
            .differs("compare fp32.npy other.npy a.npy b.npy --arch h100 --json -")
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
    for (name, shape) in [("no-columns.npy", [4, 0]), ("no-rows.npy", [0, 4])] {
        folder.save(name, &Npy::new("<f4", &shape, Vec::new()));
    }
    for [words, said] in rows! {"
        no-columns.npy no-columns.npy | it has no elements
        no-rows.npy no-rows.npy | it has no elements
        fp32.npy codes.npy | left is 32x48 | right is 2x2
        fp32.npy wide.npy | is one of them transposed?
        fp32.npy whole.npy | left holds fp32 | right holds int32
            | different formats cannot be compared bit by bit
        fp32.npy other.npy --arch h100 | needs A and B
        fp32.npy other.npy --schedules always | needs A and B
        fp32.npy other.npy --budget 1 | needs A and B
        fp32.npy other.npy --c none.npy | needs A and B
        fp32.npy other.npy --explain 2 | only to two runs
        fp32.npy other.npy --rows1 0:8 | 8x48 | 32x48 | --rows2 0:8
        fp32.npy other.npy --rows1 30:40 --rows2 30:40 | it has 32
        fp32.npy none.npy | none.npy
        generate:1:normal:32x48 fp32.npy | a generated array is not the result of a product
        fp32.npy other.npy b.npy a.npy | 64x48
        fp32.npy other.npy --json fp32.npy | fp32.npy
    "}
    {
        let said = &listed(said)[..];
        folder.tcverify(&format!("compare {words}")).refuses(said);
    }
    // There is no verdict to sign.
    folder.fails("compare fp32.npy other.npy --attest a.json --attest-key key.pem");
}
