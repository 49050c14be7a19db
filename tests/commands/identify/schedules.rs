//! Schedules: a kernel's result finds its kernel, and another one's does not.

use serde_json::Value;

use tcverify::forms::grouped;

use crate::support::hidden::number::Dice;
use crate::support::{Folder, Members, Npy, claims, le16, ran, table};

fn made(arch: &str, product: &str, operands: &str) -> Folder {
    let folder = Folder::new();
    claims! {folder, "replay --arch {arch} {product} {operands} -o d.npy | 0"}
    folder
}

fn fits(folder: &Folder, arguments: &str) -> Vec<Value> {
    let report = folder.json(&format!("identify --json - {arguments} d.npy"));
    report.list("fits").clone()
}

/// Every fit is checked in full; the options that it names are ones that `check` confirms.
#[test]
#[ignore = "long"]
fn kernels_are_found() {
    let operands = "generate:5:normal:17x640 generate:5:normal:640x24";
    let odd = "generate:5:normal:17x610 generate:5:normal:610x24";
    let e4m3 = "generate:5:normal:17x1024 generate:5:normal:1024x24";
    for (arch, dtype, schedule, operands) in table! {
        ("ampere", "bf16", "cublas-workspace --split-k 5", operands),
        ("ampere", "bf16", "cublas-splitk-serial --split-k 4", operands),
        ("ampere", "fp16", "cublas-sliced", operands),
        ("hopper", "bf16", "cutlass-splitk-parallel --split-k 4 --tile-k 64", operands),
        ("ampere", "bf16", "triton-kwidth8", operands),
        ("ampere", "bf16", "cutlass-sm80 --tile-k 64", odd),
        ("ampere", "bf16", "cute-sm80 --tile-k 64", odd),
        ("ampere", "tf32", "cutlass-3xtf32-staged", operands),
        ("hopper", "e4m3", "cutlass-fp8-promote", e4m3),
    } {
        // Rounded to BF16, a short product hides how it was added up.
        let d = if schedule.starts_with("cublas-") && !schedule.starts_with("cublas-sliced") {
            "bf16"
        } else {
            "fp32"
        };
        let product = format!("--dtype {dtype} --d-dtype {d} --schedule {schedule}");
        let folder = made(arch, &product, operands);
        let fits = fits(&folder, &format!("--dtype {dtype} {operands}"));
        let name = match schedule.split(' ').next().unwrap() {
            // Tiles of 64 are cuBLAS's, and one computation has one name.
            "cutlass-sm80" => "cublas-sm80",
            name => name,
        };
        let found = fits.iter().find(|fit| {
            let names = fit.list("names");
            fit["schedule"]["name"] == name && names.iter().any(|n| n["architecture"] == arch)
        });
        let found = found.unwrap_or_else(|| panic!("{schedule}: {fits:#?}"));
        assert_eq!(found["in_full"], true);
        for fit in &fits {
            let command = fit["names"][0].string("command");
            let command = command.strip_prefix("tcverify ").unwrap();
            folder.passes(&format!("{command} --quiet"));
        }
    }
}

/// Two schedules that compute the same on this K are one candidate.
#[test]
fn equal_walks_are_one_candidate() {
    let operands = "generate:5:normal:17x256 generate:5:normal:256x24";
    let product = "--dtype e4m3 --schedule cutlass-fp8-promote";
    let folder = made("hopper", product, operands);
    let fits = fits(&folder, &format!("--dtype e4m3 {operands}"));
    let hopper = |fit: &&Value| fit["names"][0]["architecture"] == "hopper";
    let named: Vec<_> = fits
        .iter()
        .filter(hopper)
        .map(|fit| &fit["schedule"]["name"])
        .collect();
    // A workspace in f32 with slices of 128 does the same additions. Of cuBLAS's kernel, and in place, the sum starts from the
    // first slice instead of +0, and a slice without k may add one: no D but one of zeros shows that.
    assert_eq!(named[..2], ["cublas-nvjet-fp8", "cutlass-fp8-promote"]);
    assert!(named.len() <= 6, "{named:?}");
    assert!(!named.iter().any(|name| **name == "cutlass-splitk-parallel"));
}

