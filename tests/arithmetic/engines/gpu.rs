//! A GPU is trusted no further than it is checked: simulated ones that compute right, wrong, and not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tcverify::check::{Check, CheckError, Prepared, Subject};
use tcverify::emu::{Arithmetic, Catalogue, Problem, Progress, Replay};
use tcverify::engines::resources;
use tcverify::gpu::{Chains, Device, DeviceInfo, Gpu, ShaderPlan, Vetted, shader};
use tcverify::kernels::Platform;
use tcverify::report::Report;

use crate::support::case::codes;

type Fault = fn(usize, &mut [u32]) -> Result<(), String>;

/// Computes by the vector kernels; `fault` spoils what comes out, and is told how many products there were.
struct Simulated {
    info: DeviceInfo,
    arithmetic: Arithmetic,
    products: AtomicUsize,
    fault: Fault,
}

impl Device for Simulated {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn compute(
        &self,
        _: &ShaderPlan,
        problem: &Problem,
        _: Chains,
        _: Progress,
    ) -> Result<Vec<u32>, String> {
        let replay = Replay {
            problem: *problem,
            arithmetic: &self.arithmetic,
            convert_to: None,
            engine: Platform::available()[0].engine(),
            kernel: None,
        };
        let d = codes(&replay.collect(&|_| {}));
        let mut d: Vec<_> = d.into_iter().map(|code| code as u32).collect();
        let before = self.products.fetch_add(1, Ordering::Relaxed);
        (self.fault)(before, &mut d)?;
        Ok(d)
    }
}

/// Products of a self-test.
const SELF_TEST: usize = 9;

fn prepared(d: Option<&str>) -> Prepared {
    let mut check = json!({
        "arch": "hopper", "dtype": "fp16",
        "a": "generate:1:normal:200x64", "b": "generate:2:normal:64x300",
    });
    if let Some(digest) = d {
        check["d_digest"] = json!(digest);
    }
    let check: Check = serde_json::from_value(check).unwrap();
    check.prepare(&resources()).unwrap()
}

fn on(d: Option<&str>, fault: Fault) -> Prepared {
    let prepared = prepared(d);
    let arithmetic = prepared.replay().arithmetic.clone();
    assert!(shader(&arithmetic).is_some());
    let info = DeviceInfo {
        name: "Simulated 9000".to_owned(),
        driver: "none 1.0".to_owned(),
        backend: "simulation".to_owned(),
        discrete: true,
    };
    let device = Vetted::new(Box::new(Simulated {
        info,
        arithmetic,
        products: AtomicUsize::new(0),
        fault,
    }));
    prepared.on(Gpu::ready(Arc::new(device)))
}

fn digest() -> String {
    let mut all = Vec::new();
    let done = prepared(None).stream(&(), &mut |band| all.extend_from_slice(band.payload));
    done.unwrap();
    crate::support::sha256(&all)
}

fn refused(fault: Fault) -> String {
    match on(None, fault).stream(&(), &mut |_| {}) {
        Err(CheckError::Engine { reason }) => {
            assert!(
                reason.contains("Simulated 9000 (simulation, none 1.0)"),
                "{reason}"
            );
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_verdict_is_that_of_other_engines() {
    let digest = digest();
    for claim in [digest.clone(), "0".repeat(64)] {
        let want = prepared(Some(&claim)).run(&()).unwrap();
        let have = on(Some(&claim), |_, _| Ok(())).run(&()).unwrap();
        let used = have.engine.clone().expect("who computed");
        assert_eq!(used.adapter, "Simulated 9000");
        assert_eq!(used.multiply_adds, 200 * 300 * 64);
        // 7 by 10 tiles, of which 16 are computed again.
        assert_eq!([used.tiles, used.tiles_computed_twice], [70, 16]);
        let have = Report {
            engine: None,
            ..have
        };
        let [have, want] = [have, want].map(|report| serde_json::to_value(report).unwrap());
        assert_eq!(have, want);
    }
}

#[test]
fn a_wrong_gpu_fails_its_self_test() {
    for fault in [
        (|_, d| {
            d[1000] ^= 1;
            Ok(())
        }) as Fault,
        |product, d| {
            d[7] ^= if product == 3 { 1 << 31 } else { 0 };
            Ok(())
        },
        // It leaves everything to the exact engine.
        |_, d| {
            d.fill(u32::MAX);
            Ok(())
        },
    ] {
        let reason = refused(fault);
        assert!(
            reason.contains("it fails its self-test: fp16 * fp16 to fp32"),
            "{reason}"
        );
    }
}

#[test]
fn a_gpu_that_computes_wrong_later_is_found() {
    // In one tile of five.
    let reason = refused(|product, d| {
        if product >= SELF_TEST {
            for (i, code) in d.iter_mut().enumerate() {
                let (row, column) = (i / 300, i % 300);
                if (row / 32 + column / 32) % 5 == 0 && row % 32 == 5 && column % 32 == 7 {
                    *code ^= 1;
                }
            }
        }
        Ok(())
    });
    assert!(
        reason.contains("it computes wrong: element [0, "),
        "{reason}"
    );
    assert!(reason.contains("use `--engine fast`"), "{reason}");
}

#[test]
fn a_device_that_is_lost_is_an_error() {
    let reason = refused(|product, _| match product {
        SELF_TEST => Err("the device is lost: unplugged".to_owned()),
        _ => Ok(()),
    });
    assert!(
        reason.ends_with("the device is lost: unplugged"),
        "{reason}"
    );
}

/// What a shader leaves is the exact engine's, and counted as that.
#[test]
fn flagged_elements_are_the_exact_engines() {
    let claim = digest();
    let fault: Fault = |product, d| {
        if product >= SELF_TEST {
            d[300..310].fill(u32::MAX);
        }
        Ok(())
    };
    let report = on(Some(&claim), fault).run(&()).unwrap();
    let used = report.engine.expect("who computed");
    assert_eq!(used.multiply_adds, (200 * 300 - 10) * 64);
}

/// Nearly every NVIDIA rule has a shader, and no rule of other kinds of step pretends to have one.
#[test]
fn which_rules_have_shaders() {
    let mut with = std::collections::BTreeMap::<String, [usize; 2]>::new();
    for architecture in Catalogue::builtin().architectures() {
        for rule in architecture.instructions.iter().flat_map(|i| &i.rules) {
            for &operands in &rule.operands {
                let arithmetic = Arithmetic::of(rule, operands);
                let step = serde_json::to_value(&arithmetic.step).unwrap();
                let counts = with
                    .entry(step["kind"].as_str().unwrap().to_owned())
                    .or_default();
                counts[0] += usize::from(shader(&arithmetic).is_some());
                counts[1] += 1;
            }
        }
    }
    println!("{with:?}");
    assert_eq!(with["fused"][0], with["fused"][1]);
    assert_eq!(with["fused_halves"][0], with["fused_halves"][1]);
    assert_eq!(with["fma_chain"][0], 0);
}
