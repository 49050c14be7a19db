//! Schedules on the command line: what is replayed is confirmed, and nothing else is.

use crate::support::random::Random;
use crate::support::{Folder, Members, Run, Says, claims, holds, ran, words};

const A: &str = "generate:1:normal:4x300";
const B: &str = "generate:2:normal:300x6";
const FP16: &str = "--arch a100 --dtype fp16";
const ADA: &str = "--arch ada --dtype e4m3";
const FMA: &str = "--arch ieee-fma --dtype fp16";
const FP8: &str = "--arch h100 --dtype e4m3";
/// Of files that hold FP32 numbers: generated TF32 operands have no small part.
const TF32: &str = "--arch a100 --dtype tf32";

/// A preset, the model it is tried with, and what else it has to be told.
pub const PRESETS: [(&str, &str, &str); 35] = [
    ("plain", FP16, ""),
    ("batch-invariant", FP16, ""),
    ("cutlass-sm80", FP16, ""),
    ("cute-sm80", FP16, ""),
    ("cutlass-sm90", FP16, ""),
    ("cutlass-splitk-serial", FP16, "--split-k 3"),
    ("cutlass-splitk-universal", FP16, "--split-k 3"),
    ("cutlass-splitk-parallel", FP16, "--split-k 3"),
    ("cutlass-stream-k", FP16, "--set workers=3"),
    ("cutlass-3xtf32", TF32, ""),
    ("cutlass-3xtf32-staged", TF32, ""),
    ("cublas-sm80", FP16, ""),
    ("cublas-splitk-serial", FP16, "--split-k 3"),
    ("cublas-workspace", FP16, "--split-k 3"),
    ("cublas-workspace-f32", FP16, "--split-k 3"),
    ("cublas-sliced", FP16, ""),
    ("cublas-nvjet", FP16, ""),
    ("cublas-nvjet-splitk", FP16, "--split-k 3"),
    ("cublas-nvjet-dropped-remainder", FP16, "--split-k 3"),
    ("cublas-nvjet-fp8", FP8, ""),
    ("cublas-nvjet-fp8-splitk", FP8, "--split-k 3"),
    ("cublas-ada-fp8", ADA, ""),
    ("cublas-ada-fp8-serial", ADA, "--split-k 3"),
    ("cublas-ada-fp8-pairwise", ADA, "--split-k 3"),
    ("cublas-gemmsn", FMA, ""),
    ("cublas-magma", FMA, ""),
    ("cublas-gemv", FMA, ""),
    ("cublas-dot", FMA, "--split-k 3"),
    ("cutlass-fp8-promote", FP8, ""),
    ("deepgemm-sm90", FP8, BLOCKS),
    ("torch-scaled-mm-rowwise", FP8, ROWS),
    ("vllm-scaled-mm", FP8, ROWS),
    ("triton-kwidth8", FP16, ""),
    ("triton-fp8-block", FP8, BLOCKS),
    ("triton-tf32x3", TF32, ""),
];

const BLOCKS: &str = "--scale-a generate:3:normal:4x3 --scale-b generate:4:normal:3x1";
const ROWS: &str = "--scale-a generate:3:normal:4x1 --scale-b generate:4:normal:1x6";

/// The operands of a model, put into the folder where no seed makes them.
fn operands(folder: &Folder, options: &str) -> String {
    if !options.starts_with(TF32) {
        return format!("{A} {B}");
    }
    let mut random = Random::named("operands");
    for (name, shape) in [("a.npy", [4, 300]), ("b.npy", [300, 6])] {
        let code = |_| 0x3f00_0000 | random.bits() as u32 & 0x80ff_ffff;
        let codes: Vec<u32> = (0..shape[0] * shape[1]).map(code).collect();
        folder.f32_codes(name, &shape, &codes);
    }
    "a.npy b.npy".to_owned()
}

fn replayed(options: &str, result: &str) -> Folder {
    let folder = Folder::new();
    let operands = operands(&folder, options);
    claims! {folder, "replay {options} --d-dtype {result} {operands} -o d.npy | 0"}
    folder
}

fn check(folder: &Folder, options: &str, result: &str) -> Run {
    let operands = operands(folder, options);
    ran! {folder, "check {options} --d-dtype {result} {operands} d.npy --json -"}
}

