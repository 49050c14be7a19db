//! One bit of an operand was another when the product was computed; rows that moved.

use super::{causes, change, codes, first, folder, kinds, places, says};
use crate::support::{Folder, table};
use serde_json::json;

const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";
const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
const SIZE: [usize; 3] = [48, 56, 200];

/// D of operands with these bits of an element flipped.
fn computed_with(name: &str, flips: &[([usize; 2], u64)]) -> Folder {
    let folder = folder("fp16", SIZE, 21);
    let columns = if name == "a" { SIZE[2] } else { SIZE[1] };
    let file = format!("{name}.npy");
    change(&folder, &file, "wrong.npy", 2, |at, code| {
        let here = flips.iter().filter(|([i, j], _)| i * columns + j == at);
        here.fold(code, |code, (_, bits)| code ^ bits)
    });
    folder.replay(&PRODUCT.replace(&file, "wrong.npy"), "d.npy");
    folder
}

#[test]
#[ignore = "long"]
fn a_bit_of_a_or_b() {
    for bit in [2, 9, 10, 12, 13, 15] {
        for (name, at, said) in table! {
            ("a", [17, 133], format!("Row 17: bit {bit} of A[17, 133] was flipped")),
            ("b", [133, 8], format!("Column 8: bit {bit} of B[133, 8] was flipped")),
        } {
            let folder = computed_with(name, &[(at, 1 << bit)]);
            let cause = first(&folder, CHECK, "input_flipped");
            assert_eq!(cause["at"], json!([at[0], at[1], bit]), "{cause}");
            says(&cause, &said);
        }
    }
}

#[test]
fn a_bit_of_several_rows() {
    let folder = computed_with("a", &[([3, 7], 1 << 12), ([30, 111], 1 << 11)]);
    let causes = causes(&folder, CHECK);
    assert_eq!(kinds(&causes), ["input_flipped", "input_flipped"]);
    assert_eq!(
        [&causes[0]["at"], &causes[1]["at"]],
        [&json!([3, 7, 12]), &json!([30, 111, 11])]
    );
}

/// Each counts its own elements, also where rows touch.
#[test]
fn a_bit_of_each_of_two_rows() {
    for (row, other) in [(10, 11), (10, 30)] {
        let folder = computed_with("a", &[([row, 7], 1 << 13), ([other, 90], 1 << 12)]);
        let causes = causes(&folder, CHECK);
        assert_eq!(kinds(&causes), ["input_flipped", "input_flipped"]);
        for (cause, at) in causes.iter().zip([[row, 7, 13], [other, 90, 12]]) {
            assert_eq!(cause["at"], json!(at));
            assert_eq!(cause["mismatches"], SIZE[1]);
            assert_eq!(cause["area"]["rows"], json!([at[0], at[0] + 1]));
        }
    }
}

/// A row with another fault hides none.
#[test]
fn a_bit_of_one_of_two_rows() {
    for other in [11, 30] {
        let flips = [
            ([10, 7], 1 << 13),
            ([other, 90], 1 << 12),
            ([other, 9], 1 << 12),
        ];
        let folder = computed_with("a", &flips);
        let causes = causes(&folder, CHECK);
        assert_eq!(kinds(&causes), ["input_flipped"]);
        assert_eq!(causes[0]["at"], json!([10, 7, 13]));
        assert_eq!(causes[0]["mismatches"], SIZE[1]);
        let places = places(&folder, CHECK);
        assert_eq!(places.len(), 1, "{places:#?}");
        says(&places[0], &format!("row {other}."));
    }
}

/// Two bits of a row are no flipped bit.
#[test]
fn two_bits_are_not_one() {
    for flips in [
        &[([17, 133], 3 << 9)][..],
        &[([17, 20], 1 << 10), ([17, 21], 1 << 10)],
    ] {
        let causes = causes(&computed_with("a", flips), CHECK);
        assert!(!kinds(&causes).contains(&"input_flipped"), "{causes:#?}");
    }
}

#[test]
fn a_bit_of_c() {
    let folder = folder("fp16", SIZE, 21);
    folder.with_codes32("c.npy", "wrong.npy", |c| c[20 * 56 + 11] ^= 1 << 27);
    folder.replay(&format!("{PRODUCT} --c wrong.npy"), "d.npy");
    let cause = first(&folder, &format!("{CHECK} --c c.npy"), "input_flipped");
    assert_eq!(cause["at"], json!([20, 11, 27]));
    says(&cause, "Row 20, column 11: bit 27 of C[20, 11] was flipped");
}

/// Through a schedule, too.
#[test]
fn a_bit_under_a_schedule() {
    let folder = folder("bf16", [32, 32, 256], 4);
    let of =
        "--arch a100 --dtype bf16 --schedule cutlass-splitk-parallel --split-k 4 --d-dtype fp32";
    folder.with_codes16("a.npy", "wrong.npy", |a| a[9 * 256 + 100] ^= 1 << 8);
    folder.replay(&format!("{of} wrong.npy b.npy"), "d.npy");
    let cause = first(&folder, &format!("{of} a.npy b.npy d.npy"), "input_flipped");
    assert_eq!(cause["at"], json!([9, 100, 8]));
}

#[test]
fn rows_and_columns_of_another_place() {
    const M: usize = SIZE[0];
    const N: usize = SIZE[1];
    let folder = folder("fp16", SIZE, 21);
    folder.replay(PRODUCT, "right.npy");
    let right = codes(&folder, "right.npy", 4);
    type From = fn(usize, usize) -> [usize; 2];
    for (kind, words, from) in table! {
        ("row_moved", "Row 7 holds the values of row 6", (|i, j| [if i == 7 { 6 } else { i }, j]) as From),
        ("column_moved", "", |i, j| [i, if j == 3 { 40 } else { j }]),
        ("row_moved", "the next one", |i, j| [(i + 1) % M, j]),
        ("row_moved", "the previous one", |i, j| [(i + M - 1) % M, j]),
        ("row_moved", "the one 5 further", |i, j| [(i + 5) % M, j]),
        ("row_moved", "the next one", |i, j| [(i + 1).min(M - 1), j]),
        ("rows_permuted", "rows of D are in reverse order", |i, j| [M - 1 - i, j]),
        ("rows_permuted", "Row 4 and row 9 are swapped", |i, j| [[i, 9, 4][usize::from(i == 4) + 2 * usize::from(i == 9)], j]),
    } {
        change(&folder, "right.npy", "d.npy", 4, |at, _| {
            let [i, j] = from(at / N, at % N);
            right[i * N + j]
        });
        let cause = first(&folder, CHECK, kind);
        says(&cause, words);
        if kind == "column_moved" {
            assert_eq!(cause["at"], json!([40]));
        }
    }
}
