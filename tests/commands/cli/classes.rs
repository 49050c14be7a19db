//! Every way in which an element can differ.

use serde_json::{Value, json};

use crate::support::{Folder, Members, Npy, le32};

const ONE: u16 = 0x3c00;
const INF: u16 = 0x7c00;
const NAN: u16 = 0x7e00;

/// A's element, D's reproduced code (A times 1), the given code, the class.
const CASES: [(u16, u32, u32, &str); 15] = [
    (ONE, 0x3f80_0000, 0x3f80_0000, ""),
    (0, 0x0000_0000, 0x8000_0000, "zero_sign"),
    (NAN, 0x7fff_ffff, 0x7fc0_0000, "nan_payload"),
    (NAN, 0x7fff_ffff, 0xffff_ffff, "nan_payload"),
    (NAN, 0x7fff_ffff, 0x3f80_0000, "nan_against_number"),
    (ONE, 0x3f80_0000, 0x7fc0_0000, "nan_against_number"),
    (INF, 0x7f80_0000, 0x7fff_ffff, "nan_against_number"),
    (INF, 0x7f80_0000, 0x7f7f_ffff, "infinity_against_finite"),
    (ONE, 0x3f80_0000, 0xff80_0000, "infinity_against_finite"),
    (INF, 0x7f80_0000, 0xff80_0000, "infinity_sign"),
    (ONE, 0x3f80_0000, 0xbf80_0001, "sign"),
    (0, 0x0000_0000, 0x8000_0001, "sign"),
    (ONE, 0x3f80_0000, 0x4000_0001, "exponent"),
    (ONE, 0x3f80_0000, 0x3f80_0001, "significand"),
    (ONE, 0x3f80_0000, 0x3f80_0003, "significand"),
];

fn comparison(rest: &str) -> Value {
    let folder = Folder::new();
    let a: Vec<_> = CASES.iter().map(|case| case.0).collect();
    let d: Vec<_> = CASES.iter().map(|case| case.2).collect();
    folder.f16_codes("a.npy", &[CASES.len(), 1], &a);
    folder.f16_codes("b.npy", &[1, 1], &[ONE]);
    folder.f32_codes("d.npy", &[CASES.len(), 1], &d);
    folder.differing(&format!(
        "check --arch ampere --dtype fp16 a.npy b.npy d.npy --max-mismatches 99 --json - {rest}"
    ))["outcome"]["comparison"]
        .clone()
}

fn differing() -> impl Iterator<Item = (usize, (u16, u32, u32, &'static str))> {
    let numbered = CASES.into_iter().enumerate();
    numbered.filter(|(_, (_, reproduced, given, _))| reproduced != given)
}

/// The definition in docs/report-format.md.
fn position(code: u32) -> i64 {
    let magnitude = i64::from(code & 0x7fff_ffff);
    if code >> 31 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

fn distance(reproduced: u32, given: u32) -> Option<i64> {
    let nan = |code: u32| code & 0x7fff_ffff > 0x7f80_0000;
    (!nan(reproduced) && !nan(given)).then(|| position(given) - position(reproduced))
}

#[test]
fn each_mismatch_is_listed_with_its_class_and_distance() {
    let comparison = comparison("");
    let first = comparison.list("first");
    assert_eq!(first.len(), CASES.len() - 1);
    for (listed, (row, (_, reproduced, given, class))) in first.iter().zip(differing()) {
        assert_eq!(listed["index"], json!([row, 0]));
        assert_eq!(listed["class"], class, "row {row}");
        assert_eq!(listed["reproduced"], format!("{reproduced:08x}"));
        assert_eq!(listed["given"], format!("{given:08x}"));
        assert_eq!(listed["xor"], format!("{:08x}", reproduced ^ given));
        assert_eq!(listed["ulp"], json!(distance(reproduced, given)));
    }
}

#[test]
fn each_mismatch_is_counted_in_one_class() {
    let comparison = comparison("");
    assert_eq!(comparison["elements"], CASES.len());
    assert_eq!(comparison["mismatches"], CASES.len() - 1);
    assert_eq!(comparison["rows_touched"], CASES.len() - 1);
    assert_eq!(comparison["columns_touched"], 1);
    for (class, count) in comparison.object("classes") {
        let expected = CASES.iter().filter(|case| case.3 == class).count();
        assert!(expected > 0, "{class} has no case here");
        assert_eq!(*count, expected, "{class}");
    }
}

#[test]
fn the_histogram_holds_every_distance_and_the_largest_stands_out() {
    let comparison = comparison("");
    let distances = || differing().filter_map(|(row, c)| Some((row, distance(c.1, c.2)?)));
    let buckets = comparison.list("histogram");
    let mut total = 0;
    for bucket in buckets {
        let (from, to) = (&bucket["from"], &bucket["to"]);
        let range = from.as_i64().unwrap()..=to.as_i64().unwrap();
        let inside = distances().filter(|(_, ulp)| range.contains(&ulp.abs()));
        let inside = inside.count();
        assert_eq!(bucket["count"], inside, "{range:?}");
        total += inside;
        let (from, to) = (*range.start(), *range.end());
        assert!(from == to || (to as u64).is_power_of_two() && from == to / 2 + 1);
    }
    assert_eq!(total, distances().count());

    let most = distances().map(|(_, ulp)| ulp.abs()).max().unwrap();
    let (row, ulp) = distances().find(|(_, ulp)| ulp.abs() == most).unwrap();
    assert_eq!(
        comparison["largest"],
        json!({"ulp": ulp, "index": [row, 0]})
    );
}

#[test]
fn values_are_readable() {
    let comparison = comparison("");
    let value = |row: usize, field: &str| {
        let first = comparison.list("first");
        let entry = first.iter().find(|m| m["index"] == json!([row, 0]));
        entry.unwrap()[field].as_str().unwrap().to_owned()
    };
    assert_eq!(value(1, "given_value"), "-0");
    assert_eq!(value(2, "reproduced_value"), "NaN");
    assert_eq!(value(9, "reproduced_value"), "+Inf");
    assert_eq!(value(9, "given_value"), "-Inf");
    assert_eq!(value(13, "given_value"), "1.0000001");
    assert_eq!(value(11, "given_value"), "-1e-45");
}

#[test]
fn of_equal_distances_the_first_is_the_largest() {
    let folder = Folder::new();
    folder.f16_codes("a.npy", &[2, 1], &[ONE; 2]);
    folder.f16_codes("b.npy", &[1, 3], &[ONE; 3]);
    // In one row and in the next.
    let row = [0x3f80_0001, 0x3f7f_fffe, 0x3f80_0002];
    let given = le32(&[row, row].concat());
    folder.save("d.npy", &Npy::new("<f4", &[2, 3], given));
    let comparison =
        folder.differing("check --arch ampere --dtype fp16 a.npy b.npy d.npy --json -")["outcome"]
            ["comparison"]
            .clone();
    assert_eq!(comparison["largest"], json!({"ulp": -2, "index": [0, 1]}));
    let histogram = json!([
        {"from": 1, "to": 1, "count": 2},
        {"from": 2, "to": 2, "count": 4},
    ]);
    assert_eq!(comparison["histogram"], histogram);
}
