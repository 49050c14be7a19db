//! From the results of many GPUs: which, where, what kind.

use std::collections::{BTreeMap, HashMap};

use super::error::ScreenError;
use super::fleet::{Condition, FLEET, Fleet, Gpu, Wrong};
use super::kernel_of::{self, Other};
use super::make::payload;
use super::pattern::{self, Counter, Element};
use super::results::{Failure, Results};
use super::simulate::differing;
use super::stuck::{self, Broken, Seen};
use super::suite::{Placement, Product, Suite};
use super::tiles::{Tiles, codes};
use crate::check::Prepared;
use crate::commit::{Hash, leaf};
use crate::io::printable;
use crate::words::Word;

/// Judges results of one suite; each with the name of where it was read.
///
/// # Errors
/// If the suite's digests are not what this program computes, or results contradict themselves.
pub fn judge(
    suite: &Suite,
    id: Hash,
    all: Vec<(String, Results)>,
) -> Result<Fleet, ScreenError> {
    let mut seen: BTreeMap<(String, u32), String> = BTreeMap::new();
    for (path, results) in &all {
        let device = &results.device;
        let key = (device.host.clone(), device.index);
        if let Some(other) = seen.insert(key, path.clone()) {
            let (host, index) = (printable(&device.host), device.index);
            return Err(format!(
                "{path} and {other} are both of GPU {index} of {host}; judge one run of a GPU at a time"
            )
            .into());
        }
    }
    let mut bench = Bench {
        suite,
        ready: HashMap::new(),
        others: HashMap::new(),
        known: Vec::new(),
        returned: returned(&all),
        devices: all.len(),
    };
    let mut gpus = Vec::new();
    for (path, results) in all {
        gpus.push(bench.gpu(path, results)?);
    }
    gpus.sort_by(|x, y| {
        let key = |gpu: &Gpu| (gpu.device.host.clone(), gpu.device.index);
        key(x).cmp(&key(y))
    });
    Ok(Fleet {
        schema: FLEET.into(),
        suite: id,
        arch: suite.arch.clone(),
        level: suite.level.word().into(),
        products: suite.products.len(),
        gpus,
    })
}

/// How many devices returned a wrong D.
fn returned(all: &[(String, Results)]) -> HashMap<(String, Hash), usize> {
    let mut counts = HashMap::new();
    for (_, results) in all {
        for failure in &results.failures {
            let key = (failure.product.clone(), failure.d_sha256);
            *counts.entry(key).or_default() += 1;
        }
    }
    counts
}

/// A product of the suite and its right D.
struct Ready {
    prepared: Prepared,
    right: Vec<u8>,
    tiles: Tiles,
}

struct Bench<'a> {
    suite: &'a Suite,
    ready: HashMap<String, Ready>,
    /// What else gives a wrong D, tried once.
    others: HashMap<(String, Hash), Option<String>>,
    /// Computations that have explained one.
    known: Vec<Other>,
    returned: HashMap<(String, Hash), usize>,
    devices: usize,
}

