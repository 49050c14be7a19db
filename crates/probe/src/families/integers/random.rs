//! Pseudo-random operands: what no directed case thought of.

use super::{BOTTOM, K, SuiteBuilder, TOP};
use crate::families::mixed::Random;

/// A number of a format, often at an end of it or about zero.
fn operand(random: &mut Random, [least, greatest]: [i64; 2]) -> i64 {
    match random.below(8) {
        0 => least,
        1 => greatest,
        2 => (least + random.below(3) as i64).min(greatest),
        3 => (random.below(5) as i64 - 2).clamp(least, greatest),
        _ => least + random.below((greatest - least + 1) as u64) as i64,
    }
}

/// Factors of a product.
pub fn drawn(random: &mut Random, set: &SuiteBuilder) -> (i64, i64) {
    let x = operand(random, set.a);
    (x, operand(random, set.b))
}

/// Any C.
fn any(random: &mut Random) -> i64 {
    i64::from(random.next() as u32 as i32)
}

/// Dense cases.
pub fn mixed(set: &mut SuiteBuilder) {
    let mut random = Random(0x6a09_e667_f3bc_c909);
    for (n, cases) in [(K, 70), (200, 60), (64, 60), (17, 80), (5, 80)] {
        for index in 0..cases {
            let from = match index % 3 {
                0 => 0,
                1 => K - n,
                _ => random.below((K - n + 1) as u64) as usize,
            };
            let terms: Vec<_> = (from..from + n)
                .map(|k| (k, drawn(&mut random, set)))
                .collect();
            let sum: i64 = terms.iter().map(|(_, (x, y))| x * y).sum();
            let c = match index % 5 {
                0 => 0,
                1 => any(&mut random),
                2 => TOP - sum + random.below(9) as i64 - 4,
                3 => BOTTOM - sum + random.below(9) as i64 - 4,
                _ => any(&mut random) >> random.below(31),
            };
            set.case(format!(
                "{n} pseudo-random products from k = {from}, number {index}"
            ))
            .terms(terms)
            .c(c.clamp(BOTTOM, TOP))
            .done();
        }
    }
}

/// Few products anywhere, and a C as far from a limit as they can reach.
pub fn anything(set: &mut SuiteBuilder) {
    let mut random = Random(0xbb67_ae85_84ca_a73b);
    for index in 0..700 {
        let n = 1 + random.below(if index % 4 == 0 { 60 } else { 12 }) as usize;
        let mut terms: Vec<_> = (0..n)
            .map(|_| {
                let k = random.below(K as u64) as usize;
                (k, drawn(&mut random, set))
            })
            .collect();
        terms.sort_by_key(|(k, _)| *k);
        terms.dedup_by_key(|(k, _)| *k);
        let reach: i64 = terms.iter().map(|(_, (x, y))| (x * y).abs()).sum();
        let room = random.below(reach as u64 + 1) as i64;
        let c = match index % 5 {
            0 | 1 => TOP - room,
            2 | 3 => BOTTOM + room,
            _ => any(&mut random),
        };
        set.case(format!("{n} pseudo-random products, number {index}"))
            .terms(terms)
            .c(c)
            .done();
    }
}
