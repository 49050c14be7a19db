//! Two runs of a program, step by step.

use serde_json::{Value, json};

use super::{compare, made, says};
use crate::support::{Folder, Members, Npy, Says, claims, holds, rows, words};

/// Products that another unit or order gives, an operation between them, and what reads its result.
fn two_runs() -> Folder {
    let folder = made(&[
        "generate generate:1:normal:16x512 --dtype bf16 --role a -o x.npy",
        "generate generate:2:normal:512x512 --dtype bf16 --role b -o w.npy",
        "replay --arch a100 --dtype bf16 --d-dtype bf16 x.npy w.npy -o q.npy",
        "replay --arch a100 --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 4 x.npy w.npy -o q2.npy",
        "replay --arch a100 --dtype bf16 --d-dtype bf16 q.npy w.npy -o o.npy",
        "replay --arch a100 --dtype bf16 --d-dtype bf16 q2.npy w.npy -o o2.npy",
    ]);
    write(
        &folder,
        "run1.json",
        &steps("q.npy", "o.npy", ["up", "down"]),
    );
    write(
        &folder,
        "run2.json",
        &steps("q2.npy", "o2.npy", ["up", "down"]),
    );
    folder
}

/// A product that both runs have, one, and one that reads its result.
fn steps(q: &str, o: &str, [up, down]: [&str; 2]) -> Value {
    let step = |name: &str, a: &str, d: &str| json!({"name": name, "arch": "a100", "dtype": "bf16", "a": a, "b": "w.npy", "d": d});
    json!([
        step("first", "x.npy", "q.npy"),
        step(up, "x.npy", q),
        step(down, q, o)
    ])
}

fn write(folder: &Folder, name: &str, cases: &Value) {
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": cases});
    folder.write(name, manifest.to_string());
}

