//! Texts that say all, or that are completed.

use super::{FILES, LOG, NVJET, product};
use crate::support::{Folder, Members, Says, claims, holds, ran, words};
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
    let default = LOG.replace(
        "scaleType=R_32F",
        "scaleType=R_32F epilogue=EPILOGUE_DEFAULT",
    );
    claims! {product(), "
        check --kernel {NVJET} --arch h100 --dtype bf16 --split-k 3 {FILES} | 0
        check --kernel {NVJET} --arch h100 --dtype bf16 --split-k 3 --activation relu {FILES} | 1
        check --kernel `{default}` --arch h100 {FILES} --activation relu | refused | --activation | epilogue DEFAULT
    "}
}

/// A line's factors are the product's; others contradict it.
#[test]
fn a_log_line_states_alpha_and_beta() {
    let folder = product();
    folder.generate("c bf16 3:normal:32x64");
    let [halved, added, odd] =
        [" alpha=0.5 beta=0", " beta=2", " beta=two"].map(|beta| LOG.replace(" beta=0", beta));
    let preset = "--arch hopper --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype bf16 a.npy b.npy";
    let (half, sum) = (
        "a.npy b.npy half.npy",
        "--c c.npy --c-dtype bf16 a.npy b.npy sum.npy",
    );
    folder.write("added.log", format!("{LOG}\n{added}\n"));
    folder.write("halved.log", format!("{LOG}\n{halved}\n"));
    claims! {folder, "
        replay {preset} --alpha 0.5 -o half.npy | 0
        replay {preset} --c c.npy --beta 2 --c-dtype bf16 -o sum.npy | 0

        each check --arch h100 --kernel ~
        `{halved}` {FILES} | 1
        `{halved}` {half} | 0
        `{halved}` --alpha 0.5 {half} | 0
        `{halved}` --alpha 1 {half} | refused | alpha is 0.5 | says 1
        `{LOG}` --alpha 0.5 {half} | 0
        # C is added if beta is not zero.
        `{added}` {sum} | 0
        `{added}` {FILES} | refused | beta is 2 | there is no C
        `{LOG}` {sum} | refused | beta is 0 | C is added
        `{added}` --beta 1 {sum} | refused | beta is 2 | says 1
        `{odd}` {sum} | refused | beta | two | a number

        # Of a log, the line with these factors.
        each check --arch h100 --kernel-log ~
        added.log {FILES} | 0 | line 1
        added.log {sum} | 0 | line 2
        halved.log {FILES} | refused | lines 1 and 2 | kernels or factors
    "}
}

/// The same bits as by the preset; another number of slices, and another instruction, give others.
#[test]
fn a_log_line_is_a_check() {
    let folder = product();
    let other = LOG.replace("numSplitsK=3", "numSplitsK=4");
    let whole = LOG.replace(" numSplitsK=3", "");
    let check = format!("check --kernel `{LOG}` --arch h100 {FILES}");
    claims! {folder, "
        {check} | 0 | kernel    cuBLASLt log line | stated    ALGO_ID 66, operands bf16, D bf16, slices 3
            | given     GPU sm_90 | default   custom option 0 | 3 slices of 1408 k
        check --kernel `{other}` --arch h100 {FILES} | 1
        check --kernel `{whole}` --arch h100 {FILES} | 1
    "}
    let report = folder.json(&format!("{check} --json -"));
    assert_eq!(report["request"]["kernel"], LOG);
    holds! {report, "rule.model.instruction = wgmma | rule.schedule.kernel.kind = cuBLASLt log line"}
    assert!(settings(&report, "stated").contains(&"slices 3".into()));
    assert_eq!(settings(&report, "given"), ["GPU sm_90"]);
    // The command of a report asks for the same.
    let words = shlex::split(report.string("command")).expect("words");
    let again = words[1..].iter().map(String::as_str);
    let again = folder.words(again.chain(["--json", "-"]));
    assert_eq!(again.expect(0).json(), report);
    // Every form names what was stated.
    for form in ["markdown", "junit", "html"] {
        claims! {folder, "{check} --{form} r.{form} | 0"}
        folder
            .text(&format!("r.{form}"))
            .to_lowercase()
            .says("stated");
    }
}

/// GPU, formats and D's format come from a name; the slices are given, and the wrong number is no match.
#[test]
fn a_name_is_completed() {
    let folder = product();
    let report = ran! {folder, "check --kernel {NVJET} --split-k 3 --json - {FILES}"}
        .expect(0)
        .json();
    holds! {report, "request.arch = sm_90 | request.dtype = bf16"}
    assert_eq!(settings(&report, "given"), ["slices 3"]);
    assert_eq!(settings(&report, "follows"), ["reduction COMPUTE_TYPE"]);
    claims! {folder, "
        check --kernel {NVJET} {FILES} | refused | number of slices | --split-k
        check --kernel {NVJET} --split-k 5 {FILES} | 1
        # D of the format that the name says, where nobody else does.
        replay --kernel {NVJET} --split-k 3 a.npy b.npy -o e.npy | 0
        explain --kernel {NVJET} --split-k 3 {FILES} --at 3,4 | 0 | kernel-nvjet
        commit --kernel {NVJET} --split-k 3 {FILES} -o c.json | 0
        check --kernel {NVJET} --split-k 3 --against c.json {FILES} | 0
        check --kernel {NVJET} --split-k 2 --against c.json {FILES} | 1
    "}
    assert_eq!(folder.read("e.npy"), folder.read("d.npy"));
}

/// A bias that the words add and nobody gives is one of zeros, and that is said.
#[test]
fn a_bias_that_nobody_gives() {
    let folder = product();
    let assumed = |name: &str| {
        let report = folder.json(&format!(
            "check --kernel {name} --arch h100 --split-k 3 {FILES} --json -"
        ));
        report["rule"]["schedule"]["kernel"]["assumed"].to_string()
    };
    assumed(&NVJET.replace("_splitK", "_bias_splitK"))
        .says("a bias of zeros: the text says that one is added, and none is given (bias)");
    assumed(NVJET).lacks("bias");
}

/// What nobody knows is reported in every form.
#[test]
fn an_unknown_word_is_reported() {
    let odd = LOG.replace("numSplitsK=3", "numSplitsK=3 wobble=7");
    claims! {product(), r#"
        check --kernel `{odd}` --arch h100 {FILES} | 0 | UNKNOWN   wobble=7
        check --kernel `{odd}` --arch h100 {FILES} --json - | 0 | :rule.schedule.kernel.unknown = ["wobble=7"]
    "#}
}

/// B as the library's log has it, NxK, though nobody says so; and D of a batch that shares one B.
#[test]
fn the_text_says_how_operands_are_stored() {
    let folder = product();
    folder.generate("b bf16 2:normal:64x4096 bt.npy | a bf16 1:normal:4x8x4096 a3.npy");
    let made = "--arch h100 --dtype bf16 --schedule cublas-nvjet-splitk --split-k 3 --d-dtype bf16";
    let asked = format!("--kernel `{LOG}` --arch h100 a.npy bt.npy e.npy");
    let other = LOG.replace("cols=32", "cols=31");
    claims! {folder, "
        replay {made} --transpose-b a.npy bt.npy -o e.npy | 0
        # Nobody asked for what it assumes.
        check {asked} --json - | 0 | :rule.product.transpose_b = true | :request.transpose_b = null | B is stored NxK
        # Whoever asks again is told the same, and so are parts.
        check {asked} --json r.json | 0
        verify-report r.json | 0
        shard plan -n 2 --block-rows 16 {asked} -o plan.json | 0
        shard run plan.json 0 -o p0.json | 0
        shard run plan.json 1 -o p1.json | 0
        # torch folds a batch into the rows of one product.
        replay {made} a3.npy b.npy -o d3.npy | 0
        check --kernel `{LOG}` --arch h100 a3.npy b.npy d3.npy | 0
        check --kernel `{other}` --arch h100 a3.npy b.npy d3.npy | refused | 31x64x4096
    "}
    let merged = folder.json("shard merge plan.json p0.json p1.json -o -");
    let tree = folder.json(&format!("check {asked} --tree --block-rows 16 --json -"));
    // What was believed of the parts is the one thing that is said otherwise.
    for field in words! {"request | schedule | product | inputs | reproduced | outcome"} {
        assert_eq!(merged[field], tree[field], "{field}");
    }
    assert_eq!(merged["verdict"], "identical_in_part");
}

/// k that the library leaves out are named, and D is confirmed as what it is.
#[test]
fn a_dropped_remainder_is_named() {
    let folder = Folder::new();
    let of = "--kernel algo=66,stages=35,splitK=9,reduction=2 --arch h100 --dtype fp16 generate:1:normal:3x8648 \
              generate:2:normal:8648x5";
    claims! {folder, "
        replay {of} -o d.npy | 0
        # A label and its text stand in columns.
        check {of} d.npy | 0 | this D omits the last 8 k (from k=8640) | omits     k 8640 to 8647
        check {of} d.npy --set whole_remainder | 1 | !this D omits
        check {of} d.npy --html r.html | 0
        explain {of} d.npy --at 2,4 | 0 | this D omits the last 8 k (from k=8640) | stated: ALGO_ID 66, slices 9
    "}
    folder
        .text("r.html")
        .says("<dt>Omits</dt><dd>k 8640 to 8647");
}

/// Whoever does not know the kernel is told the same, also of ones times ones, where D is one number.
#[test]
fn a_dropped_remainder_that_nobody_stated_is_named() {
    let folder = Folder::new();
    folder.f16("ones-a.npy", &[16, 584], &[1.0; 16 * 584]);
    folder.f16("ones-b.npy", &[584, 24], &[1.0; 584 * 24]);
    for (operands, alike) in [
        ("generate:1:normal:16x584 generate:2:normal:584x24", false),
        ("ones-a.npy ones-b.npy", true),
    ] {
        let lossy = format!(
            "--arch h100 --dtype fp16 --kernel algo=66,stages=35,splitK=9,reduction=2 {operands}"
        );
        let product = format!("--arch h100 --dtype fp16 {operands}");
        folder.replay(&lossy, "d.npy");
        let causes = folder.differing(&format!("check {product} d.npy --json -"))["causes"].clone();
        let kinds = causes.as_array().expect("a list").iter();
        let kinds: Vec<_> = kinds.map(|cause| cause.string("kind")).collect();
        assert_eq!(
            kinds,
            ["dropped_remainder", "constant"][..1 + usize::from(alike)]
        );
        let sentence = causes[0].string("sentence");
        sentence.says_all(["last 8 of 584 products are missing", "ALGO 66"]);
        claims! {folder, "
            explain {product} d.npy --at 3,4 | 1
                | omits the last 8 k, a known defect of cuBLAS's split nvjet kernels (ALGO 66)
            # Of a D with all k nothing of it is said.
            replay {lossy} --set whole_remainder -o whole.npy | 0
        "}
        let element = folder.tcverify(&format!("explain {product} whole.npy --at 3,4"));
        element.lacks("omits the last");
    }
    let product = "generate:1:normal:16x584 generate:2:normal:584x24";
    claims! {folder, "
        replay --arch h100 --kernel algo=66,stages=35,splitK=9,reduction=2 --dtype fp16 {product} -o d.npy | 0
        identify --dtype fp16 --arch h100 {product} d.npy | 0
            | this D omits the last 8 k (from k=576): a known defect
    "}
}

/// Kernels of CUDA cores: their NaN is NVIDIA's.
#[test]
fn a_kernel_without_tensor_cores() {
    let folder = Folder::new();
    folder.f16_codes("a.npy", &[1, 4], &[0x3c00, 0x7e00, 0x3c00, 0x3c00]);
    folder.f16("b.npy", &[4, 1], &[1.0; 4]);
    let gpu = "--arch h100 --dtype fp16 --kernel algo=16 a.npy b.npy";
    claims! {folder, "
        replay {gpu} -o d.npy | 0
        check {gpu} d.npy --json - | 0 | :rule.model.instruction = ffma
        # The reference has another NaN.
        check --arch ieee-fma --dtype fp16 a.npy b.npy d.npy | 1
        check {gpu} d.npy --instruction wgmma | refused | instruction is ffma | wgmma
    "}
    assert_eq!(folder.codes32("d.npy"), [0x7fff_ffff]);
}

/// A line without layouts has no product, which is not one of no elements.
#[test]
fn lines_of_a_log_that_say_no_product() {
    let folder = Folder::new();
    folder.write("lt.log", "algo=[algoId=66 numSplitsK=3]");
    claims! {folder, "kernels explain --log lt.log | 0
    | line 1: ?, nvjet: no plan: the line does not state the product's shape"}
}
