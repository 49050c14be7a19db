//! Mutants, one after another: the tests that reach each, until one fails.

use crate::list::Mutant;
use crate::state::{Decided, Outcome, State};
use crate::suite::{self, Place, Test};
use anyhow::Result;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

pub struct Limits {
    pub jobs: usize,
    /// No mutant begins after that.
    pub end: Instant,
    /// No test of a mutant begins after others that take so many seconds of processor time with none on.
    pub per_mutant: f64,
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

/// On how many mutants a test was tried, and how many it caught.
#[derive(Clone, Copy, Default)]
struct Tried {
    tried: f64,
    caught: f64,
}

/// Of each test, by file and by function: neighbours are caught by the same tests.
#[derive(Default)]
struct History {
    of: HashMap<(String, String), HashMap<usize, Tried>>,
}

impl History {
    /// What is known of earlier runs.
    fn of(all: &[Mutant], state: &State) -> History {
        let tests = state.tests.iter().enumerate();
        let tests: HashMap<String, usize> = tests.map(|(at, test)| (test.label(), at)).collect();
        let mut history = History::default();
        for mutant in all {
            let by = state
                .decided
                .get(&mutant.key)
                .and_then(|old| old.by.as_ref());
            if let Some(at) = by.and_then(|by| tests.get(by)) {
                history.note(&mutant.place(), *at, true);
            }
        }
        history
    }

    fn note(&mut self, place: &(String, String), test: usize, caught: bool) {
        let file = (place.0.clone(), String::new());
        for place in [place.clone(), file] {
            let tried = self.of.entry(place).or_default().entry(test).or_default();
            tried.tried += 1.0;
            tried.caught += f64::from(u8::from(caught));
        }
    }

    /// How likely a test is to catch another of the function, roughly: a file's tests count a quarter.
    fn chance(&self, place: &(String, String), test: usize) -> f64 {
        let of = |place| self.of.get(place).and_then(|tests| tests.get(&test));
        let function = of(place).copied().unwrap_or_default();
        let file = of(&(place.0.clone(), String::new()))
            .copied()
            .unwrap_or_default();
        (0.05 + function.caught + file.caught / 4.0) / (1.0 + function.tried + file.tried / 4.0)
    }
}

/// Runs mutants, each given with its number among all, and notes what came of them.
pub fn run(
    place: &Place,
    all: &[Mutant],
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
    let history = Mutex::new(History::of(all, state));
    let decided = Mutex::new(Vec::new());
    each(mutants, limits.jobs, |worker, (number, mutant)| {
        if Instant::now() > limits.end {
            return Ok(());
        }
        let mut order = by_key.get(&mutant.key).cloned().unwrap_or_default();
        {
            let history = history.lock().expect("no worker panics");
            let chance = |at: &usize| {
                history.chance(&mutant.place(), *at) / (0.03 + state.tests[*at].seconds)
            };
            order.sort_by(|a, b| chance(b).total_cmp(&chance(a)));
        }
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
        let mut spent = 0.0;
        for at in order {
            if spent > limits.per_mutant {
                one.outcome = Outcome::Undecided;
                break;
            }
            let test: &Test = &state.tests[at];
            one.ran += 1;
            spent += test.seconds;
            let outcome = place.attempt(test, *number, worker)?;
            let caught = outcome != suite::Outcome::Passed;
            history
                .lock()
                .expect("no worker panics")
                .note(&mutant.place(), at, caught);
            if caught {
                one.outcome = match outcome {
                    suite::Outcome::Endless => Outcome::Timeout,
                    _ => Outcome::Caught,
                };
                one.by = Some(test.label());
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
