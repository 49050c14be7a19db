//! Models that answer probes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use tcverify::emu::step::Step;
use tcverify::emu::{Arithmetic, Scale};
use tcverify::num::Format;
use tcverify::probe::infer::{Explained, Verdict, infer};
use tcverify::probe::{Suite, replay};

type Key = (Format, Format, Format);

/// Suites with scales are large, and few machines share one: the last ones are kept.
pub fn scaled([a, b, accumulator]: [Format; 3], scale: Option<Scale>) -> Arc<Suite> {
    type Kept = VecDeque<(Key, Option<Scale>, Arc<Suite>)>;
    static LAST: Mutex<Kept> = Mutex::new(VecDeque::new());

    if scale.is_none() {
        return suite(a, b, accumulator);
    }
    let key = (a, b, accumulator);
    let last = || LAST.lock().unwrap();
    let kept = last()
        .iter()
        .find(|(formats, of, _)| (*formats, *of) == (key, scale))
        .map(|(.., suite)| Arc::clone(suite));
    kept.unwrap_or_else(|| {
        let suite = Arc::new(Suite::scaled(a, b, accumulator, scale).unwrap());
        let mut last = last();
        last.truncate(2);
        last.push_front((key, scale, Arc::clone(&suite)));
        suite
    })
}

/// Suites are made once: many machines share formats.
pub fn suite(a: Format, b: Format, accumulator: Format) -> Arc<Suite> {
    static SUITES: OnceLock<Mutex<HashMap<Key, Arc<Suite>>>> = OnceLock::new();
    let mut suites = SUITES.get_or_init(Mutex::default).lock().unwrap();
    let make = || Arc::new(Suite::new(a, b, accumulator).unwrap());
    Arc::clone(suites.entry((a, b, accumulator)).or_insert_with(make))
}

pub fn arithmetic(formats: [Format; 3], step: &str) -> Arithmetic {
    let step: Step = serde_json::from_str(step).unwrap();
    let [a, b, accumulator] = formats;
    let arithmetic = Arithmetic::plain([a, b], accumulator, step);
    arithmetic.check().unwrap();
    arithmetic
}

/// The suite for a machine, and its answers.
pub fn answered(machine: &Arithmetic) -> (Arc<Suite>, Vec<u64>) {
    let formats = [machine.a, machine.b, machine.accumulator];
    let suite = scaled(formats, machine.scale);
    let answers = replay::answers(machine, &suite.cases);
    (suite, answers)
}

/// Fails unless the machine is recognised: each constant the one it has, or reported as open with
/// that among the values that would do. Returns what was found.
#[track_caller]
pub fn recognised(what: &str, machine: &Arithmetic) -> Box<Explained> {
    let (suite, answers) = answered(machine);
    let found = match infer(&suite, &answers).unwrap() {
        Verdict::Explained(found) => found,
        Verdict::Contradicted(best) => panic!(
            "{what}: unexplained; the best, {:?}, fails {} of {} cases",
            best.arithmetic.step,
            best.cases.len(),
            suite.cases.len()
        ),
    };
    let (mine, theirs) = (machine.step.constants(), &found.constants);
    assert_eq!(
        mine.len(),
        theirs.len(),
        "{what}: {:?}",
        found.arithmetic.step
    );
    for (constant, finding) in mine.iter().zip(theirs) {
        assert_eq!(constant.name, finding.name, "{what}");
        if finding.determined() {
            assert_eq!(constant.value, finding.value, "{what}: {}", finding.name);
        }
        assert!(
            finding.allows(&constant.value),
            "{what}: {} is {}, but only {} is allowed",
            constant.name,
            constant.value,
            finding.allowed()
        );
    }
    found
}
