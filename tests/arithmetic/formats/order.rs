//! Distances between codes, and their decimal text.

use tcverify::num::{decimal, ulp_distance};

use super::codes::{SMALL, all, edges_and_random};
use crate::support::exact::value;
use tcverify::num::Format;

/// Neighbours on the number line are one apart, whichever codes they have; zeros coincide.
#[test]
fn distances_count_representable_numbers() {
    for format in SMALL {
        let numbers = all(format).filter(|&code| !value(format, code).is_nan());
        let mut line: Vec<u64> = numbers.collect();
        line.sort_by(|&x, &y| value(format, x).total_cmp(&value(format, y)));
        for pair in line.windows(2) {
            let step = i128::from(value(format, pair[0]) != value(format, pair[1]));
            let forth = ulp_distance(format, pair[0], pair[1]);
            let back = ulp_distance(format, pair[1], pair[0]);
            assert_eq!(
                (forth, back),
                (Some(step), Some(-step)),
                "{format} {pair:x?}"
            );
        }
    }
}

/// What a report prints identifies the number: reading it back as FP32, or FP64, returns it.
#[test]
fn decimal_text_reads_back() {
    let verify = |format: Format, code: u64| {
        let (text, number) = (decimal(format, code), value(format, code));
        let read: f64 = match format {
            Format::Fp64 => text.parse().expect(&text),
            _ => text.parse::<f32>().expect(&text).into(),
        };
        let same = read.to_bits() == number.to_bits() || (read.is_nan() && number.is_nan());
        assert!(same, "{format} {code:x} is printed as {text}");
    };
    for format in SMALL {
        all(format).for_each(|code| verify(format, code));
    }
    for format in [Format::Fp32, Format::Fp64] {
        edges_and_random(format, 20_000).for_each(|code| verify(format, code));
    }
}
