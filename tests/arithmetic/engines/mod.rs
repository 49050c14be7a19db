//! The fast engine gives the bits of the exact one: for every arithmetic of the catalogue and many
//! that nobody has built, with the kernels of every instruction set that the machine has, over
//! shapes, layouts and numbers of every kind.
//!
//! `TCVERIFY_SOAK=SECONDS cargo test --release --test arithmetic soak -- --nocapture` goes on with
//! random products for that long; `TCVERIFY_SOAK_SEED` repeats a run.

mod bands;
mod case;
mod catalogue;
mod edges;
mod few;
mod gpu;
mod handed;
mod integers;
mod layout;
mod models;
mod operands;
mod rounded;
mod selected;
mod shares;
mod soak;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::support::random::Random;
use case::{Case, Compared, Shape};
use layout::Layout;
use operands::{ADDENDS, Addend, KINDS, Kind};

/// Ragged ones, thin ones, less than a group, more than a panel, batches.
const SHAPES: [Shape; 26] = [
    Shape::new(1, 1, 1),
    Shape::new(1, 67, 1),
    Shape::new(67, 1, 1),
    Shape::new(37, 41, 1),
    Shape::new(3, 5, 7),
    Shape::new(5, 7, 3),
    Shape::new(4, 4, 2),
    Shape::new(4, 32, 16),
    Shape::new(5, 33, 17),
    Shape::new(1, 130, 40),
    Shape::new(130, 1, 40),
    Shape::new(70, 3, 600),
    Shape::new(1, 2, 5000),
    Shape::new(2, 65, 129),
    Shape::new(17, 70, 130),
    Shape::new(64, 64, 64),
    Shape::new(65, 97, 30),
    Shape::new(129, 31, 20),
    Shape::new(7, 64, 257),
    Shape::new(9, 33, 700),
    Shape::new(1, 40, 2500),
    Shape::batched(&[50], 1, 1, 16),
    Shape::batched(&[9], 3, 5, 20),
    Shape::batched(&[2, 3], 4, 33, 40),
    Shape::batched(&[3, 1, 2], 6, 5, 9),
    Shape::batched(&[2], 66, 33, 12),
];

/// Those for which the exact engine takes long: for some models.
const LARGE: [Shape; 2] = [Shape::new(65, 97, 300), Shape::new(70, 140, 150)];

/// Without optimisation the exact engine is thirty times slower: then one case in as many runs.
const THIN: usize = if cfg!(debug_assertions) { 30 } else { 1 };

/// Runs cases side by side and panics at the end with the first reports.
fn check_all(name: &str, cases: Vec<Case>) -> Compared {
    let failed = AtomicUsize::new(0);
    let results: Vec<_> = cases
        .par_iter()
        .step_by(THIN)
        .map(|case| {
            // Enough to see a pattern.
            if failed.load(Ordering::Relaxed) > 5 {
                return Ok(Compared::default());
            }
            case.check()
                .inspect_err(|_| _ = failed.fetch_add(1, Ordering::Relaxed))
        })
        .collect();
    let mut compared = Compared::default();
    let mut reports = Vec::new();
    for result in results {
        match result {
            Ok(more) => compared += more,
            Err(report) => reports.push(report),
        }
    }
    assert!(reports.is_empty(), "{name}\n{}", reports.join("\n\n"));
    println!("{name}: {compared:?}");
    compared
}

#[test]
fn every_model_of_the_catalogue_with_every_kind_of_number() {
    let mut cases = Vec::new();
    let mut turn = Random::seeded(1);
    for model in models::catalogue() {
        for kind in KINDS {
            let shape = turn.pick(&SHAPES);
            let c = turn.pick(&ADDENDS);
            cases.push(Case::new(&model, shape, kind, c, turn.bits()));
        }
        for c in ADDENDS {
            let kind = turn.pick(&[Kind::Ordinary, Kind::Level, Kind::Walking, Kind::Lines]);
            cases.push(Case::new(&model, turn.pick(&SHAPES), kind, c, turn.bits()));
        }
    }
    check_all("kinds", cases);
}

