//! What a library's words leave open, searched; and kernels of CUDA cores with the options that they have.

use serde_json::Value;

use crate::support::{Folder, Says, claims, holds, ran};

const NVJET: &str = "nvjet_sm90_tss_64x104_64x10_4x1_v_bz_splitK_TNT";
const AMPERE: &str = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";

/// A folder with A and B of these sizes, and D as `how` computes it.
fn product(shape: [usize; 3], how: &str) -> Folder {
    let folder = Folder::new();
    let [m, n, k] = shape;
    for (seed, size, role) in [(1, [m, k], "a"), (2, [k, n], "b")] {
        let [rows, columns] = size;
        claims! {folder, "generate generate:{seed}:normal:{rows}x{columns} --dtype bf16 --role {role} -o {role}.npy
        | 0"}
    }
    folder.passes(&format!("replay --dtype bf16 {how} a.npy b.npy -o d.npy"));
    folder
}

fn fits(report: &Value) -> &Vec<Value> {
    report["fits"].as_array().expect("a list")
}

/// `name value (how)` of a setting of a fit.
fn setting(fit: &Value, name: &str) -> String {
    let settings = fit["schedule"]["kernel"]["settings"].as_array();
    let mut settings = settings.expect("a kernel's").iter();
    let one = settings.find(|setting| setting["name"] == name);
    let one = one.unwrap_or_else(|| panic!("{name} in {fit}"));
    format!("{} {}", one["value"], one["how"]).replace('"', "")
}

/// The command of a fit gives this D.
fn confirm(folder: &Folder, fit: &Value) {
    for name in fit["names"].as_array().expect("a list") {
        let command = name["command"].as_str().expect("a command");
        let words = shlex::split(command).expect("words");
        folder
            .words(words[1..].iter().map(String::as_str))
            .expect(0);
    }
}

#[test]
fn slices_that_a_name_leaves_open_are_found() {
    for slices in [3, 5] {
        let how = format!("--arch h100 --schedule cublas-nvjet-splitk --split-k {slices}");
        let folder = product([24, 40, 1536], &how);
        let search = format!("identify --kernel {NVJET} a.npy b.npy d.npy");
        let report = folder.passes(&format!("{search} --json -"));
        let report = report.json();
        let [fit] = &fits(&report)[..] else {
            panic!("{report}")
        };
        assert_eq!(setting(fit, "slices"), format!("{slices} found"));
        assert_eq!(setting(fit, "GPU"), "sm_90 stated");
        assert_eq!(setting(fit, "operands"), "bf16 stated");
        assert_eq!(fit["names"][0]["architecture"], "hopper");
        confirm(&folder, fit);
        claims! {folder, "{search} | 0 | found: slices {slices} | stated: GPU sm_90, operands bf16
            | --split-k {slices}
            | never: orders that contradict the kernel text: omit --kernel"}
    }
}

#[test]
fn how_slices_meet_is_found_too() {
    let how = "--arch a100 --d-dtype bf16 --schedule cublas-workspace --tile-k 64 --split-k 4";
    let folder = product([24, 40, 1000], how);
    let search = format!("identify --kernel {AMPERE} a.npy b.npy d.npy --json -");
    let report = folder.json(&search);
    let found = fits(&report);
    assert!(!found.is_empty());
    for fit in found {
        assert_eq!(setting(fit, "slices"), "4 found");
        assert_eq!(setting(fit, "reduction"), "OUTPUT_TYPE found");
        assert_eq!(setting(fit, "tile k"), "64 stated");
        confirm(&folder, fit);
    }
    // What the text says stands: no kernel of nvjet gives this.
    assert!(
        fits(&folder.differing(&search.replace(AMPERE, &NVJET.replace("tss", "tst")))).is_empty()
    );
}

/// The headline counts what was searched: no models alone where a kernel is stated.
#[test]
fn the_headline_says_what_the_words_allow() {
    let how = "--arch h100 --schedule cublas-nvjet-splitk --split-k 3";
    let folder = product([24, 40, 1536], how);
    let ask = |kernel: &str, more: &str| {
        let command = format!("identify --kernel {kernel} {more} a.npy b.npy d.npy");
        let report = folder.tcverify(&format!("{command} --json -")).json();
        (folder.tcverify(&command), report)
    };
    let (run, report) = ask(NVJET, "");
    assert_eq!(report["kernel"], NVJET);
    assert_eq!(report["plain"], 0);
    let tested = report["schedules"]["tested"].as_u64().expect("a number");
    assert!(tested > 5, "{tested}");
    let words = format!(
        "ONE  gives all 960 elements of D, of {tested} candidates that the kernel text allows"
    );
    let text = run.expect(0).stdout;
    assert_eq!(text.lines().next(), Some(&words[..]), "{text}");
    // None of them: one chain over K.
    folder.passes("replay --dtype bf16 --arch h100 a.npy b.npy -o other.npy");
    let other = folder.tcverify(&format!("identify --kernel {NVJET} a.npy b.npy other.npy"));
    let words = format!("NONE  gives this D, of {tested} candidates that the kernel text allows");
    let text = other.expect(1).stdout;
    assert!(text.starts_with(&words), "{text}");
    text.lacks("models alone");
    // Nothing left open: one candidate, with nothing to compare it with.
    let (run, _) = ask(
        "algo=66,stages=35,splitK=3,reduction=2",
        "--dtype bf16 --arch h100",
    );
    let text = run.expect(0).stdout;
    text.begins("1 candidate gives all 960 elements of D (of 1 candidate of hopper that the kernel text allows");
    text.says("determines the order, so nothing else was tested");
    // Without words nothing is said of them.
    let plain = ran! {folder, "identify --dtype bf16 --json - a.npy b.npy d.npy"}.json();
    assert_eq!(plain["kernel"], Value::Null);
}

/// A D of few bits, which orders with many numbers of slices give: one line of the text has them, with what was
/// found of all.
#[test]
fn slices_that_are_tied_share_a_line() {
    let how = "--arch h100 --d-dtype bf16 --schedule cublas-nvjet-splitk --split-k 3";
    let folder = product([4, 6, 1536], how);
    let name = NVJET.replace("tss", "tst");
    let search = format!("identify --kernel {name} a.npy b.npy d.npy");
    let report = folder.json(&format!("{search} --json -"));
    assert!(fits(&report).len() > 3, "{report}");
    let text = folder.stdout(&search);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains("- kernel-nvjet"))
        .collect();
    let [line] = lines[..] else { panic!("{text}") };
    let slices = line
        .trim()
        .strip_prefix("- kernel-nvjet: ")
        .expect("numbers of slices");
    text.says(&format!(
        "found: slices {}",
        slices.trim_end_matches(" slices")
    ));
}

/// Lanes that share an element of D as no preset says: 16 of them, with pieces of K.
#[test]
fn custom_options_of_gemv_kernels_are_found() {
    let folder = product([1, 40, 300], "--arch h100 --kernel algo=13,custom=44");
    let search = "identify --dtype bf16 a.npy b.npy d.npy --json -";
    let report = folder.json(search);
    let kernels = fits(&report).iter();
    let kernels: Vec<&Value> = kernels
        .filter(|fit| fit["schedule"]["kernel"].is_object())
        .collect();
    assert!(!kernels.is_empty(), "{report}");
    for fit in kernels {
        let options = ["44 found", "54 found", "90 found", "72 found", "100 found"];
        let custom = setting(fit, "custom option");
        assert!(options.contains(&custom.as_str()), "{custom}");
        assert_eq!(fit["schedule"]["kernel"]["family"], "gemv");
        confirm(&folder, fit);
    }
    // Others do not give it.
    claims! {folder, "check --arch h100 --dtype bf16 --kernel algo=13,custom=42 a.npy b.npy d.npy | 1"}
}

#[test]
fn a_scale_of_results_is_taken_into_account() {
    let folder = Folder::new();
    let product = "--dtype e4m3 generate:1:normal:16x640 generate:2:normal:640x24";
    let scaled = "--scale-result 0.37 --d-dtype e4m3";
    claims! {folder, "replay --arch ada {product} {scaled} --schedule cublas-ada-fp8-pairwise --split-k 3 -o d.npy
    | 0"}
    let search = format!("identify {product} d.npy --d-dtype e4m3 --json -");
    let report = folder.tcverify(&format!("{search} --scale-result 0.37"));
    let report = report.expect(0).json();
    let first = &fits(&report)[0];
    holds! {first, "schedule.name = cublas-ada-fp8-pairwise | schedule.overrides.split_k = 3"}
    confirm(&folder, first);
    assert!(fits(&folder.differing(&search)).is_empty());
    assert!(fits(&folder.differing(&format!("{search} --scale-result 0.38"))).is_empty());
}

/// A batch that shares one B is one product for the library.
#[test]
fn a_line_about_a_shared_b_is_about_the_batch() {
    let folder = Folder::new();
    for (spec, role) in [("1:normal:4x2x64", "a"), ("2:normal:64x8", "b")] {
        claims! {folder, "generate generate:{spec} --dtype bf16 --role {role} -o {role}.npy | 0"}
    }
    let line = "algo=[algoId=66 stages=MATMUL_STAGES_64xAUTO] Adesc=[type=R_16BF rows=8 cols=64] \
                Bdesc=[type=R_16BF rows=64 cols=8] Ddesc=[type=R_16BF rows=8 cols=8] \
                computeDesc=[computeType=COMPUTE_32F]";
    let with = |words: &str| {
        let (command, files) = words.split_once(' ').expect("two");
        let kernel = [command, "--arch", "h100", "--kernel", line];
        folder.words(kernel.into_iter().chain(files.split_whitespace()))
    };
    with("replay a.npy b.npy -o d.npy").expect(0);
    with("check a.npy b.npy d.npy").expect(0);
    let report = with("identify a.npy b.npy d.npy --json -").expect(0).json();
    assert_eq!(fits(&report).len(), 1, "{report}");
    confirm(&folder, &fits(&report)[0]);
    let other = line
        .replace("rows=64 cols=8]", "rows=64 cols=6]")
        .replace("rows=8 cols=8]", "rows=8 cols=6]");
    let other = ["identify", "--kernel", &other, "a.npy", "b.npy", "d.npy"];
    folder.words(other).refuses(&["2x8x64", "6x8x64"]);
}

#[test]
fn words_that_do_not_fit_the_files_are_refused() {
    let folder = product([4, 6, 320], "--arch h100");
    let refused = |kernel: &str, more: &str, words: &[&str]| {
        let command = format!("identify --kernel {kernel} {more} a.npy b.npy d.npy");
        folder.tcverify(&command).refuses(words);
    };
    refused("gibberish", "", &["gibberish", "kernels list"]);
    refused(NVJET, "--dtype fp16", &["a.npy", "bf16"]);
    refused(NVJET, "--arch a100", &["a kernel of sm_90", "sm_80"]);
    refused("algo=41", "--dtype bf16", &["ALGO_ID 41"]);
    claims! {folder, "identify --kernel algo=66,splitK=999,reduction=2 --dtype bf16 a.npy b.npy d.npy | refused
    | 999 parts | K is 320"}
    refused("algo=13", "--dtype bf16", &["one row or one column"]);
    let rounded = NVJET.replace("tss", "tst");
    refused(&rounded, "--d-dtype fp32", &["bf16", "fp32"]);
    claims! {folder, "identify --kernel {NVJET} --schedules never a.npy b.npy d.npy | refused | --kernel
    | this search excludes schedules of kernels"}
    claims! {folder, "identify --scale-result 2 --schedules never a.npy b.npy d.npy | refused
    | --scale-result | this search excludes schedules of kernels"}
}
