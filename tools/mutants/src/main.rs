//! Mutants of what decides a verdict, all of them in one build, each switched on by a variable as the tests run.
//! `README.md` beside `src` says how it works.

mod compile;
mod list;
mod places;
mod rewrite;
mod run;
mod state;
mod suite;
mod tree;

use anyhow::Result;
use clap::Parser;
use list::Mutant;
use run::{Limits, each};
use state::{Decided, Outcome, State};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Changes what decides a verdict, one place at a time, and says which changes no test notices.
///
/// Exit codes: 0 every mutant that ran was caught, 1 some were not, 2 anything else.
#[derive(Parser)]
struct Options {
    /// Seed of the draw: the same draws the same mutants of the same source
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs one mutant in so many
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    part: u64,
    /// No mutant begins after so many minutes; building and recording are not counted
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Tests at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// No further test of a mutant begins after tests of so many seconds of processor time: it is undecided
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// Only mutants whose name (file, place, change) contains one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Tests of these
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "lib,arithmetic,commands,captured"
    )]
    suites: Vec<String>,
    /// Tests whose name contains one of these are left out
    #[arg(long, value_delimiter = ',')]
    skip: Vec<String>,
    /// Tests whose name contains one of these are recorded anew
    #[arg(long, value_delimiter = ',')]
    record: Vec<String>,
    /// Although the source changed since, takes what was caught as caught, and runs the others again
    #[arg(long)]
    keep: bool,
    /// Forgets what is known
    #[arg(long)]
    fresh: bool,
    /// Runs again what was not caught
    #[arg(long)]
    again: bool,
    /// Tests that take more seconds of processor time than this are left out
    #[arg(long, default_value_t = 20)]
    longest: u64,
    /// Most memory of a test, in GiB
    #[arg(long, default_value_t = 16)]
    memory: u64,
    /// Lists what would run, and runs nothing
    #[arg(long)]
    list: bool,
    /// Where the copy, the build and what is known so far are
    #[arg(long, default_value = "target/mutants")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    match work(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("mutants: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn work(options: &Options) -> Result<bool> {
    let root = tree::project()?;
    let folder = root.join(&options.folder);
    let mutants = list::all(&root, options.seed)?;
    let chosen = |mutant: &Mutant| {
        let only = &options.only;
        mutant.draw.is_multiple_of(options.part)
            && (only.is_empty() || only.iter().any(|part| mutant.name.contains(part)))
    };
    let numbered = (0u32..).zip(&mutants);
    let mut drawn: Vec<(u32, &Mutant)> = numbered.filter(|(_, mutant)| chosen(mutant)).collect();
    drawn.sort_by_key(|(_, mutant)| mutant.draw);
    let [seed, part] = [options.seed, options.part];
    println!(
        "{} of {} mutants are drawn (seed {seed}, one in {part})",
        drawn.len(),
        mutants.len()
    );
    if options.list {
        drawn
            .iter()
            .for_each(|(_, mutant)| println!("{}", mutant.name));
        return Ok(true);
    }

    let tree = tree::Tree::new(&root, folder.join("tree"))?;
    let mut state = State::open(&folder, tree.hash, options.keep, options.fresh)?;
    let known = (0u32..)
        .zip(&mutants)
        .filter(|(_, mutant)| state.unviable.contains(&mutant.key));
    let known = known.map(|(number, _)| number).collect();
    let compiled = compile::compile(
        &tree,
        &mutants,
        &options.suites,
        &folder.join("build"),
        known,
        |number| state.note("unviable.jsonl", &mutants[number as usize].key),
    )?;
    let place = suite::Place {
        copy: tree.copy.clone(),
        programs: compiled.programs,
        scratch: folder.join("scratch"),
        memory: options.memory << 20,
        longest: options.longest,
    };
    record(options, &place, &mutants, &mut state)?;

    let mut found: HashMap<u64, Decided> = HashMap::new();
    let mut left = Vec::new();
    for &(number, mutant) in &drawn {
        let fixed = |outcome| Decided {
            key: mutant.key,
            name: mutant.name.clone(),
            outcome,
            by: None,
            ran: 0,
            reach: 0,
        };
        if compiled.unviable.contains(&number) {
            found.insert(mutant.key, fixed(Outcome::Unviable));
        } else if compiled.fixed.contains(&number) {
            found.insert(mutant.key, fixed(Outcome::Constant));
        } else if let Some(old) = state.decided.get(&mutant.key)
            && (!options.again && !options.keep
                || matches!(old.outcome, Outcome::Caught | Outcome::Timeout))
        {
            found.insert(mutant.key, old.clone());
        } else {
            left.push((number, mutant));
        }
    }
    println!("{} are known, {} are run", found.len(), left.len());
    let limits = Limits {
        jobs: options.jobs,
        end: Instant::now() + Duration::from_secs(60 * options.minutes),
        per_mutant: options.seconds as f64,
    };
    for one in run::run(
        &place,
        &mutants,
        &left,
        &compiled.in_const_functions,
        &state,
        &limits,
    )? {
        found.insert(one.key, one);
    }
    Ok(summary(&drawn, &found))
}

/// Runs every test that is not known yet once, with no mutant on.
fn record(
    options: &Options,
    place: &suite::Place,
    mutants: &[Mutant],
    state: &mut State,
) -> Result<()> {
    let names_it =
        |parts: &[String], name: &str| parts.iter().any(|part| name.contains(part.as_str()));
    state
        .tests
        .retain(|test| !names_it(&options.record, &test.name));
    let known: HashSet<_> = state
        .tests
        .iter()
        .map(|test| (test.suite.clone(), test.name.clone()))
        .collect();
    let mut names = place.names()?;
    state
        .tests
        .retain(|test| names.contains(&(test.suite.clone(), test.name.clone())));
    names.retain(|name| !known.contains(name) && !names_it(&options.skip, &name.1));
    names.sort_by_key(|(suite, _)| options.suites.iter().position(|named| named == suite));
    println!(
        "{} tests are recorded, {} are known",
        names.len(),
        state.tests.len()
    );
    each(&names, options.jobs, |worker, (suite, name)| {
        let test = place.record(suite, name, mutants, worker)?;
        if !test.passed {
            println!(
                "left out, since it fails or takes too long with no mutant on: {suite} {name}"
            );
        }
        state.note("tests.jsonl", &test)
    })?;
    state.tests = state.latest()?;
    state
        .tests
        .retain(|test| !names_it(&options.skip, &test.name));
    Ok(())
}

/// Counts, and whether all that ran were caught.
fn summary(drawn: &[(u32, &Mutant)], found: &HashMap<u64, Decided>) -> bool {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for (_, mutant) in drawn {
        if let Some(one) = found.get(&mutant.key) {
            *counts.entry(one.outcome).or_default() += 1;
        }
    }
    for (outcome, count) in &counts {
        println!("{count} {}", format!("{outcome:?}").to_lowercase());
    }
    println!("{} not run", drawn.len() - counts.values().sum::<usize>());
    let count = |outcome| counts.get(&outcome).copied().unwrap_or_default();
    let caught = count(Outcome::Caught) + count(Outcome::Timeout);
    let not = count(Outcome::Missed) + count(Outcome::Unreached) + count(Outcome::Undecided);
    if caught + not > 0 {
        let share = 100.0 * caught as f64 / (caught + not) as f64;
        println!("{share:.1} % of {} caught", caught + not);
    }
    not == 0
}
