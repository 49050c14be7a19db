//! `tcverify screen`: find the GPU that computes wrong results.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::args::{KernelHints, in_options};
use super::progress::Bar;
use super::reports::{AttestArgs, Destinations};
use super::screen_challenge::{Answering, Challenge, Commit, Trust};
use super::screen_record::Record;
use super::values::{word, word_of};
use super::{Ending, show};
use crate::check::RequestFields;
use crate::emu::step::Reload;
use crate::io::{Outputs, escaped_path, printable};
use crate::screen::{
    Coverage, Injection, Kind, Level, Library, Results, Route, Simulated, Suite, judge_route, make,
    measure, order, prometheus, simulate, unit,
};
use crate::words::Word;

commands! {
    /// Find the GPU that computes wrong results, without a second GPU
    ///
    /// A suite holds products that a node generates from seeds, and the digests of the correct results. Nodes run it
    /// (scripts/screen), and 'judge' finds the GPU, SM, lane and bit that is wrong. docs/screening.md describes all
    /// steps.
    #[command(after_long_help = "\
Examples:
  tcverify screen make --arch h100 --suite quick -o suite.json
  ./screen suite.json --device 0 -o results/node17-0.json          # on the node: scripts/screen
  tcverify screen judge --suite suite.json results --html fleet.html

Without a GPU, to see the effect of a fault:
  tcverify screen run suite.json --device simulated --inject product:bit=13,k=3,lane=5,sm=7 -o results/s.json
  tcverify screen coverage suite.json

A workload's own products, and results that a node cannot have made before:
  tcverify screen record captured/manifest.json -o recorded.json
  tcverify screen commit --host node17 --key node17.pem -o commitment.json
  tcverify screen challenge suite.json --commitment SHA256 --beacon VALUE -o challenge.json

Exit codes: make, commit, challenge and coverage: 0 done; record: 0 done, 1 a captured D is not what the model computes; run: 0 every result is right, 1 one is wrong; judge: 0 every
GPU is clean, 1 one is not; all: 2 anything else.")]
    pub enum Screen {
        Make(Make),
        Run(Run),
        Judge(Judge),
        Record(Record),
        Commit(Commit),
        Challenge(Challenge),
        Coverage(Measure),
    }
}

/// Make a suite for an architecture
#[derive(Args)]
pub struct Make {
    /// Architecture, compute capability or GPU
    #[arg(long, value_name = "NAME")]
    arch: String,

    /// Size of the suite
    #[arg(long, value_name = "LEVEL", default_value = "quick", value_parser = word_of::<Level>(|level| *level != Level::Recorded))]
    suite: Level,

    /// Schedule of the fleet's library for floating-point products; by default one chain
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,

    /// Kernel of a product, from the library: a name from a profiler, a configuration, a log line, as for 'check
    /// --kernel'. Repeat for every kernel; each applies to the products that it fits
    #[arg(long, value_name = "TEXT", conflicts_with = "schedule")]
    kernel: Vec<String>,

    /// ttnn's configurations of a BF16 product, as for 'check --ttnn'. Repeat for every product
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["schedule", "kernel"])]
    ttnn: Vec<String>,

    /// How FP32 sums are read back from L1 between blocks of K, as for 'check --set reload'
    #[arg(long, value_name = "HOW", requires = "ttnn", value_parser = word::<Reload>())]
    reload: Option<Reload>,

    /// Number of slices of K, if the kernel text does not state it
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// K of a tile of the library's main loop, if the kernel text does not state it
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    #[command(flatten)]
    open: KernelHints,

    /// Where to write it
    #[arg(long, short, value_name = "SUITE.json")]
    output: PathBuf,

    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

/// Run a suite on a simulated device
#[derive(Args)]
pub struct Run {
    /// Suite of 'tcverify screen make'
    #[arg(value_name = "SUITE.json")]
    suite: PathBuf,

    /// Device; GPUs are served by the programs in scripts/screen
    #[arg(long, value_name = "DEVICE", value_parser = ["simulated"])]
    device: String,

    /// Fault of the device: PLACE:bit=N[+N...][,stuck=0|1|flip] or PLACE:zero, then [,k=N][,lane=N][,sm=N][,one-in=N
    /// [,doubles=RUNS]][,above=CELSIUS][,exponent=LOW..HIGH], with PLACE operand, scale, product, aligner, adder or
    /// rounding. Instead of lane=N, rows=REST/PERIOD or columns=REST/PERIOD. Or
    /// tiles:zero|other|stale[,share=PERCENT][,sm=N]; schedule:NAME[,split-k=N]; model:ARCH
    #[arg(long, value_name = "FAULT")]
    inject: Option<Injection>,

    /// SMs of the device
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    sms: u32,

