//! A wrong shader does not pass the self-test.

use std::sync::Arc;

use tcverify::check::{Check, CheckError, Subject};
use tcverify::emu::{Problem, Progress};
use tcverify::engines::resources;
use tcverify::gpu::{
    Chains, CutRule, Device, DeviceInfo, FewUnit, FloorUnit, FusedUnit, Gpu, ShaderPlan, Unit,
    Vetted,
};
use tcverify::num::Rounding;

use crate::{adapter, models};

/// An adapter that is given another plan than the one that was asked.
struct Mistaken {
    sound: Arc<Vetted>,
    change: Box<dyn Fn(&mut Unit) + Send + Sync>,
}

impl Mistaken {
    fn device(
        sound: Arc<Vetted>,
        change: impl Fn(&mut Unit) + Send + Sync + 'static,
    ) -> Arc<Vetted> {
        let change = Box::new(change);
        Arc::new(Vetted::new(Box::new(Mistaken { sound, change })))
    }
}

impl Device for Mistaken {
    fn info(&self) -> &DeviceInfo {
        self.sound.device.info()
    }

    fn compute(
        &self,
        plan: &ShaderPlan,
        problem: &Problem,
        chains: Chains,
        progress: Progress,
    ) -> Result<Vec<u32>, String> {
        let mut plan = plan.clone();
        (self.change)(&mut plan.unit);
        self.sound.device.compute(&plan, problem, chains, progress)
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
    let device = Mistaken::device(sound, move |unit| match unit {
        Unit::Fused(unit) | Unit::Halves { half: unit, .. } => change(unit),
        _ => unreachable!("fused alone"),
    });
    let prepared = check.prepare(&resources()).unwrap().on(Gpu::ready(device));
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

/// Whether a device passes the self-test for a model of the catalogue, with a mistake; none without a device.
fn passes(model: &str, change: impl Fn(&mut Unit) + Send + Sync + 'static) -> Option<bool> {
    let device = Mistaken::device(adapter()?, change);
    Some(Gpu::if_sound(device, &models::named(model).arithmetic).is_some())
}

#[test]
fn a_wrong_floor_fails_its_self_test() {
    let mistakes: [fn(&mut FloorUnit); 6] = [
        |unit| unit.fraction_bits -= 1,
        |unit| unit.sum_fraction_bits = unit.fraction_bits,
        |unit| unit.result_fraction_bits -= 1,
        |unit| unit.zero_exponent += 40,
        |unit| unit.sums = 3 - unit.sums,
        |unit| {
            unit.addend_window = match unit.addend_window {
                None => Some(25),
                Some(_) => None,
            }
        },
    ];
    for (model, without) in [
        ("cdna3 mfma bf16*bf16->fp32", vec![]),
        // Products and C of few exponents.
        ("cdna3 mfma fp16*fp16->fp32", vec![3]),
        ("cdna3 mfma e4m3fnuz*e4m3fnuz->fp32", vec![3]),
    ] {
        match passes(model, |_| {}) {
            None => return,
            Some(sound) => assert!(sound, "{model}"),
        }
        for (i, mistake) in mistakes.into_iter().enumerate() {
            if without.contains(&i) {
                continue;
            }
            let passed = passes(model, move |unit| match unit {
                Unit::Floor { unit, .. } => mistake(unit),
                _ => unreachable!("floors alone"),
            });
            assert_eq!(passed, Some(false), "{model}, mistake {i}");
        }
    }
}

#[test]
fn a_wrong_group_of_few_products_fails_its_self_test() {
    let mistakes: [fn(&mut FewUnit, &mut [usize]); 5] = [
        |unit, _| unit.product_bits -= 1,
        |unit, _| unit.leading_bits -= 10,
        |unit, _| {
            unit.least_leading = unit
                .least_leading
                .map_or(Some(-20), |least| Some(least + 30))
        },
        |_, order| order.rotate_left(4),
        |unit, _| {
            unit.rule = match unit.rule {
                CutRule::Floored { .. } => CutRule::Complement {
                    flush_operands: false,
                    flush_sums: false,
                },
                CutRule::Complement {
                    flush_operands,
                    flush_sums,
                } => CutRule::Complement {
                    flush_operands: !flush_operands,
                    flush_sums: !flush_sums,
                },
            }
        },
    ];
    let mut undetected = Vec::new();
    for model in [
        "rdna3 wmma fp16*fp16->fp32",
        "rdna3 wmma bf16*bf16->fp32",
        "rdna3 wmma fp16*fp16->fp16",
        "rdna3 wmma bf16*bf16->bf16",
        "rdna4 wmma-wave32 fp16*fp16->fp32",
        "rdna4 wmma-wave32 bf16*bf16->fp32",
        "rdna4 wmma-wave32 fp16*fp16->fp16",
        "rdna4 wmma-wave32 bf16*bf16->bf16",
    ] {
        match passes(model, |_| {}) {
            None => return,
            Some(sound) => assert!(sound, "{model}"),
        }
        for (i, mistake) in mistakes.into_iter().enumerate() {
            let passed = passes(model, move |unit| match unit {
                Unit::Few { unit, order } => mistake(unit, order),
                _ => unreachable!("few products alone"),
            });
            if passed != Some(false) {
                undetected.push(format!("{model}, mistake {i}"));
            }
        }
    }
    assert!(undetected.is_empty(), "{undetected:?}");
}

/// `auto` takes no device that computes wrong, and says nothing of it.
#[test]
fn auto_leaves_a_wrong_device() {
    let right = passes("hopper wgmma fp16*fp16->fp32", |_| {});
    let wrong = passes("hopper wgmma fp16*fp16->fp32", |unit| match unit {
        Unit::Fused(unit) => unit.fraction_bits -= 1,
        _ => unreachable!("fused alone"),
    });
    assert_eq!(right.zip(wrong), right.map(|_| (true, false)));
}
