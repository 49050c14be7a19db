//! Kernels of cuBLAS on the command line: what a user types for captured products, and what a report says
//! of products that are not whole.

use super::vectors::{Output, outputs};
use crate::support::{Folder, Npy, floats};

/// Some captured outputs, of every kind, checked where they lie.
#[test]
fn captured_products_are_checked_where_they_lie() {
    let Some(outputs) = outputs() else { return };
    let folder = Folder::new();
    let products = outputs.iter().filter(|output| !output.is_instruction());
    let mut checked = 0;
    for output in products.step_by(29).chain(products_without_k(&outputs)) {
        let run = folder.tcverify(&format!("check --arch ada {}", output.command()));
        run.expect(0);
        checked += 1;
    }
    assert_eq!(checked, 53 + 5);
}

fn products_without_k(outputs: &[Output]) -> impl Iterator<Item = &Output> {
    let products = outputs.iter().filter(|output| !output.is_instruction());
    products.filter(|output| output.k() == 0).step_by(20)
}

/// D of slices that do not reach the end of K is confirmed as such, and the report says what it lacks.
#[test]
fn a_dropped_remainder_is_named() {
    let folder = Folder::new();
    let product =
        "--arch h100 --dtype bf16 --split-k 9 generate:1:normal:3x8648 generate:2:normal:8648x5";
    let lost = format!("{product} --schedule cublas-nvjet-dropped-remainder");
    folder
        .tcverify(&format!("replay {lost} -o d.npy"))
        .expect(0);
    let text = folder.tcverify(&format!("check {lost} d.npy")).expect(0);
    let words = "omits     k 8640 to 8647";
    assert!(text.stdout.contains(words), "{}", text.stdout);
    let report = folder.tcverify(&format!("check {lost} d.npy --json -"));
    let report = report.expect(0).json();
    let omitted = &report["rule"]["schedule"]["omitted_k"];
    assert_eq!(*omitted, serde_json::json!([[8640, 8648]]));
    // The product that was meant is another one.
    let meant = format!("{product} --schedule cublas-nvjet-splitk");
    let text = folder.tcverify(&format!("check {meant} d.npy")).expect(1);
    assert!(!text.stdout.contains("omits "), "{}", text.stdout);
    // Fewer k than slices.
    let few = lost.replace("8648", "8");
    folder
        .tcverify(&format!("replay {few} -o e.npy"))
        .refuses(&["K is 8", "9 slices"]);
}

#[test]
fn alpha_may_be_infinite_and_results_have_scales() {
    let folder = Folder::new();
    let product = "--arch ada --dtype e4m3 generate:1:normal:4x300 generate:2:normal:300x6";
    let replay = |options: &str| {
        let run = folder.tcverify(&format!("replay {product} {options} -o d.npy"));
        run.expect(0);
        folder.read("d.npy")
    };
    let ada = "--schedule cublas-ada-fp8 --d-dtype e4m3";
    let plain = replay(ada);
    let scaled = replay(&format!("{ada} --scale-result 1.5"));
    assert_ne!(plain, scaled);
    folder
        .tcverify(&format!("check {product} {ada} --scale-result 1.5 d.npy"))
        .expect(0);
    // Only FP8 results have one.
    let bf16 = "--schedule cublas-ada-fp8 --d-dtype bf16";
    let ignored = replay(&format!("{bf16} --scale-result 1.5"));
    assert_eq!(ignored, replay(bf16));
    for infinite in ["inf", "-inf", "0x7f800000", "nan"] {
        replay(&format!("{ada} --alpha {infinite}"));
        folder
            .tcverify(&format!("check {product} {ada} --alpha {infinite} d.npy"))
            .expect(0);
    }
    folder
        .tcverify(&format!(
            "replay {product} --schedule cutlass-sm90 --scale-result 2 -o e.npy"
        ))
        .refuses(&["cutlass-sm90", "it does not scale the result"]);
    let run = folder.tcverify(&format!("replay {product} {ada} --alpha 1e99 -o e.npy"));
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("1e99") && run.stderr.contains("f32"),
        "{}",
        run.stderr
    );
}

#[test]
fn k_of_zero_needs_a_schedule_that_knows_it() {
    let folder = Folder::new();
    folder.save("a.npy", &Npy::new("|u1", &[4, 0], Vec::new()));
    folder.save("b.npy", &Npy::new("|u1", &[0, 6], Vec::new()));
    folder.save("d.npy", &Npy::new("<f4", &[4, 6], floats(&[0.0; 24])));
    folder.save("e.npy", &Npy::new("<f4", &[4, 6], floats(&[-0.0; 24])));
    let product = "--arch ada --dtype e4m3 a.npy b.npy";
    let ada = format!("{product} --schedule cublas-ada-fp8 --alpha nan");
    folder.tcverify(&format!("check {ada} d.npy")).expect(0);
    folder.tcverify(&format!("check {ada} e.npy")).expect(1);
    folder
        .tcverify(&format!("check {product} d.npy"))
        .refuses(&["a.npy", "4x0", "at least 1"]);
    folder
        .tcverify(&format!("check {product} --schedule cutlass-sm90 d.npy"))
        .refuses(&["a.npy", "4x0", "at least 1"]);
}

/// Every option of a split changes what it says.
#[test]
fn splits_are_changed_by_options() {
    let folder = Folder::new();
    let product = "--arch h100 --dtype fp16 generate:1:normal:4x1000 generate:2:normal:1000x6";
    let mut seen = Vec::new();
    for options in [
        "--schedule cublas-workspace-f32 --split-k 4",
        "--schedule cublas-workspace-f32 --split-k 4 --set grain=48",
        "--schedule cublas-workspace-f32 --split-k 4 --set sum_order=pairwise",
        "--schedule cublas-workspace-f32 --split-k 4 --set sum_order=adjacent",
        "--schedule cublas-workspace-f32 --split-k 4 --set instruction_k=8 --tile-k 32",
        "--schedule cublas-nvjet --split-k 4 --set split=interleaved",
    ] {
        let run = folder.tcverify(&format!("replay {product} {options} -o d.npy"));
        run.expect(0);
        folder
            .tcverify(&format!("check {product} {options} d.npy"))
            .expect(0);
        let d = folder.read("d.npy");
        assert!(!seen.contains(&d), "{options}");
        seen.push(d);
    }
    for (options, words) in [
        (
            "--schedule cublas-nvjet --set grain=64",
            ["cublas-nvjet", "--set split"],
        ),
        (
            "--schedule cublas-splitk-serial --split-k 2 --set sum_order=pairwise",
            ["cublas-splitk-serial", "no partial sums"],
        ),
        (
            "--schedule cublas-sm80 --set instruction_k=24",
            ["tile_k is 64", "instruction_k, 24"],
        ),
    ] {
        folder
            .tcverify(&format!("replay {product} {options} -o e.npy"))
            .refuses(&words);
    }
}
