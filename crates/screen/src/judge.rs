//! From the results of many GPUs: which, where, what kind.

use std::collections::{BTreeMap, HashMap};

use super::ScreenError;
use super::causes::cause;
use super::challenge::Trusted;
use super::control_faults::{Instead, Whole};
use super::elements::Where;
use super::fault_search::{self, Broken, Products, Seen};
use super::fleet::{Condition, FLEET, Fleet, Gpu, Wrong};
use super::kernel_search::Other;
use super::make::payload;
use super::pattern::{self, Counter, Element};
use super::ready::Ready;
use super::results::{Failure, Results};
use super::suite::{Placement, Product, Route, Suite};
use super::tiles::codes;
use crate::forms::grouped;
use crate::io::printable;
use crate::io::tree::{Hash, leaf};
use crate::sign::PublicKey;
use crate::words::Word;

/// Wrong D whose causes are searched for at most, and causes that a sentence has.
const MOST_CAUSES: usize = 256;
const SAID: usize = 3;

/// Judges results of one suite; each with the name of where it was read. With `keys`, all must be signed by one of them.
///
/// # Errors
/// If the suite's digests are not what this program computes, or results contradict themselves or are not trusted.
pub fn judge(
    suite: &Suite,
    id: Hash,
    all: Vec<(String, Results)>,
    keys: &[PublicKey],
) -> Result<Fleet, ScreenError> {
    judge_route((suite, id), all, keys, None)
}

/// Judges GPUs that had to run the products of one route alone: by the operator's word, never by the results'.
///
/// # Errors
/// As [`judge`]; or if the suite has no product of that route.
pub fn judge_route(
    (suite, id): (&Suite, Hash),
    all: Vec<(String, Results)>,
    keys: &[PublicKey],
    route: Option<Route>,
) -> Result<Fleet, ScreenError> {
    if let Some(route) = route
        && suite.products.iter().all(|product| product.route != route)
    {
        return Err(format!("the suite has no products of the route {}", route.word()).into());
    }
    once_each(&all)?;
    let opened = suite
        .challenge
        .is_some()
        .then(|| suite.opened())
        .transpose()?;
    let mut read = Vec::new();
    for (path, mut results) in all {
        let named = |what| format!("{path}: {what}");
        results.validate(suite).map_err(named)?;
        let trusted = results.trusted(suite, keys).map_err(named)?;
        if let Some(opened) = &opened {
            results = results.answered(opened).map_err(named)?;
            results.validate(opened).map_err(named)?;
        }
        read.push((path, results, trusted));
    }
    let (all, suite) = (read, opened.as_ref().unwrap_or(suite));
    let mut judgement = Judgement {
        suite,
        route,
        ready: HashMap::new(),
        others: HashMap::new(),
        causes: HashMap::new(),
        known: Vec::new(),
        returned: returned(&all),
        devices: all.len(),
    };
    // What a GPU is right by is what this program computes, not what a file says.
    for product in &suite.products {
        if all.iter().any(|(_, r, _)| r.ran(&product.name).is_some()) {
            judgement.prepare(&product.name)?;
        }
    }
    let mut gpus = Vec::new();
    for (path, results, trusted) in all {
        gpus.push(judgement.gpu((path, trusted), results)?);
    }
    gpus.sort_by_cached_key(|gpu| (gpu.device.host.clone(), gpu.device.index));
    Ok(Fleet {
        schema: FLEET.into(),
        suite: id,
        arch: suite.arch.clone(),
        level: suite.level.word().into(),
        products: suite.products.len(),
        route,
        gpus,
    })
}

/// Refuses two runs of one GPU: they would count twice where devices are counted.
fn once_each(all: &[(String, Results)]) -> Result<(), ScreenError> {
    let mut seen: HashMap<(String, u32), &String> = HashMap::new();
    let mut known: HashMap<&String, &String> = HashMap::new();
    for (path, results) in all {
        let device = &results.device;
        let again = seen.insert((device.host.clone(), device.index), path);
        let named = device.uuid.as_ref();
        if let Some(other) = again.or_else(|| known.insert(named?, path)) {
            let (host, index) = (printable(&device.host), device.index);
            return Err(format!(
                "{path} and {other} are both results of GPU {index} of {host}; judge one run per GPU"
            )
            .into());
        }
    }
    Ok(())
}

