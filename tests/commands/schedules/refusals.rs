//! Schedules that cannot be: a sentence, exit code 2, and nothing written.

use serde_json::{Value, json};

use crate::support::{Folder, Npy, claims, floats, listed, rows, set};

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
    for [options, words] in rows! {"
        --schedule cutlass-splitk-serial | slices | --split-k
        --schedule cutlass-splitk-parallel | slices | --split-k
        --schedule cublas-workspace | slices | --split-k
        --schedule cutlass-stream-k | workers | --set workers
        --schedule plain --set residue=first | tiles | --tile-k
        --schedule plain --split-k 3 | plain | --set split
        --schedule plain --split-k 3 --set split=serial | split | tile_k
        --schedule cutlass-sm80 --split-k 3 | cutlass-sm80 | --set split
        --schedule cutlass-sm80 --set workers=3 | cutlass-sm80 | stream-K
        --schedule cutlass-sm80 --set partials=f32 | cutlass-sm80 | workspace
        --schedule no-such-kernel | no-such-kernel | cutlass-sm80
        --schedule-file none.json | none.json | No such file
    "}
    {
        let words = listed(words);
        refused(&folder, &format!("{FP16} {options}"), &words);
    }
}

#[test]
fn numbers_that_cannot_be() {
    let folder = Folder::new();
    let serial = "--schedule cutlass-splitk-serial";
    for [options, words] in rows! {r#"
        --schedule cutlass-sm80 --set promote=12 | inner.parts.length is 12 | 8 products
        --schedule cutlass-sm80 --set promote=0 | inner.parts.length is 0 | 1 to 1048576
        --schedule cutlass-sm80 --set promote=often | "often" | never
        --schedule cutlass-sm80 --tile-k 12 | tile_k is 12 | 8 products
        --schedule cutlass-sm80 --tile-k 0 | tile_k is 0 | 1 to 1048576
        {serial} --split-k 0 | split.parts.count is 0 | 1 to 1048576
        {serial} --split-k 18446744073709551615 | split.parts.count | 1 to 1048576
        --schedule cutlass-stream-k --set workers=0 | split.parts.groups.workers is 0
            | 1 to 1048576
        --schedule triton-kwidth8 --tile-k 48 | tile_k is 48 | order
        --schedule cublas-sliced --tile-k 48 | tile_k is 48 | inner.parts.grain
    "#}
    {
        let words = listed(words);
        refused(&folder, &format!("{FP16} {options}"), &words);
    }
    for [given, said] in rows! {"
        {FP16} --schedule cutlass-3xtf32 | tf32 operands
        {INT8} {serial} --split-k 2 | integer sums do not depend on the order | without split
        {FP16} --schedule cutlass-sm80 --acc fp16 | fp32 and int32 accumulators | fp16
    "}
    {
        refused(&folder, given, &listed(said));
    }
}

#[test]
fn scales_and_biases_have_shapes() {
    let folder = Folder::new();
    let blocks = format!("{FP8} --schedule deepgemm-sm90");
    let rowwise = format!("{FP8} --schedule torch-scaled-mm-rowwise");
    let scales = |a: &str, b: &str| {
        format!("--scale-a generate:1:normal:{a} --scale-b generate:1:normal:{b}")
    };
    refused(&folder, &blocks, &["--scale-a (4x2)", "--scale-b (2x1)"]);
    refused(&folder, &rowwise, &["--scale-a (4x1)", "--scale-b (1x6)"]);
    let ill = |model: &str, a: &str, b: &str, words: &[&str]| {
        refused(&folder, &format!("{model} {}", scales(a, b)), words);
    };
    for [given, then, said] in rows! {"
        4x1 | 2x1 | scales of A are 4x1 | needs 4x2
        4x2 | 2x2 | scales of B are 2x2 | needs 2 or 2x1
        1x4x2 | 2x1 | scales of A are 1x4x2 | needs 4x2
    "}
    {
        ill(&blocks, given, then, &listed(said));
    }
    for [given, then, said] in rows! {"
        1x4 | 1x6 | scales of A are 1x4 | needs 4 or 4x1
        4x1 | 6x1 | scales of B are 6x1 | needs 6 or 1x6
    "}
    {
        ill(&rowwise, given, then, &listed(said));
    }
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
    let raw = folder.passes(&format!("schedules --raw {preset}"));
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
                s["known_by"]["order"] = s["known_by"]["nan"].clone()
            }),
            vec!["known_by names order", "lacks"],
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
    let tried = |text: String, words: &[&str]| {
        let folder = Folder::new();
        folder.write("mine.json", &text);
        let words: Vec<&str> = ["mine.json"]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        refused(
            &folder,
            &format!("{FP16} --schedule-file mine.json"),
            &words,
        );
        folder
            .tcverify("schedules --file mine.json")
            .refuses(&words);
    };
    for (text, words) in broken {
        tried(text, &words);
    }
    for [preset, at, value, words] in rows! {r#"
        cutlass-sm80 | known_by.nan.source | [] | no source for nan
        cutlass-sm80 | known_by.nan.source | ["hearsay"] | "hearsay" | sources
        cutlass-sm80 | spec.colour | 1 | unknown field `colour`
        cutlass-sm80 | extra | 1 | unknown field `extra`
        cutlass-sm80 | evidence | "hardware" | unknown variant `hardware`
            | `claimed`, `inferred`, `published`, `compared`, `captured`
        cutlass-sm80 | schema | "tcverify.schedule/9" | tcverify.schedule/9 | tcverify.schedule/1
        cutlass-sm80 | name | "" | no name
        cutlass-sm80 | spec.tile_k | 0 | tile_k is 0
        cutlass-sm80 | spec.tile_k | -32 | invalid value
        cutlass-sm80 | spec.tile_k | 4611686018427387904 | tile_k is 4611686018427387904
        cutlass-sm80 | spec.tile_k | 1e300 | invalid type
        cutlass-sm80 | spec.residue | "middle" | `middle`
        cutlass-sm80 | spec.nan | "7f800000" | 7f800000 | no
        triton-kwidth8 | spec.order | [0, 1, 1] | order | once
        triton-kwidth8 | spec.order | [] | order | once
        triton-kwidth8 | spec.order | [0, 1, 2] | tile_k | order
        cutlass-3xtf32 | spec.split_terms.products | [] | split_terms.products | 1 to 4
        deepgemm-sm90 | spec.inner.0.parts.length | 96 | scales per block of 128
        cutlass-splitk-serial | spec.split.parts.count | 0 | split.parts.count is 0
        cutlass-splitk-serial | spec.split.parts.kind | "zigzag" | `zigzag`
    "#}
    {
        tried(file(preset, |s| set(s, at, value)), &listed(words));
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
        claims! {folder, "replay {check} --tf32-input {how} -o d.npy | refused | --tf32-input | {how}
        | cutlass-3xtf32"}
    }
    claims! {folder, "
        replay {check} -o d.npy | 0
        check {check} d.npy --json r.json | 0 | multiplied as a second part | !ignored
    "}
    let report: Value = folder.document("r.json");
    let low_bits = json!({"elements": 16, "treatment": "parts"});
    assert_eq!(report["inputs"]["a"]["tf32_low_bits"], low_bits);
    // Without the parts, the unit does ignore them.
    let plain = check.replace("--schedule cutlass-3xtf32 ", "");
    claims! {folder, "check {plain} d.npy | 1 | ignored by the unit"}
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
