//! FlashAttention-4: which kernel runs for which shapes, what it leaves behind, what is said of an element and of a
//! result that differs.

use serde_json::{Value, json};

use super::copied;
use crate::support::{Folder, Members, Npy, Says, claims, rows, words};

/// Numbers of two bytes between 1 and 4, of both signs.
fn save(folder: &Folder, name: &str, shape: &[usize]) {
    let mut state = 12345u32 + shape.iter().sum::<usize>() as u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0x3f80 + (state >> 16 & 0x80ff) as u16
    };
    let count = shape.iter().product::<usize>();
    let codes = (0..count).flat_map(|_| next().to_le_bytes()).collect();
    folder.save(name, &Npy::new("<V2", shape, codes));
}

/// The line about a kernel for these shapes of q, k and v.
fn about(folder: &Folder, [queries, heads, dim, of_value]: [usize; 4], more: &str) -> String {
    save(folder, "q.npy", &[1, queries, heads, dim]);
    save(folder, "k.npy", &[1, 64, 1, dim]);
    save(folder, "v.npy", &[1, 64, 1, of_value]);
    save(folder, "y.npy", &[1, queries, heads, of_value]);
    let words = format!(
        "check --op attention --arch b200 --variant flash-attention-4 q.npy k.npy v.npy y.npy --no-causes --rows 0..1 \
         --json - {more}"
    );
    let report = folder.differing(&words);
    report["rule"].string("about").to_owned()
}

/// The table of kernels: two CTAs, causal, heads, heads that share keys.
#[test]
fn kernels_by_shape() {
    let folder = Folder::new();
    let positions = |frequency: u32, first: u32| {
        format!("the last 4 of every {frequency} in scores {first} to 95 of a block")
    };
    let none = "all powers by MUFU.EX2".to_owned();
    let one = |tile: &str| format!("blocks of {tile} by 128 keys");
    for (shape, more, tile, powers) in [
        ([128, 1, 64, 64], "", "128", positions(16, 32)),
        ([300, 1, 64, 64], "", "256", positions(16, 32)),
        ([256, 1, 128, 128], "", "256", positions(16, 32)),
        ([257, 1, 128, 128], "", "512", positions(10, 32)),
        // 113 elements and more are filled up to 128.
        ([257, 1, 120, 128], "", "512", positions(10, 32)),
        ([257, 1, 112, 112], "", "256", positions(16, 32)),
        ([257, 1, 128, 64], "", "256", positions(16, 32)),
        ([257, 1, 128, 128], "--causal", "256", positions(16, 32)),
        ([257, 1, 192, 128], "", "512", positions(16, 0)),
        ([256, 1, 192, 128], "", "256", none.clone()),
        ([257, 1, 192, 128], "--causal", "256", positions(32, 32)),
        ([1, 1, 192, 128], "--causal", "128", positions(32, 32)),
        // Heads that share keys are rows of one tile.
        ([65, 2, 128, 128], "", "256", positions(10, 32)),
        ([65, 4, 128, 128], "", "512", positions(10, 32)),
        ([100, 3, 128, 128], "", "256", positions(10, 32)),
        ([65, 2, 96, 96], "", "256", positions(10, 32)),
        ([65, 2, 96, 96], "--causal", "256", positions(16, 32)),
        ([65, 2, 64, 64], "", "256", positions(16, 32)),
        ([9, 1, 128, 128], "--tile 512x128", "512", positions(10, 32)),
        ([9, 1, 128, 128], "--tile 128x64", "128", String::new()),
    ] {
        let said = about(&folder, shape, more);
        assert!(said.contains(&powers), "{shape:?} {more}: {said}");
        let tile = match more {
            "--tile 128x64" => "blocks of 128 by 64 keys".to_owned(),
            _ => one(tile),
        };
        assert!(said.contains(&tile), "{shape:?} {more}: {said}");
    }
    let words =
        "check --op attention --arch b200 --variant flash-attention-4 q.npy q.npy q.npy q.npy";
    save(&folder, "q.npy", &[1, 9, 1, 256]);
    folder.tcverify(words).refuses(&["heads of 256"]);
}

const OWN: &str =
    "--op attention --arch b200 --variant flash-attention-4 n4_q.npy n4_k.npy n4_v.npy";

