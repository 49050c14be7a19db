//! `--resume`: nothing is judged twice, and nothing that changed is believed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::products::{flip, manifest, small, usual};
use crate::support::{Folder, Members, Npy, claims, ran, set, sha256, table, words};

const FORGED: &str = "from the state";

/// Changes the verdicts' sentences in the state, so that one that is taken from there shows it, and seals it
/// anew.
fn forge(folder: &Folder) {
    let text = folder.text("s.json");
    let version = env!("CARGO_PKG_VERSION");
    let sealed = text.lines().map(|line| {
        let (_, content) = line.split_once("\"content\":").unwrap();
        let content = content.strip_suffix('}').unwrap();
        let content = content.replace("all 32 elements of D are reproduced", FORGED);
        let (schema, digest) = ("tcverify.batch-state/1", sha256(&content));
        format!(
            "{{\"schema\":\"{schema}\",\"tool\":\"{version}\",\"sha256\":\"{digest}\",\"content\":{content}}}\n"
        )
    });
    let sealed: String = sealed.collect();
    assert!(sealed.contains(FORGED));
    folder.write("s.json", sealed);
}

/// Which cases of the next run come from the state.
fn recalled(folder: &Folder, code: i32) -> Vec<bool> {
    let run = ran! {folder, "batch cases.json --resume s.json --json -"}.expect(code);
    let report = run.json();
    let cases = report.list("cases").iter();
    let sentence = |case: &Value| case["summary"]["sentence"].to_string().contains(FORGED);
    cases.map(sentence).collect()
}

fn two() -> Folder {
    let folder = small();
    folder.copy("x.npy", "x2.npy");
    let preset = folder.passes("schedules --raw cublas-workspace");
    folder.write("mine.json", &preset.stdout);
    claims! {folder, "replay --arch h100 --dtype fp16 --schedule-file mine.json --split-k 2 x.npy w.npy -o k.npy | 0"}
    let cases = json!([
        {"name": "plain"},
        {"name": "kernel", "a": "x2.npy", "schedule_file": "mine.json", "split_k": 2, "d": "k.npy"},
    ]);
    manifest(&folder, usual(), cases);
    folder.passes("batch cases.json --resume s.json");
    forge(&folder);
    folder
}

#[test]
fn what_has_not_changed_is_not_judged_again() {
    let folder = two();
    assert_eq!(recalled(&folder, 0), [true, true]);
    // It stays in the state.
    assert_eq!(recalled(&folder, 0), [true, true]);
}

/// Blocks of K and a compressed A change the model, but not whether it is known from before.
#[test]
fn what_changes_the_model_is_recalled() {
    let folder = small();
    let meta = Npy::new("<u4", &[4, 2], vec![0x44; 32]);
    folder.save("meta.npy", &meta);
    folder.f16("t.npy", &[4, 64], &[0.5; 256]);
    folder.f16("u.npy", &[64, 8], &[1.5; 512]);
    let blocks = "--instruction hifi4 --acc fp32 --set in0_block_w=1 --set reload=exact";
    folder.replay(
        "--arch a100 --dtype fp16 --sparse-a meta.npy x.npy u.npy",
        "s.npy",
    );
    folder.replay(
        &format!("--arch wormhole --dtype fp16 {blocks} t.npy u.npy"),
        "t_d.npy",
    );
    let cases = json!([
        {"name": "sparse", "arch": "a100", "b": "u.npy", "sparse_a": "meta.npy", "d": "s.npy"},
        {"name": "blocks", "arch": "wormhole", "instruction": "hifi4", "acc": "fp32", "in0_block_w": 1,
            "reload": "exact", "a": "t.npy", "b": "u.npy", "d": "t_d.npy"},
    ]);
    manifest(&folder, usual(), cases);
    folder.passes("batch cases.json --resume s.json");
    forge(&folder);
    assert_eq!(recalled(&folder, 0), [true, true]);
}

