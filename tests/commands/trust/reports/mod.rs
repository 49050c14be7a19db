//! Reports that are handed over: `verify-report` confirms the honest ones and refuses those that somebody made up.

mod forged;
mod honest;
mod operations;

use std::path::Path;

use serde_json::{Value, json};
use tcverify::compose::verify;
use tcverify::engines::resources;

use crate::support::{Folder, Run, json_of, read_rows, rows, words};

/// What they are called.
const HONEST: &str = "
    same | other | rows | drawn | wrong | lenient | tree | digest | scheduled | beacon | never | narrow
    | auto
";

/// Two Ds for the same operands, and reports on them.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.generate("a fp16 1:normal:16x64 | b fp16 2:normal:64x24");
    for command in [
        "replay --arch a100 --dtype fp16 a.npy b.npy -o d.npy",
        "replay --arch v100 --dtype fp16 a.npy b.npy -o other.npy",
        "commit --arch a100 --dtype fp16 a.npy b.npy d.npy -o c.json",
        "check --arch auto --dtype fp16 a.npy b.npy d.npy --json auto.json -q",
    ] {
        run(&folder, command).expect(0);
    }
    let digest = "7".repeat(64);
    for [name, words, code] in rows! {"
        same | d.npy | 0
        other | other.npy | 1
        rows | d.npy --rows 2..5 | 0
        drawn | d.npy --sample 50 --seed 3 | 0
        wrong | other.npy --sample 50 --seed 3 | 1
        lenient | other.npy --nan any --zero any | 1
        tree | d.npy --tree --block-rows 4 | 0
        digest | --d-digest {digest} | 1
        beacon | d.npy --sample 50 --seed-from c.json --beacon 8430af44 | 0
        never | d.npy --set promote=never | 0
        narrow | d.npy --set instruction_k=4 | 1
        scheduled | d.npy --schedule cutlass-splitk-parallel --split-k 2 | 1
    "}
    {
        let code = code.parse().unwrap();
        let words =
            format!("check --arch a100 --dtype fp16 a.npy b.npy {words} --json {name}.json -q");
        run(&folder, &words).expect(code);
    }
    folder
}

/// A command whose files are named from the root: a report on them is of the same files wherever it is read.
fn run(folder: &Folder, words: &str) -> Run {
    let words = words.split(' ').map(|word| absolute(folder, word));
    folder.tcverify(&words.collect::<Vec<_>>().join(" "))
}

fn absolute(folder: &Folder, word: &str) -> String {
    if word.ends_with(".npy") || word.ends_with(".json") {
        folder.path(word).display().to_string()
    } else {
        word.to_owned()
    }
}

fn read(folder: &Folder, name: &str) -> Value {
    folder.document(&format!("{name}.json"))
}

/// Whether `verify-report` finds something wrong with a report, or that it is none.
fn is_refused(report: &Value) -> bool {
    match verify::parse(&report.to_string()) {
        Err(_) => true,
        Ok(report) => {
            let verified = verify::verify(&report, &resources(), None, &());
            verified.map_or(true, |verified| !verified.differences.is_empty())
        }
    }
}

/// The report with one thing changed in every way that does not depend on what it means, each with its place.
pub fn changed(report: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    collect(report, String::new(), &mut places);
    let mut all = Vec::new();
    for place in places {
        let value = report.pointer(&place).unwrap();
        let others = match value {
            Value::Null => vec![json!(1)],
            Value::Bool(value) => vec![json!(!value)],
            Value::Number(number) => match number.as_i64() {
                Some(number) => vec![json!(number + 1)],
                None => vec![json!(number.as_f64().unwrap() + 0.5)],
            },
            Value::String(text) => {
                let other = if text.starts_with('7') { "8" } else { "7" };
                let rest: String = text.chars().skip(1).collect();
                vec![json!(format!("{text}x")), json!(format!("{other}{rest}"))]
            }
            Value::Array(list) => {
                let last = list.last().cloned().unwrap_or(json!("x"));
                let longer = list.iter().chain([&last]).cloned().collect();
                let shorter = list.split_last().map(|(_, rest)| json!(rest));
                let longer = Value::Array(longer);
                shorter.into_iter().chain([longer]).collect()
            }
            Value::Object(fields) => {
                for name in fields.keys() {
                    let mut forged = report.clone();
                    let fields = forged.pointer_mut(&place).unwrap();
                    fields.as_object_mut().unwrap().remove(name);
                    all.push((format!("{place}/{name}"), forged));
                }
                let mut more = fields.clone();
                more.insert("more".into(), json!(1));
                vec![Value::Object(more)]
            }
        };
        for other in others {
            let mut forged = report.clone();
            *forged.pointer_mut(&place).unwrap() = other;
            all.push((place.clone(), forged));
        }
    }
    all
}

pub fn collect(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            for (i, inner) in list.iter().enumerate() {
                collect(inner, format!("{place}/{i}"), places);
            }
        }
        Value::Object(fields) => {
            for (name, inner) in fields {
                collect(inner, format!("{place}/{name}"), places);
            }
        }
        _ => {}
    }
    places.push(place);
}

/// Every change is refused, but for the tool's version, which the caller compares.
fn each_change_is_refused(folder: &Folder, name: &str) {
    let honest = read(folder, name);
    assert!(!is_refused(&honest), "{name}");
    let all = changed(&honest);
    assert!(all.len() > 100, "{name}");
    for (place, forged) in all {
        let refused = is_refused(&forged);
        assert!(refused || place == "/tool/version", "{name} {place}");
    }
}

/// Each row `REPORT | PLACE | JSON`, forged there, is refused.
fn each_forgery_is_refused(folder: &Folder, forgeries: &str) {
    for [name, at, value] in read_rows(forgeries) {
        let value = json_of(value);
        let was = read(folder, name);
        let forged = forge(was.clone(), at, value.clone());
        assert_ne!(forged, was, "{name} {at}: nothing is forged");
        assert!(is_refused(&forged), "{name} {at} {value}");
    }
}

/// One in which all figures agree with each other and with the result of this name: only who computes it again finds it.
fn consistent_lie(folder: &Folder, result: &str) -> Value {
    let mut forged = read(folder, "same");
    let other = read(folder, "other");
    for field in ["request", "command", "inputs"] {
        forged[field] = other[field].clone();
    }
    forged["reproduced"]["payload_sha256"] = other["inputs"][result]["payload_sha256"].clone();
    assert!(is_refused(&forged));
    forged
}

/// Sets a field, or takes it away where null is no value of it. A file is one beside the arrays.
fn forge(mut report: Value, at: &str, value: Value) -> Value {
    let optional = words! {"/rule/schedule | /reproduced/tree | /reproduced/sample | /commitment"};
    let (above, name) = at.rsplit_once('/').unwrap();
    let inputs = &report["inputs"];
    let input = inputs.get("y").unwrap_or(&inputs["d"]).clone();
    let given = input["payload_sha256"].clone();
    let value = match value.as_str() {
        Some("the given D's") => given,
        Some(file) if file.ends_with(".npy") && !file.contains(['/', ' ']) => {
            let path = input["path"].as_str().map(Path::new);
            json!(path.map(|path| path.with_file_name(file)))
        }
        _ => value,
    };
    let parent = match above {
        "" => &mut report,
        above => report.pointer_mut(above).unwrap_or_else(|| panic!("{at}")),
    };
    match parent {
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        Value::Object(fields) if value.is_null() && optional.contains(&at) => {
            fields.remove(name).unwrap();
        }
        Value::Object(fields) => {
            fields.insert(name.to_owned(), value);
        }
        _ => panic!("{at}"),
    }
    report
}
