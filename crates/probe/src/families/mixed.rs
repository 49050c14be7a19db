//! Dense pseudo-random cases: what no directed case thought of contradicts a model here.

use crate::builder::{K, SuiteBuilder};
use crate::num::{Class, Format};

pub const TELLS: &str = "everything at once";

/// Marsaglia's xorshift, seeded alike each time.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A finite code whose exponent field lies within `spread` of the one for `exponent`.
    pub fn code(&mut self, format: Format, exponent: i32, spread: u64) -> u64 {
        loop {
            let offset = self.below(2 * spread + 1) as i32 - spread as i32;
            let field = exponent + offset + format.bias();
            let field = field.clamp(0, (1 << format.exponent_bits()) - 1) as u64;
            let fraction = self.next() & ((1 << format.fraction_bits()) - 1);
            let bits = field << format.fraction_bits() | fraction;
            let sign = format.sign(self.below(2) == 1);
            let code = sign | bits << format.ignored_bits();
            if format.unpack(code).class == Class::Finite {
                return code;
            }
        }
    }
}

pub fn write(set: &mut SuiteBuilder) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (what, n, centre, spread, cases) in [
        ("near 1", 64usize, 0, 1u64, 24),
        ("near 1, few", 5, 0, 2, 32),
        ("of many sizes", 48, 0, 9, 32),
        ("of many sizes, few", 6, 0, 12, 48),
        ("tiny", 16, -300, 4, 24),
        ("small", 12, -9, 6, 24),
        ("large", 8, 5, 8, 16),
    ] {
        for index in 0..cases {
            let of = |format: Format| centre.max(format.min_exponent());
            let mut case = set.case(format!(
                "{n} pseudo-random products, operands {what}, number {index}"
            ));
            for k in 0..n {
                let x = random.code(a, of(a), spread);
                let y = random.code(b, of(b), spread);
                // At the end of K nothing aligns the last result again.
                let at = if index % 2 == 1 { K - n + k } else { k };
                case = case.codes(at, (x, y));
            }
            let c = match index % 4 {
                0 => 0,
                _ if centre < -100 => random.code(acc, acc.min_exponent(), spread),
                _ => random.code(acc, 2 * centre, 2 * spread),
            };
            case.c_code(c).done();
        }
    }
}
