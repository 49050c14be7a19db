//! Whether products are exact, and whether they are normalised before they are aligned (Hawkeye,
//! Alg. 3, 7 and 8).

use crate::builder::SuiteBuilder;
use crate::number::{code, lowest, ones};

pub const TELLS: &str = "exactness of products, normalisation of products";

pub fn write(set: &mut SuiteBuilder) {
    let full = [ones(set.a), ones(set.b)];
    let e = -((set.a.fraction_bits() + set.b.fraction_bits()) as i32);
    for n in 1..=4usize {
        for negative in [false, true] {
            set.case(format!(
                "{n} products of the largest significands: every bit is kept"
            ))
            .each(0..n, |case, k| case.factors(k, negative, full, e))
            .tag("all-ones", n as i32, negative.into())
            .done();
        }
    }
    let big = set.big - 1;
    let reach = set.big - set.lowest_product().max(set.lowest_result());
    for d in 1..=reach.min(70) {
        set.case(format!(
            "(1.5 * 1.5 - 1.5 * 1.5) * 2^{big} + 2^{}: 2.25 has the exponent 0 if products \
                     are not normalised",
            big - d
        ))
        .factors(0, false, [3, 3], big - 2)
        .factors(1, true, [3, 3], big - 2)
        .product(2, false, 1, big - d)
        .tag("unnormalised", d, 0)
        .done();
    }
    // 2.25 as 1.5 * 1.5 and as 1 * 2.25, with small addends beside it.
    let base = (set.big + set.small) / 2;
    for d in 10..40 {
        for (x, y) in [([3u64, 3u64], "1.5 * 1.5"), ([1, 9], "1 * 2.25")] {
            set.case(format!("{y} * 2^{base} and three times 2^{}", base - d))
                .factors(0, false, x, base - 2)
                .powers(1..4, false, base - d)
                .done();
        }
    }
    // A subnormal operand: the product's exponent is that of the format's smallest normal number.
    for (side, format, other) in [(0, set.a, set.b), (1, set.b, set.a)] {
        if format.fraction_bits() == 0 {
            continue;
        }
        let one = 1u64 << format.ignored_bits();
        let most = other.max_exponent();
        let mut ups = vec![0, most.min(8), most];
        ups.dedup();
        for up in ups {
            let Some(y) = code(other, false, 1, up) else {
                continue;
            };
            for d in (1..50).step_by(2) {
                let value = lowest(format) + up;
                let place = |x: u64| if side == 0 { (x, y) } else { (y, x) };
                set.case(format!(
                    "a subnormal times 2^{up} and its negative, and 2^{}: is the product \
                             normalised",
                    value - d
                ))
                .codes(0, place(one))
                .codes(1, place(one | format.sign_mask()))
                .product(2, false, 1, value - d)
                .tag_if(up == most, "subnormal-factor", side, d)
                .done();
            }
        }
    }
}
