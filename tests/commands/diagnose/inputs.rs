//! One bit of an operand was another when the product was computed; rows that moved.

use super::{causes, codes, first, folder, kinds, places, put, replay, save, says};
use crate::support::Folder;
use serde_json::json;

const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";
const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
const SIZE: [usize; 3] = [48, 56, 200];

/// D of operands with these bits of an element flipped.
fn computed_with(name: &str, flips: &[([usize; 2], u64)]) -> Folder {
    let folder = folder("fp16", SIZE, 21);
    let columns = if name == "a" { SIZE[2] } else { SIZE[1] };
    let mut operand = codes(&folder, &format!("{name}.npy"), 2);
    for ([i, j], bits) in flips {
        operand[i * columns + j] ^= bits;
    }
    put(&folder, &format!("{name}.npy"), "wrong.npy", 2, &operand);
    replay(
        &folder,
        &PRODUCT.replace(&format!("{name}.npy"), "wrong.npy"),
        "d.npy",
    );
    folder
}

#[test]
#[ignore = "long"]
fn a_bit_of_a_or_b() {
    for bit in [2, 9, 10, 12, 13, 15] {
        let folder = computed_with("a", &[([17, 133], 1 << bit)]);
        let cause = first(&folder, CHECK, "input_flipped");
        assert_eq!(cause["at"], json!([17, 133, bit]), "{cause}");
        says(
            &cause,
            &format!("Row 17: bit {bit} of A[17, 133] was flipped"),
        );
        let folder = computed_with("b", &[([133, 8], 1 << bit)]);
        let cause = first(&folder, CHECK, "input_flipped");
        assert_eq!(cause["at"], json!([133, 8, bit]), "{cause}");
        says(
            &cause,
            &format!("Column 8: bit {bit} of B[133, 8] was flipped"),
        );
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
    let mut c = codes(&folder, "c.npy", 4);
    c[20 * 56 + 11] ^= 1 << 27;
    put(&folder, "c.npy", "wrong.npy", 4, &c);
    replay(&folder, &format!("{PRODUCT} --c wrong.npy"), "d.npy");
    let cause = first(&folder, &format!("{CHECK} --c c.npy"), "input_flipped");
    assert_eq!(cause["at"], json!([20, 11, 27]));
    says(&cause, "Row 20, column 11: bit 27 of C[20, 11] was flipped");
}

/// Through a schedule, too.
#[test]
fn a_bit_under_a_schedule() {
    let folder = folder("bf16", [32, 32, 256], 4);
    let options =
        "--arch a100 --dtype bf16 --schedule cutlass-splitk-parallel --split-k 4 --d-dtype fp32";
    let mut a = codes(&folder, "a.npy", 2);
    a[9 * 256 + 100] ^= 1 << 8;
    put(&folder, "a.npy", "wrong.npy", 2, &a);
    replay(&folder, &format!("{options} wrong.npy b.npy"), "d.npy");
    let cause = first(
        &folder,
        &format!("{options} a.npy b.npy d.npy"),
        "input_flipped",
    );
    assert_eq!(cause["at"], json!([9, 100, 8]));
}

#[test]
fn rows_and_columns_of_another_place() {
    let [m, n, _] = SIZE;
    let from = |place: &dyn Fn(usize, usize) -> [usize; 2]| {
        let folder = folder("fp16", SIZE, 21);
        replay(&folder, PRODUCT, "d.npy");
        let d = codes(&folder, "d.npy", 4);
        let moved = |at: usize| {
            let [i, j] = place(at / n, at % n);
            d[i * n + j]
        };
        let moved: Vec<u64> = (0..m * n).map(moved).collect();
        save(&folder, "<f4", &[m, n], 4, &moved);
        folder
    };
    let folder = from(&|i, j| [if i == 7 { 6 } else { i }, j]);
    let cause = first(&folder, CHECK, "row_moved");
    says(&cause, "Row 7 holds the values of row 6");
    let folder = from(&|i, j| [i, if j == 3 { 40 } else { j }]);
    let cause = first(&folder, CHECK, "column_moved");
    assert_eq!(cause["at"], json!([40]));
    for (by, words) in [
        (1, "the next one"),
        (m - 1, "the previous one"),
        (5, "the one 5 further"),
    ] {
        let folder = from(&|i, j| [(i + by) % m, j]);
        says(&first(&folder, CHECK, "row_moved"), words);
    }
    let folder = from(&|i, j| [(i + 1).min(m - 1), j]);
    says(&first(&folder, CHECK, "row_moved"), "the next one");
    let folder = from(&|i, j| [m - 1 - i, j]);
    says(
        &first(&folder, CHECK, "rows_permuted"),
        "rows of D are in reverse order",
    );
    let folder = from(&|i, j| {
        [
            if i == 4 {
                9
            } else if i == 9 {
                4
            } else {
                i
            },
            j,
        ]
    });
    says(
        &first(&folder, CHECK, "rows_permuted"),
        "Row 4 and row 9 are swapped",
    );
}
