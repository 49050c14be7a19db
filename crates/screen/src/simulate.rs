//! A device without a GPU: the vector kernels of this machine, and perhaps a fault.

use std::fmt;
use std::str::FromStr;

use super::ScreenError;
use super::control_faults::WrongTiles;
use super::fault::{Fault, Injector};
use super::fault_search::bits;
use super::faulty_elements::Chain;
use super::make::payload;
use super::results::{
    Device, Failure, MOST_FAILURES, MOST_TILES, Ran, Readings, Results, WrongTile,
};
use super::suite::{Placement, Product, Route, Suite};
use super::tiles::Tiles;
use crate::check::{Check, ModelSource, Prepared, Progress, ScheduleRequest};
use crate::emu::Catalogue;
use crate::emu::schedule::Overrides;
use crate::engines::resources;
use crate::io::tree::Hash;
use crate::random::mix;

/// What a simulated device does wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injection {
    Fault(Fault),
    Tiles(WrongTiles),
    /// Its library splits K: a preset, and how many slices; "plain" has none.
    Schedule(String, usize),
    /// It is of another architecture than it says.
    Model(String),
}

impl FromStr for Injection {
    type Err = String;

    fn from_str(text: &str) -> Result<Injection, String> {
        if let Some(name) = text.strip_prefix("model:") {
            return Ok(Injection::Model(name.into()));
        }
        if let Some(rest) = text.strip_prefix("schedule:") {
            let (name, slices) = rest.split_once(",split-k=").unwrap_or((rest, "2"));
            let slices = slices.parse().ok().filter(|n| (1..=1024).contains(n));
            let slices = slices.ok_or("expected split-k=N with N from 1 to 1024")?;
            return Ok(Injection::Schedule(name.into(), slices));
        }
        if text.starts_with("tiles:") {
            return text.parse().map(Injection::Tiles);
        }
        text.parse().map(Injection::Fault)
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Injection::Fault(fault) => fault.fmt(f),
            Injection::Tiles(tiles) => tiles.fmt(f),
            Injection::Schedule(name, slices) => write!(f, "schedule:{name},split-k={slices}"),
            Injection::Model(name) => write!(f, "model:{name}"),
        }
    }
}

/// A device to simulate.
#[derive(Clone, Debug)]
pub struct Simulated {
    pub host: String,
    pub index: u32,
    pub sms: u32,
    /// How often the suite is run.
    pub rounds: u32,
    /// Degrees Celsius of the first round, and by how much each is warmer.
    pub temperature: [u32; 2],
    pub injection: Option<Injection>,
    /// Seed of faults that act at random.
    pub seed: u64,
}

impl Default for Simulated {
    fn default() -> Simulated {
        Simulated {
            host: "simulated".into(),
            index: 0,
            sms: 8,
            rounds: 1,
            temperature: [45, 15],
            injection: None,
            seed: 1,
        }
    }
}

/// A suite that this machine has computed.
pub struct Computed<'a> {
    suite: &'a Suite,
    id: Hash,
    products: Vec<(Prepared, Vec<u8>)>,
}

/// Runs a suite on simulated devices: computes every product once.
///
/// # Errors
/// If a product of the suite cannot be computed.
pub fn simulate<'a>(
    suite: &'a Suite,
    progress: &dyn Progress,
) -> Result<Computed<'a>, ScreenError> {
    let mut prepared = Vec::new();
    for product in &suite.products {
        prepared.push(suite.prepare(product)?);
    }
    progress.begin(prepared.iter().map(|p| p.problem().work()).sum());
    let products = prepared.into_iter().map(|prepared| {
        let d = payload(&prepared, progress);
        (prepared, d)
    });
    Ok(Computed {
        suite,
        id: suite.id(),
        products: products.collect(),
    })
}

