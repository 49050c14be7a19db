//! Pseudo-random numbers of the whole range, few at a time, some of which cancel: wherever no directed
//! case looks, a unit of another kind is likely to answer otherwise once.

use super::mixed::Random;
use crate::builder::{K, SuiteBuilder};
use crate::num::{Class, Format};

pub const TELLS: &str = "units of other kinds, anywhere";

/// A finite code between two exponent fields, the significand often at an end.
fn number(random: &mut Random, format: Format, from: i32, to: i32) -> u64 {
    let largest = (1 << format.exponent_bits()) - 1;
    let (from, to) = (from.clamp(0, largest), to.clamp(0, largest));
    loop {
        let field = from as u64 + random.below((to - from + 1) as u64);
        let all = (1u64 << format.fraction_bits()) - 1;
        let fraction = match random.below(4) {
            0 => 0,
            1 => all,
            _ => random.next() & all,
        };
        let sign = format.sign(random.below(2) == 1);
        let bits = field << format.fraction_bits() | fraction;
        let code = sign | bits << format.ignored_bits();
        if format.unpack(code).class == Class::Finite {
            return code;
        }
        // The largest field may hold nothing finite.
        if from == largest {
            return format.max_finite(sign != 0);
        }
    }
}

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let mut random = Random(0x7c15_9e37_79b9_7f4a);
    let field = |format: Format, exponent: i32| exponent + format.bias();
    let top = |format: Format| (1 << format.exponent_bits()) - 1;
    for (what, cases) in [
        ("of any size", 900),
        ("of any size, with C near 1", 300),
        ("large", 150),
        ("small", 150),
        ("whose sums are subnormal", 250),
    ] {
        for index in 0..cases {
            let many = random.below(24) as usize + 2;
            let few = random.below(6) as usize + 1;
            let ranges = |format: Format| match what {
                "large" => (top(format) - 4, top(format)),
                "small" => (0, 4),
                "whose sums are subnormal" => {
                    let half = field(format, acc.min_exponent() / 2);
                    (half - 8, half + 6)
                }
                _ => (0, top(format)),
            };
            let of_c = match what {
                "of any size, with C near 1" => (acc.bias() - 40, acc.bias() + 40),
                "large" => (top(acc) - 5, top(acc)),
                "small" | "whose sums are subnormal" => (0, 20),
                _ => (0, top(acc)),
            };
            let n = if index % 3 == 0 { many } else { few };
            // One step, or many with nothing between.
            let stride = [1, 1, 1, 2, 5][random.below(5) as usize];
            let (ra, rb) = (ranges(a), ranges(b));
            let draw = |random: &mut Random| {
                let x = number(random, a, ra.0, ra.1);
                (x, number(random, b, rb.0, rb.1))
            };
            let mut terms: Vec<(u64, u64)> = (0..n).map(|_| draw(&mut random)).collect();
            for _ in 0..random.below(3).min(n as u64 / 2) {
                let [from, to] = [random.below(n as u64), random.below(n as u64)];
                let (x, y) = terms[from as usize];
                terms[to as usize] = (x ^ a.sign_mask(), y);
            }
            let case = set.case(format!(
                "{n} pseudo-random products, operands {what}, number {index}"
            ));
            let terms = terms.into_iter().enumerate();
            let case = terms.fold(case, |case, (i, (x, y))| {
                // At the end of K nothing aligns the last result again.
                let from_end = index % 2 == 1;
                let k = if from_end {
                    K - 1 - i * stride % K
                } else {
                    i * stride % K
                };
                case.codes(k, (x, y))
            });
            let c = match index % 5 {
                0 => 0,
                _ => number(&mut random, acc, of_c.0, of_c.1),
            };
            case.c_code(c).done();
        }
    }
}
