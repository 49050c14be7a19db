//! Pieces that cannot have been found, and a comparison counted by hand.

use serde_json::{Value, json};

use super::PartialComparison;
use crate::{Comparator, Comparison, Tolerance};
use tcverify_emu::Band;
use tcverify_emu::layout::LayoutKind;
use tcverify_num::Format;
use tcverify_tensor::Tensor;

/// A D of two matrices in which ten elements differ.
const SHAPE: [usize; 3] = [2, 4, 5];
const COLUMNS: usize = 5;
/// What is reproduced: 40 numbers around 1.
fn reproduced() -> Vec<u32> {
    (0..40).map(|i| 0x3f80_0000 + 16 * i).collect()
}

/// What is given instead of it, by position. Rows 0 to 2 hold the first four of them.
const GIVEN: [(usize, u32); 10] = [
    (1, 0x3f80_0011),
    (6, 0xbf80_0060),
    (13, 0x7fc0_0000),
    (14, 0x3f80_00e5),
    (15, 0x0000_0000),
    (22, 0x7f80_0000),
    (26, 0x3f80_01a3),
    (27, 0x3f80_01ad),
    (29, 0x3f80_01cf),
    (39, 0x3f80_0271),
];

fn payload(codes: &[u32]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

fn given() -> Tensor {
    let mut codes = reproduced();
    GIVEN.iter().for_each(|&(at, code)| codes[at] = code);
    Tensor::from_payload(Format::Fp32, SHAPE.to_vec(), payload(&codes))
}

/// Rows of the first piece; the second has the other five.
const CUT: usize = 3;

const UNITS: Option<LayoutKind> = Some(LayoutKind::MmaM16n8);

fn differ(d: &Tensor, units: Option<LayoutKind>) -> Comparator<'_> {
    Comparator::new(d, Tolerance::default(), 3).counting(units)
}

/// What was found in these rows.
fn piece(d: &Tensor, rows: std::ops::Range<usize>) -> Value {
    let mut differ = differ(d, UNITS);
    let all = payload(&reproduced());
    differ.compare(&Band {
        first_row: rows.start,
        payload: &all[4 * COLUMNS * rows.start..4 * COLUMNS * rows.end],
    });
    serde_json::to_value(differ.piece()).expect("plain data")
}

fn join(
    into: &mut Comparator,
    piece: &Value,
    rows: std::ops::Range<usize>,
) -> Result<(), &'static str> {
    let piece: PartialComparison = serde_json::from_value(piece.clone()).expect("a piece");
    into.join(piece, rows)
}

