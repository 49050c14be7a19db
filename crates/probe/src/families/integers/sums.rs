//! Sums of products as far from zero as they can be: a register of fewer bits on the way shows.

use super::{BOTTOM, K, SuiteBuilder, TOP};

pub const TELLS: &str = "width of the sums of products";

pub fn write(set: &mut SuiteBuilder) {
    let mut counts: Vec<usize> = (1..=34).chain([48, 62, 63, 64, 65, 66, 80, 96]).collect();
    counts.extend([127, 128, 129, 192, 255, 256, 257, 384, 511, 512]);
    for factors in set.extremes() {
        let product = factors.0 * factors.1;
        for &n in &counts {
            let sum = product * n as i64;
            for c in [
                0,
                TOP - sum,
                TOP - sum + 1,
                BOTTOM - sum,
                BOTTOM - sum - 1,
                TOP,
                BOTTOM,
            ] {
                // About a limit, a few counts tell.
                if c != 0 && !n.is_power_of_two() && n != 3 && n != 96 {
                    continue;
                }
                set.case(format!("{n} times {product}, and C = {c}"))
                    .terms((0..n).map(|k| (k, factors)))
                    .c(c)
                    .tag("sum", product as i32, if c == 0 { n as i32 } else { -1 })
                    .done();
            }
        }
        // Only some lanes of a unit.
        for stride in [2, 3, 4, 8, 16, 32] {
            for first in [0, 1, stride - 1] {
                let places = (first..K).step_by(stride);
                set.case(format!("{product} at every {stride}th k from {first}"))
                    .terms(places.map(|k| (k, factors)))
                    .done();
            }
        }
    }
    // Half of them taken back, at once or by turns of some length.
    let [up, down] = set.greatest_and_least();
    for run in [1, 2, 3, 4, 8, 16, 31, 32, 64, 128, 256] {
        for (first, then) in [(up, down), (down, up)] {
            for c in [0, TOP, BOTTOM, TOP - 40_000, BOTTOM + 40_000] {
                let sign = |k: usize| {
                    if (k / run).is_multiple_of(2) {
                        first
                    } else {
                        then
                    }
                };
                set.case(format!(
                    "{run} times {} and {run} times {} by turns, and C = {c}",
                    first.0 * first.1,
                    then.0 * then.1
                ))
                .terms((0..K).map(|k| (k, sign(k))))
                .c(c)
                .done();
            }
        }
    }
}
