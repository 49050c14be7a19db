//! How a sum becomes a result: a base and something below its last bit, of either sign.

use crate::builder::SuiteBuilder;

pub const TELLS: &str = "precision, rounding of the result";

pub fn write(set: &mut SuiteBuilder) {
    let p = set.precision();
    let base = (set.big + set.small) / 2;
    // C alone: what the accumulator keeps of a number that no product disturbs.
    for q in 1..p {
        for negative in [false, true] {
            set.case(format!(
                "C = (1 + 2^-{q}) and no product: does the bit survive"
            ))
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
                        set.case(format!("{all}2^{base} {sign} {m} * 2^{e}), two products"))
                            .product(0, negative, 1, base)
                            .product(1, negative, m, e)
                            .tag("two-products", i32::from(negative), q)
                            .done();
                    }
                    if m == 5 && flip {
                        continue;
                    }
                    // As C and a product, C odd in the bit above.
                    set.case(format!(
                        "{all}C = 2^{base} + 2^{}, then {sign} {m} * 2^{e}): a tie breaks to \
                                 even or not",
                        base - q + 1
                    ))
                    .c(negative, (1 << (q - 1)) + 1, base - q + 1)
                    .product(0, negative != flip, m, e)
                    .done();
                    if flip || m == 5 {
                        continue;
                    }
                    // Carried up to 4, two fraction bits of the base lie below the last bit kept;
                    // at the end of K, no later step takes the result apart again.
                    for from in [0, 124] {
                        let case = set.case(format!(
                            "{all}C = 2^{base}, three times 2^{base} and {m} * 2^{e}) from \
                                 k = {from}"
                        ));
                        let case = case
                            .c(negative, 1, base)
                            .powers(from..from + 3, negative, base)
                            .product(from + 3, negative, m, e);
                        case.tag_if(from == 124, name, m as i32, p - q).done();
                        let odd = q.max(4) - 3;
                        set.case(format!(
                            "{all}C = 2^{base} + 2^{}, three times 2^{base} and {m} * 2^{e}) \
                                     from k = {from}",
                            base - odd
                        ))
                        .c(negative, (1 << odd) + 1, base - odd)
                        .powers(from..from + 3, negative, base)
                        .product(from + 3, negative, m, e)
                        .done();
                    }
                }
            }
        }
    }
    // A tie, and one bit far below it: how far bits next to C count for the last rounding.
    let top = set.accumulator.max_exponent() - 2;
    let c = base.max(set.lowest_product() + p + 12).min(top);
    for d in p + 1..p + 20 {
        for negative in [false, true] {
            for (m, flip) in [(1u64, false), (3, true)] {
                // Above 2^c one product makes the tie at c - p, below it at c - p - 1.
                let tie = if flip { c - p - 1 } else { c - p };
                for opposite in [false, true] {
                    set.case(format!(
                        "C = 2^{c}, a tie next to it and one bit at 2^{}",
                        c - d
                    ))
                    .c(negative, 1, c)
                    .product(0, negative != flip, m, tie)
                    .product(1, negative != opposite, 1, c - d)
                    .done();
                }
            }
        }
    }
}