#[test]
fn what_a_preset_replays_it_confirms() {
    for (name, model, more) in PRESETS {
        let options = format!("{model} --schedule {name} {more}");
        let folder = replayed(&options, "bf16");
        let report = check(&folder, &options, "bf16").expect(0).json();
        assert_eq!(report["verdict"], "identical");
        if name == "plain" {
            continue;
        }
        let schedule = &report["rule"]["schedule"];
        assert_eq!(schedule["name"], name);
        assert_eq!(schedule.string("sha256").len(), 64);
        assert!(!schedule.list("constants").is_empty());
        // In FP32 nearly every other schedule shows.
        let folder = replayed(&options, "fp32");
        let other = match name {
            "cutlass-sm80" => "--schedule cutlass-fp8-promote",
            // A plain chain that ends as these do.
            "batch-invariant" | "cutlass-sm90" | "cute-sm80" => "--schedule cublas-sliced",
            _ => "--schedule cutlass-sm80",
        };
        // Of fused multiply-adds, a chain is one whatever its tiles are.
        if name != "cublas-magma" {
            check(&folder, &format!("{model} {other}"), "fp32").expect(1);
        }
    }
}

#[test]
fn options_are_named_where_they_change_a_schedule() {
    let options = format!("{FP16} --schedule cutlass-splitk-serial --split-k 2 --tile-k 64");
    let folder = replayed(&options, "fp32");
    let report = check(&folder, &options, "fp32").expect(0).json();
    let given = |name: &str| {
        let constants = report["rule"]["schedule"].list("constants");
        let found = constants.iter().find(|constant| constant["name"] == name);
        found.expect(name)["given_by"].clone()
    };
    assert_eq!(given("tile_k"), "tile_k 64");
    assert_eq!(given("split.parts.count"), "split_k 2");
    assert!(given("residue").is_null());
    let text = folder.stdout(&format!("check {options} {A} {B} d.npy --digests"));
    text.says_all(words! {"cutlass-splitk-serial | split_k 2 | tile_k 64 | tiles of 64"});
    let digest = report["rule"]["schedule"].string("sha256");
    // A word of its own, next to nothing.
    assert!(text.split_whitespace().any(|word| word == digest), "{text}");
    // Another number of slices is another spec and another D.
    let other = options.replace("--split-k 2", "--split-k 3");
    let other = check(&folder, &other, "fp32").expect(1).json();
    assert_ne!(other["rule"]["schedule"]["sha256"], digest);
}

#[test]
fn factors_and_c_are_part_of_the_product() {
    let c = "--c generate:5:normal:4x6";
    let folder = Folder::new();
    let model = format!("{FP16} --schedule cutlass-sm80 {c} --c-dtype bf16");
    let replay =
        |options: &str| folder.stdout(&format!("replay {model} {options} {A} {B} -o d.npy"));
    let all = ["", "--alpha 0.3", "--beta 0.3", "--beta 0", "--alpha -1"].map(replay);
    for (i, one) in all.iter().enumerate() {
        assert!(!all[i + 1..].contains(one), "{i}");
    }
    // The last one.
    let report = folder.json(&format!("check {model} --alpha -1 {A} {B} d.npy --json -"));
    holds! {report, "rule.schedule.factors.alpha.code = bf800000"}
    folder.differs(&format!("check {model} {A} {B} d.npy"));
}

#[test]
fn a_schedule_file_is_what_raw_prints() {
    for (name, model, more) in PRESETS {
        let options = format!("{model} {more}");
        let folder = replayed(&format!("{options} --schedule {name}"), "fp32");
        let raw = folder.passes(&format!("schedules --raw {name}"));
        folder.write("mine.json", raw.stdout);
        folder.passes("schedules --file mine.json");
        let options = format!("{options} --schedule-file mine.json");
        let report = check(&folder, &options, "fp32").expect(0).json();
        if name != "plain" {
            assert_eq!(report["rule"]["schedule"]["name"], name);
        }
    }
}

/// A C that the first accumulator starts from, a tile that is filled up, and more than one matrix.
#[test]
fn c_starts_the_chains_of_a_batch() {
    let folder = Folder::new();
    let options = format!("{FP16} --schedule plain --tile-k 64 --set residue=first");
    let product = "--c generate:5:normal:2x4x6 generate:1:normal:2x4x300 generate:2:normal:2x300x6";
    folder.passes(&format!("replay {options} {product} -o d.npy"));
    folder.passes(&format!("check {options} {product} d.npy"));
    claims! {folder, "check {FP16} {product} d.npy --json - | 1 | :verdict = different"}
}
