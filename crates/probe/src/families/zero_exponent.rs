//! The exponent with which zeros take part: terms far below it are lost although nothing larger is
//! there (Hawkeye, 7.2 and Alg. 11).

use crate::builder::SuiteBuilder;

pub const TELLS: &str = "zero_exponent, rounding near the smallest results";

pub fn write(set: &mut SuiteBuilder) {
    let lowest = set.lowest_product();
    let result = set.lowest_result();
    // Where a result's last bit is at stake: the smallest results, and one exponent above.
    for base in [result - 1, result, result + 1, result + 6] {
        for d in 1..=60 {
            if base - d < lowest {
                break;
            }
            for (first, second) in [(false, true), (true, false), (false, false)] {
                let sign = |negative: bool| if negative { "-" } else { "+" };
                set.case(format!(
                    "{}2^{base} {} 2^{}: lost if zeros have a large exponent",
                    sign(first),
                    sign(second),
                    base - d
                ))
                .product(0, first, 1, base)
                .product(1, second, 1, base - d)
                .tag(
                    "zero_exponent",
                    d,
                    base - result + if first { 100 } else { 0 } + if second { 1000 } else { 0 },
                )
                .done();
            }
            set.case(format!("C = 2^{base} and a product -2^{}", base - d))
                .c(false, 1, base)
                .product(0, true, 1, base - d)
                .done();
        }
    }
    // Cancellation leaves one bit, and no term has a larger exponent than the zeros.
    let from = lowest.max(result - 4);
    for e in (from..from + 60).chain((lowest..0).step_by(9)) {
        set.case(format!("one product of 2^{e}"))
            .product(0, false, 1, e)
            .done();
        set.case(format!("16 products of -2^{e}"))
            .powers(0..16, true, e)
            .done();
    }
    // Many products, each below what zeros leave, add up to a result.
    for e in (result - 8..result).filter(|&e| e >= lowest) {
        for n in [2usize, 4, 8, 16, 32, 64] {
            set.case(format!("{n} products of 2^{e}"))
                .powers(0..n, false, e)
                .done();
            set.case(format!(
                "{n} products of 2^{e} and no zero beside C = 2^{result}"
            ))
            .powers(0..n, false, e)
            .c(false, 1, result)
            .done();
        }
    }
    // A zero C beside products of every size, and a zero exponent above theirs.
    let normal = set.a.min_exponent() + set.b.min_exponent();
    for e in [0, 3, 8, 16, 24].map(|up| normal.max(-60) + up) {
        for d in 1..=45 {
            set.case(format!("2^{e} - 2^{e} + 2^{} with a C of zero", e - d))
                .cancelling(0, 1, e)
                .product(2, false, 1, e - d)
                .done();
        }
    }
}
