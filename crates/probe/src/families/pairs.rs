//! Two products that share a lane: which leads, and what exponent a cancelled or empty lane has.
//! C, small enough to be lost beside that exponent, shows it.

use crate::builder::SuiteBuilder;
use crate::number::code;

pub const TELLS: &str = "how two narrow products are added before the others";

pub fn write(set: &mut SuiteBuilder) {
    let (a, b) = (set.a, set.b);
    if a.bytes() != 1 || b.bytes() != 1 {
        return;
    }
    let smallest = set.lowest_product();
    for d in 0..14 {
        for k in [0, 1] {
            // Zero times a large number beside the smallest product.
            for up in [b.max_exponent(), 0] {
                let Some(large) = code(b, false, 1, up) else {
                    continue;
                };
                set.case(format!(
                    "0 * 2^{up} at k = {k}, the smallest product next to it, C small"
                ))
                .codes(k, (0, large))
                .codes(k ^ 1, (1, 1))
                .c(false, 1, smallest - d)
                .done();
                for e in [-4, 0] {
                    set.case(format!("0 * 2^{up} at k = {k}, 2^{e} next to it, C small"))
                        .codes(k, (0, large))
                        .product(k ^ 1, false, 1, e)
                        .c(false, 1, e - 16 - d)
                        .done();
                }
            }
            // 1 and -1, the second of a subnormal: equal only once aligned.
            let half = a.min_exponent() - 1;
            let (x, y) = (code(a, true, 1, half), code(b, false, 1, -half));
            if let (Some(x), Some(y)) = (x, y) {
                set.case(format!(
                    "1 * 1 at k = {k} and a subnormal product of -1 next to it, C small"
                ))
                .product(k, false, 1, 0)
                .codes(k ^ 1, (x, y))
                .c(false, 1, -15 - d)
                .done();
            }
            set.case("1 and -1 in one pair, C small")
                .product(k, false, 1, 0)
                .product(k ^ 1, true, 1, 0)
                .c(false, 1, -15 - d)
                .done();
        }
    }
}
