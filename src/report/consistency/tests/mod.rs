//! Figures that cannot be, each beside true ones: what is said is the sentence about it and no other.

mod listed;

use serde_json::{Value, json};

use super::Compared;
use crate::emu::Band;
use crate::emu::layout::LayoutKind;
use crate::num::Format;
use crate::report::example::{SHAPE, given, payload, reproduced};
use crate::report::{Comparison, Differ, Policy};
use crate::sample::Region;
use crate::tensor::Tensor;

const UNITS: Option<LayoutKind> = Some(LayoutKind::MmaM16n8);

/// What is compared: all of D, and so many mismatches are listed.
fn compared(d: &Tensor, keep: usize) -> Compared<'_> {
    let [batches, m, n] = SHAPE;
    Compared {
        d,
        region: Region {
            batches,
            rows: 0..m,
            columns: 0..n,
        },
        elements: 40,
        policy: Policy::default(),
        keep,
        layout: UNITS,
    }
}

/// The comparison of all of D, as JSON.
fn honest(d: &Tensor, keep: usize) -> Value {
    let mut differ = Differ::new(d, Policy::default(), keep).counting(UNITS);
    let all = payload(&reproduced());
    differ.compare(&Band {
        first_row: 0,
        payload: &all,
    });
    serde_json::to_value(differ.finish()).expect("plain data")
}

fn said(comparison: &Value, of: &Compared) -> Vec<String> {
    let comparison: Comparison = serde_json::from_value(comparison.clone()).expect("a comparison");
    comparison.contradictions(of)
}

