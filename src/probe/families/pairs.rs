//! Two products that share a lane: which leads, and what exponent a cancelled or empty lane has.
//! C, small enough to be lost beside that exponent, shows it.

use crate::num::Format;
use crate::probe::number::code;
use crate::probe::suite::Bench;

const TELLS: &str = "how two narrow products are added before the others";

pub fn write(bench: &mut Bench) {
    let (a, b) = (bench.a, bench.b);
    if a.bytes() != 1 || b.bytes() != 1 {
        return;
    }
    let lowest = |f: Format| f.min_exponent() - f.fraction_bits() as i32;
    let smallest = [1u64, 1];
    for d in 0..14 {
        for k in [0, 1] {
            // Zero times a large number beside the smallest product.
            for up in [b.max_exponent(), 0] {
                let Some(large) = code(b, false, 1, up) else {
                    continue;
                };
                let value = lowest(a) + lowest(b);
                bench
                    .case(
                        "pairs",
                        TELLS,
                        format!("0 * 2^{up} at k = {k}, the smallest product next to it, C small"),
                    )
                    .codes(k, 0, large)
                    .codes(k ^ 1, smallest[0], smallest[1])
                    .c(false, 1, value - d)
                    .done();
                for e in [-4, 0] {
                    bench
                        .case(
                            "pairs",
                            TELLS,
                            format!("0 * 2^{up} at k = {k}, 2^{e} next to it, C small"),
                        )
                        .codes(k, 0, large)
                        .product(k ^ 1, false, 1, e)
                        .c(false, 1, e - 16 - d)
                        .done();
                }
            }
            // 1 and -1, the second of a subnormal: equal only once aligned.
            let half = a.min_exponent() - 1;
            let (x, y) = (code(a, true, 1, half), code(b, false, 1, -half));
            if let (Some(x), Some(y)) = (x, y) {
                bench
                    .case(
                        "pairs",
                        TELLS,
                        format!(
                            "1 * 1 at k = {k} and a subnormal product of -1 next to it, C small"
                        ),
                    )
                    .product(k, false, 1, 0)
                    .codes(k ^ 1, x, y)
                    .c(false, 1, -15 - d)
                    .done();
            }
            bench
                .case("pairs", TELLS, "1 and -1 in one pair, C small")
                .product(k, false, 1, 0)
                .product(k ^ 1, true, 1, 0)
                .c(false, 1, -15 - d)
                .done();
        }
    }
}