#[test]
#[ignore = "long"]
fn every_model_of_the_catalogue_in_every_shape() {
    let mut cases = Vec::new();
    let mut turn = Random::seeded(2);
    for (index, model) in models::catalogue().iter().enumerate() {
        for shape in SHAPES {
            let c = turn.pick(&ADDENDS);
            let kind = if turn.once_in(2) {
                Kind::Ordinary
            } else {
                turn.pick(&KINDS)
            };
            cases.push(Case::new(model, shape, kind, c, turn.bits()));
        }
        if let Some(&shape) = LARGE.get(index % 7) {
            let (kind, c) = (turn.pick(&KINDS), turn.pick(&ADDENDS));
            cases.push(Case::new(model, shape, kind, c, turn.bits()));
        }
    }
    check_all("shapes", cases);
}

/// Compares the engines on some products of each made-up model: operands alike and not.
fn check_made_up(what: &str, models: &[models::Model], each: usize, seed: u64) {
    let mut cases = Vec::new();
    let mut turn = Random::seeded(seed);
    for model in models {
        for _ in 0..each {
            let (shape, kind) = (turn.pick(&SHAPES), turn.pick(&KINDS));
            let other = if turn.once_in(2) {
                kind
            } else {
                turn.pick(&KINDS)
            };
            let case = Case::new(model, shape, kind, turn.pick(&ADDENDS), turn.bits());
            cases.push(Case { b: other, ..case });
        }
    }
    check_all(what, cases);
}

#[test]
fn models_that_users_might_write() {
    check_made_up("made-up models", &models::made_up(400), 4, 3);
}

/// Sums rounded to odd, toward zero and to nearest, flushed or not, scaled, saturated, with payloads.
#[test]
fn rounded_dots_of_any_constants() {
    check_made_up("rounded dot products", &models::rounded(250), 5, 6);
}

/// Chains from C and from zero, flushed or not.
#[test]
fn ordered_chains_of_any_constants() {
    check_made_up("ordered chains", &models::ordered(150), 6, 7);
}

/// Products cut to grids, a few at a time, of any number of bits.
#[test]
fn few_products_of_any_constants() {
    check_made_up("few products", &models::few(250), 6, 8);
}

#[test]
fn operands_stored_in_any_order() {
    let mut cases = Vec::new();
    let mut turn = Random::seeded(4);
    for model in models::catalogue() {
        for _ in 0..6 {
            let shape = turn.pick(&SHAPES[4..]);
            let kind = turn.pick(&[Kind::Ordinary, Kind::Wide, Kind::FewSpecials]);
            let c = turn.pick(&[
                Addend::Missing,
                Addend::Ordinary,
                Addend::Wide,
                Addend::FewSpecials,
            ]);
            cases.push(Case {
                layouts: [(); 3].map(|()| Layout::random(&mut turn)),
                round_tf32: turn.once_in(2),
                ..Case::new(&model, shape, kind, c, turn.bits())
            });
        }
    }
    check_all("layouts", cases);
}

/// Strips that are full, over whole panels: codes are read straight from the memory of B, by rows or by
/// columns. Few rows, and more than one strip of them; few columns, which become rows.
#[test]
#[ignore = "long"]
fn operands_read_where_they_lie() {
    const FULL: [Shape; 4] = [
        Shape::new(1, 192, 576),
        Shape::new(3, 130, 320),
        Shape::new(129, 2, 256),
        Shape::new(11, 64, 128),
    ];
    let mut cases = Vec::new();
    let mut turn = Random::seeded(5);
    for model in models::catalogue() {
        for (shape, transposed) in FULL.into_iter().zip([false, true, false, true]) {
            for transposed in [transposed, !transposed] {
                let c = turn.pick(&[Addend::Missing, Addend::Ordinary]);
                let plain = Layout {
                    transposed,
                    start: turn.below(3),
                    ..Layout::default()
                };
                cases.push(Case {
                    layouts: [plain, plain, Layout::default()],
                    ..Case::new(&model, shape, turn.pick(&KINDS), c, turn.bits())
                });
            }
        }
    }
    check_all("where they lie", cases);
}
