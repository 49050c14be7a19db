//! The numbers that an accumulator holds, and what becomes of a sum just beyond them.

use super::{BOTTOM, K, SuiteBuilder, TOP};

pub const TELLS: &str = "width of the accumulator, wrap or saturation, and where";

pub fn write(set: &mut SuiteBuilder) {
    for (i, c) in [TOP, BOTTOM, TOP - 1, BOTTOM + 1].into_iter().enumerate() {
        set.case(format!("C = {c} and no product"))
            .c(c)
            .tag("alone", i as i32, 0)
            .done();
    }
    for (side, limit, step) in [(0, TOP, 1), (1, BOTTOM, -1)] {
        for beyond in -9..=9i64 {
            for product in 1..=9i64 {
                let (c, product) = (limit - step * (product - beyond), step * product);
                set.case(format!("C = {c} and {product}: {beyond} beyond the limit"))
                    .c(c)
                    .product(0, product)
                    .tag("beyond", side, (beyond * 10 + product.abs()) as i32)
                    .done();
            }
        }
        // At both ends of K, and with the products farthest from zero.
        for k in [0, K - 1] {
            for factors in set.extremes() {
                let product = factors.0 * factors.1;
                for beyond in [-2, -1, 0, 1, 2] {
                    let c = limit + step * beyond - product;
                    set.case(format!(
                        "C = {c} and {product} at k = {k}: {beyond} beyond the limit"
                    ))
                    .c(c)
                    .term(k, factors)
                    .done();
                }
            }
        }
    }
    // Every narrower register.
    for n in 0..31 {
        for c in [(1 << n) - 1, 1 << n, -(1 << n), -(1 << n) - 1i64] {
            for product in [0, 1, -1, 2, -2, 7] {
                set.case(format!("C = {c} and {product}"))
                    .c(c)
                    .product(0, product)
                    .done();
            }
        }
    }
}
