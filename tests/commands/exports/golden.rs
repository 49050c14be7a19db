//! Every form against a file that was read by a person.

use std::path::PathBuf;

use super::{CHECK, example};

fn keep(name: &str, found: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("tests/commands/exports/golden").join(name);
    // A new version is no other form.
    let found = found.replace(env!("CARGO_PKG_VERSION"), "{VERSION}");
    if std::env::var_os("TCVERIFY_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} is not what is expected:\n{found}"
    );
}

#[test]
fn forms_are_what_they_were() {
    let folder = example();
    for (d, name, code) in [("d.npy", "different", 1), ("good.npy", "identical", 0)] {
        for (option, ending) in [("junit", "xml"), ("markdown", "md")] {
            let run = folder
                .tcverify(&format!("{CHECK} {d} --{option} -"))
                .expect(code);
            keep(&format!("{name}.{ending}"), &run.stdout);
        }
        let run = folder
            .tcverify(&format!("{CHECK} {d} --quiet --github"))
            .expect(code);
        keep(&format!("{name}.github"), &run.stdout);
    }
}

#[test]
fn files_and_standard_output_hold_the_same() {
    let folder = example();
    let text = folder.tcverify(&format!("{CHECK} d.npy")).expect(1).stdout;
    let all = "--junit r.xml --markdown r.md --html r.html --json r.json";
    let run = folder.tcverify(&format!("{CHECK} d.npy {all}")).expect(1);
    assert_eq!(run.stdout, text);
    for (option, name) in [
        ("junit", "r.xml"),
        ("markdown", "r.md"),
        ("html", "r.html"),
        ("json", "r.json"),
    ] {
        let run = folder
            .tcverify(&format!("{CHECK} d.npy --{option} -"))
            .expect(1);
        assert_eq!(run.stdout.as_bytes(), folder.read(name), "{name}");
    }
}

#[test]
fn two_reports_do_not_share_a_place_nor_one_that_of_an_input() {
    let folder = example();
    let names = folder.names();
    for (options, words) in [
        ("--junit x --markdown x", "cannot go to one place"),
        (
            "--junit x --markdown ./x --json x",
            "cannot go to one place",
        ),
        ("--junit - --json -", "cannot go to one place"),
        ("--junit c.npy", "would overwrite"),
        ("--markdown ./d.npy", "would overwrite"),
        ("--github --json -", "--github prints"),
        ("--github --markdown -", "--github prints"),
        ("--junit nowhere/x", "nowhere/x"),
    ] {
        folder
            .tcverify(&format!("{CHECK} d.npy {options}"))
            .refuses(&[words]);
        assert_eq!(folder.names(), names, "{options}");
    }
}

#[test]
fn no_verdict_leaves_no_report() {
    let folder = example();
    let before = folder.names();
    let all = "--junit r.xml --markdown r.md --html r.html --github";
    folder
        .tcverify(&format!("{CHECK} a.npy {all}"))
        .refuses(&["a.npy"]);
    assert_eq!(folder.names(), before);
}
