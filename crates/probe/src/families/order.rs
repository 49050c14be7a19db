//! Which terms are added together: a large term and its negative swallow whatever meets them at
//! once, so the small terms that survive are those that come before or after (Hawkeye, Alg. 4, and
//! FPRev, with pairs instead of all subgroups).

use crate::builder::{K, SuiteBuilder};

/// Tag of pairs beside the smallest products that there are.
pub const DEEP: &str = "swamp-deep";

pub const TELLS: &str = "group, order of accumulation, position of C, halves";

pub fn write(set: &mut SuiteBuilder) {
    let (big, small) = (set.big, set.small);
    pairs(set, "swamp", small);
    // Of few exponents, a pair swallows nothing that is normal where many bits are kept.
    let lowest = set.lowest_product();
    if lowest < small && big - small < 34 {
        pairs(set, DEEP, lowest);
    }
    for j in 0..=K / 2 {
        let purpose = format!(
            "C = 2^{big} cancels with k = {j}, 2^{small} everywhere else: the survivors were added \
             before C or after the product"
        );
        set.case(purpose)
            .powers((0..K).filter(|&k| k != j), false, small)
            .product(j, true, 1, big)
            .c(false, 1, big)
            .tag("swamp-c", j as i32, 0)
            .done();
    }
    for (i, j) in [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (2, 3),
        (3, 4),
        (0, 16),
        (62, 63),
    ] {
        let purpose = format!(
            "2^{big} at k = {i}, -2^{big} at {j}, C = 2^{small}: C survives if it is added apart"
        );
        set.case(purpose)
            .cancelling(i, j, big)
            .c(false, 1, small)
            .tag("small-c", i as i32, j as i32)
            .done();
    }
    // Two small terms beside one pair: who shares a partial sum with whom.
    for (x, y) in [
        (2, 3),
        (2, 4),
        (4, 5),
        (4, 8),
        (8, 16),
        (3, 7),
        (5, 6),
        (16, 17),
    ] {
        set.case(format!(
            "2^{big} at k = 0, -2^{big} at k = 1, 2^{small} at k = {x} and {y} alone"
        ))
        .powers([x, y], false, small)
        .cancelling(0, 1, big)
        .done();
    }
}

/// A pair that cancels, at many places, among small terms.
fn pairs(set: &mut SuiteBuilder, tag: &'static str, small: i32) {
    let big = set.big;
    let mut pair = |i: usize, j: usize| {
        let purpose = format!(
            "2^{big} at k = {i}, -2^{big} at {j}, 2^{small} everywhere else: the survivors were \
             added apart from the pair"
        );
        set.case(purpose)
            .powers((0..K).filter(|&k| k != i && k != j), false, small)
            .cancelling(i, j, big)
            .tag(tag, i as i32, j as i32)
            .done();
    };
    for j in 1..K {
        pair(j - 1, j);
    }
    for j in 2..=K / 2 {
        pair(0, j);
    }
    for i in 1..8 {
        for j in i + 2..10 {
            pair(i, j);
        }
    }
}
