//! Single products, and every product of two codes in some sum.

use super::{K, SuiteBuilder};

pub const TELLS: &str = "exactness of products, signs of operands";

pub fn write(set: &mut SuiteBuilder) {
    for factors in corners(set) {
        for k in [0, 1, 2, 3, 5, 17, K - 1] {
            let (x, y) = factors;
            set.case(format!("{x} * {y} at k = {k} alone"))
                .term(k, factors)
                .tag("product", (x * y) as i32, k as i32)
                .done();
        }
    }
    let ([a0, a1], [b0, b1]) = (set.a, set.b);
    for x in a0..=a1 {
        set.case(format!("{x} times every number of B"))
            .terms((b0..=b1).enumerate().map(|(k, y)| (k, (x, y))))
            .done();
        // Errors that cancel in the whole row do not in a part of it.
        let every = (b0..=b1).enumerate().map(|(k, y)| (2 * k, (x, y)));
        let every = every.filter(|(k, (_, y))| k / 2 % 3 != 0 && *y != 0);
        set.case(format!("{x} times two in three of B"))
            .terms(every)
            .done();
    }
}

/// Operands at the ends of their ranges, beside them, and about zero.
fn corners(set: &SuiteBuilder) -> Vec<(i64, i64)> {
    let near = |[least, greatest]: [i64; 2]| {
        let mut all = vec![least, least + 1, -1, 1, 2, 3, greatest - 1, greatest];
        all.retain(|x| (least..=greatest).contains(x) && *x != 0);
        all.sort_unstable();
        all.dedup();
        all
    };
    let ys = near(set.b);
    let xs = near(set.a).into_iter();
    xs.flat_map(|x| ys.iter().map(move |&y| (x, y))).collect()
}