impl Computed<'_> {
    /// What a device of this kind finds.
    ///
    /// # Errors
    /// If the injection does not fit: its SM, schedule or architecture does not exist.
    pub fn run(&self, device: &Simulated) -> Result<Results, ScreenError> {
        let sms = device.sms;
        match &device.injection {
            Some(Injection::Fault(Fault { sm, .. }) | Injection::Tiles(WrongTiles { sm, .. }))
                if *sm >= sms =>
            {
                return Err(format!("a fault on SM {sm} of a device of {sms}").into());
            }
            Some(Injection::Model(name)) => {
                let found = Catalogue::builtin().find(name);
                found.map_err(|unknown| unknown.to_string())?;
            }
            Some(Injection::Schedule(name, _)) => {
                ScheduleRequest::preset(name, &Overrides::default()).resolve()?;
            }
            _ => {}
        }
        let [start, warmer] = device.temperature;
        let heat = |round: u32| start.saturating_add(warmer.saturating_mul(round)).min(95);
        let mut log = Log::default();
        let mut before: Option<&[u8]> = None;
        for round in 0..device.rounds {
            log.half = usize::from(round >= device.rounds.div_ceil(2));
            for (product, (prepared, right)) in self.suite.products.iter().zip(&self.products) {
                let run = Run {
                    product,
                    tiles: product.tiles(),
                    temperature: heat(round),
                    sms,
                };
                // A challenge does not say what is right.
                let blind = self.suite.challenge.is_some();
                log.placed.clear();
                if !blind && Hash::of([&right[..]]) != product.sha256 {
                    // This machine itself computes wrong.
                    log.wrong(&run, right, None);
                    continue;
                }
                let seed = device.seed ^ u64::from(round) << 32;
                match &device.injection {
                    None => {}
                    Some(Injection::Fault(fault)) => {
                        run.fault(prepared, right, (&fault.aged(round), seed), &mut log);
                    }
                    Some(Injection::Tiles(wrong)) => {
                        let seed = mix(seed ^ u64::from(product.sha256.0[0]));
                        let of = (&run.tiles, product.placement, sms);
                        let d = wrong.spoil(of, right, before, seed);
                        if d != *right {
                            log.wrong(&run, &d, run.placed(wrong.sm));
                        }
                        before = Some(right);
                    }
                    Some(Injection::Schedule(name, slices))
                        if product.route == Route::Library && !product.d.is_integer() =>
                    {
                        let overrides = Overrides {
                            split_k: (name != "plain").then_some(*slices),
                            ..Overrides::default()
                        };
                        let check = Check {
                            schedule: ScheduleRequest::preset(name, &overrides),
                            ..prepared.spelled_out()
                        };
                        run.other(check, right, &mut log)?;
                    }
                    // A library chooses an order only for floats.
                    Some(Injection::Schedule(..)) => {}
                    Some(Injection::Model(name)) => {
                        let mut check = prepared.spelled_out();
                        check.model.from = ModelSource::Catalogue(name.clone());
                        run.other(check, right, &mut log)?;
                    }
                }
                if blind {
                    run.rest(right, &mut log);
                }
            }
        }
        let ran = |product: &Product| {
            let sms = match product.placement {
                Placement::EverySm => sms,
                Placement::Spread => 0,
            };
            Ran {
                product: product.name.clone(),
                compared: u64::from(sms.max(1)) * u64::from(device.rounds),
                sms,
            }
        };
        let runs = self.suite.products.iter();
        Ok(Results {
            suite: self.id,
            device: Device {
                host: device.host.clone(),
                index: device.index,
                name: "simulated".into(),
                architecture: self.suite.arch.clone(),
                uuid: None,
                driver: None,
                multiprocessors: Some(sms),
                program: concat!("tcverify ", env!("CARGO_PKG_VERSION"), " screen run").into(),
                simulated: true,
            },
            runs: runs.map(ran).collect(),
            left_out: Vec::new(),
            sms: (0..sms).collect(),
            failures: log.failures,
            more_failures: log.more,
            halves: (device.rounds > 1).then_some(log.halves),
            readings: Some(Readings {
                temperature_c: [heat(0), heat(device.rounds.max(1) - 1)],
                sm_clock_mhz: None,
            }),
            // A simulated run takes no GPU time.
            seconds: 0.0,
            stopped: false,
            commitment: None,
            signer: None,
        })
    }
}

/// One product in one round.
struct Run<'a> {
    product: &'a Product,
    tiles: Tiles,
    temperature: u32,
    sms: u32,
}

