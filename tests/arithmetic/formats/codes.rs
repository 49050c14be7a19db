//! Which codes to try.

use tcverify::num::Format;

use crate::support::random::Random;

/// Formats whose codes can all be tried and stand for themselves.
pub const SMALL: [Format; 7] = [
    Format::Fp16,
    Format::Bf16,
    Format::E4m3,
    Format::E5m2,
    Format::E3m2,
    Format::E2m3,
    Format::E2m1,
];

/// Every code of a small format.
pub fn all(format: Format) -> impl Iterator<Item = u64> {
    0..=format.max_code()
}

/// Every sign and exponent with edge fractions (a few bits at either end, alternating bits), and
/// random codes.
pub fn edges_and_random(format: Format, random: usize) -> impl Iterator<Item = u64> {
    let bits = format.fraction_bits() + format.ignored_bits();
    let all_ones = (1u64 << bits) - 1;
    let mut fractions = vec![0, all_ones, 0x5555_5555_5555_5555 & all_ones];
    for bit in 0..bits {
        let one = 1 << bit;
        fractions.extend([one, one - 1, all_ones ^ one, all_ones - (one - 1), one | 1]);
    }
    fractions.sort_unstable();
    fractions.dedup();
    let leading = 0..1u64 << (1 + format.exponent_bits());
    let edges = leading.flat_map(move |leading| {
        let fractions = fractions.clone();
        fractions
            .into_iter()
            .map(move |fraction| leading << bits | fraction)
    });
    let mut source = Random::named(format.name());
    let any = (0..random).map(move |_| source.bits() & format.max_code());
    edges.chain(any)
}
