//! Whether products are exact, and whether they are normalised before they are aligned (Hawkeye,
//! Alg. 3, 7 and 8).

use crate::probe::suite::Bench;

const TELLS: &str = "exactness of products, normalisation of products";

pub fn write(bench: &mut Bench) {
    let ones = |bits: u32| (1u64 << (bits + 1)) - 1;
    let (fa, fb) = (bench.a.fraction_bits(), bench.b.fraction_bits());
    for n in 1..=4usize {
        for negative in [false, true] {
            let e = -((fa + fb) as i32);
            let pen = bench.case(
                "products",
                TELLS,
                format!("{n} products of the largest significands: every bit is kept"),
            );
            let pen = (0..n).fold(pen, |pen, k| {
                pen.factors(k, negative, [ones(fa), ones(fb)], e)
            });
            pen.tag("all-ones", n as i32, negative.into()).done();
        }
    }
    let (big, reach) = (
        bench.big - 1,
        bench.big - bench.lowest_product().max(bench.lowest_result()),
    );
    for d in 1..=reach.min(70) {
        bench
            .case(
                "products",
                TELLS,
                format!(
                    "(1.5 * 1.5 - 1.5 * 1.5) * 2^{big} + 2^{}: 2.25 has the exponent 0 if products \
                     are not normalised",
                    big - d
                ),
            )
            .factors(0, false, [3, 3], big - 2)
            .factors(1, true, [3, 3], big - 2)
            .product(2, false, 1, big - d)
            .tag("unnormalised", d, 0)
            .done();
    }
    // 2.25 as 1.5 * 1.5 and as 1 * 2.25, with small addends beside it.
    let base = (bench.big + bench.small) / 2;
    for d in 10..40 {
        for (x, y) in [([3u64, 3u64], "1.5 * 1.5"), ([1, 9], "1 * 2.25")] {
            bench
                .case(
                    "products",
                    TELLS,
                    format!("{y} * 2^{base} and three times 2^{}", base - d),
                )
                .factors(0, false, x, base - 2)
                .powers(1..4, false, base - d)
                .done();
        }
    }
    // A subnormal operand: the product's exponent is that of the format's smallest normal number.
    for (side, format, other) in [(0, bench.a, bench.b), (1, bench.b, bench.a)] {
        if format.fraction_bits() == 0 {
            continue;
        }
        let one = 1u64 << format.ignored_bits();
        let other_code = |e: i32| crate::probe::number::code(other, false, 1, e);
        let lowest = format.min_exponent() - format.fraction_bits() as i32;
        for up in [0, 8, other.max_exponent()] {
            let Some(y) = other_code(up.min(other.max_exponent())) else {
                continue;
            };
            for d in (1..50).step_by(2) {
                let value = lowest + up.min(other.max_exponent());
                let place = |x: u64, y: u64| if side == 0 { (x, y) } else { (y, x) };
                let negative = one | format.sign_mask();
                let (a0, b0) = place(one, y);
                let (a1, b1) = place(negative, y);
                bench
                    .case(
                        "products",
                        TELLS,
                        format!(
                            "a subnormal times 2^{up} and its negative, and 2^{}: is the product \
                             normalised",
                            value - d
                        ),
                    )
                    .codes(0, a0, b0)
                    .codes(1, a1, b1)
                    .product(2, false, 1, value - d)
                    .done();
            }
        }
    }
}
