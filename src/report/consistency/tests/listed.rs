//! Mismatches that are listed.

use serde_json::json;

use super::{Compared, LISTED, compared, honest, said, table};
use crate::emu::Band;
use crate::num::Format;
use crate::report::example::{SHAPE, given, payload, reproduced};
use crate::report::{Differ, Policy};
use crate::sample::Region;
use crate::tensor::Tensor;

const FOLLOWS: &str = "not all that is said follows from it";

#[test]
fn mismatches_that_are_not_there() {
    let d = given();
    let listed = honest(&d, 3);
    let all = listed["first"].as_array().expect("a list").clone();
    let place = "mismatch at [0, 0, 1]: ";
    table(
        &listed,
        &compared(&d, 3),
        &[
            (
                &[("/first", json!(all[..2]))],
                &["2 mismatches are listed; of 10 it would be 3"],
            ),
            (
                &[("/first/0/index", json!([0, 0, 5]))],
                &["mismatch at [0, 0, 5]: D has no such element"],
            ),
            (
                &[("/first/0/index", json!([0, 4, 0]))],
                &["mismatch at [0, 4, 0]: D has no such element"],
            ),
            (
                &[("/first/0/index", json!([0, 1]))],
                &["mismatch at [0, 1]: D has no such element"],
            ),
            (
                &[("/first/0/reproduced", json!("3f80010"))],
                &["\"3f80010\" is no code of fp32"],
            ),
            (
                &[("/first/0/reproduced", json!("3f80001g"))],
                &["\"3f80001g\" is no code of fp32"],
            ),
            (&[("/first/0/reproduced", json!("3f800012"))], &[FOLLOWS]),
            (
                &[("/first/0/given", json!("3f800012"))],
                &["D holds 3f800011"],
            ),
            (&[("/first/0/ulp", json!(2))], &[FOLLOWS]),
            (&[("/first/0/class", json!("sign"))], &[FOLLOWS]),
            (
                &[("/first/0/index", json!([0, 0, 2]))],
                &["D holds 3f800020"],
            ),
            (
                &[("/first/0", all[1].clone()), ("/first/1", all[0].clone())],
                &["not listed in their order"],
            ),
            (
                &[("/first/1", all[0].clone())],
                &["not listed in their order"],
            ),
        ],
    );
    let region = |rows, columns| Region {
        batches: 2,
        rows,
        columns,
    };
    for (region, words) in [
        (region(0..4, 0..5), vec![]),
        (
            region(1..4, 0..5),
            vec![format!("{place}it was not compared")],
        ),
        (region(0..4, 1..4), vec![]),
        (
            region(0..4, 2..5),
            vec![
                format!("{place}it was not compared"),
                "mismatch at [0, 1, 1]: it was not compared".into(),
            ],
        ),
    ] {
        let of = Compared {
            region,
            ..compared(&d, 3)
        };
        assert_eq!(said(&listed, &of), words);
    }
    // An element that differs, but not by this policy.
    let mut codes = reproduced();
    codes[3] = 0x8000_0000;
    let zero = Tensor::from_payload(Format::Fp32, SHAPE.to_vec(), payload(&codes));
    let mut forged = honest(&zero, 3);
    forged["first"][0]["reproduced"] = json!("00000000");
    let found = said(
        &forged,
        &Compared {
            policy: Policy {
                any_nan: false,
                any_zero: true,
            },
            ..compared(&zero, 3)
        },
    );
    assert!(found.iter().any(|one| one.contains(FOLLOWS)), "{found:?}");
}

/// Where all mismatches are listed, they are counted again.
#[test]
fn counts_that_are_not_those_of_the_list() {
    let d = given();
    let largest = honest(&d, 20)["largest"]["ulp"]
        .as_i64()
        .expect("a distance");
    let of = compared(&d, 20);
    table(
        &honest(&d, 20),
        &of,
        &[
            (&[("/rows_touched", json!(6))], &[LISTED]),
            (&[("/columns_touched", json!(6))], &[LISTED]),
            (
                &[("/classes/sign", json!(0)), ("/classes/exponent", json!(2))],
                &[LISTED],
            ),
            (
                &[
                    ("/histogram/0/count", json!(2)),
                    ("/histogram/1/count", json!(3)),
                ],
                &[LISTED],
            ),
            (&[("/largest/ulp", json!(-largest))], &[LISTED]),
            (&[("/largest/index", json!([0, 1, 2]))], &[LISTED]),
            (
                &[
                    ("/units/counts/0", json!(0)),
                    ("/units/counts/31", json!(1)),
                ],
                &[LISTED],
            ),
        ],
    );
    // One more is counted than listed: nothing can be counted again.
    assert_eq!(said(&honest(&d, 10), &compared(&d, 10)), [""; 0]);
    let mut short = honest(&d, 9);
    short["rows_touched"] = json!(6);
    assert_eq!(said(&short, &compared(&d, 9)), [""; 0]);
}

/// Matrices are counted over all axes of a batch.
#[test]
fn a_batch_of_several_axes() {
    let codes: Vec<u32> = (0..24).collect();
    let mut others = codes.clone();
    others[23] ^= 1;
    let d = Tensor::from_payload(Format::Fp32, vec![2, 3, 2, 2], payload(&others));
    let mut differ = Differ::new(&d, Policy::default(), 3);
    let payload = payload(&codes);
    differ.compare(&Band {
        first_row: 0,
        payload: &payload,
    });
    let comparison = differ.finish();
    assert_eq!(comparison.first[0].index, [1, 2, 1, 1]);
    let of = Compared {
        region: Region {
            batches: 6,
            rows: 0..2,
            columns: 0..2,
        },
        elements: 24,
        layout: None,
        ..compared(&d, 3)
    };
    assert_eq!(comparison.contradictions(&of), [""; 0]);
}
