//! Whether subnormal operands, addends and results count or are flushed (Fasi et al., 3.1.1).

use crate::builder::SuiteBuilder;
use crate::number::{code, lowest};

pub const TELLS: &str = "flush of subnormal operands, of C, and of results";

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    for negative in [false, true] {
        for (side, format, other) in [(0, a, b), (1, b, a)] {
            let smallest = 1u64 << format.ignored_bits();
            let largest = ((1u64 << format.fraction_bits()) - 1) << format.ignored_bits();
            for (what, subnormal) in [("smallest", smallest), ("largest", largest)] {
                for up in [0, 1, 2, other.max_exponent() - 1, other.max_exponent()] {
                    let Some(y) = code(other, false, 1, up) else {
                        continue;
                    };
                    let x = subnormal | format.sign(negative);
                    let pair = if side == 0 { (x, y) } else { (y, x) };
                    let name = ["A", "B"][side];
                    let first = what == "smallest" && up >= 1;
                    set.case(format!(
                        "the {what} subnormal of {name}'s format times 2^{up}"
                    ))
                    .codes(0, pair)
                    .tag_if(first, "subnormal-in", side as i32, up)
                    .done();
                }
            }
        }
        let fraction = (1u64 << acc.fraction_bits()) - 1;
        for (index, c) in [
            1,
            2,
            3,
            fraction / 2 + 1,
            fraction,
            fraction + 1,
            fraction + 2,
        ]
        .into_iter()
        .enumerate()
        {
            set.case(format!(
                "C = {c} times the smallest subnormal, no product: it passes"
            ))
            .c_code(c | acc.sign(negative))
            .tag("subnormal-c", index as i32, negative.into())
            .done();
            for k in [0, 1, 3, 15] {
                set.case(format!(
                    "C = {c} times the smallest subnormal, and twice that as product {k}"
                ))
                .c_code(c | acc.sign(negative))
                .product(k, false, 1, lowest(acc) + 1)
                .done();
            }
        }
        // A subnormal result of normal terms, first through C.
        let least = acc.min_exponent();
        set.case("two normal numbers differ by a subnormal")
            .c(negative, 3, least - 1)
            .product(0, !negative, 1, least)
            .tag("subnormal-out", 0, negative.into())
            .done();
        for e in least - acc.fraction_bits() as i32 - 2..least + 2 {
            for m in [1u64, 3, 5] {
                set.case(format!(
                    "one product, {m} * 2^{e}, where results are subnormal"
                ))
                .product(0, negative, m, e)
                .tag(
                    "subnormal-product",
                    if m == 1 { e } else { 9999 },
                    negative.into(),
                )
                .done();
                set.case(format!(
                    "{m} * 2^{e} and a quarter of it, where results are subnormal"
                ))
                .product(0, negative, m, e)
                .product(1, false, m, e - 2)
                .done();
            }
        }
    }
}
