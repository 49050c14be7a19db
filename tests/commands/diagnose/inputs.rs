//! One bit of an operand was another when the product was computed; rows that moved.

use super::{change, codes, diagnosed, folder, places, says};
use crate::support::{Folder, holds, table};

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
        for (name, at, said) in [("a", [17, 133], "Row 17"), ("b", [133, 8], "Column 8")] {
            let folder = computed_with(name, &[(at, 1 << bit)]);
            let (operand, [i, j]) = (name.to_uppercase(), at);
            let found = diagnosed! {folder, "{CHECK} | input_flipped | {said}: bit {bit} of {operand}[{i}, {j}] was flipped"};
            holds! {found, "0.at = [{i}, {j}, {bit}]"}
        }
    }
}

#[test]
fn a_bit_of_several_rows() {
    let folder = computed_with("a", &[([3, 7], 1 << 12), ([30, 111], 1 << 11)]);
    let causes = diagnosed! {folder, "{CHECK} | = input_flipped, input_flipped"};
    holds! {causes, "0.at = [3, 7, 12] | 1.at = [30, 111, 11]"}
}

/// Each counts its own elements, also where rows touch.
#[test]
fn a_bit_of_each_of_two_rows() {
    for (row, other) in [(10, 11), (10, 30)] {
        let folder = computed_with("a", &[([row, 7], 1 << 13), ([other, 90], 1 << 12)]);
        let causes = diagnosed! {folder, "{CHECK} | = input_flipped, input_flipped"};
        for (cause, [i, j, bit]) in causes.iter().zip([[row, 7, 13], [other, 90, 12]]) {
            let after = i + 1;
            holds! {cause, "at = [{i}, {j}, {bit}] | mismatches = 56 | area.rows = [{i}, {after}]"}
        }
    }
}

/// A row with another fault hides none.
#[test]
fn a_bit_of_one_of_two_rows() {
    for other in [11, 30] {
        let flips = table! {([10, 7], 1 << 13), ([other, 90], 1 << 12), ([other, 9], 1 << 12)};
        let folder = computed_with("a", &flips);
        let causes = diagnosed! {folder, "{CHECK} | = input_flipped"};
        holds! {causes, "0.at = [10, 7, 13] | 0.mismatches = 56"}
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
        diagnosed! {computed_with("a", flips), "{CHECK} | !input_flipped"};
    }
}

#[test]
fn a_bit_of_c() {
    let folder = folder("fp16", SIZE, 21);
    folder.with_codes32("c.npy", "wrong.npy", |c| c[20 * 56 + 11] ^= 1 << 27);
    let found = diagnosed! {folder, "{PRODUCT} --c wrong.npy => {CHECK} --c c.npy | input_flipped
    | Row 20, column 11: bit 27 of C[20, 11] was flipped"};
    holds! {found, "0.at = [20, 11, 27]"}
}

/// Through a schedule, too.
#[test]
fn a_bit_under_a_schedule() {
    let folder = folder("bf16", [32, 32, 256], 4);
    let of =
        "--arch a100 --dtype bf16 --schedule cutlass-splitk-parallel --split-k 4 --d-dtype fp32";
    folder.with_codes16("a.npy", "wrong.npy", |a| a[9 * 256 + 100] ^= 1 << 8);
    let found =
        diagnosed! {folder, "{of} wrong.npy b.npy => {of} a.npy b.npy d.npy | input_flipped"};
    holds! {found, "0.at = [9, 100, 8]"}
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
        ("column_moved", "holds the values of column 40", |i, j| [i, if j == 3 { 40 } else { j }]),
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
        let found = diagnosed! {folder, "{CHECK} | {kind} | {words}"};
        if kind == "column_moved" {
            holds! {found, "0.at = [40]"}
        }
    }
}
