//! Manual pages.

use crate::support::{Folder, Says, claims};

#[test]
fn a_page_for_every_command() {
    let folder = Folder::new();
    let run = folder.passes("man --output new/man1");
    assert_eq!(run.stdout, "");
    let man = folder.path("new/man1");
    let page = |name: &str| std::fs::read_to_string(man.join(name)).expect(name);
    let whole = page("tcverify.1");
    let help = folder.stdout("--help");
    let (commands, _) = help.split_once("\nOptions:\n").expect("options come last");
    // Commands are indented by two spaces; their groups are not, nor are lines that go on.
    let names = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    for name in names.filter(|name| *name != "help") {
        let command = page(&format!("tcverify-{name}.1"));
        assert!(command.contains(".SH NAME"), "{name}: {command}");
        assert!(
            whole.contains(&format!("tcverify\\-{}(1)", name.replace('-', "\\-"))),
            "{name}: {whole}"
        );
        count += 1;
    }
    assert!(count > 10, "{help}");
    assert!(page("tcverify-check.1").contains("A hundred thousand random elements"));
    assert!(page("tcverify-commit-prove.1").contains("blocks"));

    // What is there already is replaced by the same.
    folder.write("new/man1/tcverify.1", "old");
    folder.passes("man --output new/man1");
    assert_eq!(page("tcverify.1"), whole);
}

/// Every page says how to call it and how it ends.
#[test]
fn every_page_has_examples_and_an_exit_status() {
    let folder = Folder::new();
    folder.passes("man --output man1");
    let entries = std::fs::read_dir(folder.path("man1")).unwrap();
    let mut count = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let page = std::fs::read_to_string(&path).unwrap();
        let section = |title: &str| {
            let (_, after) = page.split_once(&format!(".SH {title}\n"))?;
            after.split("\n.SH ").next()
        };
        let status = section("EXIT STATUS").or(section("\"EXIT STATUS\""));
        let status = status.unwrap_or_else(|| panic!("{name}: {page}"));
        assert!(
            status.contains('0') && status.contains('2'),
            "{name}: {status}"
        );
        assert!(!page.contains("SH EXTRA"), "{name}");
        if name != "tcverify" {
            let examples = section("EXAMPLES").unwrap_or_else(|| panic!("{name}: {page}"));
            // Some names have a dash of their own.
            let bare = |text: &str| {
                let words = text.replace(['-', '\\'], " ");
                words.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            assert!(bare(examples).contains(&bare(&name)), "{name}: {examples}");
        }
        count += 1;
    }
    assert!(count > 20, "{count}");
    let page = |name: &str| folder.text(&format!("man1/{name}.1"));
    let check = page("tcverify-check");
    let (_, synopsis) = check.split_once(".SH SYNOPSIS\n").unwrap();
    let synopsis = synopsis.split("\n.SH ").next().unwrap();
    synopsis.says("tcverify check [OPTIONS] <A.npy> <B.npy> [D.npy]");
    synopsis.lacks("nan");
    assert!(page("tcverify-check").contains("0 identical, 1 different, 2 anything else"));
    assert!(page("tcverify-check-op").contains("rms_norm"));
    assert!(page("tcverify-commit-verify").contains("1 differs from the commitment"));
}

#[test]
fn a_place_that_is_no_directory() {
    let folder = Folder::new();
    folder.write("file", "");
    claims! {folder, "
        man --output file | refused | file: cannot be written
        man --output file/man1 | refused | file/man1: cannot be written
    "}
    assert_eq!(folder.names(), ["file"]);
}
