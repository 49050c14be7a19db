//! Two runs of a program, step by step.

use serde_json::{Value, json};

use super::{compared, made_by};
use crate::support::{Folder, Members, Npy, Says, claims, rows, table};

/// Products that another unit or order gives, an operation between them, and what reads its result.
fn two_runs() -> Folder {
    let folder = made_by! {"
        generate generate:1:normal:16x512 --dtype bf16 --role a -o x.npy
        generate generate:2:normal:512x512 --dtype bf16 --role b -o w.npy
        replay --arch a100 --dtype bf16 --d-dtype bf16 x.npy w.npy -o q.npy
        replay --arch a100 --dtype bf16 --d-dtype bf16 --schedule cublas-workspace --split-k 4 x.npy w.npy -o q2.npy
        replay --arch a100 --dtype bf16 --d-dtype bf16 q.npy w.npy -o o.npy
        replay --arch a100 --dtype bf16 --d-dtype bf16 q2.npy w.npy -o o2.npy
    "};
    step_by_step(&folder, "run1.json", "q.npy", "o.npy", ["up", "down"]);
    step_by_step(&folder, "run2.json", "q2.npy", "o2.npy", ["up", "down"]);
    folder
}

/// A product that both runs have, one, and one that reads its result.
fn steps(q: &str, o: &str, [up, down]: [&str; 2]) -> Value {
    let step = |name, a, d| json!({"name": name, "arch": "a100", "dtype": "bf16", "a": a, "b": "w.npy", "d": d});
    json!([
        step("first", "x.npy", "q.npy"),
        step(up, "x.npy", q),
        step(down, q, o)
    ])
}

fn step_by_step(folder: &Folder, name: &str, q: &str, o: &str, names: [&str; 2]) {
    write(folder, name, &steps(q, o, names));
}

fn write(folder: &Folder, name: &str, cases: &Value) {
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": cases});
    folder.write(name, manifest.to_string());
}

#[test]
fn the_first_step_that_differs() {
    compared! {two_runs(), r#"
        run1.json run2.json | 1
            | DIFFERENT  up is the first that differs | its operands are equal; the step before it is equal
            | 1 step with different operands and a different result | BOTH EXPLAINED
            | a different order of additions | a is the result of up
            | :verdict = different | :first = 1
            | :steps.0.result = equal | :steps.1.result = begins | :steps.2.result = inherits | :steps.3 = null
            | :steps.2.differing_operands = ["a"]
            | :steps.1.explanations.product.explained = both | :steps.1.explanations.product.relation = order
        # Nothing is searched unless it is wanted.
        run1.json run2.json --explain 0 | 1 | :steps.1.explanations = null
    "#};
}

#[test]
fn equal_runs_and_other_names() {
    let folder = two_runs();
    step_by_step(
        &folder,
        "renamed.json",
        "q.npy",
        "o.npy",
        ["layer.up", "layer.down"],
    );
    compared! {folder, "
        run1.json run1.json | 0 | EQUAL  all 3 steps have the same bits | :first = null
        # Steps of other names are linked by what they read, those of one name by that.
        run1.json renamed.json | 0 | 2 steps by their operands | layer.down on the right
            | :steps.2.linked_by = operands | :steps.2.right_name = layer.down
    "};
}

/// One run transposes the file that both read: its operands are not equal.
#[test]
fn a_transposed_file_is_another_operand() {
    let folder = made_by! {"
        generate generate:1:normal:16x32 --dtype bf16 --role a -o x.npy
        generate generate:2:normal:32x32 --dtype bf16 --role b -o w.npy
        replay --arch a100 --dtype bf16 x.npy w.npy -o d.npy
        replay --arch a100 --dtype bf16 --transpose-b x.npy w.npy -o t.npy
    "};
    for (name, d, turned) in [("run1.json", "d.npy", false), ("run2.json", "t.npy", true)] {
        let case = json!([{"name": "one", "arch": "a100", "dtype": "bf16", "a": "x.npy", "b": "w.npy", "d": d,
            "transpose_b": turned}]);
        write(&folder, name, &case);
    }
    compared! {folder, r#"run1.json run2.json | 1 | :steps.0.differing_operands = ["b"] | :steps.0.result = inherits"#};
}

/// One run keeps sums that the other one has rounded: what reads them reads other bits.
#[test]
fn a_rounded_result_is_not_the_same() {
    let folder = two_runs();
    folder.replay("--arch a100 --dtype bf16 x.npy w.npy", "wide.npy");
    step_by_step(&folder, "wide.json", "wide.npy", "o.npy", ["up", "down"]);
    compared! {folder, "
        wide.json run1.json | 1 | up is the first that differs | equal after the left one is rounded to bf16
            | :verdict = different | :steps.1.result = begins
            | :steps.1.reason = equal after the left one is rounded to bf16 | :steps.1.explanations = null
        # With differences beside the rounding, both are said.
        wide.json run2.json | 1 | :steps.1.reason = compared after the left one is rounded to bf16
    "};
}

/// The same bytes are other numbers in another shape or format.
#[test]
fn bytes_alone_do_not_make_results_equal() {
    let folder = two_runs();
    let numbers: Vec<u8> = (0..=255).flat_map(|i| [i, 1, 2, 63]).collect();
    folder.save(
        "turned.npy",
        &Npy::new("<V2", &[32, 256], folder.payload("x.npy")),
    );
    for (name, a, descr, shape) in table! {
        ("one", "x.npy", "<f4", &[16, 16][..]),
        ("shape", "x.npy", "<f4", &[8, 32]),
        ("format", "x.npy", "<i4", &[16, 16]),
        ("empty", "x.npy", "<f4", &[0, 16]),
        // An operand of another shape is another operand.
        ("turned", "turned.npy", "<f4", &[16, 16]),
    } {
        let d = format!("{name}-d.npy");
        let bytes = numbers[..4 * shape.iter().product::<usize>()].to_vec();
        folder.save(&d, &Npy::new(descr, shape, bytes));
        let step =
            json!([{"name": "one", "arch": "a100", "dtype": "bf16", "a": a, "b": "w.npy", "d": d}]);
        write(&folder, &format!("{name}.json"), &step);
    }
    for [files, reason] in rows! {"
        one.json shape.json | left is 16x16, right is 8x32
        one.json format.json | left holds fp32, right holds int32
        empty.json empty.json | it has no elements to compare
    "}
    {
        let said = folder.fails(&format!("compare {files} --json -"));
        said.says_all([r#""result": "unknown""#, reason]);
    }
    compared! {folder, r#"one.json turned.json | 0 | EQUAL  the one step has the same bits
    | :steps.0.differing_operands = ["a"]"#};
}

#[test]
fn steps_of_one_run_alone_are_a_difference() {
    let folder = two_runs();
    let all = steps("q.npy", "o.npy", ["up", "down"]);
    write(&folder, "short.json", &json!([all[0], all[1]]));
    compared! {folder, r#"run1.json short.json | 1 | no common step differs, but 1 step occurs in only one run
    | 1 step only in the left run: down | :left.alone = ["down"]"#};
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
    claims! {folder, "compare run1.json partial.json | 2 | 1 products that ran were not recorded"}
    let found = folder.fails("compare run1.json partial.json --json -");
    found.says("\"verdict\": \"incomplete\"");
}

/// A norm that two libraries compute in their own ways: the variants are named.
#[test]
fn an_operation_begins_the_difference() {
    let folder = crate::operations::copied();
    for (name, y) in [("one.json", "f_hf.npy"), ("other.json", "f_vllm.npy")] {
        let step = json!([{"name": "norm", "operation": "rms_norm", "eps": "1e-6", "x": "f_x.npy",
            "weight": "f_w.npy", "y": y}]);
        write(&folder, name, &step);
    }
    let found = compared! {folder, "one.json other.json | 1 | norm is the first that differs | it is the first step
    | hf-eager | vllm"};
    let variants = &found["steps"][0]["explanations"]["variants"];
    let eager = [0, 1].map(|side| {
        variants[side]
            .as_array()
            .unwrap()
            .contains(&json!("hf-eager"))
    });
    assert_eq!(eager, [true, false], "{variants}");
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
    claims! {folder, "
        each compare ~ | refused
        q.npy q2.npy x.npy w.npy --policy strict --accept explained | accepts only equal
        run1.json run2.json --accept explained | applies only to two results
        run1.json run2.json --arch h100 | two runs name their own
        run1.json run2.json --transpose-b | two runs name their own
        run1.json run2.json x.npy w.npy | two runs name their own
        run1.json run2.json --policy p.json | is in the folder of the cases
        run1.json missing.json | missing.json
    "}
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
    claims! {folder, "compare {words} --arch h100 --json - | 1 | :kernels.differing = []"}
    let split = "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT";
    let words = format!("q.npy q2.npy x.npy w.npy --kernel1 {one} --kernel2 {split}");
    let found = folder.differing(&format!("compare {words} --arch h100 --json -"));
    let kernels = &found["kernels"];
    let differs = !kernels.list("differing").is_empty();
    assert!(differs || !kernels["undecided"].is_null(), "{kernels}");
}
