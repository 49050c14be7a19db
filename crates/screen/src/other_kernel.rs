//! Whether another kernel or model explains wrong results: it gives the same D everywhere, and the right ones of its unit.

use super::judge::Judgement;
use super::kernel_search;
use super::make::payload;
use super::results::{Failure, Results};
use super::suite::{Placement, Product};
use crate::engines::resources;
use crate::io::tree::Hash;

impl Judgement<'_> {
    /// Whether every SM returned this D; of a product that is spread, whether every run was wrong in most tiles.
    pub fn is_everywhere(&self, results: &Results, failure: &Failure) -> bool {
        match self.product(&failure.product).placement {
            Placement::EverySm => results.sms.len() > 1 && failure.sms.len() == results.sms.len(),
            // Nobody knows which SM had which tile; one SM has few of them.
            Placement::Spread => {
                let ran = results.ran(&failure.product);
                let tiles = self.product(&failure.product).leaves.len() as u64;
                let every_time = ran.is_some_and(|ran| ran.compared == failure.times);
                every_time && 2 * failure.tiles_different > tiles
            }
        }
    }

    /// The names of other computations that give every wrong D, and every right D of the same units; `None` if a wrong D
    /// has no such explanation, or not every SM returned it.
    pub fn explained(&mut self, results: &Results) -> Option<String> {
        let failures = &results.failures;
        let once = |f: &Failure| failures.iter().filter(|g| g.product == f.product).count() == 1;
        let everywhere = |f: &Failure| {
            let spread = self.product(&f.product).placement == Placement::Spread;
            once(f) && (spread || self.is_everywhere(results, f))
        };
        if results.more_failures > 0 || !failures.iter().all(everywhere) {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        for failure in failures {
            let name = self.explanation(failure)?;
            if !self.leaves_right(&name, failure, results) {
                return None;
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.truncate(3);
        Some(names.join("; "))
    }

    /// Whether what explains a failure also gives the right D of the same unit: another kernel is used for all operands, a
    /// fault need not show in all.
    fn leaves_right(&self, name: &str, failure: &Failure, results: &Results) -> bool {
        let Some(other) = self.known.iter().find(|known| known.name == name) else {
            return false;
        };
        let failed = self.product(&failure.product);
        let wrong = |p: &&Product| results.failures.iter().any(|f| f.product == p.name);
        let ran = |p: &&Product| results.ran(&p.name).is_some();
        let same = self.suite.products.iter().filter(|p| {
            let same = p.route == failed.route && p.check.instruction == failed.check.instruction;
            same && p.model_sha256 == failed.model_sha256 && ran(p) && !wrong(p)
        });
        same.into_iter().all(|product| {
            let computed = || {
                let prepared = other
                    .of(&self.suite.check(product).ok()?)
                    .check
                    .prepare(&resources())
                    .ok()?;
                Some(Hash::of([&payload(&prepared, &())[..]]))
            };
            computed() == Some(product.sha256)
        })
    }

    /// The name of another computation that gives a wrong D, searched for once.
    fn explanation(&mut self, failure: &Failure) -> Option<String> {
        let key = (failure.product.clone(), failure.d_sha256);
        if let Some(known) = self.others.get(&key) {
            return known.clone();
        }
        let ready = &self.ready[&failure.product];
        // A D without a tile decides nothing: another GPU may have returned one.
        let (index, payload) = failure
            .tiles
            .iter()
            .find_map(|tile| Some((tile.index, tile.bytes()?)))?;
        let given = (index, &payload[..]);
        // First the computations that explained another product, with this one's operands.
        let again = self.known.iter().find_map(|other| {
            let other = other.of(&ready.prepared.spelled_out());
            let fits = kernel_search::fits(&other, &ready.tiles, given, failure.d_sha256);
            fits.then_some(other)
        });
        let found = again.or_else(|| {
            kernel_search::other(&ready.prepared, &ready.tiles, given, failure.d_sha256)
        });
        let name = found.as_ref().map(|other| other.name.clone());
        if let Some(other) = found
            && !self.known.iter().any(|known| known.name == other.name)
        {
            self.known.push(other);
        }
        self.others.insert(key, name.clone());
        name
    }
}
