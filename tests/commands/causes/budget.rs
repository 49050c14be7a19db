//! What stands beside a verdict costs about as much as the replay, or little; a report says what it left. Work is counted,
//! not timed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tcverify::batch::{self, State};
use tcverify::candidates::cost;
use tcverify::check::{Attention, Resources};
use tcverify::emu::engine::{FastEngine, OpenedDevice, Work};
use tcverify::emu::{Arithmetic, Engine, Engines};
use tcverify::engines::here;
use tcverify::engines::resources;
use tcverify::io::Files;

use crate::support::{Folder, Says, claims};

static WORK: AtomicU64 = AtomicU64::new(0);

/// The engine of this machine; counts what it is asked for.
#[derive(Debug)]
struct Counting;

impl FastEngine for Counting {
    fn computes(&self, arithmetic: &Arithmetic) -> bool {
        here().computes(arithmetic)
    }

    fn fill(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        first_row: usize,
        out: &mut [u64],
    ) -> Option<u64> {
        let (elements, k) = (out.len() as u64, work.problem.k as u64);
        let fast = here().computes(arithmetic) && elements > 2;
        let each = if fast {
            elements.min(8).max(elements / 256)
        } else {
            elements
        };
        WORK.fetch_add(each * k, Ordering::Relaxed);
        match here().fast(Some(arithmetic)) {
            Ok(Engine::With(engine)) => engine.fill(arithmetic, work, first_row, out),
            _ => None,
        }
    }
}

impl Engines for Counting {
    fn computes(&self, arithmetic: &Arithmetic) -> bool {
        here().computes(arithmetic)
    }

    fn fast(&self, _: Option<&Arithmetic>) -> Result<Engine<'static>, String> {
        Ok(Engine::With(&Counting))
    }

    fn device(&self, _: Option<u8>) -> Result<OpenedDevice, String> {
        Err("none".into())
    }
}

/// A product whose D no hypothesis gives, and one whose D is right.
fn products([m, n, k]: [usize; 3]) -> Folder {
    let folder = super::folder("bf16", [m, n, k]);
    claims! {folder, "replay --arch h100 --dtype bf16 a.npy b.npy -q -o right.npy | 0"}
    let mut wrong = folder.codes32("right.npy");
    for (i, code) in wrong.iter_mut().enumerate() {
        let mixed = (i as u32 ^ 0x5bd1).wrapping_mul(0x9e37_79b1);
        *code ^= 1 + (mixed >> 23);
    }
    folder.f32_codes("wrong.npy", &[m, n], &wrong);
    for d in ["right", "wrong"] {
        let manifest = serde_json::json!({
            "schema": "tcverify.manifest/1",
            "cases": [{"name": d, "arch": "h100", "dtype": "bf16", "a": "a.npy", "b": "b.npy", "d": format!("{d}.npy")}],
        });
        folder.write(&format!("{d}.json"), manifest.to_string());
    }
    folder
}

/// What judging a case takes.
fn work(folder: &Folder, d: &str, attention: Attention) -> u64 {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    WORK.store(0, Ordering::Relaxed);
    let read = batch::read(&folder.path(&format!("{d}.json")), None).expect("a manifest");
    let resources = Resources {
        files: Files::default(),
        engines: &Counting,
        ..resources()
    };
    let cases = (read.cases, read.refused);
    let judged = batch::run(
        cases,
        &State::default(),
        &resources,
        None,
        (None, attention),
        &(),
    );
    let judged = judged.expect("a verdict");
    assert_eq!(judged.totals.identical + judged.totals.different, 1);
    assert_eq!(judged.totals.identical, u64::from(d == "right"));
    WORK.load(Ordering::Relaxed)
}

#[test]
fn what_stands_beside_a_verdict_costs_no_more_than_a_replay() {
    // Deep, thin, and small.
    for shape in [[64, 64, 50_000], [16, 4096, 2048], [16, 16, 16]] {
        let folder = products(shape);
        let replay = shape.into_iter().product::<usize>() as u64;
        for d in ["right", "wrong"] {
            let quiet = work(&folder, d, Attention::Verdict);
            // The replay and no more, in whatever bands.
            assert!(
                quiet > 0 && quiet <= replay,
                "{shape:?} {d}: {quiet} of {replay}"
            );
            let told = work(&folder, d, Attention::Report);
            let beside = told - quiet;
            let most = cost::FLOOR.max(cost::of_product(replay, true)) * 5 / 4;
            println!("{shape:?} {d}: {quiet}, and {beside} of {most}");
            assert!(
                0 < beside && beside <= most,
                "{shape:?} {d}: {beside} of {most}"
            );
        }
    }
}

/// What the work was not enough for is neither refuted nor forgotten.
#[test]
fn what_was_left_is_told() {
    let folder = products([64, 64, 100_000]);
    let check = "check --arch h100 --dtype bf16 a.npy b.npy";
    let run = folder.differs(&format!("{check} wrong.npy --verbose"));
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    text.says("Not decided: ");
    text.says("(the work of a search is bounded)");
    let report = folder.tcverify(&format!("{check} wrong.npy --json -"));
    let report = report.expect(1).json();
    let [tried, untried] = ["tried", "untried"].map(|field| report[field].to_string());
    let schedules = "the schedules that identify searches";
    untried.says(schedules);
    tried.lacks(schedules);
    let run = folder.passes(&format!("{check} right.npy"));
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    text.says("more were left, because they take too long");
    // In a small product they are refuted.
    let folder = products([16, 16, 32]);
    let tried = folder.differing(&format!("{check} wrong.npy --json -"))["tried"].to_string();
    assert!(tried.contains(schedules), "{tried}");
}
