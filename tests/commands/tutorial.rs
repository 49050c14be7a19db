//! Every command of docs/tutorial.md, in order, in one folder.

use std::path::Path;

use crate::support::{Folder, Run};

/// What is shown must be what is printed; a line `...` stands for any lines, also none.
#[track_caller]
fn shown(command: &str, shown: &str, real: &str) {
    let mut rest = real;
    let mut anywhere = false;
    let mut piece = String::new();
    let mut look = |piece: &str, anywhere: bool| {
        let at = match anywhere {
            true => rest.find(piece),
            false => rest.starts_with(piece).then_some(0),
        };
        let at = at.unwrap_or_else(|| panic!("{command}\nshows\n{piece}\nbut prints\n{rest}"));
        rest = &rest[at + piece.len()..];
    };
    for line in shown.lines() {
        if line == "..." {
            look(&piece, anywhere);
            piece.clear();
            anywhere = true;
        } else {
            piece += line;
            piece.push('\n');
        }
    }
    look(&piece, anywhere);
    assert!(
        shown.ends_with("...\n") || rest.is_empty(),
        "{command}\nalso prints\n{rest}"
    );
}

/// The contents of a page's blocks of code in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let after = page.split(&begin).skip(1);
    after
        .map(|text| text.split("```").next().expect("an end"))
        .collect()
}

#[test]
fn every_command_does_what_the_page_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.md");
    let page = std::fs::read_to_string(path).unwrap();
    let folder = Folder::new();
    let mut commands = 0;
    for block in blocks(&page, "console") {
        let mut last: Option<Run> = None;
        let steps = block
            .strip_prefix("$ ")
            .expect("a command first")
            .split("\n$ ");
        for step in steps {
            let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
            if command == "echo $?" {
                let code = last.as_ref().and_then(|run| run.code);
                assert_eq!(
                    Some(expected.trim()),
                    code.map(|c| c.to_string()).as_deref()
                );
                continue;
            }
            let arguments = command.strip_prefix("tcverify ").expect("the program");
            let run = folder.tcverify(arguments);
            assert!(matches!(run.code, Some(0 | 1)), "{command}\n{run:?}");
            let newline = if expected.is_empty() || expected.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            shown(command, &format!("{expected}{newline}"), &run.stdout);
            last = Some(run);
            commands += 1;
        }
    }
    assert!(commands >= 9, "{commands} commands");

    let gates = blocks(&page, "sh");
    let [gate] = gates[..] else {
        panic!("one gate")
    };
    let program = Path::new(env!("CARGO_BIN_EXE_tcverify")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let run = |code| {
        let mut shell = folder.shell("sh");
        folder
            .run(shell.args(["-c", gate]).env("PATH", &path))
            .expect(code)
    };
    if cfg!(unix) {
        run(0);
        let mut d = folder.read("d.npy");
        *d.last_mut().unwrap() ^= 1;
        folder.write("d.npy", d);
        run(1);
        std::fs::remove_file(folder.path("d.npy")).unwrap();
        run(2);
    }
}
