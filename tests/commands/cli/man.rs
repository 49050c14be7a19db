//! Manual pages.

use crate::support::Folder;

#[test]
fn a_page_for_every_command() {
    let folder = Folder::new();
    let run = folder.tcverify("man --output new/man1").expect(0);
    assert_eq!(run.stdout, "");
    let man = folder.path("new/man1");
    let page = |name: &str| std::fs::read_to_string(man.join(name)).expect(name);
    let whole = page("tcverify.1");
    let help = folder.tcverify("--help").expect(0).stdout;
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    for name in names.filter(|name| *name != "help") {
        let command = page(&format!("tcverify-{name}.1"));
        assert!(command.contains(".SH NAME"), "{name}: {command}");
        assert!(
            whole.contains(&format!("tcverify\\-{name}(1)")),
            "{name}: {whole}"
        );
        count += 1;
    }
    assert!(count > 10, "{help}");
    assert!(page("tcverify-check.1").contains("A hundred thousand random elements"));
    assert!(page("tcverify-commit-prove.1").contains("blocks"));

    // What is there already is replaced by the same.
    folder.write("new/man1/tcverify.1", "old");
    folder.tcverify("man --output new/man1").expect(0);
    assert_eq!(page("tcverify.1"), whole);
}

#[test]
fn a_place_that_is_no_directory() {
    let folder = Folder::new();
    folder.write("file", "");
    folder
        .tcverify("man --output file")
        .refuses(&["file: cannot be written"]);
    folder
        .tcverify("man --output file/man1")
        .refuses(&["file/man1: cannot be written"]);
    assert_eq!(folder.names(), ["file"]);
}