    /// Number of runs of the suite, each 15 degrees warmer, up to 95
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Name of the host in the results
    #[arg(long, value_name = "NAME", default_value = "simulated")]
    host: String,

    /// Number of the GPU in the results
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: u32,

    /// Seed of intermittent faults
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    answering: Answering,

    /// Where to write the results
    #[arg(long, short, value_name = "RESULTS.json")]
    output: PathBuf,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

/// Judge the results of many GPUs: which one is wrong, where, and how
#[derive(Args)]
pub struct Judge {
    /// Suite that they ran
    #[arg(long, value_name = "SUITE.json")]
    suite: PathBuf,

    /// Results, or folders of them (files that end in .json)
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,

    /// Write the judgement as JSON (tcverify.screen-fleet/1); "-" is standard output, instead of the
    /// text
    #[arg(long, value_name = "FLEET.json")]
    json: Option<PathBuf>,

    /// Write a page for a browser
    #[arg(long, value_name = "FLEET.html")]
    html: Option<PathBuf>,

    /// Write metrics in Prometheus's text format
    #[arg(long, value_name = "FLEET.prom")]
    prometheus: Option<PathBuf>,

    /// Write JUnit XML, one case per GPU
    #[arg(long, value_name = "FLEET.xml")]
    junit: Option<PathBuf>,

    /// The only products that the GPUs had to run, where only one of the two programs ran; by default all of the suite
    #[arg(long, value_name = "ROUTE", value_parser = word::<Route>())]
    route: Option<Route>,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    trust: Trust,

    #[command(flatten)]
    attest: AttestArgs,
}

impl Make {
    pub fn run(self) -> Result<()> {
        let mut outputs = Outputs::new();
        let output = outputs.open("the suite", &self.output)?;
        let mut fields = RequestFields {
            schedule: self.schedule,
            split_k: self.split_k,
            tile_k: self.tile_k,
            reload: self.reload,
            ..RequestFields::default()
        };
        in_options(self.open.fill(&mut fields))?;
        let library = Library {
            fields,
            kernels: self.kernel,
            ttnn: self.ttnn,
        };
        let suite = make(&self.arch, self.suite, &library, &Bar::new())?;
        let text = suite.text()?;
        output.commit(|out| out.write_all(&text))?;
        show::unless(self.quiet || show::is_stdout(&self.output), |out| {
            writeln!(
                out,
                "{} {}: {} products, {} bytes  {}",
                suite.arch,
                suite.level.word(),
                suite.products.len(),
                text.len(),
                escaped_path(&self.output)
            )?;
            writeln!(out, "\n  suite  {}\n", suite.id())?;
            for (name, exercises) in &suite.families {
                let count = suite.products.iter().filter(|p| p.family == *name).count();
                writeln!(out, "  {name:<10} {count:>4}  {exercises}")?;
            }
            let libraries = suite.products.iter().filter(|p| p.route == Route::Library);
            for (i, product) in libraries.enumerate() {
                let space = if i == 0 { "\n" } else { "" };
                writeln!(
                    out,
                    "{space}  {:<14} right by {}",
                    product.name,
                    order(product)
                )?;
            }
            Ok(())
        })
    }
}

impl Run {
    pub fn run(self) -> Result<Ending> {
        let (suite, _) = Suite::read(&self.suite)?;
        let mut outputs = Outputs::new();
        outputs.protect("the suite", &self.suite);
        let (commitment, signer) = self.answering.read(&mut outputs)?;
        let output = outputs.open("the results", &self.output)?;
        let device = Simulated {
            host: self.host,
            index: self.gpu,
            sms: self.sms,
            rounds: self.rounds,
            injection: self.inject,
            seed: self.seed,
            ..Simulated::default()
        };
        let mut results = simulate(&suite, &Bar::new())?.run(&device)?;
        results.commitment = commitment;
        let written = results.signed(signer.as_ref())?;
        output.commit(|out| out.write_all(&written))?;
        let (compared, wrong) = (results.compared(), results.wrong());
        let answers = suite.challenge.is_some();
        show::unless(self.quiet || show::is_stdout(&self.output), |out| {
            let found = match wrong {
                _ if answers => format!("ANSWERED  {compared} results of a simulated device"),
                0 => format!("RIGHT  0 of {compared} results of a simulated device are wrong"),
                n => format!("WRONG  {n} of {compared} results of a simulated device are wrong"),
            };
            writeln!(out, "{found}  {}", escaped_path(&self.output))
        })?;
        Ok(Ending::of(answers || wrong == 0))
    }
}

/// Files of results: those named, and those in folders that are named.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let unreadable = || format!("{}: cannot be read", escaped_path(path));
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).with_context(unreadable)? {
            let file = entry.with_context(unreadable)?.path();
            let name = file.file_name().map(|n| n.to_string_lossy().into_owned());
            let visible = name.is_some_and(|name| !name.starts_with('.'));
            if visible && file.extension().is_some_and(|e| e == "json") && !file.is_dir() {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            bail!("{}: has no results (*.json)", escaped_path(path));
        }
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}

