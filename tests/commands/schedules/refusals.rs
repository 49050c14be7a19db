//! Schedules that cannot be: a sentence, exit code 2, and nothing written.

use serde_json::{Value, json};

use crate::support::{Folder, Npy, Says, floats};

const A: &str = "generate:1:normal:4x200";
const B: &str = "generate:2:normal:200x6";
const FP16: &str = "--arch a100 --dtype fp16";
const FP8: &str = "--arch h100 --dtype e4m3";
const INT8: &str = "--arch a100 --dtype int8";

fn refused(folder: &Folder, options: &str, words: &[&str]) {
    let before = folder.names();
    let run = folder.tcverify(&format!("replay {options} {A} {B} -o d.npy"));
    run.refuses(words);
    assert_eq!(folder.names(), before, "{options}");
    // A check has no other opinion.
    folder.save("theirs.npy", &Npy::new("<f4", &[4, 6], floats(&[0.0; 24])));
    folder
        .tcverify(&format!("check {options} {A} {B} theirs.npy"))
        .refuses(words);
    std::fs::remove_file(folder.path("theirs.npy")).expect("written above");
}

#[test]
fn what_a_schedule_lacks_is_asked_for() {
    let folder = Folder::new();
    for (options, words) in [
        ("--schedule cutlass-splitk-serial", ["slices", "--split-k"]),
        (
            "--schedule cutlass-splitk-parallel",
            ["slices", "--split-k"],
        ),
        ("--schedule cublas-workspace", ["slices", "--split-k"]),
        ("--schedule cutlass-stream-k", ["workers", "--set workers"]),
        (
            "--schedule plain --set residue=first",
            ["tiles", "--tile-k"],
        ),
        ("--schedule plain --split-k 3", ["plain", "--set split"]),
        (
            "--schedule plain --split-k 3 --set split=serial",
            ["split", "tile_k"],
        ),
        (
            "--schedule cutlass-sm80 --split-k 3",
            ["cutlass-sm80", "--set split"],
        ),
        (
            "--schedule cutlass-sm80 --set workers=3",
            ["cutlass-sm80", "stream-K"],
        ),
        (
            "--schedule cutlass-sm80 --set partials=f32",
            ["cutlass-sm80", "workspace"],
        ),
        (
            "--schedule no-such-kernel",
            ["no-such-kernel", "cutlass-sm80"],
        ),
        ("--schedule-file none.json", ["none.json", "No such file"]),
    ] {
        refused(&folder, &format!("{FP16} {options}"), &words);
    }
}

#[test]
fn numbers_that_cannot_be() {
    let folder = Folder::new();
    let serial = "--schedule cutlass-splitk-serial";
    for (options, words) in [
        (
            "--schedule cutlass-sm80 --set promote=12".to_owned(),
            ["inner.parts.length is 12", "8 products"],
        ),
        (
            "--schedule cutlass-sm80 --set promote=0".into(),
            ["inner.parts.length is 0", "1 to 1048576"],
        ),
        (
            "--schedule cutlass-sm80 --set promote=often".into(),
            ["\"often\"", "never"],
        ),
        (
            "--schedule cutlass-sm80 --tile-k 12".into(),
            ["tile_k is 12", "8 products"],
        ),
        (
            "--schedule cutlass-sm80 --tile-k 0".into(),
            ["tile_k is 0", "1 to 1048576"],
        ),
        (
            format!("{serial} --split-k 0"),
            ["split.parts.count is 0", "1 to 1048576"],
        ),
        (
            format!("{serial} --split-k 18446744073709551615"),
            ["split.parts.count", "1 to 1048576"],
        ),
        (
            "--schedule cutlass-stream-k --set workers=0".into(),
            ["split.parts.groups.workers is 0", "1 to 1048576"],
        ),
        (
            "--schedule triton-kwidth8 --tile-k 48".into(),
            ["tile_k is 48", "order"],
        ),
        (
            "--schedule cublas-sliced --tile-k 48".into(),
            ["tile_k is 48", "inner.parts.grain"],
        ),
    ] {
        refused(&folder, &format!("{FP16} {options}"), &words);
    }
    refused(
        &folder,
        &format!("{FP16} --schedule cutlass-3xtf32"),
        &["tf32 operands"],
    );
    refused(
        &folder,
        &format!("{INT8} {serial} --split-k 2"),
        &["integer sums do not depend on the order", "without split"],
    );
    refused(
        &folder,
        &format!("{FP16} --schedule cutlass-sm80 --acc fp16"),
        &["fp32 and int32 accumulators", "fp16"],
    );
}