#[test]
fn scales_in_f32_are_a_kernels() {
    let folder = Folder::new();
    let operands = "generate:5:normal:9x512 generate:5:normal:512x160";
    for (name, shape) in [("sa.npy", [9, 4]), ("sb.npy", [4, 2])] {
        let numbers = (0..shape[0] * shape[1]).map(|i| 0.25 + i as f32 / 7.0);
        let numbers: Vec<f32> = numbers.collect();
        folder.f32(name, &shape, &numbers);
    }
    let files = "--scale-a sa.npy --scale-b sb.npy";
    let product = "--dtype e4m3 --d-dtype bf16 --schedule deepgemm-sm90";
    claims! {folder, "replay --arch hopper {product} {files} {operands} -o d.npy | 0"}
    let fits = fits(&folder, &format!("--dtype e4m3 {files} {operands}"));
    assert!(
        fits.iter()
            .any(|fit| fit["schedule"]["name"] == "deepgemm-sm90"),
        "{fits:#?}"
    );
}

#[test]
fn the_search_can_be_forbidden_and_bounded() {
    let operands = "generate:5:normal:17x640 generate:5:normal:640x24";
    let product = "--dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 5";
    let folder = made("ampere", product, operands);
    claims! {folder, "identify --schedules never --json - --dtype bf16 {operands} d.npy | 1 | :schedules = null"}
    let bounded = ran! {folder, "identify --budget 1 --json - --dtype bf16 {operands} d.npy"};
    let bounded: Value = serde_json::from_str(&bounded.stdout).unwrap();
    let counted = |report: &Value, name: &str| report["schedules"][name].as_u64().unwrap();
    let whole = folder.json(&format!("identify --json - --dtype bf16 {operands} d.npy"));
    assert_eq!(counted(&whole, "untested"), 0);
    assert!(counted(&bounded, "untested") > 100);
    let [some, all] = [&bounded, &whole].map(|r| counted(r, "tested") + counted(r, "untested"));
    // What is found ends the search before epilogues are tried.
    assert!(some >= all, "{some} of {all}");
    let text = ran! {folder, "identify --budget 1 --dtype bf16 {operands} d.npy"}.stdout;
    let untested = counted(&bounded, "untested");
    let words = format!(
        "{} candidates under schedules were not tested",
        grouped(untested)
    );
    assert!(text.contains(&words), "{text}");
}

/// Kernels that differ in the sign of zero alone are told apart where D has one: cuBLAS's epilogue adds +0, so
/// that no sum of its is -0.
#[test]
fn a_negative_zero_keeps_the_kernel_that_gives_it() {
    const K: usize = 70;
    let folder = Folder::new();
    let mut dice = Dice(70);
    // Of many sizes, so that every order of sums rounds in its own way.
    let mut number = || 0x3800 | dice.next() as u16 & 0x87ff;
    let mut a: Vec<u16> = (0..4 * K).map(|_| number()).collect();
    let mut b: Vec<u16> = (0..K * 5).map(|_| number()).collect();
    // The last row has one product, the last; in the first column it is far below the smallest number.
    a[3 * K..].fill(0);
    a[4 * K - 1] = 0x8001;
    b[(K - 1) * 5] = 0x0001;
    folder.save("a.npy", &Npy::new("<u2", &[4, K], le16(&a)));
    folder.save("b.npy", &Npy::new("<u2", &[K, 5], le16(&b)));
    for (schedule, zero) in [("cutlass-sm80", 0x8000_0000), ("cublas-sm80", 0u32)] {
        let product = format!("--dtype bf16 --schedule {schedule} --tile-k 64 a.npy b.npy");
        claims! {folder, "replay --arch cdna3 {product} -o d.npy | 0"}
        let d = folder.read("d.npy");
        let at = d.len() - 4 * 5;
        assert_eq!(d[at..at + 4], zero.to_le_bytes(), "{schedule}");
        let fits = fits(&folder, "--dtype bf16 a.npy b.npy");
        let named = |name: &str| fits.iter().any(|fit| fit["schedule"]["name"] == name);
        let other = ["cutlass-sm80", "cublas-sm80"].map(|name| named(name) && name != schedule);
        assert!(
            named(schedule) && other == [false; 2],
            "{schedule}: {fits:#?}"
        );
    }
}
