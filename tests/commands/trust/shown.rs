//! What comes from files and names reaches no terminal and no log as anything but text: every command and
//! every exporter, with hostile names.
#![cfg(unix)]

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Folder, Npy, Run, filled, floats, halves};

/// A screen of its own, a line of its own, commands of three CI servers, text turned around.
const EVIL: &str = "e\u{1b}[2J\u{1b}[8m\nIDENTICAL\n::error::PWNED\n::stop-commands::x\r##[error]##vso[task]\u{202e}\u{9b}2J\u{2028}y";

/// Nothing that a terminal or a CI server acts on.
#[track_caller]
fn harmless(text: &str) {
    for line in text.lines() {
        let bad = |c: &char| c.is_control() || "\u{202e}\u{2028}".contains(*c);
        let begins = line.trim_start();
        let ours = ["error", "warning", "notice"];
        let ours = ours
            .iter()
            .any(|level| line.starts_with(&format!("::{level} title=tcverify")));
        assert_eq!(line.chars().find(bad), None, "{line:?} in {text}");
        assert!(ours || !begins.starts_with("::"), "{line:?} in {text}");
        assert!(
            !line.contains("##[") && !line.contains("##vso["),
            "{line:?} in {text}"
        );
        assert!(!line.starts_with("IDENTICAL\\"), "{line:?} in {text}");
    }
}

/// A line that the name made.
#[track_caller]
fn one_line(text: &str) {
    assert!(
        text.lines().all(|line| line.trim() != "IDENTICAL"),
        "{text}"
    );
}

fn named(extension: &str) -> String {
    format!("{EVIL}.{extension}")
}

/// A good product and a wrong D under hostile names, and a model and a schedule that say hostile things.
fn hostile() -> Folder {
    let folder = Folder::new();
    let ones = halves(&[1.0; 6]);
    folder.save(
        &format!("a{}", named("npy")),
        &Npy::new("<f2", &[2, 3], ones.clone()),
    );
    folder.save(
        &format!("b{}", named("npy")),
        &Npy::new("<f2", &[3, 2], ones),
    );
    folder.f32(&format!("d{}", named("npy")), &[2, 2], &[3.0; 4]);
    let wrong = Npy::new("<f4", &[2, 2], floats(&[3.0, 3.0, 3.0, 4.0]));
    folder.save(&format!("w{}", named("npy")), &wrong);
    let run = folder.passes("archs a100 --json");
    let mut model: Value = run.json();
    spoil(&mut model);
    folder.write("model.json", model.to_string());
    folder
}

/// Every text that is free says something hostile.
fn spoil(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("title" | "note" | "notes", Value::String(text)) => *text += EVIL,
                    ("sources", Value::Object(sources)) => {
                        for source in sources.values_mut() {
                            *source = json!(EVIL);
                        }
                    }
                    (_, value) => spoil(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(spoil),
        _ => {}
    }
}

/// Runs a command whose words `A`, `B`, `D`, `W` and `X` stand for hostile names.
fn run(folder: &Folder, line: &str) -> Run {
    folder.words(line.split(' ').map(|word| match word {
        "A" | "B" | "D" | "W" => format!("{}{}", word.to_lowercase(), named("npy")),
        "M" => format!("none{}", named("json")),
        "X" => EVIL.to_owned(),
        word => word.to_owned(),
    }))
}

const PRODUCT: &str = "--arch a100 --dtype fp16 A B";

/// Commands, by what stands before and after them.
const COMMANDS: &str = "
    check {PRODUCT} ~ | D | W | W --github | D --sample 2 --seed 1 --github | W --json - | W --junit - | W --markdown -
        | W --html -
    check --model model.json --dtype fp16 A B W ~ | | --html - | --markdown -
    replay {PRODUCT} -o ~ | rX | rD
    explain {PRODUCT} ~ | D --at 0,0 | W --at 1,1 | W --at 1,1 --json
    explain --model model.json --dtype fp16 A B W --at 1,1
    commit {PRODUCT} D -o c.json
    check {PRODUCT} ~ --against c.json | W | D
    commit prove --commitment c.json --blocks 0 ~ | D -o proof.json --rows rows.npy | W -o proof2.json
    commit verify --commitment ~ | c.json proof.json rows.npy | c.json proof.json D | c.json M D
    shard ~ | plan -n 1 {PRODUCT} W -o plan.json | run plan.json 0 -o part.json | merge plan.json part.json
        | merge plan.json M | run M 0 -o part2.json
    identify --dtype fp16 A B ~ | D | W
    compare ~ | D W | D W A B --dtype fp16
    digest ~ | A | A --json
    inspect ~ | A W | A --json
    ~ | generate generate:1:normal:2x2 --dtype fp16 --role a -o X | archs X | schedules X | kernels X
        | probe --dtype fp16 -o pX | infer X A | features --arch X --dtype fp16 | features --answers X A
        | bench --arch X --dtype fp16
    # Errors that quote words.
    ~ | X | check X | check --arch a100 --dtype X A B D | batch X | batch A | --threads X archs
    check ~ --dtype fp16 A B D | --arch X | --model X | --model A
    check {PRODUCT} D ~ | --schedule X | --schedule-file X | --rows X | --region X | --alpha X | --c A | --against M
        | --json A
    check {PRODUCT} ~ | B | D#X | none.npy#X
    explain {PRODUCT} --at X
