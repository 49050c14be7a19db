//! Buckets, percentages, and the figures of a comparison however D comes.

use super::*;

/// Where elements differ.
#[derive(Debug, Default)]
struct Marks(std::sync::Mutex<Vec<[usize; 2]>>);

impl Observer for Marks {
    fn examined(&self, _: usize, _: usize) {
        panic!("whole rows are compared");
    }

    fn differs(&self, row: usize, column: usize) {
        self.0.lock().expect("nobody panicked").push([row, column]);
    }
}

#[test]
fn buckets_cover_every_distance_once() {
    let mut expected = 0;
    for b in 0..=66 {
        let Bucket { from, to, .. } = range((b, 0));
        assert_eq!(from, expected, "bucket {b}");
        assert_eq!((bucket(from), bucket(to)), (b, b));
        expected = to + 1;
    }
}

const NAN: u64 = 0x7fc0_0001;

/// Two matrices of three rows of four: integers, and a NaN.
fn given() -> Vec<u64> {
    let number = |i: usize| (i as f32).to_bits().into();
    let mut codes: Vec<u64> = (0..24).map(number).collect();
    codes[14] = NAN;
    codes
}

/// One more in the last place, three more and three less, the other sign, and another NaN.
fn reproduced() -> Vec<u64> {
    let mut codes = given();
    codes[1] += 1;
    codes[5] += 3;
    codes[6] -= 3;
    codes[21] ^= 0x8000_0000;
    codes[14] += 1;
    codes
}

fn payload(codes: &[u64]) -> Vec<u8> {
    let bytes = codes.iter().flat_map(|&code| (code as u32).to_le_bytes());
    bytes.collect()
}

/// The same figures, whether D comes whole, by rows or by elements; of parts of it those of the parts.
#[test]
fn figures_of_a_comparison() {
    let policy = Tolerance {
        any_nan: true,
        any_zero: false,
    };
    let tensor = |codes: &[u64]| Tensor::from_codes(Format::Fp32, vec![2, 3, 4], codes);
    let (given, reproduced) = (tensor(&given()), reproduced());
    let by_rows = |bands: &[(usize, usize)], keep: usize| {
        let mut differ = Comparator::new(&given, policy, keep);
        for &(first, end) in bands {
            let payload = payload(&reproduced[first * 4..end * 4]);
            differ.compare(&Band {
                first_row: first,
                payload: &payload,
            });
        }
        differ.finish()
    };
    let whole = by_rows(&[(0, 6)], 3);
    assert_eq!(
        (whole.elements, whole.mismatches, whole.accepted),
        (24, 4, 1)
    );
    assert_eq!((whole.rows, whole.rows_touched), (6, 3));
    assert_eq!((whole.columns, whole.columns_touched), (8, 3));
    assert_eq!(whole.mismatch_percent, 16.666_667);
    assert_eq!(whole.classes.sum(), Some(4));
    assert_eq!((whole.classes.sign, whole.classes.significand), (1, 3));
    let largest = whole.largest.as_ref().expect("numbers");
    assert_eq!(largest.index, [1, 2, 1]);
    let first: Vec<_> = whole.first.iter().map(|one| one.index.clone()).collect();
    assert_eq!(first, [[0, 0, 1], [0, 1, 1], [0, 1, 2]]);
    let counts: Vec<_> = whole
        .histogram
        .iter()
        .map(|one| (one.from, one.count))
        .collect();
    assert_eq!(counts[..2], [(1, 1), (3, 2)]);
    assert_eq!(whole.first[0].ulp, Some(-1));

    let written = |comparison: &Comparison| serde_json::to_value(comparison).expect("figures");
    for bands in [
        &[(0, 2), (2, 6)][..],
        &[(0, 1), (1, 2), (2, 3), (3, 5), (5, 6)],
    ] {
        assert_eq!(written(&by_rows(bands, 3)), written(&whole));
    }
    let mut differ = Comparator::new(&given, policy, 3);
    let elements: Vec<_> = (0..24)
        .map(|i| Element {
            batch: i / 12,
            row: i / 4 % 3,
            column: i % 4,
        })
        .collect();
    for (elements, codes) in elements.chunks(5).zip(reproduced.chunks(5)) {
        differ.compare_some(elements, codes);
    }
    assert_eq!(written(&differ.finish()), written(&whole));
    // The first two rows: of two as far away the first in order is the largest.
    let part = by_rows(&[(0, 1), (1, 2)], 9);
    assert_eq!((part.elements, part.mismatches, part.accepted), (8, 3, 0));
    assert_eq!((part.rows_touched, part.columns_touched), (2, 2));
    assert_eq!(part.mismatch_percent, 37.5);
    assert_eq!(part.largest.expect("numbers").index, [0, 1, 1]);
    let marks = Marks::default();
    let exact = Comparator::new(&given, Tolerance::default(), 3);
    let mut exact = exact
        .observed_by(Some(&marks))
        .counting(Some(LayoutKind::MmaM16n8));
    exact.compare(&Band {
        first_row: 3,
        payload: &payload(&reproduced[12..]),
    });
    let Conclusion { comparison, .. } = exact.conclude();
    assert_eq!((comparison.mismatches, comparison.accepted), (2, 0));
    assert_eq!(comparison.classes.nan_payload, 1);
    assert_eq!(
        comparison
            .units
            .expect("counted")
            .counts
            .iter()
            .sum::<u64>(),
        2
    );
    let marks = marks.0.into_inner().expect("nobody panicked");
    assert_eq!(marks.len(), 2);
    assert!(marks.iter().all(|[row, _]| *row >= 3));
}

#[test]
fn percentages_of_six_decimals() {
    assert_eq!([percent(0, 3), percent(3, 3)], [0.0, 100.0]);
    assert_eq!([percent(1, 3), percent(2, 3)], [33.333_333, 66.666_667]);
    assert_eq!(percent(1, 1 << 40), 0.0);
    assert_eq!(percent(1, 200_000_000), 0.000_001);
}
