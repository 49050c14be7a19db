//! Which exponent sets the window that scaled terms are cut to: a product's, a scale's, C's, or that of zeros below all
//! results; and how many products are added before they are cut where no C is there.

use crate::builder::SuiteBuilder;
use crate::emu::Scale;

pub const TELLS: &str =
    "exponent of the window, by products, scales, C or zeros; sums before they are cut";

pub fn write(set: &mut SuiteBuilder, scale: Scale) {
    for other in [1, 2] {
        let base = other * scale.block;
        products(set, base);
        addends(set, base);
    }
    subnormals(set, scale, 32);
}

/// Two small terms, each of which is lost alone, beside products that cancel.
fn products(set: &mut SuiteBuilder, base: usize) {
    let (_, most) = set.scale_reach();
    let top = (2 * most).min(20);
    for d in 33..=40 {
        for j in [1, 2, 3, 4, 5, 7, 8, 12, 15] {
            for (first, negative) in [(0, false), (15 - j, true)] {
                let sign = if negative { "-" } else { "" };
                let (k, value) = (base + first, top - d);
                let case = set.case(format!(
                    "2^{top} and -2^{top} in block 0, {sign}2^{value} at k = {k} and {}",
                    k + j
                ));
                case.cancelling(0, 1, 0)
                    .scaled(0, top)
                    .small(k, negative, 1, value)
                    .small(k + j, negative, 1, value)
                    .done();
            }
        }
    }
}

/// C between a scale and its largest product, all of which cancels, and a small term.
fn addends(set: &mut SuiteBuilder, base: usize) {
    let (_, most) = set.scale_reach();
    let largest = (set.a.max_exponent() + set.b.max_exponent()).min(6);
    for top in [2 * most, 2 * most - 2].map(|top| top.min(20)) {
        for of_c in -1..=largest + 1 {
            for d in 30..=40 {
                for (m, negative) in [(1, false), (1, true), (3, true)] {
                    let sign = if negative { "-" } else { "" };
                    let (value, c) = (top - d, top + of_c);
                    let case = set.case(format!(
                            "2^{} and -2^{0} in block 0, whose scales are 2^{top}, C = 2^{c}, -2^{c}, {sign}{m} * 2^{value}",
                            top + largest
                        ),
                    );
                    let case = case.cancelling(0, 1, largest).scaled(0, top).c(false, 1, c);
                    let case = if of_c > largest {
                        case.powers([2, 3], true, of_c - 1)
                    } else {
                        case.product(2, true, 1, of_c)
                    };
                    case.small(base, negative, m, value).done();
                }
            }
        }
    }
}

/// Results below the normal range, and terms of smaller scales far below them, which take their last bit or vanish.
fn subnormals(set: &mut SuiteBuilder, scale: Scale, base: usize) {
    let unit = set.lowest_result();
    for (n, m, e) in [(1, 1, -2), (2, 1, -1), (3, 3, -2)] {
        let n_units = format!("{n} * 2^{unit} in block 0");
        for d in 5..=36 {
            for tiny in [1, 3] {
                let value = unit - d;
                let block = base / scale.block;
                let case = set.case(format!("{n_units}, -{tiny} * 2^{value} at k = {base}"));
                let case = case
                    .product(0, false, m, e)
                    .scaled(0, unit + 2)
                    .product(base, true, tiny, 0);
                case.scaled(block, value).done();
                // 9/8 and -3/2 of a unit: cut alone they leave nothing.
                let next = base + 16;
                let case = set.case(format!(
                    "{n_units}, 9 * 2^{value} at k = {base}, -3 * 2^{} at {next}",
                    value + 2
                ));
                let case = case
                    .product(0, false, m, e)
                    .scaled(0, unit + 2)
                    .factors(base, false, [3, 3], -2)
                    .product(next, true, 3, 0);
                let case = case.scaled(block, value + 2);
                case.scaled(next / scale.block, value + 2).done();
            }
        }
    }
}
