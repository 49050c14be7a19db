//! Sums that cross a limit, return and cross it again, in runs of many lengths: an order or a group that
//! no pair shows.

use super::random::drawn;
use super::{BOTTOM, K, SuiteBuilder, TOP};
use crate::families::mixed::Random;

pub const TELLS: &str = "order, groups and number of accumulators, anywhere";

pub fn write(set: &mut SuiteBuilder) {
    let mut random = Random(0x51af_7c15_3e77_b92d);
    let lengths = [
        1, 1, 2, 2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 200,
    ];
    for index in 0..500 {
        let limit = if index % 2 == 0 { TOP } else { BOTTOM };
        let inward = if index % 2 == 0 { -1 } else { 1 };
        // All runs of one length, or of any.
        let fixed = random.below(3) == 0;
        let length = lengths[random.below(lengths.len() as u64) as usize];
        let (mut k, mut out) = (random.below(40) as usize, index % 3 != 0);
        let (mut terms, mut run_sum) = (Vec::new(), 0);
        while k < K {
            let n = if fixed {
                length
            } else {
                lengths[random.below(lengths.len() as u64) as usize]
            };
            for at in k..(k + n).min(K) {
                // Toward the limit, or away from it.
                let wanted = if out { -inward } else { inward };
                let pair = (0..12).map(|_| drawn(&mut random, set));
                let mut pairs = pair.filter(|(x, y)| x * y * wanted > 0);
                if let Some(pair) = pairs.next() {
                    run_sum += pair.0 * pair.1;
                    terms.push((at, pair));
                }
            }
            (k, out) = (k + n, !out);
            if random.below(6) == 0 {
                k += random.below(60) as usize;
            }
        }
        let room = match index % 4 {
            0 | 1 => random.below(200) as i64,
            _ => random.below(run_sum.unsigned_abs().max(40_000)) as i64,
        };
        set.case(format!(
            "runs of pseudo-random products about {limit}, number {index}"
        ))
        .terms(terms)
        .c(limit + inward * room)
        .done();
    }
    // Two accumulators, whichever run is whose: a crossing in one, the return in another.
    for index in 0..200 {
        let limit = if index % 2 == 0 { TOP } else { BOTTOM };
        let outward = if index % 2 == 0 { 1 } else { -1 };
        let places: Vec<usize> = (0..4).map(|_| random.below(K as u64) as usize).collect();
        let mut terms = Vec::new();
        for (i, &at) in places.iter().enumerate() {
            for k in at..(at + 1 + random.below(8) as usize).min(K) {
                let sign = if i % 2 == 0 { outward } else { -outward };
                let wanted = (0..12).map(|_| drawn(&mut random, set));
                let mut wanted = wanted.filter(|(x, y)| x * y * sign > 0);
                terms.extend(wanted.next().map(|pair| (k, pair)));
            }
        }
        terms.sort_by_key(|(k, _)| *k);
        terms.dedup_by_key(|(k, _)| *k);
        set.case(format!("four runs beside {limit}, number {index}"))
            .terms(terms)
            .c(limit - outward * random.below(60_000) as i64)
            .done();
    }
}
