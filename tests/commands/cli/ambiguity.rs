//! How much an agreement proves: other arithmetics that give the same bits.

use serde_json::Value;

use crate::support::{Folder, Members, Says, claims};

/// Small integers, whose products and sums no arithmetic rounds, and their product in plain FP32.
fn integers() -> Folder {
    let folder = Folder::new();
    let a: Vec<f32> = (0..256).map(|i| (i * 7 % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..128).map(|i| (i * 5 % 11) as f32 - 5.0).collect();
    let d: Vec<f32> = (0..128)
        .map(|at| {
            (0..16)
                .map(|k| a[at / 8 * 16 + k] * b[k * 8 + at % 8])
                .sum()
        })
        .collect();
    folder.f16("a.npy", &[16, 16], &a);
    folder.f16("b.npy", &[16, 8], &b);
    folder.f32("d.npy", &[16, 8], &d);
    folder
}

fn report(folder: &Folder, arguments: &str) -> Value {
    folder.json(&format!("check {arguments} --json -"))
}

/// A CPU computed it: no architecture can be told.
#[test]
fn data_that_nothing_rounds_tell_nothing() {
    let folder = integers();
    let found = report(&folder, "--arch h100 --dtype fp16 a.npy b.npy d.npy");
    let told = &found["ambiguity"];
    let same = told.list("same");
    assert!(same.len() > 8, "{told}");
    // RDNA 3's complements are not exact even here, nor are Tenstorrent's units with some phases only.
    assert_eq!(told["others"].as_u64(), Some(same.len() as u64 + 8));
    assert!(told["elements"].as_u64() > Some(50));
    let named = |name: &str| same.iter().any(|alike| alike["architecture"] == name);
    assert!(
        named("ampere") && named("ieee-fma") && named("volta"),
        "{told}"
    );
    // The judged one is no other.
    let own = &found["rule"]["model"]["sha256"];
    assert!(same.iter().all(|alike| alike["sha256"] != *own));
    // The best known first.
    let rank = |alike: &Value| match alike.string("evidence") {
        "captured" => 0,
        "compared" => 1,
        "published" => 2,
        _ => 3,
    };
    assert!(same.iter().map(rank).is_sorted());
    let text = folder
        .stdout("check --arch h100 --dtype fp16 a.npy b.npy d.npy --markdown r.md --html r.html");
    let pages = ["r.md", "r.html"].map(|name| folder.text(name));
    for text in [text].iter().chain(&pages) {
        text.says_all([
            "Same bits from hopper wgmma, ",
            "; 8 other arithmetics in the catalogue for these operands differ.",
        ]);
    }
}

/// Numbers that are rounded at every step tell most of them.
#[test]
fn data_that_everything_rounds_tell() {
    let folder = Folder::new();
    let product = "--arch v100 --dtype fp16 generate:1:normal:64x256 generate:2:normal:256x64";
    folder.passes(&format!("replay {product} -o d.npy"));
    let found = report(&folder, &format!("{product} d.npy"));
    let told = &found["ambiguity"];
    let (others, same) = (told.number("others"), told.list("same"));
    assert!(same.len() as u64 * 2 < others, "{told}");
    let named = |name: &str| same.iter().any(|alike| alike["architecture"] == name);
    assert!(!named("ampere") && !named("ieee-fma"), "{told}");
    claims! {folder, "check {product} d.npy | 0 | Same bits from volta mma"}
    // What is said to be alike gives the same, and what is not does not.
    claims! {folder, "check --arch a100 --dtype fp16 generate:1:normal:64x256 generate:2:normal:256x64 d.npy -q | 1"}
}

/// Of a part only what was compared is looked at; nothing is said if D differs, of a tree, or if nobody asks.
#[test]
fn where_it_is_said() {
    let folder = integers();
    let product = "--arch h100 --dtype fp16 a.npy b.npy d.npy";
    let elements = |options: &str| {
        let found = report(&folder, &format!("{product} {options}"));
        found["ambiguity"]["elements"].as_u64()
    };
    assert_eq!(elements("--rows 3 --cols 2..5"), Some(3));
    assert_eq!(elements("--sample 7 --seed 1"), Some(7));
    let by_exact = elements("--sample 120 --seed 1 --engine exact");
    assert_eq!(by_exact, elements("--sample 120 --seed 1"));
    assert_eq!(elements("--no-ambiguity"), None);
    assert_eq!(elements("--tree"), None);
    folder.flip("d.npy", "d.npy", 1, 1);
    let different = folder.differing(&format!("check {product} --json -"));
    assert_eq!(different.get("ambiguity"), None);
}

/// A kernel's schedule stands around every other arithmetic, too.
#[test]
fn a_schedule_is_kept() {
    let folder = Folder::new();
    let product = "--arch a100 --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 2 \
                   generate:1:normal:40x512 generate:2:normal:512x40";
    folder.passes(&format!("replay {product} -o d.npy"));
    let found = report(&folder, &format!("{product} d.npy"));
    assert!(found["ambiguity"]["others"].as_u64() > Some(5), "{found}");
}

/// Three GPUs, one arithmetic: whichever was asked for, each is named.
#[test]
fn units_that_share_an_arithmetic_are_all_named() {
    let folder = Folder::new();
    let product = "--dtype fp16 generate:1:normal:24x64 generate:2:normal:64x24";
    folder.passes(&format!("replay --arch h100 {product} -q -o d.npy"));
    let mut said = Vec::new();
    for arch in ["h100", "b200", "rtx5090"] {
        let found = report(&folder, &format!("--arch {arch} {product} d.npy"));
        let shared = found["ambiguity"].list("shared").clone();
        let units = ["hopper", "blackwell", "rtx-blackwell"];
        for unit in units {
            assert!(
                shared.iter().any(|one| one["architecture"] == unit),
                "{arch}: {shared:?}"
            );
        }
        let text = folder.stdout(&format!("check --arch {arch} {product} d.npy"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.says("which share this arithmetic; ");
        for unit in units {
            text.says(&format!("{unit} "));
        }
        said.push((found["rule"]["model"]["sha256"].clone(), shared));
    }
    assert!(said.windows(2).all(|two| two[0] == two[1]));
}

/// A narrow result hides the last bits of most sums: elements are examined whose sums lie where the rounding turns
/// over, and of what they do not separate nothing more is said.
#[test]
fn elements_that_separate_are_looked_for() {
    let folder = Folder::new();
    let product = "--d-dtype fp16 --dtype fp16 generate:1:normal:128x512 generate:2:normal:512x128";
    folder.passes(&format!("replay --arch h100 {product} -o d.npy"));
    let found = report(&folder, &format!("--arch h100 {product} d.npy"));
    let told = &found["ambiguity"];
    let same: Vec<&str> = told
        .list("same")
        .iter()
        .map(|alike| alike.string("architecture"))
        .collect();
    // Both differ in some elements of D.
    for other in ["ampere", "volta"] {
        folder.differs(&format!("check --arch {other} {product} d.npy"));
        assert!(!same.contains(&other), "{told}");
    }
    let text = folder.stdout(&format!("check --arch h100 {product} d.npy"));
    text.lacks("give them, too");
    assert_eq!(text.contains("told apart"), !same.is_empty(), "{text}");
}