#[test]
fn pieces_make_the_comparison_of_all_rows_and_that_is_what_a_hand_counts() {
    let d = given();
    let mut whole = differ(&d, UNITS);
    let all = payload(&reproduced());
    whole.compare(&Band {
        first_row: 0,
        payload: &all,
    });
    let mut joined = differ(&d, UNITS);
    let first = piece(&d, 0..CUT);
    assert_eq!(first["columns"], json!([[1, 2], [3, 5]]));
    join(&mut joined, &first, 0..CUT).expect("the first rows");
    join(&mut joined, &piece(&d, CUT..8), CUT..8).expect("the others");
    let mut bands = differ(&d, UNITS);
    for row in 0..8 {
        let payload = &all[20 * row..20 * (row + 1)];
        bands.compare(&Band {
            first_row: row,
            payload,
        });
    }
    let [whole, joined, bands] = [whole, joined, bands].map(Comparator::conclude);
    assert_eq!(
        (&whole.comparison, &whole.sample),
        (&joined.comparison, &joined.sample)
    );
    assert_eq!(
        (&whole.comparison, &whole.sample),
        (&bands.comparison, &bands.sample)
    );

    let Comparison {
        classes,
        histogram,
        first,
        ..
    } = &whole.comparison;
    let c = &whole.comparison;
    assert_eq!(
        (c.elements, c.mismatches, c.accepted, c.mismatch_percent),
        (40, 10, 0, 25.0)
    );
    // Rows 0, 1, 2, 3 (column 0), 4 (2), 5 (1, 2 and 4), 7; columns 1, 3, 4, 0 of the first matrix, 2, 1, 4 of the second.
    assert_eq!(
        (c.rows, c.rows_touched, c.columns, c.columns_touched),
        (8, 7, 10, 7)
    );
    let counts = serde_json::to_value(classes).expect("plain data");
    let expected = json!({
        "zero_sign": 0, "nan_payload": 0, "nan_against_number": 1, "infinity_against_finite": 1,
        "infinity_sign": 0, "sign": 1, "exponent": 1, "significand": 6
    });
    assert_eq!(counts, expected);
    let largest = c.largest.as_ref().expect("a distance");
    // From one number near 1 to that near -1 lie twice as many as to infinity.
    assert_eq!(
        (largest.index.as_slice(), largest.ulp),
        (&[0, 1, 1][..], -2 * 0x3f80_0060)
    );
    let buckets: Vec<_> = histogram
        .iter()
        .map(|one| (one.from, one.to, one.count))
        .collect();
    assert_eq!(
        buckets,
        [
            (1, 1, 3),
            (3, 4, 2),
            (5, 8, 1),
            (1 << 29 | 1, 1 << 30, 2),
            (1 << 30 | 1, 1 << 31, 1),
        ]
    );
    let listed: Vec<_> = first
        .iter()
        .map(|one| (one.index.clone(), one.xor.as_str()))
        .collect();
    assert_eq!(
        listed,
        [
            (vec![0, 0, 1], "00000001"),
            (vec![0, 1, 1], "80000000"),
            (vec![0, 2, 3], "404000d0")
        ]
    );
    // Lane 4 * row + column / 2.
    let lanes = [
        (0, 1),
        (1, 1),
        (4, 2),
        (5, 1),
        (6, 1),
        (9, 1),
        (10, 1),
        (12, 1),
        (14, 1),
    ];
    let counts = c.units.as_ref().expect("counted").counts.iter().copied();
    let counted: Vec<_> = (0..32)
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .collect();
    assert_eq!(counted, lanes);
}

/// Joins an honest piece of the first rows in which something was changed.
fn join_forged(d: &Tensor, honest: &Value, place: &str, value: &Value) -> Result<(), &'static str> {
    let mut forged = honest.clone();
    let changed = forged.pointer_mut(place);
    *changed.unwrap_or_else(|| panic!("{place}")) = value.clone();
    join(&mut differ(d, UNITS), &forged, 0..CUT)
}

