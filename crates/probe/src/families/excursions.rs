//! Sums that leave the accumulator's range, or its precision, in one step and come back in a later one:
//! an accumulator that is wider than its format between steps shows, and so do two of them.

use crate::builder::{K, SuiteBuilder};

pub const TELLS: &str = "width and number of accumulators between steps";

pub fn write(set: &mut SuiteBuilder) {
    let p = set.precision();
    let top = set.accumulator.max_exponent();
    let least = set.accumulator.min_exponent();
    let last = set.lowest_result();
    for k in (0..7).map(|i| 1usize << i).chain([12, 24, 48, 96]) {
        for negative in [false, true] {
            let sign = if negative { "-" } else { "" };
            for e in [top, top - 1] {
                let case = set.case(format!(
                    "C = {sign}2^{e} and {sign}2^{e} at k = 0, both taken back at k = {k}"
                ));
                case.c(negative, 1, e)
                    .product(0, negative, 1, e)
                    .powers([k, k + 1], !negative, e)
                    .done();
            }
            // Subnormal in between, and too small for a subnormal.
            for (e, m) in [
                (least - 2, 3u64),
                (last - 1, 1),
                (last - 1, 3),
                (last - 2, 7),
            ] {
                set.case(format!("{sign}{m} * 2^{e} at k = 0 and again at k = {k}"))
                    .product(0, negative, m, e)
                    .product(k, negative, m, e)
                    .done();
            }
            // Bits below the last one of C, which together are one.
            for d in p - 1..p + 9 {
                let e = set.big.min(top - 2);
                let case = set.case(format!(
                    "C = 2^{e}, {sign}3 * 2^{} at k = 0, {k} and {}",
                    e - d,
                    2 * k
                ));
                case.c(false, 1, e)
                    .product(0, negative, 3, e - d)
                    .product(k, negative, 3, e - d)
                    .product((2 * k).min(K - 1), negative, 3, e - d)
                    .done();
                let case = set.case(format!(
                    "C = 2^{e}, {sign}2^{} at k = 0, and C taken back at k = {k}",
                    e - d
                ));
                case.c(false, 1, e)
                    .product(0, negative, 1, e - d)
                    .product(k, true, 1, e)
                    .done();
            }
        }
    }
}
