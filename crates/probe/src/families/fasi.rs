//! The suite of Fasi, Higham, Mikaitis and Pranesh (MIMS EPrint 2020.10, Table 2), each test at
//! every depth: the paper's constants are those of one machine.

use crate::builder::SuiteBuilder;

pub const TELLS: &str = "the conclusions of Fasi et al., 4";

pub fn write(set: &mut SuiteBuilder) {
    let p = set.precision();
    // 3.1.2, the answer in a narrow result of products held exactly.
    let fraction = set.a.fraction_bits().min(set.b.fraction_bits()) as i32;
    let below_one = (1u64 << (fraction + 1)) - 1;
    set.case("3.1.2: (1 - u)^2 + (1 - u) * u, u half an ulp: exact although no term is")
        .factors(0, false, [below_one, below_one], -2 * (fraction + 1))
        .factors(1, false, [below_one, 1], -2 * (fraction + 1))
        .tag("fasi-exact", 0, 0)
        .done();
    for d in 8..=(p + 8).min(60) {
        // 3.1.2: one large among small ones, in every place.
        for place in 0..5usize {
            let e = |k: usize| if k == place { 0 } else { -d };
            set.case(format!(
                "3.1.2: one term of 1 among five, four of 2^-{d}; place {place}"
            ))
            .each(0..4, |case, k| case.product(k, false, 1, e(k)))
            .c(false, 1, e(4))
            .tag("fasi-order", d, place as i32)
            .done();
        }
        // 3.1.3: the rounding of the additions, on both half lines.
        for negative in [false, true] {
            set.case(format!("3.1.3: 2 and 3 * 2^-{d}, either sign"))
                .product(0, negative, 1, 1)
                .product(1, negative, 3, -d)
                .tag("fasi-rounding", d, negative.into())
                .done();
        }
        // 3.1.4: guard digits, normalisation in addition and in subtraction, monotonicity.
        set.case(format!("3.1.4: 1 and C = -1 + 2^-{d}"))
            .product(0, false, 1, 0)
            .c(true, (1 << d) - 1, -d)
            .tag("fasi-guard", d, 0)
            .done();
        set.case(format!("3.1.4: 1, -2^-{d} and C = -1 + 2^-{d}"))
            .product(0, false, 1, 0)
            .product(1, true, 1, -d)
            .c(true, (1 << d) - 1, -d)
            .tag("fasi-subtraction", d, 0)
            .done();
        // The paper's four small addends suffice where nothing is kept below the result's last bit.
        for n in [4usize, 8, 16, 32] {
            if n > 4 && d < p {
                continue;
            }
            set.case(format!("3.1.4: C = 1 - 2^-{p} and {n} of 2^-{d}"))
                .powers(0..n, false, -d)
                .c(false, (1 << p) - 1, -p)
                .tag("fasi-below-one", d, n as i32)
                .done();
            set.case(format!("3.1.4: C = 1 and {n} of 2^-{d}"))
                .powers(0..n, false, -d)
                .c(false, 1, 0)
                .tag("fasi-one", d, n as i32)
                .done();
        }
    }
    // 3.1.4: extra bits for carries.
    let low = p - 1;
    for place in 0..4 {
        let e = |k: usize| if k == place { -low } else { 0 };
        set.case(format!(
            "3.1.4: C = 1 + 3 * 2^-{low}, three ones, 2^-{low} at k = {place}"
        ))
        .each(0..4, |case, k| case.product(k, false, 1, e(k)))
        .c(false, (1 << low) + 3, -low)
        .tag("fasi-carry", place as i32, 0)
        .done();
        set.case("3.1.4: the same with one more 1 for the small term")
            .each(0..4, |case, k| case.product(k, false, 1, 0))
            .c(false, (1 << low) + 3, -low)
            .done();
    }
    set.case("3.1.4: 1.875 + 1 + 1.5 + 1.75 + 1.875 = 8")
        .product(0, false, 1, 0)
        .product(1, false, 3, -1)
        .product(2, false, 7, -2)
        .product(3, false, 15, -3)
        .c(false, 15, -3)
        .tag("fasi-carry-8", 0, 0)
        .done();
}
