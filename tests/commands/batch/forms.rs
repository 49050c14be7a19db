//! The report in other forms.

use crate::support::{Says, claims, table, words};

use serde_json::json;

use super::products::{flip, manifest, small, usual};

/// Kinds of causes are words with spaces; names in what went wrong stay as they are.
#[test]
fn groups_keep_names() {
    let folder = small();
    let of = |name: &str| json!({"name": name, "b": "no_such_file.npy"});
    manifest(&folder, usual(), json!([of("one"), of("two")]));
    let run = folder.fails("batch cases.json");
    run.says("no_such_file.npy");
    run.lacks("no such file.npy");
}

#[test]
fn junit_markdown_and_annotations() {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    let cases = json!([{"name": "a <b> & |c|"}, {"name": "bad", "d": "bad.npy"}, {"name": "gone", "b": "gone.npy"}]);
    manifest(&folder, usual(), cases);
    let mut command = folder.command();
    command
        .args(words! {"batch | cases.json | --junit | r.xml | --markdown | r.md | --github | -q"});
    command.env("GITHUB_STEP_SUMMARY", folder.path("summary.md"));
    let run = folder.run(&mut command).expect(2);
    let annotations: Vec<_> = run.stdout.lines().collect();
    assert_eq!(annotations.len(), 3, "{run:?}");
    let begun = annotations.iter();
    begun.for_each(|line| line.begins("::error title=tcverify"));

    let text = folder.text("r.xml");
    let xml = roxmltree::Document::parse(&text).unwrap();
    let cases = xml.descendants().filter(|n| n.has_tag_name("testcase"));
    let told = cases.map(|case| {
        let inside = case.first_element_child().map(|n| n.tag_name().name());
        (case.attribute("name").unwrap(), inside)
    });
    let expected =
        table! {("a <b> & |c|", None), ("bad", Some("failure")), ("gone", Some("error"))};
    assert!(told.eq(expected), "{text}");
    let root = xml.root_element();
    let counts = ["tests", "failures", "errors"].map(|name| root.attribute(name).unwrap());
    assert_eq!(counts, ["3", "1", "1"]);

    let markdown = folder.text("r.md");
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    assert_eq!(rows.count(), 4);
    assert_eq!(folder.text("summary.md").trim(), markdown.trim());
}

/// A case that somebody took out of a recording is seen by a CI server, too.
#[test]
fn a_case_that_was_taken_out() {
    let folder = small();
    let manifest = json!({
        "schema": "tcverify.manifest/1",
        "defaults": usual(),
        "coverage": {"seen": 3, "recorded": 3},
        "cases": [{"name": "one"}],
    });
    folder.write("cases.json", manifest.to_string());
    let words = "batch cases.json --junit r.xml --markdown r.md";
    claims! {folder, "{words} | 0 | ^IDENTICAL IN PART"}
    for name in ["r.xml", "r.md"] {
        let text = folder.text(name);
        let said = "recorded, but not among the cases: 2 products";
        assert!(text.contains(said), "{text}");
    }
    let text = folder.text("r.xml");
    let xml = roxmltree::Document::parse(&text).unwrap();
    let count = |name| xml.descendants().filter(|n| n.has_tag_name(name)).count();
    assert_eq!([count("testcase"), count("skipped")], [2, 1]);
}

#[test]
fn inputs_are_not_written_over() {
    let folder = small();
    manifest(&folder, usual(), json!([{"name": "one"}]));
    for words in words! {"
        --json d.npy | --junit cases.json | --resume x.npy | --markdown ./w.npy | --json r --junit r
        | --json - --github
    "}
    {
        let before = ["d.npy", "cases.json", "x.npy", "w.npy"].map(|name| folder.read(name));
        claims! {folder, "batch cases.json {words} | refused"}
        let after = ["d.npy", "cases.json", "x.npy", "w.npy"].map(|name| folder.read(name));
        assert_eq!(before, after, "{words}");
    }
}

/// An activation may have made a result: no form leaves it out.
#[test]
fn every_form_says_what_results_are_made_of() {
    let folder = small();
    let cases = json!([{"name": "plain"}, {"name": "clipped", "activation": "relu"}]);
    manifest(&folder, usual(), cases);
    for form in words! {"| --brief | --markdown - | --junit - | --github | --json -"} {
        let run = folder.tcverify(&format!("batch cases.json {form}"));
        run.says("activation relu");
    }
}
