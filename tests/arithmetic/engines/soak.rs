//! Random products for as long as one likes.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rayon::prelude::*;

use super::case::{Case, Compared, Shape};
use super::layout::Layout;
use super::models::{self, Model};
use super::operands::{ADDENDS, KINDS};
use crate::support::random::Random;

/// Multiply-adds of a product, so that the exact engine does not take long.
const WORK: usize = 60_000;

#[test]
fn soak() {
    let number = |name| {
        let text = std::env::var(name).ok()?;
        Some(
            text.parse::<u64>()
                .unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")),
        )
    };
    let Some(seconds) = number("TCVERIFY_SOAK") else {
        return;
    };
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |t| t.as_secs())
    };
    let start = number("TCVERIFY_SOAK_SEED").unwrap_or_else(now);
    println!("TCVERIFY_SOAK_SEED={start}");

    let catalogue = models::catalogue();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = start;
    let mut compared = Compared::default();
    while Instant::now() < end {
        let next = seed + 1000;
        let checked = (seed..next)
            .into_par_iter()
            .map(|seed| case(&catalogue, &mut Random::seeded(seed << 20)).check());
        let results: Vec<_> = checked.collect();
        let mut reports = Vec::new();
        for result in results {
            match result {
                Ok(more) => compared += more,
                Err(report) => reports.push(report),
            }
        }
        reports.truncate(5);
        assert!(reports.is_empty(), "{}", reports.join("\n\n"));
        seed = next;
    }
    println!("soak: {} cases, {compared:?}, 0 differences", seed - start);
}

fn case(catalogue: &[Model], random: &mut Random) -> Case {
    let model = if random.once_in(3) {
        random.pick(catalogue)
    } else {
        models::random(random)
    };
    let a = random.pick(&KINDS);
    let plain = random.once_in(2);
    Case {
        shape: shape(random),
        a,
        b: if random.once_in(2) {
            a
        } else {
            random.pick(&KINDS)
        },
        c: random.pick(&ADDENDS),
        layouts: [(); 3].map(|()| {
            if plain {
                Layout::default()
            } else {
                Layout::random(random)
            }
        }),
        round_tf32: random.once_in(4),
        seed: random.bits(),
        model,
    }
}

fn shape(random: &mut Random) -> Shape {
    let side = |random: &mut Random| {
        let most = random.pick(&[2, 9, 40, 70, 140]);
        1 + random.below(most)
    };
    let (m, n) = (side(random), side(random));
    let batch: &[usize] = random.pick(&[&[], &[], &[], &[2], &[3, 2]]);
    let most = WORK / (m * n * batch.iter().product::<usize>()).min(WORK);
    let deepest = random.pick(&[4, 40, 300, 3000]);
    let k = 1 + random.below(most.clamp(1, deepest));
    Shape { batch, m, n, k }
}
