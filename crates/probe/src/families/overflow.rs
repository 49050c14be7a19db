//! The upper end: overflow to infinity or not, and the room for carries.

use crate::builder::{K, SuiteBuilder};
use crate::number::ones;

pub const TELLS: &str = "overflow, extra bits for carries, width of the accumulator";

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let largest = acc.max_finite(false);
    let top = acc.max_exponent();
    for negative in [false, true] {
        let c = largest | acc.sign(negative);
        set.case("C the largest number, no product")
            .c_code(c)
            .done();
        // Small ones of either sign, each of which may count as one of the last place.
        for n in [1usize, 2, 4, 8, 16, 32, 64, 128] {
            for minus in [false, true] {
                let sign = if minus { "-" } else { "" };
                let purpose = format!("C the largest number, and {n} products of {sign}1");
                set.case(purpose).c_code(c).powers(0..n, minus, 0).done();
            }
        }
        let from = top - set.precision() - 3;
        for e in from..=top {
            set.case(format!("C the largest number, and 2^{e}"))
                .c_code(c)
                .product(0, negative, 1, e)
                .tag("overflow", e - top, negative.into())
                .done();
            set.case(format!("C the largest number, and twice 2^{e}"))
                .c_code(c)
                .powers(0..2, negative, e)
                .done();
        }
        for e in top - 2..=top + 1 {
            for n in [1usize, 2, 3, 4, 8] {
                set.case(format!("{n} products of 2^{e}"))
                    .powers(0..n, negative, e)
                    .done();
            }
            set.case(format!(
                "2^{e} - 2^{e} + 1: a product beyond the range is no infinity"
            ))
            .product(0, negative, 1, e)
            .product(1, !negative, 1, e)
            .product(2, false, 1, 0)
            .tag("huge-product", e - top, negative.into())
            .done();
            for k in [1, 3, 9, 17, 40] {
                set.case(format!("2^{e} at k = 0, -2^{e} at k = {k}"))
                    .product(0, negative, 1, e)
                    .product(k, !negative, 1, e)
                    .done();
            }
        }
        let most = |sign: bool| (a.max_finite(false) | a.sign(sign), b.max_finite(false));
        for n in [1usize, 2, 4, 8, 16, 64, 128] {
            set.case(format!("{n} products of the largest numbers"))
                .each(0..n, |case, k| case.codes(k, most(negative)))
                .done();
            for c in [false, true] {
                set.case(format!(
                    "{n} products of the largest numbers and one of the other sign, C = 1"
                ))
                .each(0..n, |case, k| case.codes(k, most(negative)))
                .codes(n, most(!negative))
                .c(c, 1, 0)
                .done();
            }
        }
        // Every term just below 4 times the common exponent: no other sum needs as many carries.
        let (ma, mb) = (ones(a), ones(b));
        let (ca, cb) = (ma & !3 | 2, mb & !3 | 2);
        let e = -((a.fraction_bits() + b.fraction_bits()) as i32);
        let c = (1u64 << set.precision()) - 1;
        for n in 1..=K / 2 {
            if n > 9 && n % 8 > 1 {
                continue;
            }
            for (index, (ma, mb)) in [
                (ma, mb),
                (ca.max(1), cb.max(1)),
                (ma, 1 << b.fraction_bits()),
            ]
            .into_iter()
            .enumerate()
            {
                for c_too in [false, true] {
                    let of_c = if c_too { "too" } else { "zero" };
                    let mut case = set
                        .case(format!("{n} products of full significands, C {of_c}"))
                        .each(0..n, |case, k| case.factors(k, negative, [ma, mb], e));
                    if c_too {
                        case = case.c(negative, c, -(acc.fraction_bits() as i32));
                    }
                    case.tag_if(index == 0 && !negative && c_too, "carries", n as i32, 0)
                        .done();
                }
            }
        }
    }
}