#[test]
fn scales_and_biases_have_shapes() {
    let folder = Folder::new();
    let blocks = format!("{FP8} --schedule deepgemm-sm90");
    let rows = format!("{FP8} --schedule torch-scaled-mm-rowwise");
    let scales = |a: &str, b: &str| {
        format!("--scale-a generate:1:normal:{a} --scale-b generate:1:normal:{b}")
    };
    refused(&folder, &blocks, &["--scale-a (4x2)", "--scale-b (2x1)"]);
    refused(&folder, &rows, &["--scale-a (4x1)", "--scale-b (1x6)"]);
    let ill = |model: &str, a: &str, b: &str, words: &[&str]| {
        refused(&folder, &format!("{model} {}", scales(a, b)), words);
    };
    ill(&blocks, "4x1", "2x1", &["scales of A are 4x1", "needs 4x2"]);
    ill(
        &blocks,
        "4x2",
        "2x2",
        &["scales of B are 2x2", "needs 2 or 2x1"],
    );
    ill(
        &blocks,
        "1x4x2",
        "2x1",
        &["scales of A are 1x4x2", "needs 4x2"],
    );
    ill(
        &rows,
        "1x4",
        "1x6",
        &["scales of A are 1x4", "needs 4 or 4x1"],
    );
    ill(
        &rows,
        "4x1",
        "6x1",
        &["scales of B are 6x1", "needs 6 or 1x6"],
    );
    folder.save("five.npy", &Npy::new("<f4", &[5], floats(&[1.0; 5])));
    folder.save("tall.npy", &Npy::new("<f4", &[6, 1], floats(&[1.0; 6])));
    folder.save("six.npy", &Npy::new("<f4", &[6], floats(&[1.0; 6])));
    let bias = |name: &str| format!("{FP16} --schedule cutlass-sm80 --bias {name}");
    refused(
        &folder,
        &bias("five.npy"),
        &["five.npy", "bias is 5", "6 or 1x6"],
    );
    refused(
        &folder,
        &bias("tall.npy"),
        &["tall.npy", "bias is 6x1", "6 or 1x6"],
    );
    refused(&folder, &bias("none.npy"), &["none.npy"]);
    refused(
        &folder,
        &format!("{FP16} --schedule cutlass-splitk-serial --split-k 2 --bias six.npy"),
        &["--bias", "serial split"],
    );
}

/// A preset's file with one thing wrong.
fn file(preset: &str, change: impl FnOnce(&mut Value)) -> String {
    let folder = Folder::new();
    let raw = folder
        .tcverify(&format!("schedules --raw {preset}"))
        .expect(0);
    let mut schedule = raw.json();
    change(&mut schedule);
    schedule.to_string()
}

/// A split into these parts.
fn ranges(parts: Value) -> String {
    file("cutlass-splitk-parallel", |s| {
        s["spec"]["split"]["parts"] = json!({"kind": "ranges", "parts": parts});
    })
}

