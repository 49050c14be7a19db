//! Scaled products of every size that scales allow, far beyond any result, and below.

use crate::builder::{K, SuiteBuilder};
use crate::emu::Scale;
use crate::number::{lowest, ones};

pub const TELLS: &str = "range of scaled products, exponents with which they are aligned";

pub fn write(set: &mut SuiteBuilder, scale: Scale) {
    let block = scale.block;
    // As many bits as sums can have, scales of full significands.
    let (a, b) = (set.a, set.b);
    let full = |negative| (a.max_finite(negative), b.max_finite(false));
    let one = set.scale_code(0);
    let wide = one.map_or(0, |one| one | (ones(scale.format) >> 1));
    for n in [
        1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128, K,
    ] {
        for negative in [false, true] {
            for c in [None, Some(10), Some(-10), Some(30)] {
                let sign = if negative { "-" } else { "" };
                let case = set.case(format!(
                    "{n} times {sign}the largest product, scales of full significands"
                ));
                let case = case.each(0..n, |case, k| {
                    let case = case.codes(k, full(negative));
                    case.scales(k / block, [wide, wide])
                });
                match c {
                    Some(e) => case.c(!negative, 1, e).done(),
                    None => case.done(),
                }
            }
        }
    }
    let (least, most) = set.scale_reach();
    let acc = set.accumulator;
    let tiny = lowest(acc);
    let near = |e: i32| {
        let ends = [0, acc.max_exponent(), acc.min_exponent(), tiny];
        ends.iter().any(|end| (e - end).abs() < 12)
    };
    for e in 2 * least..=2 * most {
        for (m, negative) in [([1, 1], false), ([3, 1], true), ([3, 3], false)] {
            set.case(format!("a product times 2^{e} alone"))
                .factors(0, negative, m, 0)
                .scaled(0, e)
                .done();
        }
        if e % 3 != 0 && !near(e) {
            continue;
        }
        let all = [0, tiny, acc.min_exponent(), -60, 60, acc.max_exponent()];
        for c in all.into_iter().skip(e.rem_euclid(2) as usize).step_by(2) {
            for (from, to) in [(0, 1), (0, block - 1), (0, block), (block, 2 * block)] {
                set.case(format!(
                    "2^{e} at k = {from}, -2^{e} at k = {to}, C = 2^{c}"
                ))
                .cancelling(from, to, 0)
                .scaled(from / block, e)
                .scaled(to / block, e)
                .c(false, 1, c)
                .done();
            }
        }
        // One sum of exponents from scales of other sizes.
        for x in [least, most, 0] {
            let y = e - x;
            set.case(format!("scales of 2^{x} and 2^{y}, at the end of K"))
                .product(K - 1, true, 3, 0)
                .scale_exponents(K / block - 1, [x, y])
                .done();
        }
    }
}
