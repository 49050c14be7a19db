//! Schedules that cannot be: a sentence, exit code 2, and nothing written.

use serde_json::{Value, json};

use crate::support::{Folder, claims, rows, set, table};

const A: &str = "generate:1:normal:4x200";
const B: &str = "generate:2:normal:200x6";
const FP16: &str = "--arch a100 --dtype fp16";
const FP8: &str = "--arch h100 --dtype e4m3";
const INT8: &str = "--arch a100 --dtype int8";

/// Rows `OPTIONS | WORDS`: a replay and a check are refused with these words, and nothing is written.
#[track_caller]
fn refused(folder: &Folder, table: &str) {
    let before = folder.names();
    let theirs = Folder::new();
    theirs.f32("theirs.npy", &[4, 6], &[0.0; 24]);
    let theirs = theirs.path("theirs.npy").display().to_string();
    // A check has no other opinion.
    for form in [
        format!("replay ~ {A} {B} -o d.npy"),
        format!("check ~ {A} {B} {theirs}"),
    ] {
        folder.claims(&format!("each {form} | refused\n{table}"));
        assert_eq!(folder.names(), before, "{table}");
    }
}

#[test]
fn what_a_schedule_lacks_is_asked_for() {
    refused(
        &Folder::new(),
        &format!(
            "
        {FP16} --schedule cutlass-splitk-serial | slices | --split-k
        {FP16} --schedule cutlass-splitk-parallel | slices | --split-k
        {FP16} --schedule cublas-workspace | slices | --split-k
        {FP16} --schedule cutlass-stream-k | workers | --set workers
        {FP16} --schedule plain --set residue=first | tiles | --tile-k
        {FP16} --schedule plain --split-k 3 | plain | --set split
        {FP16} --schedule plain --split-k 3 --set split=serial | split | tile_k
        {FP16} --schedule cutlass-sm80 --split-k 3 | cutlass-sm80 | --set split
        {FP16} --schedule cutlass-sm80 --set workers=3 | cutlass-sm80 | stream-K
        {FP16} --schedule cutlass-sm80 --set partials=f32 | cutlass-sm80 | workspace
        {FP16} --schedule no-such-kernel | no-such-kernel | cutlass-sm80
        {FP16} --schedule-file none.json | none.json | No such file
        # A format of no C.
        {FP16} --schedule cutlass-sm80 --c-dtype bf16 | --c-dtype | --c
    "
        ),
    );
}

#[test]
fn numbers_that_cannot_be() {
    let serial = "--schedule cutlass-splitk-serial";
    refused(
        &Folder::new(),
        &format!(
            r#"
        {FP16} --schedule cutlass-sm80 --set promote=12 | inner.parts.length is 12 | 8 products
        {FP16} --schedule cutlass-sm80 --set promote=0 | inner.parts.length is 0 | 1 to 1048576
        {FP16} --schedule cutlass-sm80 --set promote=often | "often" | never
        {FP16} --schedule cutlass-sm80 --tile-k 12 | tile_k is 12 | 8 products
        {FP16} --schedule cutlass-sm80 --tile-k 0 | tile_k is 0 | 1 to 1048576
        {FP16} {serial} --split-k 0 | split.parts.count is 0 | 1 to 1048576
        {FP16} {serial} --split-k 18446744073709551615 | split.parts.count | 1 to 1048576
        {FP16} --schedule cutlass-stream-k --set workers=0 | split.parts.groups.workers is 0 | 1 to 1048576
        {FP16} --schedule triton-kwidth8 --tile-k 48 | tile_k is 48 | order
        {FP16} --schedule cublas-sliced --tile-k 48 | tile_k is 48 | inner.parts.grain
        {FP16} --schedule cutlass-3xtf32 | tf32 operands
        {INT8} {serial} --split-k 2 | integer sums do not depend on the order | without split
        {FP16} --schedule cutlass-sm80 --acc fp16 | fp32 and int32 accumulators | fp16
    "#
        ),
    );
}

