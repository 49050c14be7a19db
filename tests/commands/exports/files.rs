//! Reports in files and on standard output. What every form says is kept by `pinned`.

use crate::support::claims;

use super::{CHECK, example};

#[test]
fn files_and_standard_output_hold_the_same() {
    let folder = example();
    let text = folder.differs(&format!("{CHECK} d.npy")).stdout;
    let all = "--junit r.xml --markdown r.md --html r.html --json r.json";
    let run = folder.differs(&format!("{CHECK} d.npy {all}"));
    assert_eq!(run.stdout, text);
    for (option, name) in [
        ("junit", "r.xml"),
        ("markdown", "r.md"),
        ("html", "r.html"),
        ("json", "r.json"),
    ] {
        let run = folder.differs(&format!("{CHECK} d.npy --{option} -"));
        assert_eq!(run.stdout.as_bytes(), folder.read(name), "{name}");
    }
}

#[test]
fn two_reports_do_not_share_a_place_nor_one_that_of_an_input() {
    let folder = example();
    let names = folder.names();
    claims! {folder, "
        each {CHECK} d.npy ~ | refused
        --junit x --markdown x | cannot go to the same place
        --junit x --markdown ./x --json x | cannot go to the same place
        --junit - --json - | cannot go to the same place
        --junit c.npy | would overwrite
        --markdown ./d.npy | would overwrite
        --github --json - | --github and a report
        --github --markdown - | --github and a report
        --junit nowhere/x | nowhere/x
    "}
    assert_eq!(folder.names(), names);
}

#[test]
fn no_verdict_leaves_no_report() {
    let folder = example();
    let before = folder.names();
    let all = "--junit r.xml --markdown r.md --html r.html --github";
    claims! {folder, "{CHECK} a.npy {all} | refused | a.npy"}
    assert_eq!(folder.names(), before);
}