/// Each of both cases is judged again when what it rests on is another.
#[test]
fn what_changed_is_judged_again() {
    type Change = fn(&Folder);
    for (what, change, code, known) in table! {
        ("an operand", (|of| flip(of, "x2.npy", "x2.npy", 1)) as Change, 1, [true, false]),
        ("a D", |of| flip(of, "d.npy", "d.npy", 2), 1, [false, true]),
        ("a schedule", |of| edit(of, "mine.json", "title", r#""Another""#), 0, [true, false]),
        ("an option", |of| edit(of, "cases.json", "cases.0.zero", r#""any""#), 0, [false, true]),
    } {
        let folder = two();
        change(&folder);
        assert_eq!(recalled(&folder, code), known, "{what}");
    }
}

/// Puts JSON into a document in a file.
fn edit(folder: &Folder, name: &str, at: &str, json: &str) {
    let mut document = folder.document(name);
    set(&mut document, at, json);
    folder.write(name, document.to_string());
}

#[test]
fn a_changed_commitment_is_judged_again() {
    let folder = small();
    let commit = |d: &str| {
        let product = format!("--arch h100 --dtype fp16 x.npy w.npy {d}");
        let _ = std::fs::remove_file(folder.path("c.json"));
        folder.passes(&format!("commit {product} -o c.json"));
    };
    commit("d.npy");
    let cases = json!([{"name": "committed", "against": "c.json"}]);
    manifest(&folder, usual(), cases);
    let judge = || folder.tcverify("batch cases.json --resume s.json");
    judge().expect(0);
    forge(&folder);
    assert_eq!(recalled(&folder, 0), [true]);
    flip(&folder, "d.npy", "other.npy", 1);
    commit("other.npy");
    judge().expect(2);
}

#[test]
fn what_could_not_be_judged_is_tried_again() {
    let folder = small();
    manifest(&folder, usual(), json!([{"name": "one", "d": "later.npy"}]));
    folder.fails("batch cases.json --resume s.json");
    folder.copy("d.npy", "later.npy");
    folder.passes("batch cases.json --resume s.json");
}

#[test]
fn a_damaged_state_is_refused() {
    let folder = two();
    let whole = folder.read("s.json");
    let mut flipped = whole.clone();
    let at = whole.len() / 2;
    flipped[at] ^= 1;
    let version = String::from_utf8(whole.clone()).unwrap();
    let version = version.replace("\"tool\":\"", "\"tool\":\"9").into_bytes();
    for (state, words) in [
        (&whole[..20], "damaged"),
        (&flipped, "damaged"),
        (&version, "written by tcverify 9"),
        (&b"{}"[..], "damaged"),
        (&b""[..], "empty"),
    ] {
        folder.write("s.json", state);
        claims! {folder, "batch cases.json --resume s.json --json r.json | refused | s.json | remove it | {words}"}
        assert_eq!(folder.read("s.json"), state);
        assert!(!folder.path("r.json").exists());
    }
}

/// Cases that take some time: the exact engine works on them.
fn slow(count: usize) -> Folder {
    let folder = Folder::new();
    let cases = (0..count).map(|i| {
        let [a, b] = [
            format!("generate:{i}:normal:160x96"),
            format!("generate:9{i}:normal:96x160"),
        ];
        claims! {folder, "replay --arch h100 --dtype fp16 {a} {b} -o d{i}.npy | 0"}
        json!({"name": format!("case {i}"), "a": a, "b": b, "d": format!("d{i}.npy")})
    });
    let cases = cases.collect();
    let defaults = json!({"arch": "h100", "dtype": "fp16", "engine": "exact"});
    manifest(&folder, defaults, cases);
    folder
}

#[test]
fn killed_in_the_middle_it_goes_on() {
    let folder = slow(8);
    let finished = |folder: &Folder| -> usize {
        let text = std::fs::read_to_string(folder.path("s.json")).unwrap_or_default();
        text.matches("\"options_sha256\"").count()
    };
    let mut command = folder.command();
    command
        .args(words! {"batch | cases.json | --resume | s.json | --json | r.json | --threads | 1"});
    command.stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while finished(&folder) < 2 {
        assert!(begun.elapsed().as_secs() < 120, "no case is ever finished");
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = finished(&folder);
    assert!((2..8).contains(&kept), "{kept} of 8 were finished");
    assert!(!folder.path("r.json").exists(), "no report of a part");

    let text = folder.text("s.json");
    folder.write("s.json", &text);
    folder.passes("batch cases.json --resume s.json --json r.json");
    assert_eq!(finished(&folder), 8);
    folder.passes("batch cases.json --json whole.json");
    assert_eq!(folder.read("r.json"), folder.read("whole.json"));
}

/// What a kill cuts off is the last line.
#[test]
fn a_line_without_an_end_is_judged_again() {
    let folder = two();
    let whole = folder.read("s.json");
    let ends: Vec<usize> = (0..whole.len()).filter(|&i| whole[i] == b'\n').collect();
    assert_eq!(ends.len(), 3);
    for cut in [ends[2], ends[2] - 1, ends[1] + 5, ends[1] + 1] {
        folder.write("s.json", &whole[..cut]);
        let found = recalled(&folder, 0);
        assert_eq!(found.iter().filter(|known| **known).count(), 1, "{cut}");
        let text = folder.text("s.json");
        assert_eq!(text.lines().count(), 3);
        assert!(text.ends_with('\n'));
    }
    folder.write("s.json", &whole[..=ends[0]]);
    assert_eq!(recalled(&folder, 0), [false, false]);
}

/// The work of keeping a verdict does not grow with those that are kept.
#[test]
fn a_state_grows_by_the_lines_of_its_cases() {
    let folder = small();
    let cases = (0..400).map(|i| json!({"name": format!("{i}")})).collect();
    manifest(&folder, usual(), cases);
    let run = || folder.tcverify("batch cases.json --resume s.json --json r.json --quiet");
    run().expect(0);
    let (state, report) = (folder.read("s.json"), folder.read("r.json"));
    let lines = state.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines, 401);
    run().expect(0);
    assert!(folder.read("s.json") == state, "nothing was judged again");
    assert!(folder.read("r.json") == report, "the same report");
    folder.passes("batch cases.json --json r.json --quiet");
    assert!(folder.read("r.json") == report, "the same report");
}

#[test]
fn a_state_serves_one_batch_at_a_time() {
    let folder = two();
    let run = || folder.tcverify("batch cases.json --resume s.json");
    let state = folder.read("s.json");
    // As a batch that runs holds it.
    let held = std::fs::File::open(folder.path("s.json")).unwrap();
    held.lock().unwrap();
    run().refuses(&["s.json", "another batch"]);
    assert!(folder.read("s.json") == state);
    drop(held);
    run().expect(0);
}
