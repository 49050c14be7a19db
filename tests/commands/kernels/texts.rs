//! Texts that say all, or that are completed.

use super::{FILES, LOG, NVJET, product, with};
use crate::support::{Folder, Npy, Says, claims, holds, words};
use serde_json::Value;

fn settings(report: &Value, how: &str) -> Vec<String> {
    let all = report["rule"]["schedule"]["kernel"]["settings"].as_array();
    let all = all.expect("settings").iter();
    all.filter(|setting| setting["how"] == how)
        .map(|setting| format!("{} {}", setting["name"], setting["value"]).replace('"', ""))
        .collect()
}

/// What is done to the finished sum is not dropped where a text says the order: this D has negative elements.
#[test]
fn an_activation_is_part_of_a_check_by_a_text() {
    let folder = product();
    let check = |more: &str| {
        let more = format!("--arch h100 --dtype bf16 --split-k 3 {more} {FILES}");
        with(&folder, "check", ["--kernel", NVJET], &more)
    };
    check("").expect(0);
    check("--activation relu").expect(1);
    let words = format!("--arch h100 {FILES} --activation relu");
    let default = LOG.replace(
        "scaleType=R_32F",
        "scaleType=R_32F epilogue=EPILOGUE_DEFAULT",
    );
    with(&folder, "check", ["--kernel", &default], &words)
        .refuses(&["--activation", "epilogue DEFAULT"]);
}

