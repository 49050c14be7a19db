//! Small terms beside a C of one: each alone is lost, several that are added at once are not. This
//! works even where products span too few exponents to swallow one another.

use crate::builder::{K, SuiteBuilder};

pub const TELLS: &str = "group, fraction bits, precision, rounding, carries";

pub fn write(set: &mut SuiteBuilder) {
    let p = set.precision();
    // C's exponent is chosen so that a crumb 2^(c - d) is a product in the middle of the range.
    let middle = (set.big + set.small) / 2;
    let top = set.accumulator.max_exponent() - 2;
    let at = |d: i32| (middle + d).min(top);

    for d in [p - 1, p, p + 1] {
        let c = at(d);
        let mut pair = |i: usize, j: usize| {
            let purpose = format!(
                "C = 2^{c}, 2^{} at k = {i} and {j}: kept only if both are added before a rounding",
                c - d
            );
            set.case(purpose)
                .powers([i, j], false, c - d)
                .c(false, 1, c)
                .tag(
                    "small_addends",
                    j as i32 - i as i32,
                    if i == 0 { d - p } else { 100 + d },
                )
                .done();
        };
        if d == p - 1 {
            pair(0, 1);
        } else {
            for j in 1..K {
                pair(0, j);
                pair(j - 1, j);
            }
            for (i, j) in [(1, 3), (2, 4), (3, 5), (0, 6), (1, 33), (2, 66), (4, 36)] {
                pair(i, j);
            }
        }
    }
    for n in [1usize, 2, 3, 4, 5, 8, 15, 16, 31, 32, 63] {
        for d in p - 2..p + 8 {
            for negative in [false, true] {
                let c = at(d);
                let sign = if negative { "-" } else { "" };
                let purpose = format!(
                    "C = 2^{c}, {sign}2^{} at the first {n} k: how deep a term next to C counts",
                    c - d
                );
                set.case(purpose)
                    .powers(0..n, negative, c - d)
                    .c(false, 1, c)
                    .done();
            }
        }
    }
}
