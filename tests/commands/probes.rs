//! `probe`, `infer` and `features` as a person meets them.

use std::fs;

use serde_json::Value;
use tcverify::emu::{Architecture, Catalogue};
use tcverify::num::Format;

use crate::support::{Folder, Members, Npy, Says, claims, holds, table, words};

/// Probes and the answers of a model, made by the commands themselves.
fn answered(folder: &Folder, formats: &str, model: &str) {
    folder.passes(&format!("probe {formats} -o probes --quiet"));
    let operands = "--c probes/c.npy probes/a.npy probes/b.npy";
    claims! {folder, "replay {model} {formats} {operands} -o d.npy --quiet | 0"}
}

#[test]
fn from_probes_to_a_model_that_runs() {
    let folder = Folder::new();
    answered(
        &folder,
        "--dtype e4m3 --dtype-b e5m2 --acc f32",
        "--arch ada",
    );
    claims! {folder, r"infer probes d.npy --name mine -o mine.json --json found.json | 0
        | ^EXPLAINED  one model gives all\_ | every answer the same:    ada mma
        | NOT DETERMINED"}
    assert_eq!(
        folder.names(),
        ["d.npy", "found.json", "mine.json", "probes"]
    );

    let text = folder.text("mine.json");
    let mine = Architecture::from_json(&text).unwrap();
    let operands = [Format::E4m3, Format::E5m2];
    let ada = Catalogue::builtin().find("ada").unwrap();
    let (ours, theirs) = (
        mine.select(None, operands, None).unwrap(),
        ada.select(None, operands, Some(Format::Fp32)).unwrap(),
    );
    assert_eq!(mine.name, "mine");
    let constants = ours
        .arithmetic
        .constants()
        .into_iter()
        .zip(theirs.arithmetic.constants());
    for (ours, theirs) in constants.filter(|(c, _)| c.name != "zero_exponent") {
        assert_eq!(ours, theirs);
    }
    let known = mine.known_by(ours.rule, "fraction_bits").unwrap();
    assert!(
        known
            .note
            .as_ref()
            .unwrap()
            .contains("12 contradicts case "),
        "{known:?}"
    );
    let found: Value = folder.document("found.json");
    holds! {found, "schema = tcverify.inference/1 | arithmetic.step.fraction_bits = 13"}
}

/// Integers: where sums are clamped, and after how many products.
#[test]
fn integers_from_probes_to_a_model_that_runs() {
    let folder = Folder::new();
    let formats = "--dtype int8 --dtype-b uint8";
    answered(
        &folder,
        formats,
        "--arch ampere --instruction mma-satfinite",
    );
    claims! {folder, r"infer probes d.npy -o mine.json --json found.json | 0
        | exact sum of 32 products of integers and C, clamped to 32 bits
        | constant the same:  ampere mma-satfinite | sums above 32 bits:\_"}
    let found: Value = folder.document("found.json");
    assert_eq!(found["arithmetic"]["step"]["overflow"], "saturate");
    assert!(found["tested_on"]["sums"].number("below") > 100);

    // The model judges other products as the catalogue's does, and the one that wraps around differs.
    let product = "generate:3:carry:24x96 generate:3:carry:96x24";
    let c = "--c generate:3:toggle:24x24";
    let run = |arguments: &str| folder.tcverify(arguments);
    let replay = format!("{formats} {c} {product} -o p.npy --quiet");
    claims! {folder, "replay --arch ampere --instruction mma-satfinite {replay} | 0"}
    let check = format!("{formats} {c} {product} p.npy --quiet");
    run(&format!("check --model mine.json {check}")).expect(0);
    run(&format!("check --arch ampere --instruction mma {check}")).expect(1);

    run("features --answers probes d.npy --arch turing/mma-satfinite --json").expect(0);
    run("probe --dtype int8 --dtype-b fp16 -o mixed").refuses(&["both be integers, or neither"]);
    claims! {folder, "probe --dtype int4 --acc f32 -o wide | refused | fp32 is not an accumulator | int32 is"}
}

/// NVFP4: scales with significands, sums of sixteen before them.
#[test]
fn scaled_probes_find_nvfp4() {
    let folder = Folder::new();
    let run = |arguments: &str| folder.tcverify(arguments);
    let formats = "--dtype e2m1 --scale-dtype ue4m3";
    run(&format!("probe {formats} -o probes --quiet")).expect(0);
    for name in ["a", "b", "c", "scale_a", "scale_b"] {
        assert!(!folder.read(&format!("probes/{name}.npy")).is_empty());
    }
    let scales = "--scale-a probes/scale_a.npy --scale-b probes/scale_b.npy";
    let operands = "--c probes/c.npy probes/a.npy probes/b.npy -o d.npy --quiet";
    let model = "--arch blackwell --instruction tcgen05-mxf4nvf4";
    run(&format!("replay {model} {formats} {scales} {operands}")).expect(0);
    claims! {folder, "infer probes d.npy -o mine.json --name mine | 0 | e2m1*e2m1 with scales of ue4m3 per 16 -> fp32
        | exact sums of 16, scaled, aligned RZ to 35 fraction bits
        | every constant the same:  blackwell tcgen05-mxf4nvf4"}
    // What was inferred judges at once.
    let check = format!("check --model mine.json {formats} {scales}");
    claims! {folder, "{check} --c probes/c.npy probes/a.npy probes/b.npy d.npy --quiet | 0"}
    run("features --answers probes d.npy").refuses(&["probes with scales"]);
    run("probe --dtype fp16 --scale-dtype ue8m0 -o other").refuses(&["fp16", "up to 8 bits"]);
    claims! {folder, "probe --dtype e2m1 --scale-dtype ue8m0 --scale-block 7 -o other | refused | per 16 or 32"}
    // Scales are operands: others are refused.
    folder.flip("probes/scale_b.npy", "probes/scale_b.npy", 1, 1);
    run("infer probes d.npy").refuses(&["probes/scale_b.npy", "does not contain the operands"]);
}

#[test]
fn the_same_bytes_each_time_and_whole() {
    let folder = Folder::new();
    folder.passes("probe --dtype fp16 -o one");
    fs::create_dir(folder.path("two")).unwrap();
    folder.passes("probe --dtype fp16 -o two");
    for name in ["a.npy", "b.npy", "c.npy", "manifest.json"] {
        let [one, two] = ["one", "two"].map(|dir| folder.read(&format!("{dir}/{name}")));
        assert_eq!(one, two, "{name}");
    }
    assert_eq!(folder.names(), ["one", "two"]);
    let manifest: Value = folder.document("one/manifest.json");
    assert_eq!(manifest["schema"], "tcverify.probes/1");
    let cases = manifest.list("cases");
    assert!((5000..30_000).contains(&cases.len()));
    for (index, case) in cases.iter().enumerate() {
        assert_eq!(case["index"], index);
        for key in ["family", "purpose", "tells"] {
            assert!(!case[key].as_str().unwrap().is_empty(), "{case}");
        }
    }
}

#[test]
fn nothing_is_overwritten() {
    let folder = Folder::new();
    fs::create_dir(folder.path("full")).unwrap();
    folder.write("full/mine", "mine");
    folder.write("file", "mine");
    claims! {folder, "
        probe --dtype fp16 -o full | refused | full: is not empty
        probe --dtype fp16 -o file | refused | file: exists
        probe --dtype fp16 -o no/such | refused | there is no directory no
    "}
    assert_eq!(folder.names(), ["file", "full"]);
    assert_eq!(folder.read("full/mine"), b"mine");
}

#[test]
fn a_wrong_answer_is_shown() {
    let folder = Folder::new();
    answered(&folder, "--dtype bf16", "--arch a100");
    folder.flip("d.npy", "d.npy", 4, 1);
    let run = folder.differs("infer probes d.npy -o mine.json --json why.json");
    run.begins("UNEXPLAINED  ");
    run.says("fused dot-add of 8 products");
    run.says("answered");
    assert_eq!(folder.names(), ["d.npy", "probes", "why.json"]);
    let why: Value = folder.document("why.json");
    // What no hypothesis is of is named, in both forms.
    for words in words! {"
        several accumulators, trees of pairs | scales applied in ways | integer sums that saturate
    "}
    {
        let named = why.list("never_inferred").iter();
        let mut named = named.filter(|what| what.as_str().unwrap().contains(words));
        assert!(named.next().is_some(), "{words}: {why}");
        assert!(run.stdout.contains(words), "{words}: {run:#?}");
    }
    assert_eq!(why.list("mismatches").len(), 1);
}

#[test]
fn hostile_directories_are_refused() {
    let folder = Folder::new();
    claims! {folder, "infer nowhere d.npy | refused | nowhere/manifest.json"}
    answered(&folder, "--dtype e4m3", "--arch h100");
    let manifest = folder.read("probes/manifest.json");
    let text = String::from_utf8(manifest.clone()).unwrap();
    for (changed, words) in table! {
        (text[..text.len() / 2].to_owned(), "not a manifest of probes"),
        (text.replace("probes/1", "probes/9"), "schema"),
        (text.replace("\"k\": 256", "\"k\": 1048576"), "does not list the cases that tcverify"),
        (text.replacen("\"e4m3\"", "\"e9m9\"", 1), "not a manifest of probes"),
        (text.replace("\"accumulator\": \"fp32\"", "\"accumulator\": \"e2m1\""),
            "e2m1 is not an accumulator of e4m3*e4m3"),
        ("[".repeat(100_000), "not a manifest of probes"),
        ("{}".to_owned(), "not a manifest of probes"),
    } {
        folder.write("probes/manifest.json", changed);
        claims! {folder, "infer probes d.npy | refused | probes/manifest.json | {words}"}
    }
    folder.write("probes/manifest.json", manifest);

    folder.save("short.npy", &Npy::new("<f4", &[3, 1, 1], vec![0; 12]));
    claims! {folder, "
        infer probes short.npy | refused | short.npy: is 3x1x1
        infer probes d.npy -o d.npy | refused | would overwrite
        features --answers probes short.npy | refused | short.npy
    "}

    folder.flip("probes/a.npy", "probes/a.npy", 1, 1);
    claims! {folder, "infer probes d.npy | refused | probes/a.npy | does not contain the operands"}
}

#[test]
fn a_table_of_models_and_of_answers() {
    let folder = Folder::new();
    claims! {folder, "features --arch v100 --arch t4 --dtype fp16 | 0
    | volta mma   tcverify's model, not a GPU (captured) | !Measured | fraction bits of alignment"}
    answered(&folder, "--dtype e4m3", "--arch h100");
    let run = folder.passes("features --answers probes d.npy --arch h100 --json");
    let json = run.json();
    holds! {json, "schema = tcverify.features/1 | machines.0.model = null | machines.1.model = captured"}
    assert_eq!(
        json["machines"][0]["features"],
        json["machines"][1]["features"]
    );
    assert_eq!(json["machines"][0]["features"]["alignment_bits"], "13");
    claims! {folder, "
        features --answers probes d.npy --dtype fp16 | refused | the request has other formats
        features --dtype fp16 | refused | --arch
        features --arch v100 --dtype bf16 | 2 | volta does not multiply bf16
    "}
}

/// From probes to a verdict: what was inferred judges a product.
#[test]
fn an_inferred_model_judges_at_once() {
    let folder = Folder::new();
    let run = |arguments: &str| folder.tcverify(arguments);
    run("probe --dtype bf16 -o probes").expect(0);
    let operands = "--c probes/c.npy probes/a.npy probes/b.npy";
    claims! {folder, "replay --arch a100 --dtype bf16 {operands} -o d.npy | 0"}
    run("infer probes d.npy -o mine.json --name mine").expect(0);
    let product = "generate:3:wide:20x64 generate:3:wide:64x20";
    claims! {folder, "replay --arch a100 --dtype bf16 {product} -o p.npy | 0"}
    let check = |model: &str| {
        let check = run(&format!(
            "check {model} --dtype bf16 --json - {product} p.npy"
        ));
        (check.code, check.json())
    };
    let (code, report) = check("--model mine.json");
    assert_eq!(
        (code, &report["rule"]["model"]["architecture"]),
        (Some(0), &"mine".into())
    );
    assert_eq!(check("--arch hopper").0, Some(1));

    folder.write("broken.json", "{}");
    claims! {folder, "check --model broken.json --dtype bf16 {product} p.npy | refused | broken.json
    | is not a usable architecture file | schema"}
    // Where in the document, not in which column of one long line.
    let hopper = run("archs hopper --json").expect(0).stdout;
    let mut wrong: serde_json::Value = serde_json::from_str(&hopper).unwrap();
    wrong["instructions"][0]["rules"][0]["operands"] = "bf16".into();
    folder.write("broken.json", wrong.to_string());
    let refused = run(&format!(
        "check --model broken.json --dtype bf16 {product} p.npy"
    ));
    let refused = refused.refuses(&["broken.json", "instructions[0].rules[0]"]);
    refused.stderr.lacks(" column ");
    claims! {folder, "check --model none.json --dtype bf16 {product} p.npy | refused | none.json"}
    claims! {folder, "check --dtype bf16 {product} p.npy | 2 | --arch"}
}

/// Formats of which no kind of step is known have probes, and features; a model cannot be inferred.
#[test]
fn formats_that_no_kind_of_step_takes() {
    let folder = Folder::new();
    folder.passes("probe --dtype e4m3 --scale-dtype ue4m3 -q -o p");
    folder.write("d.npy", folder.read("p/c.npy"));
    claims! {folder, "infer p d.npy | refused
    | no known kind of step computes e4m3*e4m3 with scales of ue4m3 per 16"}
}
