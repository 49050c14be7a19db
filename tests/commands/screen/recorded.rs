//! Suites of a workload's own products.

use tcverify::screen::{Fleet, Level, Suite};

use crate::support::{Folder, Run, Says, claims};

/// A folder with operands, and a manifest of these cases.
fn captured(cases: &[&str]) -> Folder {
    let folder = Folder::new();
    for (spec, role, name) in [
        ("generate:1:normal:32x64", "a", "a"),
        ("generate:2:cancel:32x64", "a", "a2"),
        ("generate:3:normal:64x24", "b", "b"),
        ("generate:4:normal:24x64", "b", "w"),
        ("generate:5:normal:1x24", "c", "bias"),
    ] {
        claims! {folder, "generate {spec} --dtype bf16 --role {role} -o {name}.npy --quiet | 0"}
    }
    // A bias has one axis.
    let mut bias = folder.read("bias.npy");
    let [two, one] = [b"(1, 24), }", b"(24,), }  "];
    let shape = bias.windows(two.len()).position(|bytes| bytes == two);
    let shape = shape.expect("a shape of two axes");
    bias[shape..shape + one.len()].copy_from_slice(one);
    folder.write("bias.npy", bias);
    let replay = |of: &str, d: &str| {
        claims! {folder, "replay --arch h100 --dtype bf16 --d-dtype bf16 {of} -o {d}.npy --quiet | 0"}
    };
    replay("a.npy b.npy", "plain");
    replay("a2.npy w.npy --transpose-b", "linear");
    replay("a.npy b.npy --bias bias.npy", "biased");
    folder.flip("plain.npy", "wrong.npy", 2, 1);
    let cases = cases.join(",\n");
    folder.write(
        "manifest.json",
        format!(
            "{{\"schema\": \"tcverify.manifest/1\", \"defaults\": {{\"arch\": \"h100\", \"dtype\": \"bf16\"}}, \"cases\": [{cases}]}}"
        ),
    );
    folder
}

const PLAIN: &str =
    r#"{"name": "00000 layers/0 mm", "a": "a.npy", "b": "b.npy", "d": "plain.npy"}"#;
const AGAIN: &str =
    r#"{"name": "00001 layers/1 mm", "a": "a.npy", "b": "b.npy", "d": "plain.npy"}"#;
const LINEAR: &str = r#"{"name": "00002 layers/2 linear", "a": "a2.npy", "b": "w.npy", "transpose_b": true, "d": "linear.npy"}"#;
const BIASED: &str = r#"{"name": "00003 layers/3 addmm", "a": "a.npy", "b": "b.npy", "bias": "bias.npy", "d": "biased.npy"}"#;
const WRONG: &str =
    r#"{"name": "wrong", "a": "a.npy", "b": "b.npy", "kernel": "no kernel", "d": "wrong.npy"}"#;
const DIFFERENT: &str = r#"{"name": "different", "a": "a.npy", "b": "b.npy", "schedule": "batch-invariant", "d": "wrong.npy"}"#;

fn judged(folder: &Folder, suite: &str, code: i32) -> (Run, Fleet) {
    let judge = format!("screen judge --suite {suite} r.json --json fleet.json");
    let run = folder.tcverify(&judge).expect(code);
    let fleet = folder.typed("fleet.json");
    (run, fleet)
}

#[test]
fn a_capture_becomes_a_suite() {
    let folder = captured(&[PLAIN, AGAIN, LINEAR, BIASED]);
    let made = folder.passes("screen record manifest.json -o own.json");
    // Operands that are used twice make one product.
    made.begins("hopper recorded: 3 products, 5 operands");
    made.says("recorded.1.00002-layers-2-linear  32x24x64, right by one chain over K");
    let (suite, _) = Suite::read(&folder.path("own.json")).unwrap();
    assert_eq!(suite.level, Level::Recorded);
    assert_eq!(suite.products[1].check.transpose_b, Some(true));

    // Nodes have it elsewhere.
    folder.create("node");
    for name in ["own.json", "own.json.operands"] {
        folder.rename(name, &format!("node/{name}"));
    }
    let run = "screen run node/own.json --device simulated -o r.json";
    folder.passes(run);
    let (said, fleet) = judged(&folder, "node/own.json", 0);
    said.begins("CLEAN  1 GPU: ");
    assert_eq!(
        (fleet.level.as_str(), fleet.gpus[0].compared),
        ("recorded", 3)
    );

    // A fault that acts on these operands is found in them, and named.
    let inject = format!("{run} --rounds 3 --inject operand:bit=6,stuck=1,k=3,lane=5,sm=5");
    folder.differs(&inject);
    let (said, _) = judged(&folder, "node/own.json", 1);
    said.begins("FAULTY  1 GPU: ");
    said.says("bit 6 stuck at 1 of an operand of A (product 3 of a step)");
    // Another order of sums is no fault here either.
    claims! {folder, "{run} --inject schedule:cublas-workspace,split-k=2 | 1"}
    let (said, _) = judged(&folder, "node/own.json", 1);
    said.says("1 another kernel");
}

#[test]
fn what_is_not_known_to_be_right_stays_out() {
    let folder = captured(&[PLAIN, DIFFERENT]);
    claims! {folder, "screen record manifest.json -o own.json | 1 | ^hopper recorded: 1 products
    | left out  different: its D is not what the model computes"}
    let folder = captured(&[WRONG, DIFFERENT]);
    let refused = folder.tcverify("screen record manifest.json -o own.json");
    refused.refuses(&[
        "no product of the capture can be in a suite",
        "the first, wrong, was refused: ",
    ]);
    assert!(
        !folder
            .names()
            .iter()
            .any(|name| name.starts_with("own.json"))
    );
    claims! {folder, "
        screen record manifest.json -o - | refused | name a file
        screen make --arch h100 --suite recorded -o x.json | 2
    "}
}

#[test]
fn operands_are_those_that_were_recorded() {
    let folder = captured(&[PLAIN]);
    folder.passes("screen record manifest.json -o own.json --quiet");
    let operands = folder.path("own.json.operands");
    let entries = std::fs::read_dir(&operands).unwrap();
    let one = entries.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut bytes = std::fs::read(&one).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&one, bytes).unwrap();
    let run = "screen run own.json --device simulated -o r.json";
    claims! {folder, "{run} | refused | its name is not its SHA-256"}
    std::fs::remove_dir_all(&operands).unwrap();
    claims! {folder, "{run} | refused | the folder own.json.operands belongs beside the suite"}
}