#[test]
fn broken_files() {
    let forget = |key: &'static str| {
        move |s: &mut Value| {
            s["known_by"]
                .as_object_mut()
                .unwrap()
                .remove(key)
                .expect("there is one");
        }
    };
    let set = |key: &'static str, value: Value| move |s: &mut Value| s["spec"][key] = value;
    let broken = [
        (String::new(), vec!["EOF"]),
        ("{".into(), vec!["EOF"]),
        ("[]".into(), vec!["line 1"]),
        ("[".repeat(100_000), vec!["[0]"]),
        (
            file("cutlass-sm80", forget("tile_k")),
            vec!["no known_by entry for tile_k"],
        ),
        (
            file("cutlass-sm80", forget("nan")),
            vec!["no known_by entry for nan"],
        ),
        (
            file("cutlass-sm80", |s| {
                s["known_by"]["nan"]["source"] = json!([])
            }),
            vec!["no source for nan"],
        ),
        (
            file("cutlass-sm80", |s| {
                s["known_by"]["nan"]["source"] = json!(["hearsay"])
            }),
            vec!["\"hearsay\"", "sources"],
        ),
        (
            file("cutlass-sm80", |s| {
                s["known_by"]["order"] = s["known_by"]["nan"].clone()
            }),
            vec!["known_by names order", "lacks"],
        ),
        (
            file("cutlass-sm80", set("colour", json!(1))),
            vec!["unknown field `colour`"],
        ),
        (
            file("cutlass-sm80", |s| s["extra"] = json!(1)),
            vec!["unknown field `extra`"],
        ),
        (
            file("cutlass-sm80", |s| s["evidence"] = json!("hardware")),
            vec![
                "unknown variant `hardware`",
                "`claimed`, `inferred`, `published`, `compared`, `captured`",
            ],
        ),
        (
            file("cutlass-sm80", |s| {
                s["schema"] = json!("tcverify.schedule/9")
            }),
            vec!["tcverify.schedule/9", "tcverify.schedule/1"],
        ),
        (
            file("cutlass-sm80", |s| s["name"] = json!("")),
            vec!["no name"],
        ),
        (
            file("cutlass-sm80", set("tile_k", json!(0))),
            vec!["tile_k is 0"],
        ),
        (
            file("cutlass-sm80", set("tile_k", json!(-32))),
            vec!["invalid value"],
        ),
        (
            file("cutlass-sm80", set("tile_k", json!(1u64 << 62))),
            vec!["tile_k is 4611686018427387904"],
        ),
        (
            file("cutlass-sm80", set("tile_k", json!(1e300))),
            vec!["invalid type"],
        ),
        (
            file("cutlass-sm80", set("residue", json!("middle"))),
            vec!["`middle`"],
        ),
        (
            file("cutlass-sm80", set("nan", json!("7f800000"))),
            vec!["7f800000", "no"],
        ),
        (
            file("triton-kwidth8", set("order", json!([0, 1, 1]))),
            vec!["order", "once"],
        ),
        (
            file("triton-kwidth8", set("order", json!([]))),
            vec!["order", "once"],
        ),
        (
            file("triton-kwidth8", set("order", json!([0, 1, 2]))),
            vec!["tile_k", "order"],
        ),
        (
            file("cutlass-3xtf32", |s| {
                s["spec"]["split_terms"]["products"] = json!([])
            }),
            vec!["split_terms.products", "1 to 4"],
        ),
        (
            file("deepgemm-sm90", |s| {
                s["spec"]["inner"][0]["parts"]["length"] = json!(96)
            }),
            vec!["scales per block of 128"],
        ),
        (
            file("cutlass-splitk-serial", |s| {
                s["spec"]["split"]["parts"]["count"] = json!(0)
            }),
            vec!["split.parts.count is 0"],
        ),
        (
            file("cutlass-splitk-serial", |s| {
                s["spec"]["split"]["parts"]["kind"] = json!("zigzag")
            }),
            vec!["`zigzag`"],
        ),
        (
            ranges(json!([[[0, 48]], [[32, 64]]])),
            vec!["split.parts.parts", "k 32 appears twice"],
        ),
        (
            ranges(json!([[[0, 48], [48, 48]]])),
            vec!["[48, 48] is empty"],
        ),
    ];
    for (text, words) in broken {
        let folder = Folder::new();
        folder.write("mine.json", &text);
        let words: Vec<&str> = ["mine.json"].into_iter().chain(words).collect();
        refused(
            &folder,
            &format!("{FP16} --schedule-file mine.json"),
            &words,
        );
        folder
            .tcverify("schedules --file mine.json")
            .refuses(&words);
    }
}

/// Bits that a kernel multiplies are neither rounded nor refused, and the report does not say that the unit
/// ignored them.
#[test]
fn parts_of_fp32_operands_have_all_their_bits() {
    let folder = Folder::new();
    let third = [1.0f32 / 3.0; 16];
    folder.save("a.npy", &Npy::new("<f4", &[2, 8], floats(&third)));
    folder.save("b.npy", &Npy::new("<f4", &[8, 2], floats(&third)));
    let check = "--arch a100 --dtype tf32 --schedule cutlass-3xtf32 a.npy b.npy";
    for how in ["exact", "nearest"] {
        folder
            .tcverify(&format!("replay {check} --tf32-input {how} -o d.npy"))
            .refuses(&["--tf32-input", how, "cutlass-3xtf32"]);
    }
    folder
        .tcverify(&format!("replay {check} -o d.npy"))
        .expect(0);
    let text = folder.stdout(&format!("check {check} d.npy --json r.json"));
    text.says("multiplied as a second part");
    text.lacks("ignored");
    let report: Value = folder.document("r.json");
    let low_bits = json!({"elements": 16, "treatment": "parts"});
    assert_eq!(report["inputs"]["a"]["tf32_low_bits"], low_bits);
    // Without the parts, the unit does ignore them.
    let plain = check.replace("--schedule cutlass-3xtf32 ", "");
    let run = folder.differs(&format!("check {plain} d.npy"));
    run.says("ignored by the unit");
}

#[test]
fn a_format_of_no_c_is_refused() {
    let folder = Folder::new();
    refused(
        &folder,
        &format!("{FP16} --schedule cutlass-sm80 --c-dtype bf16"),
        &["--c-dtype", "--c"],
    );
}