impl Run<'_> {
    /// On the SM with the fault, the elements of its lane.
    fn fault(
        &self,
        prepared: &Prepared,
        right: &[u8],
        (fault, seed): (&Fault, u64),
        log: &mut Log,
    ) {
        let Some(mut chain) = Chain::of(prepared) else {
            return;
        };
        // A unit without these bits does not have this fault.
        let bits = bits(&prepared.model().arithmetic, fault.place);
        let fault = &fault.within(bits.clone());
        if self.temperature < fault.above || fault.bits == 0 || bits.is_empty() {
            return;
        }
        let width = self.product.d.bytes();
        let mut d = right.to_vec();
        for tile in 0..self.tiles.count() {
            // A spread product has some of its tiles on every SM.
            if self.product.placement == Placement::Spread && tile as u32 % self.sms != fault.sm {
                continue;
            }
            for [row, column] in self.tiles.elements(tile).filter(|&at| fault.of.holds(at)) {
                let at = row * self.product.n + column;
                let seed = seed.wrapping_add(at as u64) ^ u64::from(self.product.sha256.0[0]);
                let code = chain.element([row, column], Injector::new(fault, seed));
                d[at * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
            }
        }
        if d != right {
            log.wrong(self, &d, self.placed(fault.sm));
        }
    }

    /// The SM that a result is known to be of.
    fn placed(&self, sm: u32) -> Option<u32> {
        (self.product.placement == Placement::EverySm).then_some(sm)
    }

    /// What is left to answer: the right D of every SM that has not returned another.
    fn rest(&self, right: &[u8], log: &mut Log) {
        let sms: Vec<_> = match self.product.placement {
            Placement::EverySm => (0..self.sms).map(Some).collect(),
            Placement::Spread => vec![None],
        };
        for sm in sms {
            if !log.placed.contains(&sm) {
                log.wrong(self, right, sm);
            }
        }
    }

    /// Another computation, with the same D on all SMs.
    fn other(&self, check: Check, right: &[u8], log: &mut Log) -> Result<(), ScreenError> {
        // A product that the other cannot compute cannot differ.
        let Ok(prepared) = check.prepare(&resources()) else {
            return Ok(());
        };
        let d = payload(&prepared, &());
        if Hash::of([&d[..]]) == self.product.sha256 || d == *right {
            return Ok(());
        }
        match self.product.placement {
            Placement::EverySm => {
                (0..self.sms).for_each(|sm| log.wrong(self, &d, Some(sm)));
            }
            Placement::Spread => log.wrong(self, &d, None),
        }
        Ok(())
    }
}

/// What goes into the results.
#[derive(Default)]
struct Log {
    failures: Vec<Failure>,
    more: u64,
    /// Wrong results of the first half of the runs and of the second, and which half this is.
    halves: [u64; 2],
    half: usize,
    /// SMs that have returned a D of the current product that is in this log.
    placed: Vec<Option<u32>>,
}

impl Log {
    fn wrong(&mut self, run: &Run, d: &[u8], sm: Option<u32>) {
        self.halves[self.half] += 1;
        self.placed.push(sm);
        let d_sha256 = Hash::of([d]);
        let same = |f: &&mut Failure| f.product == run.product.name && f.d_sha256 == d_sha256;
        if let Some(known) = self.failures.iter_mut().find(same) {
            return known.again(sm, Some(run.temperature));
        }
        if self.failures.len() == MOST_FAILURES {
            self.more += 1;
            return;
        }
        let leaves = run.tiles.leaves(d);
        let right = run.product.leaves.iter();
        let wrong = leaves.iter().zip(right).enumerate();
        let wrong: Vec<_> = wrong
            .filter(|(_, (d, right))| d != right)
            .map(|(i, _)| i)
            .collect();
        let shown = wrong.iter().take(MOST_TILES);
        let mut failure = Failure {
            product: run.product.name.clone(),
            d_sha256,
            times: 0,
            sms: Vec::new(),
            temperature_c: None,
            tiles_different: wrong.len() as u64,
            tiles: shown.map(|&i| WrongTile::of(&run.tiles, d, i)).collect(),
            case: None,
        };
        failure.again(sm, Some(run.temperature));
        self.failures.push(failure);
    }
}
