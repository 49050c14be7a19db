//! A wrong shader does not pass the self-test.

use std::sync::Arc;

use tcverify::check::{Check, CheckError, Subject};
use tcverify::emu::{Problem, Progress};
use tcverify::engines::resources;
use tcverify::gpu::{Device, DeviceInfo, FusedUnit, Gpu, ShaderPlan, Unit, Vetted};
use tcverify::num::Rounding;

use crate::adapter;

/// An adapter that is given another plan than the one that was asked.
struct Mistaken {
    sound: Arc<Vetted>,
    change: fn(&mut FusedUnit),
}

impl Device for Mistaken {
    fn info(&self) -> &DeviceInfo {
        self.sound.device.info()
    }

    fn compute(
        &self,
        plan: &ShaderPlan,
        problem: &Problem,
        progress: Progress,
    ) -> Result<Vec<u32>, String> {
        let mut plan = plan.clone();
        match &mut plan.unit {
            Unit::Fused(unit) | Unit::Halves { half: unit, .. } => (self.change)(unit),
            _ => unreachable!("fused alone"),
        }
        self.sound.device.compute(&plan, problem, progress)
    }
}

fn run(arch: &str, words: [&str; 2], change: fn(&mut FusedUnit)) -> Option<Result<(), CheckError>> {
    let sound = adapter()?;
    let [dtype, acc] = words;
    let check: Check = serde_json::from_value(serde_json::json!({
        "arch": arch, "dtype": dtype, "acc": acc,
        "a": "generate:1:normal:40x64", "b": "generate:2:normal:64x33",
    }))
    .unwrap();
    let device = Vetted::new(Box::new(Mistaken { sound, change }));
    let prepared = check
        .prepare(&resources())
        .unwrap()
        .on(Gpu::ready(Arc::new(device)));
    Some(prepared.stream(&(), &mut |_| {}))
}

const MISTAKES: [fn(&mut FusedUnit); 6] = [
    |unit| unit.fraction_bits -= 1,
    |unit| unit.group /= 2,
    |unit| unit.precision -= 1,
    |unit| {
        unit.rounding = match unit.rounding {
            Rounding::TowardZero => Rounding::NearestEven,
            _ => Rounding::TowardZero,
        }
    },
    |unit| unit.zero_exponent += 40,
    |unit| unit.sum_bits = Some(unit.precision),
];

#[test]
fn a_wrong_shader_fails_its_self_test() {
    for (arch, words) in [
        ("hopper", ["fp16", "fp32"]),
        ("hopper", ["bf16", "fp32"]),
        ("ampere", ["fp16", "fp16"]),
    ] {
        match run(arch, words, |_| {}) {
            None => return,
            Some(sound) => sound.unwrap(),
        }
        for (i, mistake) in MISTAKES.into_iter().enumerate() {
            // A rounding toward zero sees no more than it keeps.
            if i == 5 && words[1] == "fp32" {
                continue;
            }
            let ended = run(arch, words, mistake).unwrap();
            let Err(CheckError::Engine { reason }) = ended else {
                panic!("{arch} {words:?}, mistake {i}: {ended:?}");
            };
            assert!(reason.contains("fails its self-test"), "{reason}");
        }
    }
}
