//! Every variant against the independent program, and wrong rules that must differ.

use serde_json::{Value, json};

use super::copied;
use crate::support::{Folder, Members, Npy, Says, claims, holds, rows, table};

fn cases(manifest: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(super::fixtures().join(manifest)).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest.list("cases").clone()
}

#[test]
fn every_operation_is_reproduced() {
    let folder = copied();
    let report = folder.json("batch operations.json --json -");
    assert!(report["totals"].number("identical") >= 45);
    // By integers, too.
    let text = folder.text("operations.json");
    let exact = text.replace("\"operation\"", "\"engine\": \"exact\", \"operation\"");
    folder.write("exact.json", exact);
    folder.passes("batch exact.json --quiet");
}

/// What the sheet warns of: each gives other bits, and is no variant.
#[test]
fn wrong_arithmetic_differs() {
    let folder = copied();
    let report = folder.differing("batch wrong.json --json -");
    let cases = report.list("cases");
    assert!(cases.len() >= 24);
    // As many elements as the independent program finds changed.
    let counts: Value = folder.document("counts.json");
    for case in cases {
        let name = case.string("name");
        assert_eq!(case["verdict"], "different", "{name}");
        let found = &case["report"]["outcome"]["comparison"]["mismatches"];
        assert_eq!(found, &counts[name], "{name}");
    }
    let causes = |name: &str| {
        let case = cases.iter().find(|case| case["name"] == name).unwrap();
        case["report"].list("causes").clone()
    };
    // One of them is a variant, and said to be.
    let found = causes("no_norm_up");
    found[0].string("sentence").says("hf-eager-2.9");
    assert!(causes("no_norm_in_turn").is_empty());
}

/// A constant of a variant's rule, changed in a file, gives another result.
#[test]
fn another_constant_is_another_result() {
    let folder = copied();
    let wrong = table! {
        ("f_hf", "/rule/sum/lanes", json!("up")),
        ("f_fused", "/rule/sum/warps", json!("serial")),
        ("f_vllm", "/rule/sum/threads", json!({"single": {"most": 1024, "few": null}})),
        ("f_flashinfer", "/rule/mean", json!("divide")),
        ("f_flashinfer", "/rule/fused_eps", json!(true)),
        ("op_add", "/rule/output", json!("rounded_once")),
        ("f_ln", "/rule/merged_mean", json!("second")),
        ("f_ln", "/rule/vector", json!(2)),
        // Narrower blocks, as many rows have them.
        ("f_hf", "/rule/sum/threads/reduce/threads", json!(128)),
        ("f_hf26", "/rule/sum/threads/reduce/threads", json!(128)),
        // A warp for a long row instead of all of the block's.
        ("f_hf_long", "/rule/sum/threads/reduce/shared", json!(64)),
        // As long as fits no more.
        ("f_soft1104", "/rule/shared_bytes", json!(4416)),
        ("f_soft1104w", "/rule/longest_of_warp", json!(1024)),
        ("f_soft2101", "/rule/longest_of_warp", json!(4096)),
        ("f_soft9300", "/rule/registers", json!(10)),
        ("f_soft33", "/rule/divide", json!("full")),
        ("f_soft1104", "/rule/shared_bytes", json!(0)),
        ("f_soft1000", "/rule/longest_of_warp", json!(512)),
        ("f_silu", "/rule/divide", json!("full")),
        ("f_silu_te", "/rule/form", json!("quotient")),
        ("f_silu_fi", "/rule/exponential", json!("expf")),
        ("op_mul_fi", "/rule/rounded_between", json!(true)),
        ("op_fp8_te", "/rule/apply", json!("divide")),
        ("op_fp8_group", "/rule/granularity", json!("token")),
        ("op_rope", "/rule/interleaved", json!(true)),
        ("n4_sum", "/rule/thread/rescale_from", json!(0)),
        ("n4_sum", "/rule/thread/sum", json!("in_order")),
        ("n4_sum", "/rule/thread/ascending", json!(true)),
        ("n4_sum", "/rule/thread/polynomial/last_fragment", json!(true)),
        ("n4_causal", "/rule/thread/polynomial/under_masks", json!(false)),
        ("n4_sum", "/rule/thread/polynomial/of_frequency", json!(3)),
        ("n4_sum", "/rule/tiles/1/polynomial/frequency", json!(10)),
        ("n4_sum", "/rule/tiles/1/polynomial/first_fragment", json!(0)),
        ("n4", "/rule/thread/rescale_from", json!(0)),
    };
    let all = cases("operations.json");
    for (name, pointer, value) in &wrong {
        let case = all.iter().find(|case| case["name"] == *name).unwrap();
        let [operation, variant] = ["operation", "variant"].map(|name| case.string(name));
        let mut variant = folder.json(&format!("ops --raw {operation} {variant}"));
        let (of, field) = pointer.rsplit_once('/').unwrap();
        // What a file leaves out is the default.
        let at = &mut variant.pointer_mut(of).unwrap()[field];
        assert_ne!(at, value, "{name} {pointer}");
        *at = value.clone();
        let known = json!({"evidence": "inferred", "source": ["a"]});
        variant["known_by"] = json!({"*": known});
        variant["evidence"] = json!("inferred");
        variant["sources"] = json!({"a": "a test"});
        folder.write("mine.json", variant.to_string());
        let mut case = case.clone();
        case.as_object_mut().unwrap().remove("variant");
        case["variant_file"] = json!("mine.json");
        case["no_causes"] = json!(true);
        let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
        folder.write("one.json", manifest.to_string());
        let report = folder.differing("batch one.json --json -");
        holds! {report, "cases.0.verdict = different", "{name} {pointer}"}
    }
}

