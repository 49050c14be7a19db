//! Names: no two are shown alike, none leads out of a folder, and what a state says of one crashes nothing.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{Folder, Says, good, sha256, words};

fn manifest(folder: &Folder, names: &[&str]) {
    let cases: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"}))
        .collect();
    let manifest = json!({"schema": "tcverify.manifest/1", "cases": cases});
    folder.write("cases.json", manifest.to_string());
}

/// A character that is not seen, and a name that says it in letters.
#[test]
fn a_name_and_its_escape_are_two_names() {
    let folder = good();
    let names = [
        "q\u{200b}",
        "q\\u{200b}",
        "q\\\\u{200b}",
        "\u{5d0}\u{5d1} 1",
        "a\u{a0}b",
    ];
    manifest(&folder, &names);
    let run = folder.passes("batch cases.json --brief --junit j.xml --markdown m.md");
    let texts = ["j.xml", "m.md"].map(|name| folder.text(name));
    for text in [&run.stdout, &texts[0]] {
        text.says_all(
            words! {r"q\u{200b} | q\\u{200b} | q\\\\u{200b} | \u{5d0}\u{5d1} 1 | a\u{a0}b"},
        );
        assert!(!text.contains(['\u{5d0}', '\u{a0}', '\u{200b}']), "{text}");
    }
    assert!(!texts[1].contains(['\u{5d0}', '\u{a0}', '\u{200b}']));
}

/// What follows a name stays in sight.
#[test]
fn spaces_push_nothing_away() {
    let folder = good();
    let name = format!("ok{}x", " ".repeat(500));
    manifest(&folder, &[&name]);
    let run = folder.passes("batch cases.json");
    assert!(!run.stdout.contains(&" ".repeat(60)), "{run:?}");
}

#[test]
fn an_index_that_is_a_link_is_not_followed() {
    for name in ["index.html", "case-001.html"] {
        let folder = good();
        manifest(&folder, &["one"]);
        folder.write("precious", "mine");
        folder.create("pages");
        std::os::unix::fs::symlink("../precious", folder.path(&format!("pages/{name}"))).unwrap();
        let run = folder.fails("batch cases.json --html pages");
        assert!(
            run.stdout.contains("is a link") || run.stderr.contains("is a link"),
            "{run:?}"
        );
        assert_eq!(folder.read("precious"), b"mine");
        folder.remove(&format!("pages/{name}"));
        folder.passes("batch cases.json --html pages -q");
        folder.passes("batch cases.json --html pages -q");
    }
}

/// A line of a state, sealed as it was, with another title.
#[test]
fn a_title_of_another_verdict_is_not_believed() {
    let folder = good();
    manifest(&folder, &["one"]);
    folder.passes("batch cases.json --resume s.json -q");
    let text = folder.text("s.json");
    for title in [
        "",
        "I",
        "Different",
        "Identical\u{e9}",
        "\u{1f600}\u{1f600}\u{1f600}",
    ] {
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let mut content = line["content"].clone();
            if let Some(summary) = content.pointer_mut("/case/summary") {
                summary["title"] = title.into();
            }
            let content = content.to_string();
            let (schema, tool) = (&line["schema"], &line["tool"]);
            let digest = sha256(&content);
            format!("{{\"schema\":{schema},\"tool\":{tool},\"sha256\":\"{digest}\",\"content\":{content}}}\n")
        });
        folder.write("s.json", lines.collect::<String>());
        for form in words! {"--brief | --verbose | --json - | --github | --junit - | --markdown -"}
        {
            let run = folder.tcverify(&format!("batch cases.json --resume s.json {form}"));
            assert!(
                run.code.is_some_and(|code| code < 2),
                "{title:?} {form}: {run:?}"
            );
        }
    }
}
