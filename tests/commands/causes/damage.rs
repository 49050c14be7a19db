//! D is damaged.

use super::{causes, folder, names, place};
use crate::support::{Folder, Says, claims};

const CHECK: &str = "--arch a100 --dtype fp16 a.npy b.npy d.npy";
const SIZE: [usize; 2] = [128, 160];

/// D is right but for the elements that `wrong` names, which are another number.
fn damaged(wrong: impl Fn(usize, usize) -> bool) -> Folder {
    flipped(|i, j| if wrong(i, j) { 0x0012_3456 } else { 0 })
}

/// D with these bits of its elements flipped.
fn flipped(bits: impl Fn(usize, usize) -> u32) -> Folder {
    let [m, n] = SIZE;
    let folder = folder("fp16", [m, n, 16]);
    claims! {folder, "replay --arch a100 --dtype fp16 a.npy b.npy -q -o d.npy | 0"}
    let mut d = folder.codes32("d.npy");
    for (at, code) in d.iter_mut().enumerate() {
        *code ^= bits(at / n, at % n);
    }
    folder.f32_codes("d.npy", &SIZE, &d);
    folder
}

#[test]
fn one_bit() {
    for (bit, field) in [(31, "sign"), (30, "exponent"), (3, "significand")] {
        let folder = flipped(|i, j| u32::from((i, j) == (77, 5)) << bit);
        let sentence = names(&folder, CHECK, "bit_flipped", false);
        let place = format!("bit {bit} ({field}) at row 77, column 5");
        assert!(sentence.contains(&place), "{sentence}");
    }
}

#[test]
fn a_tile() {
    let folder = damaged(|i, j| (32..64).contains(&i) && (96..128).contains(&j));
    let sentence = place(&folder, CHECK, "tile");
    sentence.says("rows 32 to 63, columns 96 to 127: all of");
    sentence.says("tiles of 32x32");
    // At the end of D, and with elements that happen to be right.
    let folder = damaged(|i, j| i >= 64 && j >= 128 && (i + j) % 13 != 0);
    let sentence = place(&folder, CHECK, "tile");
    sentence.says("rows 64 to 127, columns 128 to 159: ");
    // A rectangle between tiles is called just that.
    let folder = damaged(|i, j| (3..9).contains(&i) && (5..12).contains(&j));
    place(&folder, CHECK, "rectangle");
}

#[test]
fn rows_and_columns() {
    let sentence = |kind, wrong: &dyn Fn(usize, usize) -> bool| place(&damaged(wrong), CHECK, kind);
    let said = sentence("rows", &|i, _| i == 5);
    assert!(
        said.ends_with("every element there differs: row 5."),
        "{said}"
    );
    let said = sentence("rows", &|i, j| i % 32 == 7 && j != 9);
    said.says("636 of 640 elements differ: rows 7 to 103 in steps of 32.");
    let said = sentence("columns", &|_, j| j == 9 || j == 10 || j == 70);
    assert!(said.ends_with("columns 9, 10, 70."), "{said}");
}

#[test]
#[ignore = "long"]
fn damage_without_a_system_has_no_cause() {
    for seed in 0..12_u64 {
        for count in [1, 2, 3, 20, 400, 8000] {
            let mut state = seed * 1000 + count;
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                state >> 33
            };
            let hits: std::collections::HashMap<(usize, usize), u32> = (0..count)
                .map(|_| {
                    (
                        (next() as usize % SIZE[0], next() as usize % SIZE[1]),
                        3 << (next() % 20),
                    )
                })
                .collect();
            // The large ones take longer, and one seed of them does.
            if count > 100 && seed > 0 {
                continue;
            }
            let folder = flipped(|i, j| hits.get(&(i, j)).copied().unwrap_or(0));
            assert_eq!(
                causes(&folder, CHECK),
                [serde_json::Value::Null; 0],
                "{seed} {count}"
            );
        }
    }
}

/// What lies where in a part says nothing about all of D.
#[test]
fn a_part_has_no_place() {
    let folder = damaged(|i, _| i == 5);
    assert_eq!(
        causes(&folder, &format!("{CHECK} --rows 0..20")),
        [serde_json::Value::Null; 0]
    );
}

/// In a batch, rows count on.
#[test]
fn a_row_of_a_batch() {
    let folder = Folder::new();
    for (role, shape) in [("a", "4x32x8"), ("b", "4x8x32")] {
        claims! {folder, "generate generate:5:normal:{shape} --dtype fp16 --role {role} -q -o {role}.npy | 0"}
    }
    claims! {folder, "replay --arch a100 --dtype fp16 a.npy b.npy -q -o d.npy | 0"}
    let mut d = folder.codes32("d.npy");
    let row = 2 * 32 + 7;
    d[row * 32..(row + 1) * 32]
        .iter_mut()
        .for_each(|code| *code ^= 0x0012_3456);
    let d = crate::support::le32(&d);
    folder.save("d.npy", &crate::support::Npy::new("<f4", &[4, 32, 32], d));
    let sentence = place(&folder, CHECK, "rows");
    let expected = "1 of 128 rows of D, and every element there differs: row 71 (counted on from matrix to matrix).";
    assert!(sentence.ends_with(expected), "{sentence}");
}
