//! Infinities, NaNs, and bits that a format ignores.

use crate::builder::SuiteBuilder;
use crate::num::Format;
use crate::number::{code, one};

pub const TELLS: &str = "NaN codes, infinities, masked zeros, ignored bits";

/// Codes of a format that some unit reads as something else: (what, code).
fn odd(format: Format) -> Vec<(&'static str, u64)> {
    let field = ((1u64 << format.exponent_bits()) - 1) << format.fraction_bits();
    let at = |bits: u64| bits << format.ignored_bits();
    let fraction = (1u64 << format.fraction_bits()) - 1;
    let mut all = vec![
        ("the largest exponent field, fraction 0", at(field)),
        ("the largest exponent field, fraction 1", at(field | 1)),
        (
            "the largest exponent field, fraction full",
            at(field | fraction),
        ),
        (
            "the quiet bit",
            at(field | 1 << (format.fraction_bits() - 1)),
        ),
        (
            "the largest exponent field, fraction 0, negative",
            at(field) | format.sign_mask(),
        ),
        ("everything set", at(field | fraction) | format.sign_mask()),
        ("the sign alone", format.sign_mask()),
    ];
    if format.ignored_bits() != 0 {
        all.push(("an infinity with an ignored bit", at(field) | 1));
        all.push(("one with all ignored bits", one(format) | (at(1) - 1)));
        all.push(("ignored bits alone", at(1) - 1));
        all.push(("a NaN with ignored bits", at(field | 1) | 5));
    }
    all
}

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let ones = (one(a), one(b));
    for (side, format) in [(0, a), (1, b)] {
        let other = [b, a][side];
        for (what, x) in odd(format) {
            let others = [
                ("1", one(other)),
                ("-1", one(other) | other.sign_mask()),
                ("0", 0),
                ("-0", other.zero(true)),
            ];
            for (times, y) in others {
                let (name, pair) = if side == 0 {
                    ("A", (x, y))
                } else {
                    ("B", (y, x))
                };
                for k in [0, 1, 6, 33] {
                    if k > 1 && times != "1" {
                        continue;
                    }
                    set.case(format!(
                        "{what} in {name} at k = {k}, times {times}, beside 1 * 1"
                    ))
                    .codes(k ^ 1, ones)
                    .codes(k, pair)
                    .done();
                }
                set.case(format!("{what} in {name} times {times}, alone"))
                    .codes(0, pair)
                    .tag("special", side as i32, 0)
                    .done();
                set.case(format!("{what} in {name} times {times}, C = -Inf"))
                    .codes(2, pair)
                    .c_code(acc.infinity(true).unwrap_or(0))
                    .done();
            }
        }
        // Beside a zero partner in a shared lane, an odd operand may still count with its exponent.
        for (what, x) in odd(format) {
            for up in [-6, 0, 4] {
                let Some(z) = code(a, false, 3, up - 1) else {
                    continue;
                };
                let pair = if side == 0 { (x, 0) } else { (0, x) };
                for k in [0, 1] {
                    set.case(format!(
                        "{what} times 0 at k = {k}, 1.5 * 2^{up} next to it"
                    ))
                    .codes(k, pair)
                    .codes(k ^ 1, (z, ones.1))
                    .done();
                }
            }
        }
    }
    // Through C, which always has them.
    let infinity = |negative| acc.infinity(negative).expect("checked before");
    let quiet = 1u64 << (acc.fraction_bits() - 1);
    for (index, (what, c)) in [
        ("+Inf", infinity(false)),
        ("-Inf", infinity(true)),
        ("a quiet NaN", infinity(false) | quiet),
        ("a negative quiet NaN", infinity(true) | quiet),
        ("a signalling NaN", infinity(false) | 1),
        ("a NaN of all ones", acc.sign_mask() | (acc.sign_mask() - 1)),
    ]
    .into_iter()
    .enumerate()
    {
        set.case(format!("C = {what}, no product"))
            .c_code(c)
            .tag("special-c", index as i32, 0)
            .done();
        for negative in [false, true] {
            set.case(format!("C = {what}, products 1 and 2"))
                .c_code(c)
                .product(0, negative, 1, 0)
                .product(5, false, 1, 1)
                .done();
        }
    }
    if let (Some(plus), Some(minus)) = (a.infinity(false), a.infinity(true)) {
        for (i, j) in [(0, 1), (0, 2), (0, 9), (0, 70)] {
            set.case(format!("+Inf at k = {i}, -Inf at k = {j}"))
                .codes(i, (plus, ones.1))
                .codes(j, (minus, ones.1))
                .tag("inf-inf", i as i32, j as i32)
                .done();
        }
        for c in [infinity(false), infinity(true)] {
            set.case("+Inf and an infinite C")
                .codes(0, (plus, ones.1))
                .c_code(c)
                .done();
        }
        set.case("Inf times 0")
            .codes(0, (plus, 0))
            .tag("inf-zero", 0, 0)
            .done();
        set.case("Inf times 1")
            .codes(0, (plus, ones.1))
            .tag("inf-one", 0, 0)
            .done();
    }
}
