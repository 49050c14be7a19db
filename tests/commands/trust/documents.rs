//! Every document with every field changed, one at a time: no verdict turns, nothing crashes, and nothing is written that
//! was not asked for. `TCVERIFY_ATTACKS=1` or more tries all of them, a test run some of each.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::reports::changed;
use crate::support::{Folder, Npy, read_rows, sha256, table};

const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";

/// An honest product with its documents; `w.npy` is a D of zeros, with its own.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.save("w.npy", &Npy::new("<f4", &[16, 24], vec![0; 4 * 16 * 24]));
    folder.create("pushed");
    folder.write(
        "pushed/cases.json",
        json!({"schema": "tcverify.manifest/1",
            "cases": [{"name": "one", "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "w.npy"}]})
        .to_string(),
    );
    let policy = serde_json::to_value(tcverify::policy::AdmissionPolicy::default()).unwrap();
    folder.write("policy.json", policy.to_string());
    for (line, code) in table! {
        ("generate generate:1:normal:16x64 --dtype fp16 --role a -o a.npy".to_owned(), 0),
        ("generate generate:2:normal:64x24 --dtype fp16 --role b -o b.npy".to_owned(), 0),
        (format!("replay {PRODUCT} -o d.npy"), 0),
        (format!("shard plan -n 2 --block-rows 8 {PRODUCT} w.npy -o plan.json"), 0),
        ("shard run plan.json 0 -o part-0.json".to_owned(), 0),
        ("shard run plan.json 1 -o part-1.json".to_owned(), 0),
        (format!("commit {PRODUCT} d.npy --block-rows 4 -o c.json"), 0),
        (format!("commit {PRODUCT} w.npy --block-rows 4 -o w.json"), 0),
        ("commit prove --commitment c.json --blocks 1 d.npy -o proof.json --rows rows.npy".to_owned(), 0),
        ("audit challenge w.json --beacon 1 --elements 9 -o challenge.json".to_owned(), 0),
        (format!("audit open {PRODUCT} w.npy --commitment w.json --challenge challenge.json -o o.bin"), 0),
        ("batch pushed/cases.json --resume state.json -q".to_owned(), 1),
        ("archs a100 --json".to_owned(), 0),
        ("screen make --arch v100 -o suite.json --quiet".to_owned(), 0),
        ("screen run suite.json --device simulated --inject adder:bit=9 --rounds 1 -o results.json".to_owned(), 1),
        (format!("check {PRODUCT} w.npy --json report.json -q"), 1),
    } {
        let run = folder.tcverify(&line).expect(code);
        if line.starts_with("replay") {
            for name in ["a.npy", "b.npy", "w.npy"] {
                folder.write(&format!("pushed/{name}"), folder.read(name));
            }
        }
        if line.starts_with("archs") {
            folder.write("model.json", run.stdout);
        }
    }
    folder
}

/// A document, the command that reads it, and whether that command may end well: only where its author is whoever asks.
const DOCUMENTS: &str = "
    plan.json | shard run plan.json 0 -o out.json | true
    plan.json | shard merge plan.json part-0.json part-1.json | false
    part-0.json | shard merge plan.json part-0.json part-1.json | false
    c.json | check --arch a100 --dtype fp16 a.npy b.npy w.npy --against c.json | false
    w.json | check --arch a100 --dtype fp16 a.npy b.npy w.npy --against w.json | false
    proof.json | commit verify --commitment c.json proof.json w.npy | false
    challenge.json
        | audit verify --arch a100 --dtype fp16 --commitment w.json --own-challenge challenge.json o.bin
        | false
    w.json | audit verify --arch a100 --dtype fp16 --commitment w.json --own-challenge challenge.json o.bin
        | false
    pushed/cases.json | batch pushed/cases.json --policy strict | false
    policy.json | batch pushed/cases.json --policy policy.json | false
    state.json | batch pushed/cases.json --resume state.json | true
    report.json | verify-report report.json | true
    model.json | check --model model.json --dtype fp16 a.npy b.npy w.npy | false
    results.json | screen judge --suite suite.json results.json | true
";

/// What else a place may hold.
fn hostile(document: &Value) -> Vec<(String, Value)> {
    let mut all = changed(document);
    let mut places = Vec::new();
    super::reports::collect(document, String::new(), &mut places);
    let long = "x".repeat(5000);
    for place in places {
        let value = document.pointer(&place).unwrap();
        let others = match value {
            Value::Number(_) => vec![
                json!(0),
                json!(u64::MAX),
                json!(-1),
                json!(1e300),
                json!("1"),
                Value::Null,
            ],
            Value::String(_) => vec![
                json!(""),
                json!("../../../etc/passwd"),
                json!("\u{202e}\u{1b}[2J\n::error::x"),
                json!(long),
                json!(7),
                Value::Null,
            ],
            Value::Bool(_) => vec![json!(1), Value::Null],
            _ => vec![json!([]), json!({}), Value::Null, json!(7)],
        };
        for other in others {
            let mut forged = document.clone();
            *forged.pointer_mut(&place).unwrap() = other;
            all.push((place.clone(), forged));
        }
    }
    all
}

/// A document, sealed anew if it was.
fn sealed(document: &Value) -> String {
    match document
        .get("content")
        .filter(|_| document.get("sha256").is_some())
    {
        None => document.to_string(),
        Some(content) => {
            let content = content.to_string();
            let (schema, tool) = (&document["schema"], &document["tool"]);
            let digest = sha256(&content);
            format!(
                "{{\"schema\":{schema},\"tool\":{tool},\"sha256\":\"{digest}\",\"content\":{content}}}\n"
            )
        }
    }
}

/// Its changes, as texts: of a journal those of its last line.
fn forgeries(text: &str) -> Vec<(String, String)> {
    let (before, document) = match serde_json::from_str::<Value>(text) {
        Ok(document) => (String::new(), document),
        Err(_) => {
            let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
            (format!("{before}\n"), serde_json::from_str(last).unwrap())
        }
    };
    let all = hostile(&document).into_iter();
    all.map(|(place, forged)| (place, format!("{before}{}", sealed(&forged))))
        .collect()
}

#[test]
fn any_field_changed() {
    let all = std::env::var_os("TCVERIFY_ATTACKS").is_some();
    let folder = folder();
    let mut tried = 0;
    let mut wrong = Vec::new();
    for [name, command, may_pass] in read_rows(DOCUMENTS) {
        let may_pass = may_pass == "true";
        let honest = folder.text(name);
        let before = folder.names();
        let run = folder.tcverify(command);
        assert!(run.code != Some(0) || may_pass, "{command}: {run:?}");
        let forged = forgeries(&honest);
        let step = if all { 1 } else { (forged.len() / 12).max(1) };
        for (place, text) in forged.iter().step_by(step) {
            folder.write(name, text);
            let begun = Instant::now();
            // A panic fails the test there.
            let run = folder.tcverify(command);
            tried += 1;
            // The judgement of a screen looks for a broken bit that explains all.
            let slow = begun.elapsed() > Duration::from_secs(300);
            let code = run.code.unwrap_or(-1);
            let broken =
                run.stderr.contains("please report it") || run.stdout.contains("please report it");
            if slow || broken || !(0..=2).contains(&code) || code == 0 && !may_pass {
                wrong.push(format!("{name} {place}: {command}: {run:?}"));
            }
        }
        folder.write(name, &honest);
        let mut after = folder.names();
        after.retain(|name| name != "out.json");
        let mut before = before;
        before.retain(|name| name != "out.json");
        assert_eq!(after, before, "{command}");
    }
    println!("{tried} documents");
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
