//! Signs of zeros.

use crate::builder::{K, SuiteBuilder};
use crate::number::one;

pub const TELLS: &str = "sign of zero results";

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let (one_a, one_b) = (one(a), one(b));
    let negative = |f: crate::num::Format| f.zero(true);
    for (index, c) in [acc.zero(false), acc.zero(true)].into_iter().enumerate() {
        let sign = ["+0", "-0"][index];
        set.case(format!("all zero, C = {sign}"))
            .c_code(c)
            .tag("zero", 0, index as i32)
            .done();
        if negative(a) != a.zero(false) && negative(b) != b.zero(false) {
            set.case(format!("every product -0, C = {sign}"))
                .c_code(c)
                .each(0..K, |case, k| case.codes(k, (negative(a), one_b)))
                .tag("zero", 1, index as i32)
                .done();
            for n in [1, 2, 4, 8, 16] {
                set.case(format!("{n} products -0, C = {sign}"))
                    .each(0..n, |case, k| case.codes(k, (one_a, negative(b))))
                    .c_code(c)
                    .done();
            }
            set.case(format!("-0 times -0, C = {sign}"))
                .codes(0, (negative(a), negative(b)))
                .c_code(c)
                .done();
        }
        set.case(format!("1 - 1, C = {sign}"))
            .cancelling(0, 1, 0)
            .c_code(c)
            .tag("zero", 2, index as i32)
            .done();
        set.case(format!("-1 + 1, C = {sign}"))
            .product(0, true, 1, 0)
            .product(1, false, 1, 0)
            .c_code(c)
            .done();
    }
    for k in [0, 1, 7, 20] {
        for sign in [false, true] {
            set.case(format!("C cancels with product {k}"))
                .product(k, !sign, 1, 0)
                .c(sign, 1, 0)
                .done();
        }
    }
    let (lowest, result) = (set.lowest_product(), set.lowest_result());
    for e in (lowest..result).rev().take(12) {
        set.case(format!("-2^{e}, below every result: which zero"))
            .product(0, true, 1, e)
            .done();
        set.case(format!(
            "-2^{e} at the end of K, below every result: which zero"
        ))
        .product(K - 1, true, 1, e)
        .tag("negative-underflow", e - result, 0)
        .done();
    }
    // A -0 that arises from flushing, followed by products of -0 to the end: it lasts unless C is
    // flushed on the way.
    let least = acc.min_exponent();
    if negative(b) != b.zero(false) {
        for k in (1..K - 1).filter(|k| k % 2 == 1 || *k > 100) {
            set.case(format!(
                "a negative subnormal sum at k = {k}, then -0 to the end"
            ))
            .tells("flush of C between instructions")
            .c(false, 1, least)
            .product(k, true, 3, least - 1)
            .each(k + 1..K, |case, k| {
                case.codes(k, (0, one_b | b.sign_mask()))
            })
            .done();
        }
    }
}
