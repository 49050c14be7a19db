//! A wrong shader does not pass the self-test.

use std::sync::Arc;

use tcverify::check::{Check, CheckError, Subject};
use tcverify::emu::{
    DeviceInfo, FusedUnit, GpuDevice, Problem, Progress, ShaderPlan, ShaderUnit, VettedGpu,
};
use tcverify::num::Rounding;

use crate::adapter;

/// An adapter that is given another plan than the one that was asked.
struct Mistaken {
    sound: Arc<VettedGpu>,
    change: fn(&mut FusedUnit),
}

impl GpuDevice for Mistaken {
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
            ShaderUnit::Fused(unit) | ShaderUnit::Halves { half: unit, .. } => (self.change)(unit),
            ShaderUnit::Integers { .. } => unreachable!("floats alone"),
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
    let device = VettedGpu::new(Box::new(Mistaken { sound, change }));
    let prepared = check.prepare().unwrap().on(Arc::new(device));
    Some(prepared.stream(&(), &mut |_| {}))
}

const MISTAKES: [fn(&mut FusedUnit); 6] = [
    |unit| unit.add.fraction_bits -= 1,
    |unit| unit.add.group /= 2,
    |unit| unit.add.precision -= 1,
    |unit| {
        unit.add.rounding = match unit.add.rounding {
            Rounding::TowardZero => Rounding::NearestEven,
            _ => Rounding::TowardZero,
        }
    },
    |unit| unit.add.zero_exponent += 40,
    |unit| unit.sum_bits = Some(unit.add.precision),
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