/// A line's factors are the product's; others contradict it.
#[test]
fn a_log_line_states_alpha_and_beta() {
    let folder = product();
    let halved = LOG.replace(" beta=0", " alpha=0.5 beta=0");
    let check = |text: &str, more: &str| {
        with(
            &folder,
            "check",
            ["--kernel", text],
            &format!("--arch h100 {more}"),
        )
    };
    check(&halved, FILES).expect(1);
    let preset = "--arch hopper --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype bf16 a.npy b.npy";
    folder.passes(&format!("replay {preset} --alpha 0.5 -o half.npy"));
    let half = "a.npy b.npy half.npy";
    check(&halved, half).expect(0);
    check(&halved, &format!("--alpha 0.5 {half}")).expect(0);
    check(&halved, &format!("--alpha 1 {half}")).refuses(&["alpha is 0.5", "says 1"]);
    check(LOG, &format!("--alpha 0.5 {half}")).expect(0);
    // C is added if beta is not zero.
    folder.passes("generate generate:3:normal:32x64 --dtype bf16 --role c -o c.npy");
    claims! {folder, "replay {preset} --c c.npy --beta 2 --c-dtype bf16 -o sum.npy | 0"}
    let added = LOG.replace(" beta=0", " beta=2");
    let sum = "--c c.npy --c-dtype bf16 a.npy b.npy sum.npy";
    check(&added, sum).expect(0);
    check(&added, FILES).refuses(&["beta is 2", "there is no C"]);
    check(LOG, sum).refuses(&["beta is 0", "C is added"]);
    check(&added, &format!("--beta 1 {sum}")).refuses(&["beta is 2", "says 1"]);
    let odd = LOG.replace(" beta=0", " beta=two");
    check(&odd, sum).refuses(&["beta", "two", "a number"]);
    // Of a log, the line with these factors.
    folder.write("lt.log", format!("{LOG}\n{added}\n"));
    for (files, line) in [(FILES, "line 1"), (sum, "line 2")] {
        let run = folder.tcverify(&format!("check --arch h100 --kernel-log lt.log {files}"));
        let run = run.expect(0);
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
    folder.write("lt.log", format!("{LOG}\n{halved}\n"));
    claims! {folder, "check --arch h100 --kernel-log lt.log {FILES} | refused | lines 1 and 2
    | kernels or factors"}
}

/// The same bits as by the preset; another number of slices, and another instruction, give others.
#[test]
fn a_log_line_is_a_check() {
    let folder = product();
    let gpu = format!("--arch h100 {FILES}");
    let text = with(&folder, "check", ["--kernel", LOG], &gpu).expect(0);
    text.says_all(words! {"
        kernel    cuBLASLt log line | stated    ALGO_ID 66, operands bf16, D bf16, slices 3
        | given     GPU sm_90 | default   custom option 0 | 3 slices of 1408 k
    "});
    let other = LOG.replace("numSplitsK=3", "numSplitsK=4");
    with(&folder, "check", ["--kernel", &other], &gpu).expect(1);
    let whole = LOG.replace(" numSplitsK=3", "");
    with(&folder, "check", ["--kernel", &whole], &gpu).expect(1);

    let report = with(
        &folder,
        "check",
        ["--kernel", LOG],
        &format!("{gpu} --json -"),
    );
    let report = report.expect(0).json();
    assert_eq!(report["rule"]["model"]["instruction"], "wgmma");
    assert_eq!(report["request"]["kernel"], LOG);
    holds! {report, "rule.schedule.kernel.kind = cuBLASLt log line"}
    assert!(settings(&report, "stated").contains(&"slices 3".into()));
    assert_eq!(settings(&report, "given"), ["GPU sm_90"]);
    // The command of a report asks for the same.
    let words = shlex::split(report["command"].as_str().expect("a command")).expect("words");
    let again = words[1..].iter().map(String::as_str);
    let again = folder.words(again.chain(["--json", "-"]));
    assert_eq!(again.expect(0).json(), report);
    // Every form names what was stated.
    for form in ["--markdown", "--junit", "--html"] {
        let more = format!("{gpu} {form} r");
        with(&folder, "check", ["--kernel", LOG], &more).expect(0);
        let written = folder.text("r");
        assert!(written.to_lowercase().contains("stated"), "{form}");
        std::fs::remove_file(folder.path("r")).expect("written");
    }
}

/// GPU, formats and D's format come from a name; the slices are given, and the wrong number is no match.
#[test]
fn a_name_is_completed() {
    let folder = product();
    let check = |more: &str| {
        with(
            &folder,
            "check",
            ["--kernel", NVJET],
            &format!("{more} {FILES}"),
        )
    };
    check("").refuses(&["number of slices", "--split-k"]);
    let report = check("--split-k 3 --json -").expect(0).json();
    holds! {report, "request.arch = sm_90 | request.dtype = bf16"}
    assert_eq!(settings(&report, "given"), ["slices 3"]);
    assert_eq!(settings(&report, "follows"), ["reduction COMPUTE_TYPE"]);
    check("--split-k 5").expect(1);
    // D of the format that the name says, where nobody else does.
    let run = with(
        &folder,
        "replay",
        ["--kernel", NVJET],
        "--split-k 3 a.npy b.npy -o e.npy",
    );
    run.expect(0);
    assert_eq!(folder.read("e.npy"), folder.read("d.npy"));
    let run = with(
        &folder,
        "explain",
        ["--kernel", NVJET],
        &format!("--split-k 3 {FILES} --at 3,4"),
    );
    run.expect(0).says("kernel-nvjet");
    let run = with(
        &folder,
        "commit",
        ["--kernel", NVJET],
        &format!("--split-k 3 {FILES} -o c.json"),
    );
    run.expect(0);
    check("--split-k 3 --against c.json").expect(0);
    check("--split-k 2 --against c.json").expect(1);
}

/// A bias that the words add and nobody gives is one of zeros, and that is said.
#[test]
fn a_bias_that_nobody_gives() {
    let folder = product();
    let assumed = |name: &str| {
        let more = format!("--arch h100 --split-k 3 {FILES} --json -");
        let report = with(&folder, "check", ["--kernel", name], &more);
        let report = report.expect(0).json();
        report["rule"]["schedule"]["kernel"]["assumed"].to_string()
    };
    let name = NVJET.replace("_splitK", "_bias_splitK");
    let words = "a bias of zeros: the text says that one is added, and none is given (bias)";
    assert!(assumed(&name).contains(words), "{}", assumed(&name));
    assumed(NVJET).lacks("bias");
}

/// What nobody knows is reported in every form.
#[test]
fn an_unknown_word_is_reported() {
    let folder = product();
    let odd = LOG.replace("numSplitsK=3", "numSplitsK=3 wobble=7");
    let gpu = format!("--arch h100 {FILES}");
    let text = with(&folder, "check", ["--kernel", &odd], &gpu).expect(0);
    text.says("UNKNOWN   wobble=7");
    let json = with(
        &folder,
        "check",
        ["--kernel", &odd],
        &format!("{gpu} --json -"),
    );
    let json = json.expect(0).json();
    holds! {json, r#"rule.schedule.kernel.unknown = ["wobble=7"]"#}
}

/// B as the library's log has it, NxK, though nobody says so; and D of a batch that shares one B.
#[test]
fn the_text_says_how_operands_are_stored() {
    let folder = product();
    folder.passes("generate generate:2:normal:64x4096 --dtype bf16 --role b -o bt.npy");
    let made = "--arch h100 --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype bf16";
    claims! {folder, "replay {made} --transpose-b a.npy bt.npy -o e.npy | 0"}
    let run = with(
        &folder,
        "check",
        ["--kernel", LOG],
        "--arch h100 a.npy bt.npy e.npy --json -",
    );
    let report = run.expect(0).json();
    assert_eq!(report["rule"]["product"]["transpose_b"], true);
    // Nobody asked for it.
    assert_eq!(report["request"]["transpose_b"], Value::Null);
    let assumed = report["rule"]["schedule"]["kernel"]["assumed"].to_string();
    assumed.says("B is stored NxK");
    // Whoever asks again is told the same, and so are parts.
    folder.write("r.json", report.to_string());
    folder.passes("verify-report r.json");
    let asked = "--arch h100 a.npy bt.npy e.npy";
    let plan = format!("-n 2 --block-rows 16 {asked} -o plan.json");
    let words = ["shard", "plan", "--kernel", LOG].into_iter();
    folder.words(words.chain(plan.split(' '))).expect(0);
    for part in ["0", "1"] {
        folder.passes(&format!("shard run plan.json {part} -o p{part}.json"));
    }
    let merged = folder.tcverify("shard merge plan.json p0.json p1.json -o -");
    let tree = format!("{asked} --tree --block-rows 16 --json -");
    let tree = with(&folder, "check", ["--kernel", LOG], &tree).expect(0);
    // What was believed of the parts is the one thing that is said otherwise.
    let [merged, tree] = [merged.expect(0).json(), tree.json()];
    for field in words! {"request | schedule | product | inputs | reproduced | outcome"} {
        assert_eq!(merged[field], tree[field], "{field}");
    }
    assert_eq!(merged["verdict"], "identical_in_part");

    // torch folds a batch into the rows of one product.
    folder.passes("generate generate:1:normal:4x8x4096 --dtype bf16 --role a -o a3.npy");
    folder.passes(&format!("replay {made} a3.npy b.npy -o d3.npy"));
    let files = "--arch h100 a3.npy b.npy d3.npy";
    with(&folder, "check", ["--kernel", LOG], files).expect(0);
    let other = LOG.replace("cols=32", "cols=31");
    with(&folder, "check", ["--kernel", &other], files).refuses(&["31x64x4096"]);
}

/// k that the library leaves out are named, and D is confirmed as what it is.
#[test]
fn a_dropped_remainder_is_named() {
    let folder = Folder::new();
    let text = "algo=66,stages=35,splitK=9,reduction=2";
    let product = "--arch h100 --dtype fp16 generate:1:normal:3x8648 generate:2:normal:8648x5";
    let run = |command: &str, more: &str| {
        with(
            &folder,
            command,
            ["--kernel", text],
            &format!("{product} {more}"),
        )
    };
    run("replay", "-o d.npy").expect(0);
    let text = run("check", "d.npy").expect(0).stdout;
    text.says("this D omits the last 8 k (from k=8640)");
    // A label and its text stand in columns.
    text.says("omits     k 8640 to 8647");
    let whole = run("check", "d.npy --set whole_remainder").expect(1).stdout;
    whole.lacks("this D omits");
    run("check", "d.npy --html r.html").expect(0);
    let page = folder.text("r.html");
    page.says("<dt>Omits</dt><dd>k 8640 to 8647");
    let element = run("explain", "d.npy --at 2,4").expect(0).stdout;
    element.says("this D omits the last 8 k (from k=8640)");
    element.says("stated: ALGO_ID 66, slices 9");
}

/// Whoever does not know the kernel is told the same, also of ones times ones, where D is one number.
#[test]
fn a_dropped_remainder_that_nobody_stated_is_named() {
    let folder = Folder::new();
    let ones = |name: &str, shape: &[usize]| {
        let count = shape.iter().product();
        let codes = std::iter::repeat_n(0x3c00u16.to_le_bytes(), count);
        folder.save(
            name,
            &Npy::new("<f2", shape, codes.flatten().collect::<Vec<u8>>()),
        );
    };
    ones("ones-a.npy", &[16, 584]);
    ones("ones-b.npy", &[584, 24]);
    for (operands, alike) in [
        ("generate:1:normal:16x584 generate:2:normal:584x24", false),
        ("ones-a.npy ones-b.npy", true),
    ] {
        let product = format!("--dtype fp16 {operands} d.npy");
        let lossy = "replay --arch h100 --kernel algo=66,stages=35,splitK=9,reduction=2";
        folder.passes(&format!("{lossy} --dtype fp16 {operands} -o d.npy"));
        let causes =
            folder.differing(&format!("check --arch h100 {product} --json -"))["causes"].clone();
        let kinds = causes.as_array().expect("a list").iter();
        let kinds: Vec<_> = kinds
            .map(|cause| cause["kind"].as_str().expect("a word"))
            .collect();
        assert_eq!(
            kinds,
            if alike {
                vec!["dropped_remainder", "constant"]
            } else {
                vec!["dropped_remainder"]
            }
        );
        let sentence = causes[0]["sentence"].as_str().expect("a sentence");
        sentence.says_all(["last 8 of 584 products are missing", "ALGO 66"]);
        let element = folder.tcverify(&format!("explain --arch h100 {product} --at 3,4"));
        let element = element.expect(1).stdout;
        let words = "omits the last 8 k, a known defect of cuBLAS's split nvjet kernels (ALGO 66)";
        assert!(element.contains(words), "{element}");
        // Of a D with all k nothing of it is said.
        let whole = format!("{lossy} --set whole_remainder --dtype fp16 {operands} -o whole.npy");
        folder.passes(&whole);
        let other = product.replace("d.npy", "whole.npy");
        let element = folder.tcverify(&format!("explain --arch h100 {other} --at 3,4"));
        element.lacks("omits the last");
    }
    let search =
        "identify --dtype fp16 --arch h100 generate:1:normal:16x584 generate:2:normal:584x24";
    claims! {folder, "
        replay --arch h100 --kernel algo=66,stages=35,splitK=9,reduction=2 --dtype fp16 generate:1:normal:16x584 generate:2:normal:584x24 -o d.npy
            | 0
        {search} d.npy | 0 | this D omits the last 8 k (from k=576): a known defect
    "}
}

/// Kernels of CUDA cores: their NaN is NVIDIA's.
#[test]
fn a_kernel_without_tensor_cores() {
    let folder = Folder::new();
    let nan = [0x3c00u16, 0x7e00, 0x3c00, 0x3c00];
    let codes = |all: &[u16]| all.iter().flat_map(|code| code.to_le_bytes()).collect();
    folder.save("a.npy", &Npy::new("<f2", &[1, 4], codes(&nan)));
    folder.save("b.npy", &Npy::new("<f2", &[4, 1], codes(&[0x3c00; 4])));
    let kernel = ["--kernel", "algo=16"];
    let gpu = "--arch h100 --dtype fp16";
    let run = with(
        &folder,
        "replay",
        kernel,
        &format!("{gpu} a.npy b.npy -o d.npy"),
    );
    run.expect(0);
    let d = folder.read("d.npy");
    assert_eq!(d[d.len() - 4..], 0x7fff_ffffu32.to_le_bytes());
    let run = with(
        &folder,
        "check",
        kernel,
        &format!("{gpu} a.npy b.npy d.npy --json -"),
    );
    assert_eq!(run.expect(0).json()["rule"]["model"]["instruction"], "ffma");
    // The reference has another NaN.
    folder.differs("check --arch ieee-fma --dtype fp16 a.npy b.npy d.npy");
    with(
        &folder,
        "check",
        kernel,
        &format!("{gpu} --instruction wgmma a.npy b.npy d.npy"),
    )
    .refuses(&["instruction is ffma", "wgmma"]);
}

/// A line without layouts has no product, which is not one of no elements.
#[test]
fn lines_of_a_log_that_say_no_product() {
    let folder = Folder::new();
    folder.write("lt.log", "algo=[algoId=66 numSplitsK=3]");
    claims! {folder, "kernels explain --log lt.log | 0
    | line 1: ?, nvjet: no plan: the line does not state the product's shape"}
}