#[test]
fn a_piece_that_cannot_be_is_refused() {
    const ROWS: &str = "it names elements outside its rows";
    const COUNTS: &str = "its counts do not agree with each other";
    const RUNS: &str = "its counts do not agree with its columns";
    let d = given();
    let honest = piece(&d, 0..CUT);
    assert_eq!(honest["found"]["mismatches"], 4);
    let mut others = Vec::new();
    let fourth = json!([14, 0x3f80_00e0, 0x3f80_00e5]);
    for (place, value, expected) in [
        (
            "/compared",
            json!(14),
            Err("the number of compared elements does not match its rows"),
        ),
        // Its rows end before position 15.
        ("/found/first/2/0", json!(15), Err(ROWS)),
        ("/found/first/2/0", json!(14), Ok(())),
        ("/found/largest/1", json!(15), Err(ROWS)),
        ("/found/largest/1", json!(14), Ok(())),
        ("/found/reach/rows", json!([0, 4]), Err(ROWS)),
        ("/found/mismatches", json!(16), Err(ROWS)),
        ("/found/mismatches", json!(3), Err(ROWS)),
        ("/found/mismatches", json!(5), Err(ROWS)),
        ("/found/accepted", json!(11), Ok(())),
        ("/found/accepted", json!(12), Err(COUNTS)),
        ("/found/accepted", json!(u64::MAX), Err(COUNTS)),
        ("/found/classes/sign", json!(2), Err(COUNTS)),
        ("/found/classes/sign", json!(0), Err(COUNTS)),
        ("/found/classes/sign", json!(u64::MAX), Err(COUNTS)),
        ("/found/buckets/1", json!(0), Err(COUNTS)),
        ("/found/buckets/1", json!(2), Err(COUNTS)),
        ("/found/buckets/4", json!(0), Err(COUNTS)),
        ("/found/largest", json!(null), Err(COUNTS)),
        ("/found/largest/0", json!(1), Err(COUNTS)),
        ("/found/rows_touched", json!(0), Err(COUNTS)),
        ("/found/rows_touched", json!(2), Err(COUNTS)),
        ("/found/rows_touched", json!(4), Err(COUNTS)),
        ("/found/first", json!([]), Err(COUNTS)),
        ("/found/first/0", fourth, Err(COUNTS)),
        ("/found/first/1/0", json!(1), Err(COUNTS)),
        ("/found/first/0/1", json!(0x3f80_0011), Err(COUNTS)),
        ("/found/first/0/1", json!(1u64 << 32), Err(COUNTS)),
        ("/found/first/0/2", json!(1u64 << 32), Err(COUNTS)),
        ("/found/first/0/2", json!(u32::MAX), Ok(())),
        ("/found/reach/different", json!([]), Err(COUNTS)),
        ("/columns", json!([]), Err(RUNS)),
        ("/columns", json!([[5, 3]]), Err(RUNS)),
        ("/columns", json!([[1, 2], [2, 4]]), Err(RUNS)),
        ("/columns", json!([[3, 5], [1, 2]]), Err(RUNS)),
        ("/columns", json!([[0, 5]]), Err(RUNS)),
        ("/columns", json!([[0, 4]]), Ok(())),
        ("/columns", json!([[6, 10]]), Ok(())),
        (
            "/columns",
            json!([[7, 11]]),
            Err("it names columns that D does not have"),
        ),
        (
            "/units",
            json!([3, 0, 0, 0]),
            Err("its counts do not agree with those of units"),
        ),
        (
            "/units",
            json!([u64::MAX, 5, 0, 0]),
            Err("its counts do not agree with those of units"),
        ),
        ("/units", json!([4]), Err("it counts by different units")),
        ("/units", json!(null), Err("it counts by different units")),
    ] {
        let found = join_forged(&d, &honest, place, &value);
        if found != expected {
            others.push((place, value, found));
        }
    }
    assert!(others.is_empty(), "{others:?}");
    let uncounted = join(&mut differ(&d, None), &honest, 0..CUT);
    assert_eq!(uncounted, Err("it counts by different units"));
    // The honest one, of the rows before and behind its own.
    assert_eq!(join(&mut differ(&d, UNITS), &honest, 1..CUT + 1), Err(ROWS));
    assert_eq!(join(&mut differ(&d, UNITS), &honest, 0..CUT), Ok(()));
}

#[test]
fn where_nothing_differs_nothing_is_named() {
    let d = Tensor::from_payload(Format::Fp32, SHAPE.to_vec(), payload(&reproduced()));
    let honest = piece(&d, 0..CUT);
    assert_eq!(join(&mut differ(&d, UNITS), &honest, 0..CUT), Ok(()));
    for (place, value) in [
        ("/found/rows_touched", json!(1)),
        ("/found/largest", json!([1, 1])),
        ("/found/first", json!([[1, 0, 1]])),
        ("/found/classes/sign", json!(1)),
        ("/found/buckets", json!({"1": 1})),
        ("/columns", json!([[0, 1]])),
        ("/units", json!([1, 0, 0, 0])),
    ] {
        let found = join_forged(&d, &honest, place, &value);
        assert!(found.is_err(), "{place} {value}");
    }
}
