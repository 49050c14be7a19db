//! The pages of a batch, and of a merged check.

use std::collections::BTreeMap;

use serde_json::json;

use super::products::{flip, manifest, small, usual};
use crate::support::{Folder, Says, claims, words};

/// Cases of every kind: one identical, one in part, one different, one by a claimed model, one without a verdict.
pub fn every_kind() -> Folder {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    let hopper = folder.stdout("archs hopper --json");
    folder.write("my.json", hopper);
    let cases = json!([
        {"name": "first"},
        {"name": "a part", "rows": "0..2"},
        {"name": "<script>alert(1)</script>\u{202e}\"'", "d": "bad.npy"},
        {"name": "of a file", "arch": null, "model": "my.json"},
        {"name": "gone", "b": "<b>gone.npy"},
    ]);
    manifest(&folder, usual(), cases);
    folder
}

/// All files of a folder of pages.
pub fn pages(folder: &Folder, name: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder.path(name)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .map(|file| {
            let text = folder.read(&format!("{name}/{file}"));
            (file, String::from_utf8(text).unwrap())
        })
        .collect()
}

#[test]
fn the_index_has_every_case_and_leads_to_its_page() {
    let folder = every_kind();
    folder.fails("batch cases.json -q --html new/pages --markdown r.md");
    let pages = pages(&folder, "new/pages");
    let names: Vec<_> = pages.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        words! {"case-001.html | case-002.html | case-003.html | case-004.html | index.html"}
    );
    let index = &pages["index.html"];
    let rows = index.lines().filter(|line| line.starts_with("<tr class="));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 5);
    for (row, words) in rows.iter().zip([
        &["class=\"different\"", "<a href=\"case-003.html\">&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}&quot;&#39;</a>"][..],
        &["class=\"unjudged\"", "<th scope=\"row\">gone</th>", ">Unjudged<", "&lt;b&gt;gone.npy: cannot be opened"],
        &["class=\"identical_in_part\"", ">Identical in part<", "50.0 % of D compared", "all 16 chosen elements"],
        &["class=\"identical\"", "<a href=\"case-001.html\">first</a>", ">Identical<"],
        &["class=\"identical\"", "(claimed: from my.json, not the catalogue; the file itself says"],
    ]) {
        for word in words {
            assert!(row.contains(word), "{word}: {row}");
        }
    }
    index.says("5 cases: 2 identical, 1 identical in part, 1 different, 1 could not be judged.");
    // The same words as in Markdown.
    let markdown = folder.text("r.md");
    markdown
        .says_all(words! {"50.0 % of D compared | all 16 chosen elements | claimed: from my.json"});
    for (name, page) in &pages {
        assert!(!page.contains('\u{202e}'), "{name}");
        for word in words! {r#"<script>alert | src= | @import | url( | <link | http-equiv="refresh | href="http | href="//"#}
        {
            assert!(!page.contains(word), "{name}: {word}");
        }
        let leads_back = page.contains("<a href=\"index.html\">All cases</a>");
        assert_eq!(name != "index.html", leads_back, "{name}");
    }
    assert!(pages["case-003.html"].contains("<p>1 of 32 elements.</p>"));
    assert!(pages["case-004.html"].contains("claimed"));
}

/// But for the way back, a case's page is the one that `check` writes.
#[test]
fn a_page_is_that_of_the_check() {
    let folder = every_kind();
    folder.fails("batch cases.json -q --html pages");
    folder.passes("check --arch h100 --dtype fp16 x.npy w.npy d.npy -q --html one.html");
    let alone = folder.text("one.html");
    let page = &pages(&folder, "pages")["case-001.html"];
    let lines = page.lines().filter(|line| !line.starts_with("<nav>"));
    let lines = lines.map(|line| line.replace("<title>first: ", "<title>"));
    assert!(lines.eq(alone.lines()), "{page}");
}

#[test]
fn resumed_or_not_and_by_any_number_of_threads_the_pages_are_the_same() {
    let folder = every_kind();
    folder.fails("batch cases.json -q --html one");
    let first = pages(&folder, "one");
    for words in words! {"--resume s.json --html two | --resume s.json --html three --threads 1 | --html one"}
    {
        folder.fails(&format!("batch cases.json -q {words}"));
    }
    for name in ["one", "two", "three"] {
        assert!(pages(&folder, name) == first, "{name}");
    }
}

#[test]
fn pages_go_to_a_folder_and_over_no_input() {
    let folder = every_kind();
    for (place, said) in [
        ("x.npy", "x.npy: the pages of a batch are a folder"),
        ("-", "the pages of a batch are a folder"),
        ("x.npy/pages", "x.npy"),
    ] {
        claims! {folder, "batch cases.json --html {place} | refused | {said}"}
    }
    folder.create("in");
    folder.write("in/index.html", folder.read("x.npy"));
    let cases = json!([{"name": "one", "a": "in/index.html"}]);
    manifest(&folder, usual(), cases);
    claims! {folder, "batch cases.json --html in | refused | in/index.html: the index would overwrite A"}
    assert_eq!(folder.read("in/index.html"), folder.read("x.npy"));
    folder.create("out");
    claims! {folder, "batch cases.json --html out --json out/case-001.html | refused
    | cannot go to the same place"}
}

/// `shard merge` has the forms that `check` has.
#[test]
fn a_merged_check_has_every_form() {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    let words = "--arch h100 --dtype fp16 --block-rows 2 x.npy w.npy bad.npy";
    folder.passes(&format!("shard plan -n 2 {words} -o plan.json"));
    for i in [0, 1] {
        folder.passes(&format!("shard run plan.json {i} -o p{i}.json"));
    }
    let forms = "--junit FORM.xml --markdown FORM.md --html FORM.html --json FORM.json";
    let [m, c] = ["m", "c"].map(|name| forms.replace("FORM", name));
    claims! {folder, "
        shard merge plan.json p0.json p1.json -q {m} | 1
        check --tree {words} -q {c} | 1
    "}
    for form in ["xml", "md"] {
        let [merged, whole] = ["m", "c"].map(|name| {
            let text = folder.text(&format!("{name}.{form}"));
            let lines = text.lines().filter(|line| !line.contains("from 2 parts"));
            lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
        });
        assert_eq!(merged, whole, "{form}");
    }
    let page = folder.text("m.html");
    page.says_all(words! {"
        Merged parts keep no map | The first mismatch, step by step | 1 of 32 elements of D differ
    "});
    page.lacks("map-data");
    let brief = folder.differs("shard merge plan.json p0.json p1.json --brief");
    assert!(brief.stdout.starts_with("DIFFERENT  1 of 32") && brief.stdout.lines().count() == 1);
    claims! {folder, "
        shard merge plan.json p0.json p1.json -q --html p0.json | refused
            | the page would overwrite a part
        shard merge plan.json p0.json p1.json -o x --json y | 2 | --json
    "}
}
