//! Mutants, one after another: the tests that reach each, until one fails.

use crate::list::Mutant;
use crate::state::{Decided, Outcome, State};
use crate::suite::{self, Place, Test};
use anyhow::Result;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub struct Limits {
    pub jobs: usize,
    /// No mutant begins after that.
    pub end: Instant,
    /// No test of a mutant begins after that.
    pub per_mutant: Duration,
}

/// Does something with every item, some at a time, and stops at the first error.
pub fn each<T: Sync>(
    items: &[T],
    jobs: usize,
    work: impl Fn(usize, &T) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let worker = |number: usize| {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Relaxed)) {
                    work(number, item).inspect_err(|_| next.store(items.len(), Relaxed))?;
                }
                Ok(())
            })
        };
        let workers: Vec<_> = (0..jobs).map(worker).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

/// Runs mutants, each given with its number, and notes what came of them.
pub fn run(
    place: &Place,
    mutants: &[(u32, &Mutant)],
    in_const_functions: &HashSet<u32>,
    state: &State,
    limits: &Limits,
) -> Result<Vec<Decided>> {
    let mut by_key: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, test) in state
        .tests
        .iter()
        .enumerate()
        .filter(|(_, test)| test.passed)
    {
        if !place.programs.contains_key(&test.suite) {
            continue;
        }
        for key in &test.reaches {
            by_key.entry(*key).or_default().push(at);
        }
    }
    // What caught others of the same function, last first.
    let catchers: Mutex<HashMap<(String, String), Vec<usize>>> = Mutex::default();
    let decided = Mutex::new(Vec::new());
    each(mutants, limits.jobs, |worker, (number, mutant)| {
        if Instant::now() > limits.end {
            return Ok(());
        }
        let empty = Vec::new();
        let reaching = by_key.get(&mutant.key).unwrap_or(&empty);
        let known = catchers
            .lock()
            .expect("no worker panics")
            .get(&mutant.place())
            .cloned();
        let mut order = reaching.clone();
        let known = known.unwrap_or_default();
        let rank = |at: &usize| {
            known
                .iter()
                .rev()
                .position(|catcher| catcher == at)
                .unwrap_or(usize::MAX)
        };
        order.sort_by(|a, b| {
            let seconds = |at: &usize| state.tests[*at].seconds;
            rank(a)
                .cmp(&rank(b))
                .then(seconds(a).total_cmp(&seconds(b)))
        });
        let mut one = Decided {
            key: mutant.key,
            name: mutant.name.clone(),
            outcome: match (order.is_empty(), in_const_functions.contains(number)) {
                (false, _) => Outcome::Missed,
                (true, false) => Outcome::Unreached,
                (true, true) => Outcome::Constant,
            },
            by: None,
            ran: 0,
            reach: order.len(),
        };
        let began = Instant::now();
        for at in order {
            if began.elapsed() > limits.per_mutant {
                one.outcome = Outcome::Undecided;
                break;
            }
            let test: &Test = &state.tests[at];
            one.ran += 1;
            let outcome = place.attempt(test, *number, worker)?;
            if outcome != suite::Outcome::Passed {
                one.outcome = match outcome {
                    suite::Outcome::Endless => Outcome::Timeout,
                    _ => Outcome::Caught,
                };
                one.by = Some(format!("{} {}", test.suite, test.name));
                let mut catchers = catchers.lock().expect("no worker panics");
                let catchers = catchers.entry(mutant.place()).or_default();
                catchers.retain(|catcher| *catcher != at);
                catchers.push(at);
                break;
            }
        }
        if !matches!(one.outcome, Outcome::Caught | Outcome::Timeout) {
            println!(
                "{:?}, {} of {} tests: {}",
                one.outcome, one.ran, one.reach, one.name
            );
        }
        state.note("decided.jsonl", &one)?;
        decided.lock().expect("no worker panics").push(one);
        Ok(())
    })?;
    Ok(decided.into_inner().expect("no worker panics"))
}
