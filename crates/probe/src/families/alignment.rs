//! How far below the largest term a term still counts, and how it is rounded there (Hawkeye,
//! Alg. 5 and 6): the largest term cancels, so that the small one is all that remains.

use crate::builder::SuiteBuilder;

pub const TELLS: &str = "fraction bits, rounding of alignment";

pub fn write(set: &mut SuiteBuilder) {
    let big = set.big;
    let shared = set.a.bytes() == 1 && set.b.bytes() == 1;
    let reach = big - set.lowest_product().max(set.lowest_result());
    for d in 1..=reach.min(70) {
        for (m, e) in [(1u64, big - d), (3, big - d - 1), (5, big - d - 2)] {
            for negative in [false, true] {
                if m == 5 && negative {
                    continue;
                }
                let (sign, depth, far, depth_c) = if negative {
                    ("-", "depth-negative", "far-negative", "depth-c-negative")
                } else {
                    ("", "depth", "far", "depth-c")
                };
                let small = format!("{sign}{m} * 2^{e}");
                set.case(format!(
                    "2^{big} - 2^{big} + {small}, all products of the first step"
                ))
                .cancelling(0, 1, big)
                .product(2, negative, m, e)
                .tag(depth, m as i32, d)
                .done();
                set.case(format!(
                    "2^{big} at k = 0, -2^{big} at k = 1, {small} at k = 4"
                ))
                .cancelling(0, 1, big)
                .product(4, negative, m, e)
                .tag(far, m as i32, d)
                .done();
                let apart = if negative { "apart-negative" } else { "apart" };
                // Three quarters and negative terms only where lanes of two may cancel before the alignment.
                if m == 3 && shared {
                    set.case(format!(
                        "2^{big} at k = 0, -2^{big} at k = 2, {small} at k = 5"
                    ))
                    .cancelling(0, 2, big)
                    .product(5, negative, m, e)
                    .tag(apart, m as i32, d)
                    .done();
                }
                if m != 1 {
                    continue;
                }
                set.case(format!("C = 2^{big}, -2^{big} + {small}"))
                    .product(0, true, 1, big)
                    .product(1, negative, m, e)
                    .c(false, 1, big)
                    .done();
                set.case(format!("2^{big} - 2^{big}, C = {small}"))
                    .cancelling(0, 1, big)
                    .c(negative, m, e)
                    .tag(depth_c, m as i32, d)
                    .done();
                for (i, j, k) in [(0, 2, 5), (2, 3, 6), (1, 9, 17)] {
                    set.case(format!(
                        "2^{big} at k = {i}, -2^{big} at k = {j}, {small} at k = {k}"
                    ))
                    .cancelling(i, j, big)
                    .product(k, negative, m, e)
                    .tag_if(i == 0 && (shared || !negative), apart, m as i32, d)
                    .done();
                }
            }
        }
    }
    // A C far below a product, of either sign: dropped, cut, or floored to one unit.
    let lowest = set.lowest_result();
    for d in (10..160)
        .step_by(5)
        .chain([22, 23, 24, 26, 27, 28, 29, 31, 32, 33])
    {
        for top in [0, big] {
            for negative in [false, true] {
                if top - d < lowest {
                    continue;
                }
                set.case(format!("2^{top} and C = 2^{} of either sign", top - d))
                    .product(0, false, 1, top)
                    .c(negative, 1, top - d)
                    .done();
            }
        }
    }
}