/// Batches, layouts, engines and parts give the same rows.
#[test]
fn rows_do_not_depend_on_each_other() {
    let folder = copied();
    folder.passes(&format!("check {OWN} n4.npy --engine exact"));
    folder.passes(&format!("check {OWN} n4.npy --rows 1.."));
    let payload = |name: &str| folder.payload(name);
    // Two batches of one.
    for (name, shape, descr) in [
        ("n4_q", [2, 9, 2, 24], "<V2"),
        ("n4_k", [2, 150, 1, 24], "<V2"),
        ("n4_v", [2, 150, 1, 40], "<V2"),
        ("n4", [2, 9, 2, 40], "<V2"),
    ] {
        let data = payload(&format!("{name}.npy")).repeat(2);
        folder.save(&format!("two_{name}.npy"), &Npy::new(descr, &shape, data));
    }
    let sums = payload("n4_sum.npy");
    folder.save("two_sum.npy", &Npy::new("<f4", &[2, 9, 2], sums.repeat(2)));
    let two = OWN.replace("n4_", "two_n4_");
    folder.passes(&format!("check {two} two_n4.npy"));
    claims! {folder, "check {two} two_sum.npy --output row_sum | 0"}
    // Heads before tokens.
    let turned = |data: &[u8], tokens: usize, heads: usize, width: usize| -> Vec<u8> {
        let at = |head: usize, token: usize| (token * heads + head) * width;
        let rows = (0..heads).flat_map(|head| (0..tokens).map(move |token| at(head, token)));
        rows.flat_map(|at| data[at..at + width].to_vec()).collect()
    };
    for (name, shape) in [
        ("n4_q", [1, 2, 9, 24]),
        ("n4_k", [1, 1, 150, 24]),
        ("n4_v", [1, 1, 150, 40]),
        ("n4", [1, 2, 9, 40]),
    ] {
        let data = turned(
            &payload(&format!("{name}.npy")),
            shape[2],
            shape[1],
            2 * shape[3],
        );
        folder.save(&format!("t_{name}.npy"), &Npy::new("<V2", &shape, data));
    }
    folder.save(
        "t_sum.npy",
        &Npy::new("<f4", &[1, 2, 9], turned(&sums, 9, 2, 4)),
    );
    let turned = format!("{} --layout bhsd", OWN.replace("n4_", "t_n4_"));
    folder.passes(&format!("check {turned} t_n4.npy"));
    claims! {folder, "check {turned} t_sum.npy --output row_sum | 0"}
    // A sum that is another number is seen.
    let mut wrong = sums;
    wrong[5] ^= 1;
    folder.save("wrong.npy", &Npy::new("<f4", &[1, 9, 2], wrong));
    claims! {folder, "check {OWN} wrong.npy --output row_sum --json - --no-causes | 1
    | :outcome.comparison.mismatches = 1"}
}

/// Which power an element got, and what the other one would be.
#[test]
fn an_explanation_tells_polynomials() {
    let folder = copied();
    let words = format!("explain {OWN} n4.npy --at 0,3,1,39");
    let text = folder.stdout(&words);
    text.says_all(words! {"
        powers by MUFU.EX2, with what the polynomial would give
        | powers by the polynomial, with what MUFU.EX2 would give | key 44 by the polynomial (
        | key 0 by MUFU.EX2 (
    "});
    let events = folder.json(&format!("{words} --json"))["events"].clone();
    let told = |key: usize, by: &str| {
        let start = format!("key {key} by {by} (");
        let mut events = events.as_array().unwrap().iter();
        events.any(|event| {
            event["text"]
                .as_str()
                .is_some_and(|text| text.starts_with(&start))
        })
    };
    for key in 0..128 {
        let (fragment, inside) = (key / 32, key % 32);
        let polynomial = (1..3).contains(&fragment) && inside % 16 >= 12;
        assert_eq!(told(key, "the polynomial"), polynomial, "{key}");
        assert_eq!(told(key, "MUFU.EX2"), !polynomial, "{key}");
    }
    // Of a key that is not there, nothing.
    assert!(told(149, "MUFU.EX2") && !told(150, "MUFU.EX2"));
    // Some maximum of a row that stays, and some that does not.
    let stays = |row: usize| {
        let words = format!("explain {OWN} n4.npy --at 0,{row},0,0");
        folder.stdout(&words).contains("the maximum stays")
    };
    assert!((0..9).any(stays) && !(0..9).all(stays));
}

/// Other GPUs, other times and other numbers of queries have names.
#[test]
fn a_result_that_differs_is_named() {
    let folder = Folder::new();
    save(&folder, "q.npy", &[1, 12, 1, 64]);
    save(&folder, "k.npy", &[1, 384, 1, 64]);
    let words = "--op attention --arch b200 --output row_sum q=q.npy k=k.npy v=k.npy --variant";
    for [variant, said] in rows! {"
        flash-attention-4-early | until May 2026 (pull request 2595)
        flash-attention-4-sm103 | on B300 and GB300
    "}
    {
        folder.passes(&format!("replay {words} {variant} -o other.npy"));
        let check = format!("check {words} flash-attention-4 y=other.npy --json -");
        named(&folder, &check, "variant", said);
    }
    save(&folder, "q.npy", &[1, 12, 1, 128]);
    save(&folder, "k.npy", &[1, 128, 1, 128]);
    let words = "--op attention --arch b200 --variant flash-attention-4 --output row_sum q=q.npy k=k.npy v=k.npy";
    folder.passes(&format!("replay {words} --tile 512x128 -o other.npy"));
    let check = format!("check {words} y=other.npy --json -");
    named(&folder, &check, "tile", "with tiles of 512x128");
}

/// Fails unless this cause alone is named, and its command finds the result identical.
#[track_caller]
fn named(folder: &Folder, check: &str, kind: &str, said: &str) {
    let report = folder.differing(check);
    let causes = report.list("causes");
    let kinds: Vec<&Value> = causes.iter().map(|cause| &cause["kind"]).collect();
    assert_eq!(kinds, [&json!(kind)], "{causes:#?}");
    let sentence = causes[0].string("sentence");
    sentence.says(said);
    sentence.says("(known: ");
    let command = causes[0].string("command");
    folder.passes(command.strip_prefix("tcverify ").unwrap());
}