impl Bench<'_> {
    fn product(&self, name: &str) -> &Product {
        let mut products = self.suite.products.iter();
        products.find(|p| p.name == name).expect("results are validated")
    }

    /// Computes a product once.
    fn prepare(&mut self, name: &str) -> Result<(), ScreenError> {
        if self.ready.contains_key(name) {
            return Ok(());
        }
        let product = self.product(name);
        let prepared = product.check()?.prepare()?;
        let right = payload(&prepared, &());
        let tiles = Tiles {
            shape: product.shape(),
            tile: product.tile,
            format: product.d,
        };
        if prepared.replay().format() != tiles.format || tiles.leaves(&right) != product.leaves {
            return Err(format!(
                "the suite's {}: this tcverify computes another D; judge with the version that made the suite, \
                 or make the suite anew",
                printable(name)
            )
            .into());
        }
        let ready = Ready {
            prepared,
            right,
            tiles,
        };
        self.ready.insert(name.into(), ready);
        Ok(())
    }

    fn gpu(&mut self, path: String, results: Results) -> Result<Gpu, ScreenError> {
        let mut counter = Counter::default();
        let mut evidence: Vec<(String, Vec<Seen>)> = Vec::new();
        for failure in &results.failures {
            self.prepare(&failure.product)?;
            let name = &failure.product;
            let ready = &self.ready[name];
            let mut seen = Vec::new();
            for tile in &failure.tiles {
                let Some(given) = tile.bytes() else {
                    continue;
                };
                let right = ready.tiles.payload(&ready.right, tile.index);
                if leaf([&given[..]]) == self.product(name).leaves[tile.index] {
                    return Err(format!(
                        "{path}: tile {} of {} is right, and is called wrong",
                        tile.index,
                        printable(name)
                    )
                    .into());
                }
                let width = ready.tiles.format.bytes();
                let different = differing(&ready.tiles, tile.index, &right, &given);
                for &(at, right, given) in &different {
                    let element = Element { at, right, given };
                    counter.see(name, tile.index, width, element);
                }
                let [rows, columns] = ready.tiles.place(tile.index);
                let places = rows.flat_map(|row| columns.clone().map(move |column| [row, column]));
                let all = places.zip(codes(ready.tiles.format, &given));
                seen.extend(all.map(|(at, given)| Seen {
                    at,
                    given,
                    wrong: different.iter().any(|(place, _, _)| *place == at),
                }));
            }
            if !seen.is_empty() {
                evidence.push((name.clone(), seen));
            }
        }
        let mut wrong = counter.wrong(&results);
        // Folders are named from where the results are.
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let beside = |case: String| format!("{folder}{case}");
        let (condition, said) = self.condition(&results, &mut wrong, evidence);
        let mut products_wrong: Vec<_> = results.failures.iter().map(|f| f.product.clone()).collect();
        products_wrong.dedup();
        Ok(Gpu {
            results: path,
            condition,
            said,
            compared: results.runs.iter().map(|(_, runs)| runs).sum(),
            wrong_results: results.failures.iter().map(|f| f.times).sum::<u64>() + results.more_failures,
            products_wrong,
            wrong,
            readings: results.readings,
            seconds: results.seconds,
            cases: results.failures.into_iter().filter_map(|f| f.case).map(beside).collect(),
            left_out: results.left_out,
            device: results.device,
        })
    }

    fn condition(
        &mut self,
        results: &Results,
        wrong: &mut Wrong,
        evidence: Vec<(String, Vec<Seen>)>,
    ) -> (Condition, String) {
        if results.failures.is_empty() {
            return self.right(results);
        }
        if let Some(names) = self.explained(results) {
            let products = results.failures.len();
            let said = format!(
                "{products} products differ, and each D is, all of it, what another kernel or model computes ({names}): no fault"
            );
            return (Condition::AnotherKernel, said);
        }
        let common = |f: &Failure| self.returned[&(f.product.clone(), f.d_sha256)];
        if self.devices > 1 && results.failures.iter().all(|f| 2 * common(f) > self.devices) {
            let least = results.failures.iter().map(common).min().unwrap_or(0);
            let said = format!(
                "the same wrong D as on {least} of {} GPUs: a wrong model or a wrong kernel, no fault of this one",
                self.devices
            );
            return (Condition::WrongModel, said);
        }
        if results.failures.iter().all(|failure| self.alike(results, failure)) {
            let said = "the same wrong D on all SMs, or each time and all over it: a kernel that is not known, a driver, \
                        or what all SMs share; nothing here says which"
                .to_owned();
            return (Condition::Alike, said);
        }
        let one_place = wrong.lanes.len() == 1 && wrong.sms.len() <= 1;
        let mut broken = match one_place {
            true => self.broken(&evidence),
            false => Broken::default(),
        };
        for fault in &mut broken.fits {
            fault.lane = wrong.lanes.first().map_or(0, |(lane, _)| *lane);
            fault.sm = wrong.sms.first().map_or(0, |(sm, _)| *sm);
        }
        wrong.fits = broken.fits.iter().take(8).map(ToString::to_string).collect();
        pattern::fault(results, wrong, &broken)
    }

    /// The broken bits that fit the wrong elements.
    fn broken(&self, evidence: &[(String, Vec<Seen>)]) -> Broken {
        let mut units: BTreeMap<(&str, Option<&str>), Vec<(&Prepared, Vec<Seen>)>> = BTreeMap::new();
        for (name, seen) in evidence {
            let product = self.product(name);
            let unit = (&*product.model_sha256, product.check.instruction.as_deref());
            let of_unit = units.entry(unit).or_default();
            of_unit.push((&self.ready[name].prepared, seen.clone()));
        }
        stuck::broken(&units.into_values().collect::<Vec<_>>())
    }

    fn right(&self, results: &Results) -> (Condition, String) {
        let ran = |p: &&Product| results.runs.iter().any(|(n, runs)| *n == p.name && *runs > 0);
        let products = || self.suite.products.iter();
        // Instructions are one program's, libraries another's: what it ran nothing of is not its part.
        let routes: Vec<_> = products().filter(ran).map(|p| p.route).collect();
        let mine = products().filter(|p| routes.contains(&p.route));
        let missing = mine.filter(|p| !ran(p)).count();
        let compared: u64 = results.runs.iter().map(|(_, runs)| runs).sum();
        let (all, run) = (self.suite.products.len(), products().filter(ran).count());
        let sms = match results.sms.len() {
            0 => "on SMs that are not known".to_owned(),
            n => format!("on {n} SMs"),
        };
        let of = match run == all {
            true => format!("of all {all} products"),
            false => format!("of {run} of {all} products"),
        };
        let said = format!("all {compared} results {of} are right, {sms}");
        match missing {
            0 => (Condition::Clean, said),
            n => (
                Condition::Incomplete,
                format!("{said}; {n} that this program should compute were not run"),
            ),
        }
    }

    /// Whether every SM returned it; or each time it was wrong all over.
    fn alike(&self, results: &Results, failure: &Failure) -> bool {
        match self.product(&failure.product).placement {
            Placement::EverySm => results.sms.len() > 1 && failure.sms.len() == results.sms.len(),
            // Where its tiles were, nobody knows: one SM has few of them.
            Placement::Spread => {
                let runs = results.runs.iter().find(|(name, _)| *name == failure.product);
                let tiles = self.product(&failure.product).leaves.len() as u64;
                let every_time = runs.is_some_and(|(_, runs)| *runs == failure.times);
                every_time && 2 * failure.tiles_different > tiles
            }
        }
    }

    /// The names of what else gives every one of these D, and every right one of the same units; `None` if there
    /// is one that nothing else gives, or that not every SM returns.
    fn explained(&mut self, results: &Results) -> Option<String> {
        let failures = &results.failures;
        let once = |f: &Failure| failures.iter().filter(|g| g.product == f.product).count() == 1;
        let everywhere = |f: &Failure| {
            let spread = self.product(&f.product).placement == Placement::Spread;
            once(f) && (spread || self.alike(results, f))
        };
        if results.more_failures > 0 || !failures.iter().all(everywhere) {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        for failure in failures {
            let name = self.explanation(failure)?;
            if !names.contains(&name) {
                if !self.leaves_right(&name, failure, results) {
                    return None;
                }
                names.push(name);
            }
        }
        names.truncate(3);
        Some(names.join("; "))
    }

    /// Whether what explains a failure also gives the D of the same unit that came out right: another kernel is
    /// another for all operands, a fault need not be.
    fn leaves_right(&self, name: &str, failure: &Failure, results: &Results) -> bool {
        let Some(other) = self.known.iter().find(|known| known.name == name) else {
            return false;
        };
        let failed = self.product(&failure.product);
        let wrong = |p: &&Product| results.failures.iter().any(|f| f.product == p.name);
        let ran = |p: &&Product| results.runs.iter().any(|(n, runs)| *n == p.name && *runs > 0);
        let same = self.suite.products.iter().filter(|p| {
            let same = p.route == failed.route && p.check.instruction == failed.check.instruction;
            same && p.model_sha256 == failed.model_sha256 && ran(p) && !wrong(p)
        });
        same.into_iter().all(|product| {
            let computed = || {
                let prepared = other.of(&product.check().ok()?).check.prepare().ok()?;
                Some(Hash::of([&payload(&prepared, &())[..]]))
            };
            computed() == Some(product.sha256)
        })
    }

    fn explanation(&mut self, failure: &Failure) -> Option<String> {
        let key = (failure.product.clone(), failure.d_sha256);
        if let Some(known) = self.others.get(&key) {
            return known.clone();
        }
        let ready = &self.ready[&failure.product];
        let tile = failure.tiles.iter().find_map(|tile| Some((tile.index, tile.bytes()?)));
        let found = tile.and_then(|(index, payload)| {
            let given = (index, &payload[..]);
            // What has explained another product, with this one's operands.
            let again = self.known.iter().find_map(|other| {
                let other = other.of(ready.prepared.check());
                let fits = kernel_of::fits(&other, &ready.tiles, given, failure.d_sha256);
                fits.then_some(other)
            });
            again.or_else(|| {
                kernel_of::other(&ready.prepared, &ready.tiles, given, failure.d_sha256)
            })
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
