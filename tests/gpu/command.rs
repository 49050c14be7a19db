//! The command: reports are those of the other engines.

use serde_json::Value;
use tcverify::emu::Problem;
use tcverify::engines::here;
use tcverify::gpu::{DeviceInfo, Gpu};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::support::{Folder, good};
use crate::{adapter, models};

#[test]
fn the_report_is_that_of_the_other_engines() {
    if adapter().is_none() {
        return;
    }
    let folder = Folder::new();
    for words in [
        "--arch hopper --dtype fp16",
        "--arch hopper --dtype e4m3",
        "--arch ada --dtype e4m3 --acc fp16",
        "--arch hopper --dtype bf16 --schedule cutlass-sm90 --d-dtype bf16",
        // Each chain is a product of its own.
        "--arch hopper --dtype bf16 --schedule cublas-workspace --split-k 2 --d-dtype bf16",
        "--arch ampere --dtype int8",
        // All chains of a block are one.
        "--arch hopper --dtype e4m3 --schedule cutlass-fp8-promote",
        "--arch cdna3 --dtype fp16",
        "--arch cdna3 --dtype e4m3fnuz",
        "--arch rdna3 --dtype bf16 --instruction wmma",
        "--arch rdna4 --dtype fp16 --instruction wmma-wave32",
        "--arch cdna2 --dtype fp16",
    ] {
        let operands = format!("generate:1:normal:70x96 generate:2:normal:96x45 {words}");
        let operands = if words.contains("int8") {
            operands.replace("normal", "wide")
        } else if words.contains("promote") {
            operands.replace("96", "300")
        } else {
            operands
        };
        folder
            .tcverify(&format!("replay {operands} -o d.npy -q"))
            .expect(0);
        let report = |engine: &str| -> Value {
            let line = format!("check {operands} d.npy --engine {engine} --json r.json -q");
            folder.tcverify(&line).expect(0);
            serde_json::from_slice(&folder.read("r.json")).unwrap()
        };
        let [mut gpu, mut fast] = ["gpu", "fast"].map(report);
        let used = gpu
            .as_object_mut()
            .unwrap()
            .remove("engine")
            .expect("who computed");
        assert!(
            used["adapter"]
                .as_str()
                .is_some_and(|name| !name.is_empty()),
            "{used}"
        );
        let computed = used["multiply_adds"].as_u64().unwrap();
        // There is no shader of CDNA 2: the CPU computed, and the report says so.
        assert_eq!(computed > 0, !words.contains("cdna2"), "{words}: {used}");
        if words.contains("promote") {
            assert_eq!(used["tiles"], 6, "{used}");
        }
        assert_eq!(
            used["tiles_computed_twice"].as_u64() > Some(0),
            computed > 0
        );
        folder
            .tcverify(&format!(
                "check {operands} d.npy --engine gpu --json r.json -q"
            ))
            .expect(0);
        let run = folder.tcverify("verify-report r.json").expect(0);
        let words = "CONFIRMED except engine: the replay gives every other field";
        assert!(run.stdout.contains(words), "{run:?}");
        for report in [&mut gpu, &mut fast] {
            let report = report.as_object_mut().unwrap();
            report.remove("request");
            report.remove("command");
        }
        assert_eq!(gpu, fast, "{words}");
    }
}

/// A small product is the CPU's, and so is every product where no GPU has memory of its own.
#[test]
fn auto_is_fast_where_no_gpu_pays() {
    let folder = Folder::new();
    let operands = "generate:1:normal:70x96 generate:2:normal:96x45 --arch hopper --dtype fp16";
    folder
        .tcverify(&format!("replay {operands} --engine auto -o d.npy -q"))
        .expect(0);
    let [auto, fast] = ["auto", "fast"].map(|engine| -> Value {
        let line = format!("check {operands} d.npy --engine {engine} --json r.json -q");
        folder.tcverify(&line).expect(0);
        serde_json::from_slice(&folder.read("r.json")).unwrap()
    });
    assert!(auto.get("engine").is_none());
    assert_eq!(auto, fast);
    let software = |device: DeviceInfo| !device.discrete;
    if Gpu::list().unwrap().into_iter().all(software) {
        let zeros = |rows, columns| {
            Tensor::from_payload(Format::E4m3, vec![rows, columns], vec![0; rows * columns])
        };
        let (a, b) = (zeros(8192, 1 << 14), zeros(1 << 14, 1 << 14));
        let problem = Problem::new(a.planes(), b.planes(), None).unwrap();
        let model = models::named("hopper wgmma e4m3*e4m3->fp32");
        assert!(here().sooner(&model.arithmetic, &problem, 1).is_none());
        let run = folder.tcverify("engines").expect(0);
        assert!(run.stdout.contains("auto     fast"), "{run:?}");
    }
}

#[test]
fn engines_lists_the_adapter() {
    let Some(device) = adapter() else { return };
    let folder = good();
    let run = folder.tcverify("engines").expect(0);
    assert!(run.stdout.contains(&device.device.info().name), "{run:?}");
    let run = folder.tcverify("check generate:1:normal:2x3 generate:2:normal:3x2 d.npy --arch hopper --dtype fp16 --engine gpu:7");
    run.refuses(&["there is no adapter 7"]);
}

/// Nobody knows what computed the parts: a merged report names no engine.
#[test]
fn a_merged_report_names_no_engine() {
    if adapter().is_none() {
        return;
    }
    let folder = Folder::new();
    let product =
        "generate:1:normal:40x64 generate:2:normal:64x33 d.npy --arch hopper --dtype fp16";
    folder
        .tcverify(&format!(
            "replay {} -o d.npy -q",
            product.replace(" d.npy", "")
        ))
        .expect(0);
    folder
        .tcverify(&format!(
            "shard plan -n 2 --block-rows 20 --engine gpu {product} -o plan.json"
        ))
        .expect(0);
    for part in 0..2 {
        folder
            .tcverify(&format!("shard run plan.json {part} -o part{part}.json"))
            .expect(0);
    }
    folder
        .tcverify("shard merge plan.json part0.json part1.json --json r.json --audit 2 --seed 1 -q")
        .expect(0);
    let report: Value = serde_json::from_slice(&folder.read("r.json")).unwrap();
    assert!(report["merged"].is_object() && report.get("engine").is_none());
}
