//! How a sum becomes a result: a base and something below its last bit, of either sign.

use crate::probe::suite::Bench;

const TELLS: &str = "precision, rounding of the result";

pub fn write(bench: &mut Bench) {
    let p = bench.precision();
    let base = (bench.big + bench.small) / 2;
    // C alone: what the accumulator keeps of a number that no product disturbs.
    for q in 1..p {
        for negative in [false, true] {
            bench
                .case(
                    "rounding",
                    TELLS,
                    format!("C = (1 + 2^-{q}) and no product: does the bit survive"),
                )
                .c(negative, (1 << q) + 1, -q)
                .done();
        }
    }
    for q in 5..=p + 3 {
        for m in [1u64, 2, 3, 5] {
            for flip in [false, true] {
                for negative in [false, true] {
                    let e = base - q - 2;
                    let sign = if flip { "-" } else { "+" };
                    let all = if negative { "-(" } else { "(" };
                    let name = if negative { "below-negative" } else { "below" };
                    // As two products.
                    if m == 3 && !flip {
                        bench
                            .case(
                                "rounding",
                                TELLS,
                                format!("{all}2^{base} {sign} {m} * 2^{e}), two products"),
                            )
                            .product(0, negative, 1, base)
                            .product(1, negative, m, e)
                            .done();
                    }
                    if m == 5 && flip {
                        continue;
                    }
                    // As C and a product, C odd in the bit above.
                    bench
                        .case(
                            "rounding",
                            TELLS,
                            format!(
                                "{all}C = 2^{base} + 2^{}, then {sign} {m} * 2^{e}): a tie breaks to \
                                 even or not",
                                base - q + 1
                            ),
                        )
                        .c(negative, (1 << (q - 1)) + 1, base - q + 1)
                        .product(0, negative != flip, m, e)
                        .done();
                    if flip || m == 5 {
                        continue;
                    }
                    // Carried up to 4, two fraction bits of the base lie below the last bit kept.
                    bench
                        .case(
                            "rounding",
                            TELLS,
                            format!("{all}C = 2^{base}, three times 2^{base} and {m} * 2^{e})"),
                        )
                        .c(negative, 1, base)
                        .powers(0..3, negative, base)
                        .product(3, negative, m, e)
                        .tag(name, m as i32, p - q)
                        .done();
                    bench
                        .case(
                            "rounding",
                            TELLS,
                            format!(
                                "{all}C = 2^{base} + 2^{}, three times 2^{base} and {m} * 2^{e})",
                                base - q + 3
                            ),
                        )
                        .c(negative, (1 << (q.max(4) - 3)) + 1, base - q.max(4) + 3)
                        .powers(0..3, negative, base)
                        .product(3, negative, m, e)
                        .done();
                }
            }
        }
    }
}
