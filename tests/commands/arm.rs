//! Products of Arm processors as people ask for them: by a chip's name, with LSCALE and OSM, and with what is refused.

use serde_json::Value;

use crate::support::{Folder, Says, claims, holds, ran, table};

/// Operands of 8x16 by 16x12, all of one format.
fn operands(format: &str, k: usize) -> Folder {
    let folder = Folder::new();
    for (seed, shape, role) in [(1, format!("8x{k}"), "a"), (2, format!("{k}x12"), "b")] {
        let operand = format!("generate:{seed}:normal:{shape} --dtype {format} --role {role}");
        claims! {folder, "generate {operand} -o {role}.npy | 0"}
    }
    folder
}

#[test]
fn a_chip_is_named() {
    let folder = operands("bf16", 16);
    let replay = "replay --dtype bf16 a.npy b.npy -o d.npy --arch";
    for chip in ["graviton3", "grace", "apple-m4", "Neoverse-V2"] {
        folder.passes(&format!("{replay} {chip}"));
        let check = format!("check --arch {chip} --dtype bf16 a.npy b.npy d.npy");
        claims! {folder, "{check} | 0 | arm bfdot"}
    }
    // Four k at a time are two pairs, one after the other.
    let check = "check --arch arm --dtype bf16 a.npy b.npy d.npy --instruction";
    for (instruction, code) in [
        ("bfmmla", 0),
        ("bfmopa", 0),
        ("bfdot-ebf", 1),
        ("bfmlal", 1),
    ] {
        ran! {folder, "{check} {instruction}"}.expect(code);
    }
    claims! {folder, "
        check --arch h100 --dtype bf16 a.npy b.npy d.npy | 1
        # Whoever does not know it finds it, and the GPU's D is told from the CPU's.
        identify --dtype bf16 a.npy b.npy d.npy | 0 | arm bfdot
        replay --dtype bf16 a.npy b.npy -o gpu.npy --arch h100 | 0
    "}
    let run = folder.tcverify("compare gpu.npy d.npy a.npy b.npy --dtype bf16");
    let (code, text) = (run.code, run.stdout);
    assert_eq!(code, Some(1), "{text}");
    text.says("arm bfdot");
}

/// OpenBLAS adds blocks of K to C, the last two of which are alike.
#[test]
fn a_library_s_blocks_of_k() {
    // 256, 172 and 172 k.
    let folder = operands("bf16", 600);
    let unit = "--arch arm --instruction bfmmla --dtype bf16";
    for schedule in ["openblas-neoverse-n2", "openblas-neoverse-v1", "iree-bf16"] {
        claims! {folder, "replay {unit} --schedule {schedule} a.npy b.npy -o {schedule}.npy | 0"}
    }
    // IREE's is the bare chain.
    folder.passes(&format!("check {unit} a.npy b.npy iree-bf16.npy"));
    for (d, schedule, code) in [
        ("openblas-neoverse-n2", "openblas-neoverse-n2", 0),
        ("openblas-neoverse-n2", "openblas-neoverse-v1", 1),
        ("openblas-neoverse-n2", "plain", 1),
        ("openblas-neoverse-v1", "openblas-neoverse-n2", 1),
    ] {
        let check = format!("check {unit} --schedule {schedule} a.npy b.npy {d}.npy");
        folder.tcverify(&check).expect(code);
    }
    folder.passes("replay --arch h100 --dtype bf16 a.npy b.npy -o gpu.npy");
    for schedule in ["openblas-neoverse-n2", "openblas-neoverse-v1"] {
        let found = folder.stdout(&format!("identify --dtype bf16 a.npy b.npy {schedule}.npy"));
        assert!(found.contains(schedule), "{found}");
        let compare = format!("compare gpu.npy {schedule}.npy a.npy b.npy --dtype bf16");
        let text = folder.differs(&compare).stdout;
        text.says("both explained");
        text.says(schedule);
    }
    // Blocks are filled up, each by itself.
    let ragged = operands("bf16", 301);
    let replay = format!("replay {unit} a.npy b.npy -o d.npy --schedule");
    for (schedule, code) in [("openblas-neoverse-n2", 0), ("iree-bf16", 0), ("plain", 2)] {
        ran! {ragged, "{replay} {schedule}"}.expect(code);
    }
}

#[test]
fn lscale_and_osm_decide_bits() {
    let folder = operands("e4m3", 16);
    let unit = "--arch arm --instruction fdot2 --acc f16 --dtype e4m3";
    let made = format!("{unit} --set lscale=3 --set osm=1");
    folder.passes(&format!("replay {made} a.npy b.npy -o d.npy"));
    let report = format!("check {made} a.npy b.npy d.npy --json -");
    let report = folder.json(&report);
    let step = &report["rule"]["model"]["arithmetic"]["step"];
    holds! {step, "fpmr.lscale = 3 | fpmr.osm = true"}
    holds! {report, "request.lscale = 3 | request.osm = 1"}
    for other in ["", "--set lscale=4"] {
        folder.differs(&format!("check {unit} {other} a.npy b.npy d.npy"));
    }
}

/// One sentence each, exit code 2, and nothing is written.
#[test]
fn what_is_refused() {
    let folder = operands("bf16", 3);
    let fp8 = operands("e4m3", 16);
    for (folder, words, reason) in table! {
        (&folder, "--arch arm --dtype bf16", "K is 3, but bfdot takes 2 k at a time: pad A and B with zeros"),
        (&folder, "--arch arm --dtype bf16 --instruction bfmmla", "K is 3, but bfmmla takes 4 k at a time"),
        (&fp8, "--arch arm --dtype e4m3 --instruction fdot4 --set lscale=128",
            "lscale is 128; of fp32 results it must be 0 to 127"),
        (&fp8, "--arch arm --dtype e4m3 --instruction fdot2 --acc f16 --set lscale=16",
            "lscale is 16; of fp16 results it must be 0 to 15"),
        (&fp8, "--arch arm --dtype e4m3 --instruction fdot4 --set osm=2", "--set osm is 2; it must be 0 or 1"),
        (&fp8, "--arch h100 --dtype e4m3 --set lscale=0", "--set lscale is 0, but this instruction does not read it"),
        (&fp8, "--arch h100 --dtype e4m3 --set osm=1", "--set osm is 1, but this instruction does not read it"),
        (&fp8, "--arch arm --dtype e4m3", "name the instruction, fdot4 or fmmla-f32 or fmopa-fp8"),
    } {
        let before = folder.names();
        let words = format!("replay {words} a.npy b.npy -o d.npy");
        let run = folder.fails(&words);
        assert!(run.stderr.contains(reason), "{words}: {}", run.stderr);
        assert_eq!(folder.names(), before);
    }
    // An odd K of another unit is filled up.
    folder.passes("replay --arch h100 --dtype bf16 a.npy b.npy -o d.npy");
}

/// As captures lie in their folders.
#[test]
fn cases_say_lscale_and_osm() {
    let folder = operands("e4m3", 16);
    let unit = "--arch arm --instruction fdot4 --dtype e4m3 --set lscale=7";
    folder.passes(&format!("replay {unit} a.npy b.npy -o d.npy"));
    let case = |fields: &str| {
        std::fs::create_dir_all(folder.path("cases/one")).expect("a folder");
        for name in ["a.npy", "b.npy", "d.npy"] {
            folder.write(&format!("cases/one/{name}"), folder.read(name));
        }
        let text = format!(
            r#"{{"arch": "arm", "instruction": "fdot4", "a_dtype": "e4m3", "b_dtype": "e4m3", "d_dtype": "fp32"{fields}}}"#
        );
        folder.write("cases/one/case.json", text);
        folder.tcverify("batch cases --json -")
    };
    let judged = |fields: &str, code: i32| -> Value { case(fields).expect(code).json() };
    let good = judged(r#", "lscale": 7, "osm": 0"#, 0);
    assert_eq!(good["totals"]["identical"], 1);
    assert_eq!(judged(r#", "lscale": 6"#, 1)["totals"]["different"], 1);
    let wrong = judged(r#", "lscale": 128"#, 2).to_string();
    wrong.says("lscale is 128");
    let wrong = case(r#", "lscale": "seven""#).expect(2);
    let said = wrong.stdout + &wrong.stderr;
    said.says("lscale");
}
