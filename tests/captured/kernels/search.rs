//! The order of captured splits, searched: nobody says the number of slices, how they meet, or how chains
//! accumulate. By default some are searched; with `TCVERIFY_SEARCHED_SPLITS=all` every one.

use std::time::{Duration, Instant};

use tcverify::identify::document::{Fit, Identification};
use tcverify::identify::{Identify, Limits};

use super::vectors::{Output, outputs, splits};
use crate::support::{Folder, say};

/// Every so many are searched: of those with several tiles, and of those in which every order is one.
const EVERY: [usize; 2] = [13, 60];

/// k of a tile of Ada's FP8 kernels.
const TILE: usize = 64;

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The order that computed D fits, and whatever else fits computes the same.
    Right,
    /// It fits, and so do others, which this D cannot tell from it.
    Tied,
    /// All of K is in one tile: every order of these kernels computes the same, and what fits does, too.
    SingleTile,
    /// Something fits, but not the order that computed D.
    Wrong,
    None,
}

fn identify(output: &Output, folder: &Folder) -> Identification {
    let request = Identify {
        limits: Limits {
            budget: 150_000_000,
            ..Limits::default()
        },
        ..output.search(folder)
    };
    let prepared = request.prepare().expect("files that fit");
    prepared.run(&()).expect("a search")
}

fn judge(output: &Output, found: &Identification) -> Found {
    let alike = |fit: &Fit| {
        let schedule = fit.model.schedule.as_ref();
        output.computes_alike(
            &fit.model.arithmetic,
            schedule.map(|schedule| &schedule.spec),
        )
    };
    let alike: Vec<bool> = found.fits.iter().map(alike).collect();
    match (alike.contains(&true), alike.contains(&false)) {
        (false, false) => Found::None,
        (false, true) => Found::Wrong,
        (true, _) if output.k() <= TILE => Found::SingleTile,
        (true, true) => Found::Tied,
        (true, false) => Found::Right,
    }
}

#[test]
fn captured_splits_are_found() {
    let Some(outputs) = outputs() else { return };
    let every = match std::env::var_os("TCVERIFY_SEARCHED_SPLITS") {
        Some(all) if all == "all" => [1; 2],
        _ => EVERY,
    };
    let folder = Folder::new();
    let unscaled = splits(&outputs).filter(|output| !output.has_scale_of_result());
    let (several, single): (Vec<&Output>, Vec<&Output>) =
        unscaled.partition(|output| output.k() > TILE);
    // Six, every one.
    let scaled = splits(&outputs).filter(|output| output.has_scale_of_result());
    let some = several.into_iter().step_by(every[0]);
    let some = some.chain(single.into_iter().step_by(every[1]));
    let begun = Instant::now();
    let mut longest = Duration::ZERO;
    let mut all = Vec::new();
    for output in some.chain(scaled) {
        let begun = Instant::now();
        let found = identify(output, &folder);
        longest = longest.max(begun.elapsed());
        all.push((output.id(), judge(output, &found)));
    }
    let count = |wanted| all.iter().filter(|(_, found)| *found == wanted).count();
    say(format_args!(
        "kernel-vectors searched: {} splits: {} right, {} tied, {} in a single tile, {} none, {} wrong; {:.1} s, the longest {:.1} s",
        all.len(),
        count(Found::Right),
        count(Found::Tied),
        count(Found::SingleTile),
        count(Found::None),
        count(Found::Wrong),
        begun.elapsed().as_secs_f64(),
        longest.as_secs_f64()
    ));
    let of = |wanted| {
        let ids = all.iter().filter(move |(_, found)| *found == wanted);
        ids.map(|(id, _)| *id).collect::<Vec<_>>()
    };
    assert_eq!(of(Found::Wrong), [""; 0]);
    assert_eq!(of(Found::None), [""; 0]);
    let wanted = if every == [1; 2] { 476 } else { 30 };
    assert_eq!(all.len(), wanted);
}

/// The judge of the search is one that can say no: other slices and another order compute something else.
#[test]
fn other_orders_are_told_from_the_captured_ones() {
    let Some(outputs) = outputs() else { return };
    let mut told = 0;
    let mut all = 0;
    for output in splits(&outputs)
        .filter(|output| output.k() > TILE)
        .step_by(9)
    {
        let own = output.spec_of(output.slices());
        assert!(
            output.computes_alike(output.arithmetic(), Some(&own)),
            "{}",
            output.id()
        );
        let other = output.spec_of(output.slices() + 1);
        all += 1;
        told += usize::from(!output.computes_alike(output.arithmetic(), Some(&other)));
        assert!(
            !output.computes_alike(output.arithmetic(), None),
            "{}",
            output.id()
        );
    }
    assert_eq!((all, told), (29, 29));
}
