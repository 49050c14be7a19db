//! Whether results can be those of a run of the suite.

use std::collections::{HashMap, HashSet};

use super::results::{Failure, MOST_FAILURES, MOST_TILES, Results};
use super::suite::{Placement, Product, Suite};
use crate::io::printable;

/// The most D of a product: three a microsecond, for a year.
const MOST_COMPARED: u64 = 1 << 46;

impl Results {
    /// What contradicts itself is not evidence, neither for a GPU nor against it.
    ///
    /// # Errors
    /// The contradiction; the text follows the file's name.
    pub fn validate(&self, suite: &Suite) -> Result<(), String> {
        let architecture = &self.device.architecture;
        if !suite.suits(architecture) {
            return Err(format!(
                "is of a device of {}; the suite is for {}",
                printable(architecture),
                suite.arch
            ));
        }
        of(self, suite)
    }
}

/// # Errors
/// What cannot be.
fn of(results: &Results, suite: &Suite) -> Result<(), String> {
    let products: HashMap<&str, &Product> = suite.products.iter().map(|p| (&*p.name, p)).collect();
    let product = |name: &str| {
        let found = products.get(name).copied();
        found.ok_or_else(|| format!("names {}, which is not in the suite", printable(name)))
    };
    if results.compared() == 0 {
        return Err("compares nothing".into());
    }
    increasing(&results.sms, "SMs")?;
    let has = results.device.multiprocessors;
    if has.is_some_and(|has| results.sms.len() as u64 > u64::from(has)) {
        let there = results.sms.len();
        return Err(format!("names {there} SMs of a GPU that has fewer"));
    }
    let mut compared = HashMap::new();
    for ran in &results.runs {
        let named = |what: &str| Err(format!("{}: {what}", printable(&ran.product)));
        let placed = product(&ran.product)?.placement == Placement::EverySm;
        if compared.insert(&*ran.product, ran.compared).is_some() {
            return named("appears twice");
        }
        if placed && has.is_none() {
            return named("was placed on SMs, but the results do not say how many SMs the GPU has");
        }
        let most = if placed { results.sms.len() as u64 } else { 0 };
        let sms = u64::from(ran.sms);
        if sms > most
            || sms > ran.compared
            || !(1..=MOST_COMPARED).contains(&ran.compared)
            || placed && sms == 0
        {
            return named("its counts of results and SMs contradict each other");
        }
    }
    for (name, _) in &results.left_out {
        product(name)?;
        if compared.contains_key(&**name) {
            return Err(format!("{}: was both run and left out", printable(name)));
        }
    }
    let mut wrong: HashMap<&str, u64> = HashMap::new();
    let mut kinds = HashSet::new();
    for failure in &results.failures {
        let name = &*failure.product;
        one(failure, product(name)?, results)
            .map_err(|what| format!("{}: {what}", printable(name)))?;
        if !kinds.insert((name, failure.d_sha256)) {
            return Err(format!("{}: has the same wrong D twice", printable(name)));
        }
        let times = wrong.entry(name).or_default();
        *times = times.saturating_add(failure.times);
        if *times > compared.get(name).copied().unwrap_or(0) {
            return Err(format!(
                "{}: more results were wrong than were compared",
                printable(name)
            ));
        }
    }
    if results.more_failures > 0 && results.failures.len() < MOST_FAILURES {
        return Err("has wrong results that it does not list".into());
    }
    if results.wrong() > results.compared() {
        return Err("more results were wrong than were compared".into());
    }
    if results
        .halves
        .is_some_and(|[first, second]| first.checked_add(second) != Some(results.wrong()))
    {
        return Err("has other counts of wrong results in its halves than in all".into());
    }
    if results.stopped && results.failures.is_empty() {
        return Err("stopped at a difference, and lists none".into());
    }
    Ok(())
}

/// A wrong D by itself.
fn one(failure: &Failure, product: &Product, results: &Results) -> Result<(), String> {
    if failure.d_sha256 == product.sha256 {
        return Err("reports a correct D as wrong".into());
    }
    increasing(&failure.sms, "SMs")?;
    let placed = product.placement == Placement::EverySm;
    let known = failure.sms.iter().all(|sm| results.sms.contains(sm));
    let times = failure.times >= (failure.sms.len() as u64).max(1);
    // No SM is to blame for what this machine itself computes wrong.
    let places = placed || failure.sms.is_empty();
    if !known || !times || !places {
        return Err("the SMs of a wrong D are not the SMs that ran it".into());
    }
    let tiles = product.tiles();
    let different = failure.tiles_different;
    let listed = failure.tiles.len();
    if !(1..=tiles.count() as u64).contains(&different)
        || listed > MOST_TILES
        || listed as u64 > different
    {
        return Err(format!("has {listed} wrong tiles of {different}"));
    }
    for tile in &failure.tiles {
        let whole = |bytes: Vec<u8>| bytes.len() == tiles.bytes(tile.index);
        let there = tile.index < tiles.count();
        if !there || tile.payload.is_some() && !tile.bytes().is_some_and(whole) {
            return Err(format!(
                "has a tile {} that the suite does not have",
                tile.index
            ));
        }
    }
    let numbers: Vec<_> = failure.tiles.iter().map(|tile| tile.index).collect();
    increasing(&numbers, "tiles")
}

fn increasing<T: PartialOrd>(list: &[T], what: &str) -> Result<(), String> {
    if list.windows(2).all(|pair| pair[0] < pair[1]) {
        Ok(())
    } else {
        Err(format!("lists {what} twice, or out of order"))
    }
}