#[test]
fn the_first_step_that_differs() {
    let folder = two_runs();
    let (text, found) = compare(&folder, "run1.json run2.json", 1);
    says(
        &text,
        &words! {"
            DIFFERENT  up is the first that differs | its operands are equal; the step before it is equal
            | 1 step with different operands and a different result | BOTH EXPLAINED
            | a different order of additions | a is the result of up
        "},
    );
    assert_eq!(
        (&found["verdict"], &found["first"]),
        (&json!("different"), &json!(1))
    );
    let results: Vec<_> = found.list("steps").iter().map(|s| &s["result"]).collect();
    assert_eq!(results, ["equal", "begins", "inherits"]);
    assert_eq!(found["steps"][2]["differing_operands"], json!(["a"]));
    let explained = &found["steps"][1]["explanations"]["product"];
    assert_eq!(
        (&explained["explained"], &explained["relation"]),
        (&json!("both"), &json!("order"))
    );
    // Nothing is searched unless it is wanted.
    let (_, found) = compare(&folder, "run1.json run2.json --explain 0", 1);
    assert_eq!(found["steps"][1]["explanations"], Value::Null);
}

#[test]
fn equal_runs_and_other_names() {
    let folder = two_runs();
    let (text, found) = compare(&folder, "run1.json run1.json", 0);
    says(&text, &["EQUAL  all 3 steps have the same bits"]);
    assert_eq!(found["first"], Value::Null);
    // Steps of other names are linked by what they read, those of one name by that.
    write(
        &folder,
        "renamed.json",
        &steps("q.npy", "o.npy", ["layer.up", "layer.down"]),
    );
    let (text, found) = compare(&folder, "run1.json renamed.json", 0);
    says(
        &text,
        &["2 steps by their operands", "layer.down on the right"],
    );
    holds! {found, "steps.2.linked_by = operands | steps.2.right_name = layer.down"}
}

/// One run transposes the file that both read: its operands are not equal.
#[test]
fn a_transposed_file_is_another_operand() {
    let folder = made(&[
        "generate generate:1:normal:16x32 --dtype bf16 --role a -o x.npy",
        "generate generate:2:normal:32x32 --dtype bf16 --role b -o w.npy",
        "replay --arch a100 --dtype bf16 x.npy w.npy -o d.npy",
        "replay --arch a100 --dtype bf16 --transpose-b x.npy w.npy -o t.npy",
    ]);
    let case = |d: &str, transposed: bool| {
        json!([{"name": "one", "arch": "a100", "dtype": "bf16", "a": "x.npy", "b": "w.npy", "d": d,
            "transpose_b": transposed}])
    };
    write(&folder, "run1.json", &case("d.npy", false));
    write(&folder, "run2.json", &case("t.npy", true));
    let (_, found) = compare(&folder, "run1.json run2.json", 1);
    let step = &found["steps"][0];
    holds! {step, r#"differing_operands = ["b"] | result = inherits"#}
}

/// One run keeps sums that the other one has rounded: what reads them reads other bits.
#[test]
fn a_rounded_result_is_not_the_same() {
    let folder = two_runs();
    folder.passes("replay --arch a100 --dtype bf16 x.npy w.npy -o wide.npy");
    write(
        &folder,
        "wide.json",
        &steps("wide.npy", "o.npy", ["up", "down"]),
    );
    let (text, found) = compare(&folder, "wide.json run1.json", 1);
    let said = "equal after the left one is rounded to bf16";
    says(&text, &["up is the first that differs", said]);
    assert_eq!(found["verdict"], "different");
    let up = &found["steps"][1];
    assert_eq!(
        (&up["result"], &up["reason"], &up["explanations"]),
        (&json!("begins"), &json!(said), &Value::Null)
    );
    // With differences beside the rounding, both are said.
    write(
        &folder,
        "wide2.json",
        &steps("wide.npy", "o.npy", ["up", "down"]),
    );
    let (_, found) = compare(&folder, "wide2.json run2.json", 1);
    holds! {found, "steps.1.reason = compared after the left one is rounded to bf16"}
}

/// The same bytes are other numbers in another shape or format.
#[test]
fn bytes_alone_do_not_make_results_equal() {
    let folder = two_runs();
    let numbers: Vec<u8> = (0..=255).flat_map(|i| [i, 1, 2, 63]).collect();
    for (name, descr, shape) in [
        ("d.npy", "<f4", &[16, 16][..]),
        ("shape.npy", "<f4", &[8, 32]),
        ("format.npy", "<i4", &[16, 16]),
        ("empty.npy", "<f4", &[0, 16]),
    ] {
        let count = 4 * shape.iter().product::<usize>();
        folder.save(name, &Npy::new(descr, shape, numbers[..count].to_vec()));
    }
    let run = |name: &str, a: &str, d: &str| {
        let step =
            json!([{"name": "one", "arch": "a100", "dtype": "bf16", "a": a, "b": "w.npy", "d": d}]);
        write(&folder, name, &step);
    };
    run("one.json", "x.npy", "d.npy");
    run("empty.json", "x.npy", "empty.npy");
    for (other, reason) in [
        ("shape.npy", "left is 16x16, right is 8x32"),
        ("format.npy", "left holds fp32, right holds int32"),
    ] {
        run("other.json", "x.npy", other);
        let found = folder.fails("compare one.json other.json --json -");
        let said = found.stdout;
        said.says("\"result\": \"unknown\"");
        assert!(said.contains(reason), "{said}");
    }
    let found = folder.fails("compare empty.json empty.json --json -");
    let said = found.stdout;
    said.says("it has no elements to compare");
    // An operand of another shape is another operand.
    let x = folder.read("x.npy");
    let elements = x[x.len() - 2 * 16 * 512..].to_vec();
    folder.save("turned.npy", &Npy::new("<V2", &[32, 256], elements));
    run("other.json", "turned.npy", "d.npy");
    let (text, found) = compare(&folder, "one.json other.json", 0);
    says(&text, &["EQUAL  the one step has the same bits"]);
    assert_eq!(found["steps"][0]["differing_operands"], json!(["a"]));
}

#[test]
fn steps_of_one_run_alone_are_a_difference() {
    let folder = two_runs();
    let all = steps("q.npy", "o.npy", ["up", "down"]);
    write(&folder, "short.json", &json!([all[0], all[1]]));
    let (text, found) = compare(&folder, "run1.json short.json", 1);
    says(
        &text,
        &words! {"
            no common step differs, but 1 step occurs in only one run | 1 step only in the left run: down
        "},
    );
    assert_eq!(found["left"]["alone"], json!(["down"]));
}

/// What was not recorded is not known to be equal.
#[test]
fn missed_products_are_no_equality() {
    let folder = two_runs();
    let manifest = json!({
        "schema": "tcverify.manifest/1",
        "coverage": {"seen": 4, "recorded": 3, "left_out": [{"op": "aten::x", "why": "unknown", "calls": 1}]},
        "cases": steps("q.npy", "o.npy", ["up", "down"]),
    });
    folder.write("partial.json", manifest.to_string());
    let run = folder.fails("compare run1.json partial.json");
    let said = "1 products that ran were not recorded";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let found = folder.fails("compare run1.json partial.json --json -");
    found.says("\"verdict\": \"incomplete\"");
}

/// A norm that two libraries compute in their own ways: the variants are named.
#[test]
fn an_operation_begins_the_difference() {
    let folder = crate::operations::copied();
    let step = |y: &str| json!([{"name": "norm", "operation": "rms_norm", "eps": "1e-6", "x": "f_x.npy", "weight": "f_w.npy", "y": y}]);
    write(&folder, "one.json", &step("f_hf.npy"));
    write(&folder, "other.json", &step("f_vllm.npy"));
    let (text, found) = compare(&folder, "one.json other.json", 1);
    says(
        &text,
        &words! {"norm is the first that differs | it is the first step | hf-eager | vllm"},
    );
    let variants = &found["steps"][0]["explanations"]["variants"];
    assert!(
        variants[0].as_array().unwrap().contains(&json!("hf-eager")),
        "{variants}"
    );
    assert!(
        !variants[1].as_array().unwrap().contains(&json!("hf-eager")),
        "{variants}"
    );
}

#[test]
fn a_policy_demands_equal_bits() {
    let folder = two_runs();
    for place in ["in", "outside"] {
        folder.create(place);
    }
    folder.write(
        "p.json",
        r#"{"schema": "tcverify.policy/1", "comparisons": "explained"}"#,
    );
    for [words, said] in rows! {"
        q.npy q2.npy x.npy w.npy --policy strict --accept explained | accepts only equal
        run1.json run2.json --accept explained | applies only to two results
        run1.json run2.json --arch h100 | two runs name their own
        run1.json run2.json --transpose-b | two runs name their own
        run1.json run2.json x.npy w.npy | two runs name their own
        run1.json run2.json --policy p.json | is in the folder of the cases
        run1.json missing.json | missing.json
    "}
    {
        claims! {folder, "compare {words} | refused | {said}"}
    }
    folder.write(
        "outside/p.json",
        r#"{"schema": "tcverify.policy/1", "comparisons": "explained"}"#,
    );
    folder.differs("compare q.npy q2.npy x.npy w.npy --arch a100 --policy strict");
    for name in ["q.npy", "q2.npy"] {
        folder.write(&format!("in/{name}"), folder.read(name));
    }
    folder.passes("compare in/q.npy in/q2.npy x.npy w.npy --arch a100 --policy outside/p.json");
    // Runs under a policy: what it does not allow is read from nowhere.
    folder.differs("compare run1.json run2.json --policy strict");
    let outside = json!([{"name": "one", "arch": "h100", "dtype": "bf16", "a": "/etc/passwd", "b": "w.npy", "d": "q.npy"}]);
    write(&folder, "outside.json", &outside);
    claims! {folder, "compare run1.json outside.json --policy strict | refused | outside.json"}
}

/// Two texts of libraries, before anything is searched.
#[test]
fn words_of_libraries_are_compared_first() {
    let folder = two_runs();
    let one = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT";
    let other = "nvjet_tst_128x64_64x6_2x1_v_bz_TNT";
    let words = format!("q.npy q2.npy x.npy w.npy --kernel1 {one} --kernel2 {other}");
    let found = folder.differing(&format!("compare {words} --arch h100 --json -"));
    assert_eq!(
        found["kernels"]["differing"],
        json!([]),
        "{}",
        found["kernels"]
    );
    let split = "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT";
    let words = format!("q.npy q2.npy x.npy w.npy --kernel1 {one} --kernel2 {split}");
    let found = folder.differing(&format!("compare {words} --arch h100 --json -"));
    let kernels = &found["kernels"];
    let differs = !kernels.list("differing").is_empty();
    assert!(differs || !kernels["undecided"].is_null(), "{kernels}");
}