#[test]
fn scales_and_biases_have_shapes() {
    let folder = Folder::new();
    folder.f32("five.npy", &[5], &[1.0; 5]);
    folder.f32("tall.npy", &[6, 1], &[1.0; 6]);
    folder.f32("six.npy", &[6], &[1.0; 6]);
    let blocks = format!("{FP8} --schedule deepgemm-sm90");
    let rows = format!("{FP8} --schedule torch-scaled-mm-rowwise");
    let [a, b] = ["a", "b"].map(|side| format!("--scale-{side} generate:1:normal:"));
    refused(
        &folder,
        &format!(
            "
        {blocks} | --scale-a (4x2) | --scale-b (2x1)
        {rows} | --scale-a (4x1) | --scale-b (1x6)
        {blocks} {a}4x1 {b}2x1 | scales of A are 4x1 | needs 4x2
        {blocks} {a}4x2 {b}2x2 | scales of B are 2x2 | needs 2 or 2x1
        {blocks} {a}1x4x2 {b}2x1 | scales of A are 1x4x2 | needs 4x2
        {rows} {a}1x4 {b}1x6 | scales of A are 1x4 | needs 4 or 4x1
        {rows} {a}4x1 {b}6x1 | scales of B are 6x1 | needs 6 or 1x6
        {FP16} --schedule cutlass-sm80 --bias five.npy | five.npy | bias is 5 | 6 or 1x6
        {FP16} --schedule cutlass-sm80 --bias tall.npy | tall.npy | bias is 6x1 | 6 or 1x6
        {FP16} --schedule cutlass-sm80 --bias none.npy | none.npy
        {FP16} --schedule cutlass-splitk-serial --split-k 2 --bias six.npy | --bias | serial split
    "
        ),
    );
}

/// A preset's file with one thing wrong.
fn file(preset: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut schedule = Folder::new().json(&format!("schedules --raw {preset}"));
    change(&mut schedule);
    schedule.to_string()
}

/// Fails unless this text of a schedule is refused with these words, wherever it is read.
#[track_caller]
fn broken(text: &str, words: &str) {
    let folder = Folder::new();
    folder.write("mine.json", text);
    refused(
        &folder,
        &format!("{FP16} --schedule-file mine.json | mine.json | {words}"),
    );
    claims! {folder, "schedules --file mine.json | refused | mine.json | {words}"}
}

#[test]
fn broken_files() {
    for (text, words) in table! {
        ("", "EOF"),
        ("{", "EOF"),
        ("[]", "line 1"),
        (&"[".repeat(100_000), "[0]"),
    } {
        broken(text, words);
    }
    let forget = |key: &'static str| {
        move |s: &mut Value| {
            let known = s["known_by"].as_object_mut().expect("an object");
            known.remove(key).expect("there is one");
        }
    };
    broken(
        &file("cutlass-sm80", forget("tile_k")),
        "no known_by entry for tile_k",
    );
    broken(
        &file("cutlass-sm80", forget("nan")),
        "no known_by entry for nan",
    );
    let order = |s: &mut Value| s["known_by"]["order"] = s["known_by"]["nan"].clone();
    broken(&file("cutlass-sm80", order), "known_by names order | lacks");
    for [preset, at, value, words] in rows! {r#"
        cutlass-splitk-parallel | spec.split.parts | {{"kind": "ranges", "parts": [[[0, 48]], [[32, 64]]]}}
            | split.parts.parts | k 32 appears twice
        cutlass-splitk-parallel | spec.split.parts | {{"kind": "ranges", "parts": [[[0, 48], [48, 48]]]}}
            | [48, 48] is empty
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
        broken(&file(preset, |s| set(s, at, value)), words);
    }
}

/// Bits that a kernel multiplies are neither rounded nor refused, and the report does not say that the unit
/// ignored them.
#[test]
fn parts_of_fp32_operands_have_all_their_bits() {
    let folder = Folder::new();
    let third = [1.0f32 / 3.0; 16];
    folder.f32("a.npy", &[2, 8], &third);
    folder.f32("b.npy", &[8, 2], &third);
    let of = "--arch a100 --dtype tf32 --schedule cutlass-3xtf32 a.npy b.npy";
    claims! {folder, "
        replay {of} --tf32-input exact -o d.npy | refused | --tf32-input | exact | cutlass-3xtf32
        replay {of} --tf32-input nearest -o d.npy | refused | --tf32-input | nearest | cutlass-3xtf32
        replay {of} -o d.npy | 0
        check {of} d.npy --json r.json | 0 | multiplied as a second part | !ignored
        # Without the parts, the unit does ignore them.
        check --arch a100 --dtype tf32 a.npy b.npy d.npy | 1 | ignored by the unit
    "}
    let low_bits = json!({"elements": 16, "treatment": "parts"});
    assert_eq!(
        folder.document("r.json")["inputs"]["a"]["tf32_low_bits"],
        low_bits
    );
}