/// Values at places, and words of sentences.
type Row<'a> = (&'a [(&'a str, Value)], &'a [&'a str]);

/// With these values at these places, sentences with these words are said, in this order.
fn table(honest: &Value, of: &Compared, rows: &[Row]) {
    assert_eq!(said(honest, of), [""; 0]);
    let mut others = Vec::new();
    for (changes, words) in rows {
        let mut forged = honest.clone();
        for (place, value) in *changes {
            *forged
                .pointer_mut(place)
                .unwrap_or_else(|| panic!("{place}")) = value.clone();
        }
        let said = said(&forged, of);
        let same = said.len() == words.len()
            && said
                .iter()
                .zip(*words)
                .all(|(one, words)| one.contains(words));
        if !same {
            others.push((*changes, said));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

const CLASSES: &str = "the classes do not add up to the mismatches";
const HOLDS: &str = "the histogram does not hold the mismatches that have a distance";
const BUCKETS: &str = "the histogram has buckets that there are not";
const LAST: &str = "the largest distance is not in the last bucket";
const UNIT: &str = "the counts by unit are not those of the mismatches";
const LISTED: &str = "the counts are not those of the mismatches, all of which are listed";

#[test]
fn counts_that_cannot_be() {
    let d = given();
    let of = compared(&d, 3);
    let bucket = |from: u64, to: u64, count: u64| json!({"from": from, "to": to, "count": count});
    table(
        &honest(&d, 3),
        &of,
        &[
            (
                &[("/elements", json!(39))],
                &[
                    "39 elements are said to be compared; it is 40",
                    "of such counts it is 25.641026",
                ],
            ),
            (
                &[("/rows", json!(7))],
                &["D is said to have 7 rows; it has 8"],
            ),
            (
                &[("/columns", json!(9))],
                &["D is said to have 9 columns; it has 10"],
            ),
            (
                &[("/mismatch_percent", json!(24.0))],
                &["mismatch_percent is 24; of such counts it is 25"],
            ),
            (
                &[("/accepted", json!(30))],
                &["30 elements are said to be accepted, where nothing is"],
            ),
            (
                &[("/accepted", json!(31))],
                &[
                    "more elements differ than were compared",
                    "where nothing is",
                ],
            ),
            (
                &[("/accepted", json!(u64::MAX))],
                &[
                    "more elements differ than were compared",
                    "where nothing is",
                ],
            ),
            (&[("/classes/sign", json!(2))], &[CLASSES]),
            (&[("/classes/sign", json!(u64::MAX))], &[CLASSES]),
            (
                &[("/rows_touched", json!(1))],
                &["10 mismatches cannot touch 1 rows"],
            ),
            (&[("/rows_touched", json!(2))], &[]),
            (&[("/rows_touched", json!(8))], &[]),
            (
                &[("/rows_touched", json!(9))],
                &["10 mismatches cannot touch 9 rows"],
            ),
            (
                &[("/columns_touched", json!(2))],
                &["10 mismatches cannot touch 2 columns"],
            ),
            (&[("/columns_touched", json!(3))], &[]),
            (&[("/columns_touched", json!(10))], &[]),
            (
                &[("/columns_touched", json!(11))],
                &["10 mismatches cannot touch 11 columns"],
            ),
            (&[("/histogram/0", bucket(1, 1, 2))], &[HOLDS]),
            (&[("/histogram/0", bucket(1, 1, u64::MAX))], &[HOLDS]),
            (
                &[
                    ("/histogram/0", bucket(1, 1, 0)),
                    ("/histogram/1", bucket(3, 4, 5)),
                ],
                &[BUCKETS],
            ),
            (&[("/histogram/0", bucket(1, 2, 3))], &[BUCKETS]),
            (&[("/histogram/0", bucket(0, 0, 3))], &[]),
            // Twice the same.
            (&[("/histogram/1", bucket(1, 1, 2))], &[BUCKETS]),
            (
                &[
                    ("/histogram/0", bucket(5, 8, 1)),
                    ("/histogram/2", bucket(1, 1, 3)),
                ],
                &[BUCKETS],
            ),
            (&[("/histogram/1", bucket(5, 8, 2))], &[BUCKETS]),
            (
                &[("/histogram/4", bucket((1 << 62) + 1, 1 << 63, 1))],
                &[LAST],
            ),
            (&[("/largest", json!(null))], &[LAST]),
            (&[("/largest/ulp", json!(1u64 << 30))], &[LAST]),
            (&[("/largest/ulp", json!((1u64 << 30) + 1))], &[]),
            (&[("/largest/ulp", json!(1u64 << 31))], &[]),
            (&[("/largest/ulp", json!((1u64 << 31) + 1))], &[LAST]),
            (&[("/histogram", json!([]))], &[HOLDS, LAST]),
            (&[("/units", json!(null))], &[UNIT]),
            (&[("/units/layout", json!("wgmma_m64"))], &[UNIT]),
            (&[("/units/unit", json!("warp"))], &[UNIT]),
            (&[("/units/counts/31", json!(1))], &[UNIT]),
            (&[("/units/counts/31", json!(u64::MAX))], &[UNIT]),
            (&[("/units/counts", json!([10]))], &[UNIT]),
        ],
    );
    let uncounted = Compared {
        layout: None,
        ..compared(&d, 3)
    };
    assert_eq!(said(&honest(&d, 3), &uncounted), [UNIT]);
}

#[test]
fn what_is_accepted_is_of_a_kind() {
    let d = given();
    let policy = |any_nan: bool, any_zero: bool| Compared {
        policy: Policy { any_nan, any_zero },
        ..compared(&d, 3)
    };
    let accepted = [("/accepted", json!(30))];
    let nan = [
        ("/classes/nan_payload", json!(1)),
        ("/classes/nan_against_number", json!(0)),
    ];
    let zero = [
        ("/classes/zero_sign", json!(1)),
        ("/classes/sign", json!(0)),
    ];
    let honest = honest(&d, 3);
    table(
        &honest,
        &policy(true, false),
        &[
            (&accepted, &[]),
            (&nan, &["any NaN is accepted"]),
            (&zero, &[]),
        ],
    );
    table(
        &honest,
        &policy(false, true),
        &[
            (&accepted, &[]),
            (&nan, &[]),
            (&zero, &["either is accepted"]),
        ],
    );
}

#[test]
fn where_nothing_differs_nothing_is_counted() {
    let d = Tensor::from_payload(Format::Fp32, SHAPE.to_vec(), payload(&reproduced()));
    let largest = json!({"ulp": 1, "index": [0, 0, 0]});
    table(
        &honest(&d, 3),
        &compared(&d, 3),
        &[
            (
                &[("/rows_touched", json!(1))],
                &["0 mismatches cannot touch 1 rows", LISTED],
            ),
            (&[("/largest", largest)], &[LAST, LISTED]),
            (&[("/classes/sign", json!(1))], &[CLASSES, LISTED]),
        ],
    );
}
