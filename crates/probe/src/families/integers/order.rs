//! Which products are added before a sum is brought into range: one that leads out of it and one that
//! leads back stay together, or are parted.

use super::{BOTTOM, K, SuiteBuilder, TOP};
use crate::families::mixed::Random;

pub const TELLS: &str = "group, order of accumulation, several accumulators";

pub fn write(set: &mut SuiteBuilder) {
    for j in 1..K {
        pair(set, TOP, [2, -3], [0, j]);
        pair(set, TOP, [2, -3], [j - 1, j]);
    }
    for j in 1..K {
        let near = j <= 40 || j % 16 < 2;
        if near {
            for (limit, steps) in [(TOP, [-3, 2]), (BOTTOM, [-2, 3]), (BOTTOM, [3, -2])] {
                pair(set, limit, steps, [0, j]);
                pair(set, limit, steps, [j - 1, j]);
            }
        }
    }
    for i in 1..8 {
        for j in i + 2..12 {
            pair(set, TOP, [2, -3], [i, j]);
        }
    }
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..300 {
        let i = random.below(K as u64 - 1) as usize;
        let j = i + 1 + random.below((K - i - 1) as u64) as usize;
        let limit = [TOP, BOTTOM][random.below(2) as usize];
        let steps = [[2, -3], [-3, 2], [-2, 3], [3, -2]][random.below(4) as usize];
        pair(set, limit, steps, [i, j]);
    }
}

/// Two products beside a C at one end of its range.
fn pair(set: &mut SuiteBuilder, limit: i64, steps: [i64; 2], places: [usize; 2]) {
    let purpose = format!(
        "C = {limit}, {} at k = {} and {} at k = {}: brought into range in between, or not",
        steps[0], places[0], steps[1], places[1]
    );
    let case = set
        .case(purpose)
        .c(limit)
        .product(places[0], steps[0])
        .product(places[1], steps[1]);
    let [i, j] = places.map(|k| k as i32);
    match (limit, steps) {
        (TOP, [2, -3]) => case.tag("pair", i, j).done(),
        (TOP, [-3, 2]) => case.tag("pair-back-first", i, j).done(),
        _ => case.done(),
    }
}