/// How many devices returned each wrong D of each product.
fn returned(all: &[(String, Results, Trusted)]) -> HashMap<(String, Hash), usize> {
    let mut counts = HashMap::new();
    for (_, results, _) in all {
        for failure in &results.failures {
            let key = (failure.product.clone(), failure.d_sha256);
            *counts.entry(key).or_default() += 1;
        }
    }
    counts
}

/// What the judgement of all GPUs shares.
pub(super) struct Judgement<'a> {
    pub suite: &'a Suite,
    /// The only products that have to be run, if not all.
    pub route: Option<Route>,
    pub ready: HashMap<String, Ready>,
    /// By product and wrong D, the name of another computation that gives it: searched for once.
    pub others: HashMap<(String, Hash), Option<String>>,
    /// By product and wrong D, what gives exactly its bits: searched for once.
    causes: HashMap<(String, Hash), Option<String>>,
    /// Computations that have explained a wrong D.
    pub known: Vec<Other>,
    /// How many devices returned a wrong D of a product.
    pub returned: HashMap<(String, Hash), usize>,
    pub devices: usize,
}

impl Judgement<'_> {
    pub fn product(&self, name: &str) -> &Product {
        let mut products = self.suite.products.iter();
        products
            .find(|p| p.name == name)
            .expect("results are validated")
    }

    /// Computes a product once.
    fn prepare(&mut self, name: &str) -> Result<(), ScreenError> {
        if self.ready.contains_key(name) {
            return Ok(());
        }
        let product = self.product(name);
        let prepared = self.suite.prepare(product)?;
        let right = payload(&prepared, &());
        let tiles = product.tiles();
        let same = prepared.replay().format() == tiles.format
            && Hash::of([&right[..]]) == product.sha256
            && tiles.leaves(&right) == product.leaves;
        if !same {
            return Err(format!(
                "the suite's {}: this tcverify computes a different D; judge with the version that made the suite, \
                 or make a new suite",
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

    fn gpu(
        &mut self,
        (path, trusted): (String, Trusted),
        results: Results,
    ) -> Result<Gpu, ScreenError> {
        let mut counter = Counter::default();
        let mut evidence: Vec<(String, Vec<Seen>)> = Vec::new();
        let mut whole = Whole::default();
        for failure in &results.failures {
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
                        "{path}: tile {} of {} is correct, but is reported as wrong",
                        tile.index,
                        printable(name)
                    )
                    .into());
                }
                whole.see(&given, || self.elsewhere(ready, tile.index, &given));
                let format = ready.tiles.format;
                let pairs = codes(format, &right).zip(codes(format, &given));
                for (at, (right, given)) in ready.tiles.elements(tile.index).zip(pairs) {
                    let wrong = right != given;
                    if wrong {
                        let element = Element { at, right, given };
                        counter.see(name, tile.index, format.bytes(), element);
                    }
                    seen.push(Seen { at, given, wrong });
                }
            }
            if !seen.is_empty() {
                evidence.push((name.clone(), seen));
            }
        }
        let mut wrong = counter.wrong(&results);
        // Folders are named from where the results are.
        let folder = path
            .rsplit_once('/')
            .map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let beside = |case: String| format!("{folder}{case}");
        let (condition, sentence) = self.condition(&results, &mut wrong, (evidence, &whole));
        let mut products_wrong: Vec<String> = Vec::new();
        for failure in &results.failures {
            if !products_wrong.contains(&failure.product) {
                products_wrong.push(failure.product.clone());
            }
        }
        Ok(Gpu {
            results: path,
            condition,
            said: sentence,
            answered: self.answered(&results),
            compared: results.compared(),
            wrong_results: results.wrong(),
            products_wrong,
            wrong,
            readings: results.readings,
            seconds: results.seconds,
            cases: results
                .failures
                .into_iter()
                .filter_map(|f| f.case)
                .map(beside)
                .collect(),
            left_out: results.left_out,
            device: results.device,
            trusted,
        })
    }

    fn condition(
        &mut self,
        results: &Results,
        wrong: &mut Wrong,
        (evidence, whole): (Vec<(String, Vec<Seen>)>, &Whole),
    ) -> (Condition, String) {
        if results.failures.is_empty() {
            return self.right(results);
        }
        if let Some(names) = self.explained(results) {
            let products = results.failures.len();
            let sentence = format!(
                "{products} products differ, and all of each D is the result of another kernel or model ({names}): \
                no fault"
            );
            return (Condition::AnotherKernel, sentence);
        }
        let common = |f: &Failure| self.returned[&(f.product.clone(), f.d_sha256)];
        // Nothing is known of wrong D that are not listed.
        let all_listed = results.more_failures == 0;
        let mut failures = results.failures.iter();
        if self.devices > 1 && all_listed && failures.all(|f| 2 * common(f) > self.devices) {
            let least = results.failures.iter().map(common).min().unwrap_or(0);
            let sentence = format!(
                "the same wrong D as on {least} of {} GPUs: a wrong model or a wrong kernel, not a fault of this GPU",
                self.devices
            );
            let sentence = sentence + &self.causes(results).unwrap_or_default();
            return (Condition::WrongModel, sentence);
        }
        if wrong.sms.len() <= 1
            && let Some(sentence) = whole.describe()
        {
            return pattern::control(results, wrong, &sentence);
        }
        if results
            .failures
            .iter()
            .all(|failure| self.is_everywhere(results, failure))
        {
            let mut sentence =
                "the same wrong D on all SMs, or every time and across all of D".to_owned();
            sentence += &self.causes(results).unwrap_or_else(|| {
                ": an unknown kernel, a driver, or a resource that all SMs share; these data do not tell which"
                    .to_owned()
            });
            if !all_listed {
                let more = results.more_failures;
                sentence += &format!("; {more} more wrong results are not listed");
            }
            return (Condition::Alike, sentence);
        }
        let at: Vec<[usize; 2]> = evidence
            .iter()
            .flat_map(|(_, seen)| seen.iter().filter(|seen| seen.wrong).map(|seen| seen.at))
            .collect();
        let place = Where::most(&at).filter(|_| wrong.sms.len() <= 1);
        let mut broken = match place {
            Some(place) => self.broken(&evidence, place),
            None => Broken::default(),
        };
        for fault in &mut broken.fits {
            fault.of = place.unwrap_or(Where::Lane(0));
            fault.sm = wrong.sms.first().map_or(0, |(sm, _)| *sm);
        }
        wrong.fits = broken
            .fits
            .iter()
            .take(8)
            .map(ToString::to_string)
            .collect();
        pattern::fault(results, wrong, (place, &broken))
    }

    /// What explains wrong D that are the same everywhere, each with its product; none if nothing does.
    fn causes(&mut self, results: &Results) -> Option<String> {
        let mut said = String::new();
        let mut explained = 0;
        for failure in &results.failures {
            let key = (failure.product.clone(), failure.d_sha256);
            if !self.causes.contains_key(&key) {
                // Each takes a tenth of a second.
                let is_known = self.causes.len() < MOST_CAUSES;
                let ready = &self.ready[&failure.product];
                let found = is_known.then(|| cause(ready, failure)).flatten();
                self.causes.insert(key.clone(), found);
            }
            if let Some(cause) = &self.causes[&key] {
                explained += 1;
                if explained <= SAID {
                    said += &format!("; {}: {cause}", printable(&failure.product));
                }
            }
        }
        if explained > SAID {
            said += &format!("; {} more are explained", explained - SAID);
        }
        let all = results.failures.len();
        if explained < all && explained > 0 {
            said += &format!("; {explained} of {all} wrong D are explained");
        }
        (explained > 0).then_some(said)
    }

    /// Whether the bytes of a tile are the right ones of another tile of this D, or of another product.
    fn elsewhere(&self, ready: &Ready, index: usize, given: &[u8]) -> Option<Instead> {
        let mut tiles = 0..ready.tiles.count();
        let is = |of: &Ready, tile| of.tiles.payload(&of.right, tile) == given;
        if tiles.any(|tile| is(ready, tile)) {
            return Some(Instead::Other);
        }
        let fits = |of: &&Ready| {
            index < of.tiles.count() && of.tiles.bytes(index) == given.len() && is(of, index)
        };
        self.ready
            .values()
            .any(|of| fits(&of))
            .then_some(Instead::Stale)
    }

    /// The faults that fit the wrong elements of a place.
    fn broken(&self, evidence: &[(String, Vec<Seen>)], place: Where) -> Broken {
        let mut units: BTreeMap<(&str, Option<&str>), Products> = BTreeMap::new();
        for (name, seen) in evidence {
            let product = self.product(name);
            let unit = (&*product.model_sha256, product.check.instruction.as_deref());
            let of_unit = units.entry(unit).or_default();
            let seen = seen.iter().filter(|seen| place.holds(seen.at));
            of_unit.push((&self.ready[name].prepared, seen.copied().collect()));
        }
        fault_search::broken(&units.into_values().collect::<Vec<_>>())
    }

    /// The products that a GPU has to run. Results do not choose them.
    fn asked(&self) -> impl Iterator<Item = &Product> {
        let asked = |p: &&Product| self.route.is_none_or(|route| p.route == route);
        self.suite.products.iter().filter(asked)
    }

    /// How many of them it ran, and how many they are.
    fn answered(&self, results: &Results) -> [usize; 2] {
        let ran = self.asked().filter(|p| results.ran(&p.name).is_some());
        [ran.count(), self.asked().count()]
    }

    fn right(&self, results: &Results) -> (Condition, String) {
        let ran = |p: &&Product| results.ran(&p.name).is_some();
        let products = || self.suite.products.iter();
        let missing: Vec<_> = self.asked().filter(|p| !ran(p)).collect();
        let mut left_out = results.left_out.iter();
        let why = left_out.find(|(name, _)| missing.iter().any(|p| p.name == *name));
        let why = why.map_or(String::new(), |(_, why)| format!(": {}", printable(why)));
        let compared = results.compared();
        let (all, run) = (self.suite.products.len(), products().filter(ran).count());
        // A placed product must have run on all SMs: the others are not known to be right.
        let has = results.device.multiprocessors.unwrap_or(0);
        let placed = products().filter(|p| p.placement == Placement::EverySm);
        let least = placed.filter_map(|p| Some(results.ran(&p.name)?.sms)).min();
        let sms = match least {
            None => "on unknown SMs".to_owned(),
            Some(least) if least < has => format!("some on {least} of {has} SMs only"),
            Some(_) => format!("on {has} SMs"),
        };
        let of = if run == all {
            format!("of all {all} products")
        } else {
            format!("of {run} of {all} products")
        };
        let sentence = format!("all {compared} results {of} are correct, {sms}");
        match missing.len() {
            0 if least.is_some_and(|least| least < has) => (Condition::Incomplete, sentence),
            0 => (Condition::Clean, sentence + &seldom(compared)),
            n => {
                let [_, asked] = self.answered(results);
                // One program issues instructions, another calls libraries.
                let only = missing[0].route;
                let whole = self.route.is_none()
                    && missing.iter().all(|p| p.route == only)
                    && products().filter(|p| p.route == only).count() == n;
                let hint = match (whole, only) {
                    (true, Route::Library) => {
                        ", all of a library's ('--route instruction' asks for the others alone)"
                    }
                    (true, Route::Instruction) => {
                        ", all of instructions ('--route library' asks for the others alone)"
                    }
                    (false, _) => "",
                };
                let sentence =
                    format!("{sentence}; {n} of {asked} products were not run{hint}{why}");
                (Condition::Incomplete, sentence)
            }
        }
    }
}

/// Which rare faults so many right results exclude: one in n results stays unseen in all of them with 5 %.
fn seldom(results: u64) -> String {
    let one_in = 1.0 / (1.0 - 0.05f64.powf(1.0 / results.max(1) as f64));
    if one_in >= 2.0 {
        format!(
            "; a fault that corrupts at least one result in {} would have been detected (95 %)",
            grouped(one_in as u64)
        )
    } else {
        String::new()
    }
}
