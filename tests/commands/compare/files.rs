//! Formats, shapes, options and forms.

use super::{compared, made_by};
use crate::support::{Folder, Npy, Says, claims, ran, table, words};

fn folder() -> Folder {
    made_by! {"
        generate generate:1:normal:32x64 --dtype bf16 --role a -o a.npy
        generate generate:2:normal:64x48 --dtype bf16 --role b -o b.npy
        replay --arch h100 --dtype bf16 a.npy b.npy -o fp32.npy
        replay --arch h100 --dtype bf16 --d-dtype bf16 a.npy b.npy -o bf16.npy
        replay --arch a100 --dtype bf16 a.npy b.npy -o other.npy
    "}
}

/// A result of fewer bits is the rounded one, or it is not.
#[test]
fn the_same_sums_rounded() {
    let folder = folder();
    folder.flip("bf16.npy", "wrong.npy", 1, 1);
    compared! {folder, "
        fp32.npy bf16.npy | 0 | EQUAL, after rounding | after the left one is rounded to bf16 | the files differ
            | :rounded = left | :format = bf16
        fp32.npy wrong.npy | 1 | :mismatch_count = 1
        fp32.npy fp32.npy | 0 | Both files hold the same bits
        fp32.npy fp32.npy --rows1 3:7 --rows2 3:7 | 0 | EQUAL, in the chosen rows | Other rows were not compared
    "};
    // Nothing stands between the verdict and who says it.
    let text = folder.tcverify("compare fp32.npy bf16.npy").stdout;
    assert!(text.contains("rounded to bf16\n\n  by "), "{text}");
}

/// Operands that are generated, or of another type, are operands.
#[test]
fn generated_operands_that_differ() {
    let words = "fp32.npy other.npy generate:1:normal:32x64 generate:2:normal:64x48 --dtype bf16 --arch h100";
    compared! {folder(), "
        {words} --a2 generate:5:normal:32x64 | 1 | INPUTS DIFFER | A differs between left and right
            | :verdict = inputs_differ
        # What is generated is what a file of the same numbers holds.
        {words} --a2 a.npy | 1 | :verdict = different | :operands.0.same = true
    "};
}

/// The rule of one side says nothing of a result that its format does not hold.
#[test]
#[ignore = "long"]
fn the_other_result_is_of_a_wider_format() {
    let folder = made_by! {"
        generate generate:1:normal:16x64 --dtype fp16 --role a -o a.npy
        generate generate:2:normal:64x16 --dtype fp16 --role b -o b.npy
        replay --arch h100 --dtype fp16 --d-dtype fp16 a.npy b.npy -o d.npy
    "};
    let numbers: Vec<f32> = (0..256).map(|i| 0.1 + i as f32).collect();
    folder.f32("wide.npy", &[16, 16], &numbers);
    compared! {folder, "d.npy wide.npy a.npy b.npy --dtype fp16 --arch h100 | 1 | :explained = left | :rounded = right"};
}

/// Half of all differences is not half of those that have a distance.
#[test]
fn distances_of_nans() {
    let folder = Folder::new();
    let next = f32::from_bits(1f32.to_bits() + 1);
    for (name, first, rest) in table! {
        ("ones.npy", 1.0, 1.0),
        ("nans.npy", next, f32::NAN),
        ("next.npy", f32::NAN, next),
    } {
        let numbers = [vec![first], vec![rest; 99]].concat();
        folder.f32(name, &[10, 10], &numbers);
    }
    compared! {folder, "
        ones.npy nans.npy | 1 | !half of them
        ones.npy next.npy | 1 | half of them by 1 ulp or less
    "};
}

/// A NaN is not near the exact sum.
#[test]
fn a_nan_is_no_distance_away() {
    let folder = folder();
    let mut numbers = vec![f32::NAN; 32 * 48];
    numbers[7] = 1.0;
    folder.f32("nan.npy", &[32, 48], &numbers);
    let found = compared! {folder, "fp32.npy nan.npy a.npy b.npy --arch h100 | 1 | the right in 0 (some are NaN)
    | :correctly_rounded.farthest.1 = null"};
    assert!(found["correctly_rounded"]["farthest"][0].is_number());
}

/// Where too many places differ to be grouped, and where NaNs do, nothing is said that was not looked at.
#[test]
fn a_pattern_is_only_denied_where_none_was_found() {
    let folder = Folder::new();
    let save = |name: &str, [m, n]: [usize; 2], flipped: &dyn Fn(usize, usize) -> u32| {
        let one = |at: usize| 1f32.to_bits() ^ flipped(at / n, at % n);
        folder.f32_codes(name, &[m, n], &(0..m * n).map(one).collect::<Vec<_>>());
    };
    save("large.npy", [1024, 512], &|_, _| 0);
    save(
        "lane.npy",
        [1024, 512],
        &|row, column| match (row % 8, column % 2) {
            (3, 0) => 1 + (column as u32 >> 1) % 50,
            _ => 0,
        },
    );
    let scattered = [(0, 1), (3, 9), (9, 4)];
    save("small.npy", [16, 16], &|_, _| 0);
    save("nan.npy", [16, 16], &|row, column| {
        u32::from(scattered.contains(&(row, column))) * (1f32.to_bits() ^ f32::NAN.to_bits())
    });
    save("off.npy", [16, 16], &|row, column| {
        u32::from(scattered.contains(&(row, column))) * (1 + row as u32)
    });
    compared! {folder, "
        large.npy lane.npy | 1 | mismatches lie at row mod 8 = 3 | !share no row, column, tile or bit
        small.npy nan.npy | 1 | !share no row, column, tile or bit
        small.npy off.npy | 1 | share no row, column, tile or bit
    "};
}

/// Numbers that were widened to be saved count in their own format.
#[test]
fn numbers_that_were_widened() {
    let folder = Folder::new();
    let narrow = f32::from_bits(1.5e30f32.to_bits() & 0xffff_0000);
    for (name, last) in [("x.npy", narrow), ("y.npy", narrow), ("z.npy", 1.6e30)] {
        let mut all: Vec<u32> = (0..64).map(|i| 0x3f80_0000 + (i << 16)).collect();
        all[63] = last.to_bits();
        folder.f32_codes(name, &[8, 8], &all);
    }
    compared! {folder, "
        x.npy y.npy | 0 | :format = bf16 | :widened = true
        # One number of more bits, and they are FP32.
        x.npy z.npy | 1 | :format = fp32 | :widened = false
    "};
}

#[test]
fn every_form_says_it() {
    let folder = folder();
    let words = "fp32.npy other.npy a.npy b.npy --arch h100 --arch a100 --html page.html --junit r.xml --markdown r.md";
    folder.differs(&format!("compare {words} --quiet"));
    for name in ["page.html", "r.xml", "r.md"] {
        let text = folder.text(name);
        text.says_all(words! {"
            both explained | the same order of additions, but different units | left | right
        "});
        text.lacks("reproduced"); // It speaks of no replay.
    }
    let (markdown, page) = (folder.text("r.md"), folder.text("page.html"));
    // Each command stands in a block of its own.
    for command in [
        "```sh\ntcverify check ",
        "```sh\ntcverify explain ",
        "  # left\n",
        "  # right\n",
    ] {
        assert_eq!(markdown.matches(command).count(), 2, "{markdown}");
    }
    for side in ["left", "right"] {
        for words in [
            "replay the SIDE result:",
            "explain the first mismatch in the SIDE result:",
        ] {
            let words = format!("To {}", words.replace("SIDE", side));
            assert_eq!(page.matches(&words).count(), 1, "{words}");
        }
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
        ran! {folder, "compare fp32.npy other.npy a.npy b.npy --arch h100 --json -"}
            .expect(1)
            .stdout
    };
    assert_eq!(run(), run());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    folder.save("codes.npy", &Npy::new("|u1", &[2, 2], vec![1, 2, 3, 4]));
    folder.f32("wide.npy", &[48, 32], &[0.5; 48 * 32]);
    folder.save(
        "whole.npy",
        &Npy::new("<i4", &[32, 48], vec![0; 4 * 32 * 48]),
    );
    folder.f32("no-columns.npy", &[4, 0], &[]);
    folder.f32("no-rows.npy", &[0, 4], &[]);
    claims! {folder, "
        each compare ~ | refused
        no-columns.npy no-columns.npy | it has no elements
        no-rows.npy no-rows.npy | it has no elements
        fp32.npy codes.npy | left is 32x48 | right is 2x2
        fp32.npy wide.npy | is one of them transposed?
        fp32.npy whole.npy | left holds fp32 | right holds int32 | different formats cannot be compared bit by bit
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
    // There is no verdict to sign.
    folder.fails("compare fp32.npy other.npy --attest a.json --attest-key key.pem");
}
