//! What `explain` says of one element.

use serde_json::{Value, json};

use super::{codes, folder, put, save};
use crate::support::{Folder, Members, Says};

fn found(folder: &Folder, options: &str, at: &str) -> Vec<Value> {
    let run = folder.differs(&format!("explain {options} --at {at} --json"));
    let explanation = run.json();
    assert!(!explanation["search"].list("tried").is_empty());
    explanation["search"].list("found").clone()
}

#[track_caller]
fn says(found: &[Value], hypothesis: &str, at: Value) {
    let is = |found: &&Value| found["hypothesis"] == hypothesis;
    let one = found.iter().find(is);
    let one = one.unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(one["at"], at, "{one}");
}

#[test]
fn bits_of_inputs_and_rows_nearby() {
    for schedule in ["", "--schedule cutlass-splitk-parallel --split-k 3"] {
        let folder = folder("fp16", [24, 24, 128], 17);
        let product = format!("--arch a100 --dtype fp16 {schedule}");
        let mut a = codes(&folder, "a.npy", 2);
        a[5 * 128 + 77] ^= 1 << 11;
        put(&folder, "a.npy", "wrong.npy", 2, &a);
        folder.replay(&format!("{product} wrong.npy b.npy"), "d.npy");
        let all = found(&folder, &format!("{product} a.npy b.npy d.npy"), "5,9");
        says(&all, "input_flipped", json!([5, 77, 11]));

        folder.replay(&format!("{product} a.npy b.npy"), "d.npy");
        let mut d = codes(&folder, "d.npy", 4);
        d[3 * 24 + 4] = d[2 * 24 + 4];
        d[9 * 24 + 4] ^= 0x0005_a5a5;
        save(&folder, "<f4", &[24, 24], 4, &d);
        let all = found(&folder, &format!("{product} a.npy b.npy d.npy"), "3,4");
        says(&all, "row_moved", json!([2]));
        // A number from nowhere.
        let none = found(&folder, &format!("{product} a.npy b.npy d.npy"), "9,4");
        assert_eq!(none, [Value::Null; 0]);
    }
}

#[test]
fn a_bit_of_c() {
    let folder = folder("fp16", [24, 24, 128], 17);
    let mut c = codes(&folder, "c.npy", 4);
    c[8 * 24 + 2] ^= 1 << 26;
    put(&folder, "c.npy", "wrong.npy", 4, &c);
    let product = "--arch a100 --dtype fp16 a.npy b.npy";
    folder.replay(&format!("{product} --c wrong.npy"), "d.npy");
    let all = found(&folder, &format!("{product} d.npy --c c.npy"), "8,2");
    says(&all, "input_flipped", json!([8, 2, 26]));
}

#[test]
fn a_schedule_is_named_and_nothing_that_was_tried_is_told() {
    let folder = folder("bf16", [24, 24, 512], 17);
    let other = "--arch a100 --dtype bf16 --schedule cublas-sliced a.npy b.npy";
    folder.replay(other, "d.npy");
    folder.replay("--arch a100 --dtype bf16 a.npy b.npy", "plain.npy");
    let (d, plain) = (codes(&folder, "d.npy", 4), codes(&folder, "plain.npy", 4));
    let at = (0..d.len()).find(|&at| d[at] != plain[at]).unwrap();
    let place = format!("{},{}", at / 24, at % 24);
    let check = "--arch a100 --dtype bf16 a.npy b.npy d.npy";
    let all = found(&folder, check, &place);
    let mut all = all
        .iter()
        .filter(|found| found["hypothesis"] == "other_schedule");
    all.next().unwrap().string("text").says("cublas-sliced");

    let mut wrong = plain.clone();
    wrong[0] ^= 0x0005_a5a5;
    save(&folder, "<f4", &[24, 24], 4, &wrong);
    let explain = "explain --arch a100 --dtype bf16 a.npy b.npy d.npy --at 0,0";
    let text = folder.differs(explain).stdout;
    text.says("No hypothesis tried gives exactly this D\n  tried: a chain that stopped early");
}

/// What is skipped is not told as tried.
#[test]
fn what_a_long_k_leaves_out() {
    let folder = folder("fp16", [2, 2, 9000], 17);
    let product = "--arch a100 --dtype fp16 a.npy b.npy";
    folder.replay(product, "d.npy");
    let mut d = codes(&folder, "d.npy", 4);
    d[0] ^= 0x155;
    save(&folder, "<f4", &[2, 2], 4, &d);
    let search =
        folder.differing(&format!("explain {product} d.npy --at 0,0 --json"))["search"].clone();
    let tried = search["tried"].to_string();
    let skipped = search["skipped"].to_string();
    for what in ["a chain that stopped early", "a flipped bit of A or B"] {
        assert!(!tried.contains(what) && skipped.contains(what), "{search}");
    }
    assert!(!tried.contains("bit of C"), "{search}");
}