#[test]
fn variants_are_identified() {
    let folder = copied();
    let text = folder.stdout("identify --op rms_norm --eps 1e-6 f_x.npy f_w.npy f_vllm24.npy");
    for [name, said] in rows! {"
        vllm-2024 | identical
        hf-eager | different
        vllm-fused-add | does not take these arrays
    "}
    {
        let is = |line: &&str| line.contains(&format!(" {name} "));
        text.lines().find(is).unwrap().begins(said);
    }
    folder.differs("identify --op rms_norm --eps 1e-6 op_x.npy op_w.npy op_sum.npy");
}

/// What no GPU of this kind has is no name for what it computed.
#[test]
fn attention_is_named_by_what_the_gpu_has() {
    let folder = copied();
    let words = "identify --op attention --tile 32x16 op_q.npy op_k.npy op_v.npy op_fa.npy --arch";
    let line = |arch: &str| {
        let text = folder.tcverify(&format!("{words} {arch}")).stdout;
        let mut lines = text
            .lines()
            .filter(|line| line.contains(" flash-attention-3 "));
        lines.next().unwrap().to_owned()
    };
    assert!(line("a100").starts_with("does not take these arrays"));
    assert!(!line("h100").starts_with("does not take these arrays"));
}

/// Tiles of GPUs that share a name differ: which one is meant must be said.
#[test]
fn tiles_are_those_of_the_gpu() {
    let folder = Folder::new();
    for (name, n) in [("q.npy", 80), ("k.npy", 80)] {
        let codes = (0..n * 128u32).flat_map(|i| (0x3f00 + (i * 37 % 127) as u16).to_le_bytes());
        let shape = [1, n as usize, 1, 128];
        folder.save(name, &Npy::new("<V2", &shape, codes.collect()));
    }
    let about = |words: &str| {
        let check =
            "check --op attention q.npy k.npy k.npy k.npy --dtype bf16 --no-causes --json -";
        let report = folder.differing(&format!("{check} {words}"));
        report["rule"].string("about").to_owned()
    };
    for (arch, tile) in [
        ("a100", "blocks of 128 by 64 keys"),
        ("A100-SXM4-80GB", "blocks of 128 by 64 keys"),
        ("h100", "blocks of 128 by 64 keys"),
        ("a10", "blocks of 128 by 32 keys"),
        ("L40S", "blocks of 128 by 32 keys"),
        ("8.6", "blocks of 128 by 32 keys"),
        ("rtx3090 --causal", "blocks of 64 by 64 keys"),
        ("ampere --tile 128x64", "blocks of 128 by 64 keys"),
    ] {
        let text = about(&format!("--arch {arch}"));
        assert!(text.contains(tile), "{arch}: {text}");
        text.says("scores times 0.088388346");
    }
    claims! {folder, "check --op attention q.npy k.npy k.npy k.npy --dtype bf16 --arch ampere | refused
    | name the GPU | --tile"}
}

#[test]
fn a_report_has_every_form() {
    let folder = copied();
    let op = "check --op rms_norm --variant hf-eager --eps 1e-6";
    let wrong = format!("{op} f_x.npy f_w.npy f_hf26.npy");
    let text = folder.differs(&wrong).stdout;
    text.begins("DIFFERENT  ");
    text.says("Another variant fits: hf-eager-2.9");
    // The command that it suggests finds the result identical.
    let suggested = |line: &&str| line.contains("tcverify check --op=") && line.contains("2.9");
    let command = text.lines().find(suggested).unwrap();
    let words = command.trim().strip_prefix("tcverify ").unwrap();
    claims! {folder, r"{words} | 0 | ^IDENTICAL under a published rule \_"}
    let forms = "--json r.json --junit r.xml --markdown r.md --html r.html --quiet --github";
    let github = folder.differs(&format!("{wrong} {forms}")).stdout;
    github.begins("::error title=tcverify%3A different::");
    let report: Value = folder.document("r.json");
    assert_eq!(report["schema"], "tcverify.report/1");
    let read: tcverify::report::Report = serde_json::from_value(report.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), report);
    let page = |name: &str| folder.text(name);
    roxmltree::Document::parse(&page("r.xml")).unwrap();
    assert!(page("r.xml").contains("type=\"different\""));
    assert!(page("r.md").starts_with("## \u{274c} Different"));
    assert!(page("r.html").contains("operation by operation"));
    let brief = folder.differs(&format!("{wrong} --brief")).stdout;
    assert_eq!(brief.lines().count(), 1, "{brief}");
    let said =
        "DIFFERENT  294 of 1,600 elements of the result differ (18.4 %); rms_norm hf-eager (";
    assert!(brief.starts_with(said), "{brief}");
    let same = folder.stdout(&format!("{words} --brief"));
    same.begins("IDENTICAL under a published rule  ");
    assert!(same.ends_with("(published)\n"), "{same}");
    // Nothing of a sentence is beyond the width that there is.
    let mut command = folder.command();
    command.args(wrong.split_whitespace()).env("COLUMNS", "60");
    let narrow = folder.run(&mut command).expect(1).stdout;
    let cut = |line: &&str| {
        let digest = line.split_whitespace().any(|word| word.len() == 64);
        !digest && !line.contains(" --op=")
    };
    for line in narrow.lines().filter(cut) {
        assert!(line.chars().count() <= 60, "{line}");
    }
    // A request in a report asks for the same.
    let mut case = report["request"].clone();
    case["name"] = json!("again");
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": [case]});
    folder.write("m.json", manifest.to_string());
    let again = folder.differing("batch m.json --json -");
    assert_eq!(again["cases"][0]["report"], report);
}

#[test]
fn an_element_is_explained() {
    let folder = copied();
    let explain = |words: &str, code| {
        let run = folder.tcverify(&format!("explain --op {words}"));
        run.expect(code).stdout
    };
    let eager = "rms_norm --variant hf-eager --eps 1e-6 op_x.npy op_w.npy op_hf.npy --at 1,7";
    let text = explain(eager, 0);
    // Of what is for single elements, the one that is asked for.
    assert_eq!(text.matches("round to bf16").count(), 2, "{text}");
    text.says_all(["squares, added by", "MUFU.RSQ", "round to bf16", "the same"]);
    // A causal row does not see the last keys.
    claims! {folder, r"explain --op attention --arch a100 --tile 32x16 op_q.npy op_k.npy op_v.npy op_fac.npy --causal --at 0,30,0,5
        | 0 | MUFU.EX2 | scaled to the new maximum | block 2 of 3: keys 16 to 31 | q . key 16\_
        | the largest score so far | accumulator 5\_ | MUFU.RCP | !q . key 39 | !accumulator 6\_"}
    // Another order of lanes is one number more or less in the sum, and nowhere before the lanes.
    let norm = "rms_norm --variant hf-eager --eps 1e-6 no_f8.npy no_w.npy";
    let text = explain(&format!("{norm} no_norm_up.npy --at 1,7"), 1);
    text.says("elements of the row that differ: 231");
    let said = text.split_once("give the whole captured row").unwrap().1;
    said.says("first of them:\n  the first warp, lane by lane\n    add ");
    // One element: only what is for it alone, or for all.
    folder.flip("op_silu.npy", "bad.npy", 2, 1);
    let text = explain("silu op_a.npy bad.npy --at 3,255", 1);
    text.says("elements of the row that differ: 1\n");
    text.says("1 of 9 operations");
    text.says("round to bf16");
    // The same rows, two by two.
    for (name, flat) in [("a3.npy", "op_a.npy"), ("bad3.npy", "bad.npy")] {
        let data = folder.read(flat)[128..].to_vec();
        folder.save(name, &Npy::new("<V2", &[2, 2, 256], data));
    }
    let batched = explain("silu a3.npy bad3.npy --at 1,1,255", 1);
    let row = "elements of the row that differ: 1\n";
    batched.says(row);
    batched.says("1 of 9 operations");
    assert!(!explain("silu a3.npy bad3.npy --at 1,0,255", 0).contains(row));
    // A larger error is no operation's next number.
    folder.flip("op_silu.npy", "bad.npy", 2, 0x40);
    let text = explain("silu op_a.npy bad.npy --at 3,255", 1);
    text.says("a single operation to the next number never");
    text.says("9 were tried");
    claims! {folder, "explain --op rms_norm --eps 1e-6 op_x.npy op_w.npy --at 9,9 | refused | 3x400"}
}

#[test]
fn results_are_computed_and_named_by_digest() {
    let folder = copied();
    let replay = "replay --op rms_norm --variant vllm --eps 1e-6 op_x.npy op_w.npy -o z.npy";
    let run = folder.passes(replay);
    let digest = run.stdout.split_whitespace().next().unwrap().to_owned();
    assert_eq!(folder.payload("z.npy"), folder.payload("op_vllm.npy"));
    let norm = "check --op rms_norm --variant vllm --eps 1e-6 op_x.npy op_w.npy";
    let check = format!("{norm} --y-digest {digest}");
    folder.passes(&check);
    folder.differs(&check.replace("vllm", "hf-eager"));
    // Nothing is written over.
    folder.fails(&replay.replace("z.npy", "op_x.npy"));
}

/// A batch goes on where it was, and a changed variant is judged anew.
#[test]
fn a_batch_of_operations_is_resumed() {
    let folder = copied();
    folder.passes("batch operations.json --resume s.json --quiet");
    let report =
        |folder: &Folder| folder.tcverify("batch operations.json --resume s.json --json -");
    assert_eq!(report(&folder).expect(0).json()["verdict"], "identical");
    folder.flip("op_fa.npy", "op_fa.npy", 1, 1);
    assert_eq!(report(&folder).expect(1).json()["totals"]["different"], 1);
}

/// An option that only products or only operations have is refused with what it is about.
#[test]
fn options_of_the_other_kind_are_refused() {
    let folder = copied();
    for [words, option] in rows! {"
        check --op gelu op_a.npy op_gelu.npy --schedule plain | --schedule
        check --op=gelu op_a.npy op_gelu.npy --transpose-b | --transpose-b
        --threads 1 replay op_a.npy --op gelu -o y.npy --d-dtype bf16 | --d-dtype
        explain --op gelu op_a.npy --at 0,0 --steps all | --steps
    "}
    {
        claims! {folder, "{words} | 2 | {option} | about products, and --op names an operation"}
    }
    for [words, option] in rows! {"
        check op_a.npy op_gelu.npy --eps 1e-6 | --eps
        identify op_a.npy op_a.npy op_gelu.npy --causal | --causal
        commit op_a.npy op_a.npy op_gelu.npy --softmax-scale=2 | --softmax-scale
    "}
    {
        claims! {folder, "{words} | 2 | {option} | about operations between products"}
    }
    // What neither has is not said to be of the other.
    claims! {folder, "check --op gelu op_a.npy --nonsense | 2 | !about products"}
    claims! {folder, "identify --op gelu op_a.npy op_gelu.npy --variant x | 2 | --variant"}
    for option in ["--against none.json", "--tree", "--no-causes"] {
        let words = format!("identify --op gelu op_a.npy op_gelu.npy {option}");
        claims! {folder, "{words} | refused | applies only to a check"}
    }
    claims! {folder, "explain --op gelu --help | 0 | --at <I,J> | --eps"}
}
