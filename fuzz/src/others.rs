//! Documents of other people that decide what is believed: plans, parts, states, policies, reports, manifests of
//! probes, and texts about kernels.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{LazyLock, Mutex, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use tcverify::batch::{Beginning, Entry, STATE};
use tcverify::check::{Check, Prepared, Tensors};
use tcverify::compose::verify;
use tcverify::engines::resources;
use tcverify::envelope;
use tcverify::forms::{self, Layout, View};
use tcverify::io::tree::Hash;
use tcverify::libraries::{self, KernelTable};
use tcverify::num::Format;
use tcverify::policy::AdmissionPolicy;
use tcverify::probe::Suite;
use tcverify::probe::folder::Manifest;
use tcverify::shard::{PART, PLAN, Part, Plan, merge};
use tcverify::tensor::Tensor;

use super::sentence;

/// The content of a document whose digest is right, as whoever forges one would see to; what is taken is
/// written alike.
fn sealed<T: Serialize + for<'de> Deserialize<'de>>(schema: &str, data: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(data).ok()?;
    let content = RawValue::from_string(text.to_owned()).ok()?;
    let whole = envelope::seal(schema, &content).expect("JSON is JSON");
    match envelope::open::<T>(schema, &whole) {
        Err(reason) => {
            sentence(&reason);
            None
        }
        Ok(read) => {
            let again = envelope::seal(schema, &read).expect("plain data");
            let read: T = envelope::open(schema, &again).expect("what was written is read");
            assert_eq!(envelope::seal(schema, &read).expect("plain data"), again);
            Some(read)
        }
    }
}

/// The content of a plan.
pub fn plan(data: &[u8]) {
    let Some(plan) = sealed::<Plan>(PLAN, data) else {
        return;
    };
    if let Err(reason) = plan.covers_d() {
        return sentence(&reason);
    }
    let last = plan.shards.last().expect("parts that make up D");
    let rows: u64 = plan.shape.iter().rev().skip(1).map(|&n| n as u64).product();
    assert_eq!(last.rows[1], rows);
}

/// A D that is half right, and its plan.
fn planned() -> &'static (Prepared, Plan) {
    static PLANNED: OnceLock<(Prepared, Plan)> = OnceLock::new();
    PLANNED.get_or_init(|| {
        let codes = |n, code| vec![code; n];
        let tensor = |format, shape: [usize; 2], code| {
            Tensor::from_codes(format, shape.to_vec(), &codes(shape[0] * shape[1], code))
        };
        let (a, b) = (
            tensor(Format::Fp16, [4, 8], 0x3c00),
            tensor(Format::Fp16, [8, 4], 0x3c00),
        );
        let mut d = codes(16, 0x4100_0000);
        d[9..].fill(0);
        let d = Tensor::from_codes(Format::Fp32, vec![4, 4], &d);
        let mut check = Check::in_memory("a100", Format::Fp16);
        check.causes = false;
        let prepared =
            Prepared::from_tensors(&check, &resources(), Tensors::of(a, b, d)).expect("a product");
        let plan = Plan::make(&prepared, 1, &()).expect("a plan");
        (prepared, plan)
    })
}

/// The content of the only part of a plan: merged, or refused.
pub fn part(data: &[u8]) {
    let Some(part) = sealed::<Part>(PART, data) else {
        return;
    };
    let (prepared, plan) = planned();
    let text = plan.text().expect("a plan");
    let part = Part {
        plan: Hash::of([&text[..]]),
        ..part
    };
    let found = plan.collect(vec![(part, "part.json".as_ref())]);
    let merged = found.and_then(|parts| merge(plan, prepared, parts, &[]));
    match merged {
        Err(error) => sentence(&error.to_string()),
        Ok(report) => {
            // Seven elements of this D are wrong: whoever replayed none can say otherwise, but no figures that
            // contradict each other.
            assert_eq!(verify::contradictions(&report), [""; 0]);
            let text = serde_json::to_string(&report).expect("plain data");
            verify::parse(&text).expect("what was written is read");
        }
    }
}

/// The content of a line of a batch's state.
pub fn state(data: &[u8]) {
    let _ = sealed::<Beginning>(STATE, data);
    if let Some(kept) = sealed::<Entry>(STATE, data) {
        let _ = kept.recalled();
    }
}

/// A policy.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match AdmissionPolicy::parsed(text) {
        Err(reason) => sentence(&reason),
        Ok(policy) => {
            let again = serde_json::to_string(&policy).expect("plain data");
            assert_eq!(AdmissionPolicy::parsed(&again), Ok(policy));
        }
    }
}

/// A report.
pub fn report(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match verify::parse(text) {
        Err(reason) => sentence(&reason),
        Ok(report) => {
            let again = serde_json::to_string(&report).expect("plain data");
            let read = verify::parse(&again).expect("what was written is read");
            assert_eq!(serde_json::to_string(&read).expect("plain data"), again);
            if verify::contradictions(&report).is_empty() {
                let view = View::of(&report);
                assert!(!view.plain_text(Layout::default()).is_empty());
                type Form = fn(&View, &mut dyn Write) -> io::Result<()>;
                let forms: [Form; 5] = [
                    forms::html,
                    forms::notebook,
                    forms::markdown,
                    forms::junit,
                    forms::github,
                ];
                for form in forms {
                    form(&view, &mut io::sink()).expect("a sink takes everything");
                }
            }
        }
    }
}

/// Suites by their formats and scales: to make one takes longer than everything else.
type Suites = HashMap<([Format; 3], Option<(Format, usize)>), Result<Suite, String>>;

/// The manifest of a folder of probes.
pub fn probes(data: &[u8]) {
    static MADE: LazyLock<Mutex<Suites>> = LazyLock::new(Mutex::default);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let manifest = match Manifest::parse(text) {
        Err(fault) => return sentence(&format!("{fault:#}")),
        Ok(manifest) => manifest,
    };
    let formats = [manifest.a, manifest.b, manifest.accumulator];
    let [a, b, accumulator] = formats;
    let scale = manifest.scale;
    let mut made = MADE.lock().expect("whatever panics ends the run");
    let suite = made.entry((formats, scale.map(|scale| (scale.format, scale.block))));
    match suite.or_insert_with(|| Suite::scaled(a, b, accumulator, scale)) {
        Err(reason) => sentence(reason),
        Ok(suite) => match manifest.confirm(suite) {
            Err(fault) => sentence(&format!("{fault:#}")),
            Ok(()) => assert!(!suite.cases.is_empty()),
        },
    }
}

/// What a library says of a kernel, or a table of that.
pub fn kernel_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(error) = libraries::read(text) {
        sentence(&error.to_string());
    }
    for (_, launch) in libraries::launches(text).take(16) {
        let _ = libraries::read(launch);
    }
    match KernelTable::from_json(text) {
        Err(error) => sentence(&error.to_string()),
        Ok(table) => {
            let again = serde_json::to_string(&table).expect("plain data");
            assert_eq!(KernelTable::from_json(&again).ok(), Some(table));
        }
    }
}