";

#[test]
fn every_command() {
    let folder = hostile();
    let commands = filled(&COMMANDS.replace("{PRODUCT}", PRODUCT));
    assert_eq!(commands.len(), 68);
    let mut wrong = Vec::new();
    for line in &commands {
        let run = run(&folder, line);
        assert!(run.code.is_some_and(|code| code <= 2), "{line}: {run:?}");
        // All of them, then what is wrong with any.
        let looked = std::panic::catch_unwind(|| {
            for text in [&run.stdout, &run.stderr] {
                harmless(text);
                one_line(text);
            }
        });
        if looked.is_err() {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Reports of cases of hostile names, with hostile paths, models and schedules.
#[test]
fn batches_and_their_forms() {
    let folder = hostile();
    let name = |kind: &str| format!("{kind}{}", named("npy"));
    let cases = json!({
        "schema": "tcverify.manifest/1",
        "defaults": {"arch": "a100", "dtype": "fp16", "a": name("a"), "b": name("b")},
        "cases": [
            {"name": format!("{EVIL}\u{0}1"), "d": name("d")},
            {"name": format!("::error::x{EVIL}2"), "d": name("w")},
            {"name": "##[error]3", "d": name("none")},
            {"name": "4", "d": name("d"), "arch": EVIL},
            {"name": "5", "d": name("w"), "model": "model.json", "arch": null},
            {"name": "6", "d": name("d"), "rows": "0..1"},
            {"name": "7", "d": name("d"), "schedule": EVIL},
        ],
    });
    folder.write("cases.json", cases.to_string());
    let forms = "--junit j.xml --markdown m.md --json r.json --github";
    let summary = folder.path("summary.md");
    let mut command = folder.command();
    command.args(["batch", "cases.json"]).args(forms.split(' '));
    let run = folder
        .run(command.env("GITHUB_STEP_SUMMARY", &summary))
        .expect(2);
    let written = ["j.xml", "m.md", "r.json", "summary.md"];
    let written = written.map(|name| folder.text(name));
    for text in [&run.stdout, &run.stderr]
        .into_iter()
        .chain(&written[..2])
        .chain(&written[3..])
    {
        one_line(text);
        let lines = text.lines();
        let markup = ["<?xml", "|", "#"];
        let hostile = lines.filter(|line| !markup.iter().any(|mark| line.starts_with(mark)));
        hostile
            .for_each(|line| assert!(!line.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{line:?}"));
    }
    harmless(&run.stdout);
    harmless(&run.stderr);
    assert!(!written[2].contains('\u{1b}'));
    // A manifest that is wrong is quoted.
    for wrong in [
        json!({"schema": EVIL, "cases": []}),
        json!({"schema": "tcverify.manifest/1", "cases": [{"name": EVIL, "x": 1}]}),
        json!({"schema": "tcverify.manifest/1", "cases": [{"name": "1", EVIL: 1}]}),
        json!({"schema": "tcverify.manifest/1", "defaults": {"arch": EVIL}, "cases": [{"name": "1", "rows": EVIL}]}),
        json!({"schema": "tcverify.manifest/1", EVIL: 1}),
    ] {
        folder.write(&named("json"), wrong.to_string());
        let run = folder
            .words(["batch", &named("json"), "--github"])
            .expect(2);
        harmless(&run.stderr);
        one_line(&run.stderr);
        harmless(&run.stdout);
    }
}

#[test]
fn folders_of_cases() {
    let folder = hostile();
    let case = folder.path(EVIL);
    std::fs::create_dir(&case).unwrap();
    let copy = |from: &str, to: &str| {
        let from = folder.path(&format!("{from}{}", named("npy")));
        std::fs::copy(from, case.join(to)).unwrap();
    };
    copy("a", "a.npy");
    copy("b", "b.npy");
    copy("w", "d.npy");
    std::fs::write(
        case.join("case.json"),
        r#"{"arch": "a100", "dtype": "fp16"}"#,
    )
    .unwrap();
    // All else in there is no folder.
    let run = folder.differs("batch . --github");
    harmless(&run.stdout);
    one_line(&run.stdout);
    std::fs::write(case.join("case.json"), json!({EVIL: 1}).to_string()).unwrap();
    let run = folder.fails("batch .");
    harmless(&run.stderr);
    one_line(&run.stderr);
    assert!(Path::new(&case).is_dir());
}
