//! Nothing is named that was not found: words match what was searched.

use serde_json::Value;

use crate::support::{Folder, Members, Says, claims, holds, ran, rows};

/// A product of a kernel, made by `replay`, and what `identify` says of it: text and JSON.
fn identified(product: &str, operands: &str, options: &str) -> (String, Value) {
    let folder = Folder::new();
    claims! {folder, "replay {product} {operands} -o d.npy | 0"}
    let run = ran! {folder, "identify {options} --json found.json {operands} d.npy"};
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    let json = std::fs::read_to_string(folder.path("found.json")).unwrap();
    (run.stdout, serde_json::from_str(&json).unwrap())
}

fn operands(seed: u64, m: usize, n: usize, k: usize) -> String {
    let other = seed + 1000;
    format!("generate:{seed}:normal:{m}x{k} generate:{other}:normal:{k}x{n}")
}

fn fits(report: &Value) -> &[Value] {
    report.list("fits")
}

fn is_by(fit: &Value, architecture: &str, schedule: &str) -> bool {
    let mut names = fit.list("names").iter();
    fit["schedule"]["name"] == schedule && names.any(|name| name["architecture"] == architecture)
}

/// A BF16 D shows so little that another architecture's one chain gives it, too, now and then. The
/// kernel that made it is found, and nothing else is called the one.
#[test]
#[ignore = "long"]
fn a_narrow_result_is_not_named_after_a_plain_model() {
    let (mut right, mut wrong, mut by_chance) = (0, 0, 0);
    for seed in 1..=2 {
        let operands = operands(seed, 64, 64, 1024);
        for (schedule, more) in [
            ("cublas-sliced", ""),
            ("cutlass-splitk-parallel", "--split-k 3"),
            ("cublas-splitk-serial", "--split-k 3"),
        ] {
            let product =
                format!("--arch ampere --dtype bf16 --d-dtype bf16 --schedule {schedule} {more}");
            let (text, report) = identified(&product, &operands, "--dtype bf16");
            assert!(report["schedules"].number("tested") > 500);
            assert_eq!(report["schedules"]["untested"], 0);
            let fits = fits(&report);
            let found = fits.iter().any(|fit| is_by(fit, "ampere", schedule));
            right += usize::from(found);
            wrong += usize::from(text.starts_with("ONE") && !found);
            by_chance += fits.iter().filter(|fit| fit["schedule"].is_null()).count();
            // A few elements decide, and that is said.
            let nearest = report["nearest_other"].as_u64();
            let weak = nearest.is_none_or(|missed| missed < 16);
            assert_eq!(text.contains("Weak evidence"), weak, "{text}");
            assert!(!weak || !text.starts_with("ONE"), "{text}");
        }
    }
    assert_eq!((right, wrong), (6, 0));
    assert!(
        by_chance > 0,
        "no plain model fits by chance: an easy bench"
    );
}

/// Kernels that are not searched are not named: none fits, or what fits is not called the one.
#[test]
#[ignore = "long"]
fn kernels_outside_the_search_have_no_one_maker() {
    let mut wrong = Vec::new();
    for [seed, dtype, kernel] in rows! {"
        1 | bf16 | --alpha 0.3
        2 | fp16 | --alpha 0.7
        1 | bf16 | --schedule cublas-workspace --split-k 6 --set sum_order=reverse --set partials=f32
        2 | bf16 | --set split=workspace --split-k 3 --set grain=56 --tile-k 8
        3 | fp16 | --schedule cublas-workspace --split-k 7 --set sum_order=pairwise --set partials=f32
    "}
    {
        let seed = seed.parse().unwrap();
        let product = format!("--arch ampere --dtype {dtype} --d-dtype {dtype} {kernel}");
        let operands = operands(seed, 32, 48, 1000);
        let options = format!("--dtype {dtype}");
        let (text, report) = identified(&product, &operands, &options);
        let named = fits(&report).iter().any(|fit| fit["schedule"].is_null());
        if text.starts_with("ONE") {
            wrong.push(format!("{kernel} ({seed}, {named}): {text}"));
        }
        text.says("\n  never: ");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Of a wide D one chain is searched first; then nobody knows of schedules, and nothing is the one.
#[test]
fn a_plain_fit_without_schedules_is_not_the_one() {
    let product = "--arch hopper --dtype bf16";
    let operands = operands(1, 32, 32, 256);
    let (text, report) = identified(product, &operands, "--dtype bf16");
    assert_eq!(report["schedules"], Value::Null);
    assert_eq!(fits(&report).len(), 1);
    text.begins("1 model alone gives all 1,024 elements of D");
    text.says("schedules of kernels were not searched");
    // Searched, they are not missing.
    let (text, _) = identified(product, &operands, "--dtype bf16 --schedules always");
    text.lacks("were not searched");
    text.says("candidates under schedules of kernels");
}

/// Full replays are work, too.
#[test]
fn full_replays_are_within_the_budget() {
    let product = "--arch hopper --dtype bf16";
    let operands = operands(1, 512, 512, 128);
    let (text, report) = identified(product, &operands, "--dtype bf16 --budget 2");
    let fit = &fits(&report)[0];
    holds! {fit, "in_full = false | tested = 1024"}
    text.says("1 that fits was not replayed in full");
    let (_, report) = identified(product, &operands, "--dtype bf16");
    assert_eq!(fits(&report)[0]["in_full"], true);
}

/// Operands that decide between two candidates under schedules do so: what `replay` makes of them differs.
#[test]
fn operands_that_decide_between_schedules_do() {
    let product =
        "--arch ampere --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 3";
    let (_, report) = identified(product, &operands(5, 16, 16, 256), "--dtype bf16");
    let separations = report.list("separations");
    let told = separations
        .iter()
        .filter(|apart| !apart["operands"].is_null());
    let mut checked = 0;
    for apart in told.take(3) {
        let folder = Folder::new();
        let codes = |key: &str| -> Vec<u8> {
            let codes = apart["operands"][key].as_array().unwrap().iter();
            let code = |code: &Value| u16::from_str_radix(code.as_str().unwrap(), 16).unwrap();
            codes.flat_map(|c| code(c).to_le_bytes()).collect()
        };
        let [a, b] = ["a", "b"].map(codes);
        let k = a.len() / 2;
        folder.save("a.npy", &crate::support::Npy::new("<V2", &[1, k], a));
        folder.save("b.npy", &crate::support::Npy::new("<V2", &[k, 1], b));
        let digests = [0, 1].map(|i| {
            let fit = &fits(&report)[apart["between"][i].as_u64().unwrap() as usize];
            let command = fit["names"][0].string("command");
            let options = command.strip_prefix("tcverify check ").unwrap();
            let options = options.split(" generate:").next().unwrap();
            claims! {folder, "replay {options} a.npy b.npy -o d.npy | 0"}
            std::fs::read(folder.path("d.npy")).unwrap()
        });
        assert_ne!(digests[0], digests[1], "{apart}");
        checked += 1;
    }
    assert!(checked > 0, "{separations:#?}");
}
