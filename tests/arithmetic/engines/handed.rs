//! Checks compute with the engines that they are handed, and with no other.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tcverify::check::{Check, Prepared, Resources};
use tcverify::emu::engine::{ExactAlone, OpenedDevice, Work};
use tcverify::emu::{Arithmetic, Engine, Engines, FastEngine};
use tcverify::engines::resources;
use tcverify::report::Verdict;

/// Computes as the exact engine does, but for the bits of the first element that are set here.
#[derive(Debug)]
struct Counting {
    wrong: u64,
    products: AtomicUsize,
}

impl FastEngine for Counting {
    fn computes(&self, _: &Arithmetic) -> bool {
        true
    }

    fn fill(
        &self,
        arithmetic: &Arithmetic,
        work: Work,
        first_row: usize,
        out: &mut [u64],
    ) -> Option<u64> {
        self.products.fetch_add(1, Ordering::Relaxed);
        let exact = Engine::Exact.fill(arithmetic, work.problem, first_row, out, work.progress);
        out[0] ^= self.wrong;
        Some(exact)
    }
}

#[derive(Debug)]
struct Only(&'static Counting);

impl Engines for Only {
    fn computes(&self, arithmetic: &Arithmetic) -> bool {
        self.0.computes(arithmetic)
    }

    fn fast(&self, _: Option<&Arithmetic>) -> Result<Engine<'static>, String> {
        Ok(Engine::With(self.0))
    }

    fn device(&self, _: Option<u8>) -> Result<OpenedDevice, String> {
        Err("no device".to_owned())
    }
}

fn check(engine: &str, digest: Option<&str>) -> Check {
    let mut check = json!({
        "arch": "hopper", "dtype": "fp16", "engine": engine,
        "a": "generate:1:normal:20x64", "b": "generate:2:normal:64x30",
    });
    if let Some(digest) = digest {
        check["d_digest"] = json!(digest);
    }
    serde_json::from_value(check).unwrap()
}

fn digest() -> String {
    let prepared = check("fast", None).prepare(&resources()).unwrap();
    let d = prepared.replay().collect(&|_| {});
    crate::support::sha256(d.as_payload().unwrap())
}

fn handed(engines: &'static dyn Engines, engine: &str) -> Prepared {
    let resources = Resources {
        engines,
        ..resources()
    };
    let check = check(engine, Some(&digest()));
    check.prepare(&resources).unwrap()
}

#[test]
fn a_check_computes_with_what_it_is_handed() {
    for (wrong, verdict) in [(0, Verdict::Identical), (1, Verdict::Different)] {
        let counting: &Counting = Box::leak(Box::new(Counting {
            wrong,
            products: AtomicUsize::new(0),
        }));
        let only: &Only = Box::leak(Box::new(Only(counting)));
        let products = || counting.products.load(Ordering::Relaxed);
        // The exact engine is nobody's to replace.
        let exact = handed(only, "exact").replay().collect(&|_| {});
        assert_eq!(
            crate::support::sha256(exact.as_payload().unwrap()),
            digest()
        );
        assert_eq!(products(), 0);
        let report = handed(only, "fast").run(&()).unwrap();
        assert_eq!(report.verdict, verdict);
        assert!(products() > 0);
    }
}

#[test]
fn the_exact_engine_alone_judges_too() {
    let report = handed(&ExactAlone, "fast").run(&()).unwrap();
    assert_eq!(report.verdict, Verdict::Identical);
    let alone = Resources {
        engines: &ExactAlone,
        ..resources()
    };
    let error = check("gpu", None).prepare(&alone);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the exact engine alone"), "{error}");
}