impl Judge {
    pub fn run(self) -> Result<Ending> {
        let (suite, id) = Suite::read(&self.suite)?;
        let files = files(&self.results)?;
        let mut outputs = Outputs::new();
        outputs.protect("the suite", &self.suite);
        for file in &files {
            outputs.protect("results", file);
        }
        let keys = self.trust.read(&mut outputs, &suite)?;
        let signer = self.attest.read(&mut outputs)?;
        let json = outputs.open_if("the JSON", self.json.as_ref())?;
        let html = outputs.open_if("the page", self.html.as_ref())?;
        let metrics = outputs.open_if("the metrics", self.prometheus.as_ref())?;
        let junit = outputs.open_if("the JUnit file", self.junit.as_ref())?;
        let attest = self.attest.open(&mut outputs, signer)?;
        let (mut all, mut hashed) = (Vec::new(), Vec::new());
        for path in &files {
            let (results, sha256) = Results::read(path, &suite, id)?;
            let name = escaped_path(path);
            hashed.push((name.clone(), sha256));
            all.push((name, results));
        }
        let fleet = judge_route((&suite, id), all, &keys, self.route)?;
        let view = fleet.view();
        if let Some(output) = metrics {
            output.commit(|out| prometheus(&fleet, out))?;
        }
        let reports = Destinations {
            json,
            html,
            junit,
            attest,
            ..Destinations::default()
        };
        let json = |out: &mut dyn Write| out.write_all(fleet.json().as_bytes());
        reports.publish(&view, json, || Ok(Some(fleet.claims(hashed))))?;
        let mut written = [&self.json, &self.html, &self.prometheus, &self.junit].into_iter();
        let to_stdout = written.any(|path| path.as_deref().is_some_and(show::is_stdout));
        if !self.quiet && !to_stdout {
            show::view(&view)?;
        }
        let mut gpus = fleet.gpus.iter();
        Ok(Ending::of(gpus.all(|gpu| gpu.condition.right())))
    }
}

/// Inject faults into the exact engine and count how many a suite finds
#[derive(Args)]
pub struct Measure {
    /// Suite of 'tcverify screen make'
    #[arg(value_name = "SUITE.json")]
    suite: PathBuf,

    /// Number of faults per place and unit, or all if there are fewer
    #[arg(long, value_name = "N", default_value_t = 200)]
    faults: usize,

    /// What a fault does to a number
    #[arg(long, value_name = "KIND", default_value = "stuck", value_parser = word::<Kind>())]
    kind: Kind,

    /// Each fault acts in one of this many steps, at random; 1 means always
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    one_in: u64,

    /// Number of runs of the suite
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rounds: u64,

    /// Seed of the draw
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Only units whose name contains this, such as "mma fp16"
    #[arg(long, value_name = "TEXT", default_value = "")]
    unit: String,
}

impl Measure {
    pub fn run(self) -> Result<()> {
        let (mut suite, _) = Suite::read(&self.suite)?;
        let before = suite.products.len();
        suite
            .products
            .retain(|product| unit(product).contains(&self.unit));
        if suite.products.is_empty() {
            let unit = printable(&self.unit);
            bail!("the name of no unit of the suite's {before} products contains {unit}");
        }
        let (one_in, rounds) = (self.one_in, self.rounds);
        let faults = (self.kind, self.faults);
        let coverage = measure(&suite, faults, [one_in, rounds], self.seed, &Bar::new())?;
        show::print(|out| {
            writeln!(
                out,
                "Faults ({}) found by {} {}, {}, {rounds} time(s)\n",
                self.kind.word(),
                suite.arch,
                suite.level.word(),
                match one_in {
                    1 => "always acting".to_owned(),
                    n => format!("acting in one of {n} steps"),
                }
            )?;
            coverage
                .iter()
                .try_for_each(|coverage| faults_found(coverage, out))
        })
    }
}

fn faults_found(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", coverage.unit)?;
    for found in &coverage.found {
        let percent = 100.0 * found.detected as f64 / found.injected.max(1) as f64;
        let families: Vec<_> = found
            .by_family
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        writeln!(
            out,
            "  {:<9} {:>5} of {:>5}  {percent:>5.1} %   {}",
            found.place.word(),
            found.detected,
            found.injected,
            families.join(", ")
        )?;
        if let Some(fault) = found.missed.first() {
            writeln!(out, "            missed: {fault} ...")?;
        }
    }
    Ok(())
}
