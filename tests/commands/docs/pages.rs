//! Every command of every page, in order, in a folder of the page's own.
//!
//! * `console`: commands with what they print; a line `...` stands for any lines, also none.
//! * `sh`: a script that must succeed; `sh no-run` needs what is not here (a GPU, a cluster, a network).
//! * A comment, a line `<!-- given` and those up to `-->`: a script that makes what the page takes for
//!   granted.
//!
//! `tests` and `scripts` lie in the folder as they do in the repository.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{all_pages, blocks, in_repository, read};
use crate::support::{Folder, Run, say};

#[test]
fn every_command_does_what_its_page_shows() {
    let (mut pages, mut commands) = (0, 0);
    for name in all_pages() {
        let text = read(&name);
        let steps = steps(&text);
        let ran = run(&name, &steps, &Folder::new());
        pages += usize::from(ran > 0);
        commands += ran;
    }
    say(format_args!(
        "{commands} commands and scripts of {pages} pages"
    ));
    assert!(
        pages >= 10 && commands >= 25,
        "{commands} commands of {pages} pages"
    );
}

#[test]
fn a_page_that_shows_something_else_is_found_out() {
    for wrong in [
        "\n```console\n$ tcverify archs volta\nNVIDIA Turing\n...\n```\n",
        "\n```console\n$ tcverify archs no-such\n```\n",
        "\n```console\n$ tcverify archs\n$ echo $?\n1\n```\n",
        "\n```sh\ntcverify archs no-such | cat\ntcverify archs no-such\n```\n",
        "\n<!-- given\nfalse\n-->\n",
    ] {
        let found = std::panic::catch_unwind(|| run("a page", &steps(wrong), &Folder::new()));
        assert!(found.is_err(), "{wrong}");
    }
    let right = "\n```console\n$ tcverify archs volta\n...\n$ echo $?\n0\n```\n\n```sh\ntcverify archs volta\n```\n";
    assert_eq!(run("a page", &steps(right), &Folder::new()), 2);
}

/// The gate at the end of the tutorial tells what it stands for.
#[test]
fn the_gate_of_the_tutorial_tells_a_difference_and_trouble() {
    let text = read("docs/tutorial.md");
    let steps = steps(&text);
    let folder = Folder::new();
    assert!(run("docs/tutorial.md", &steps, &folder) >= 10);
    let gate = steps.iter().rev().find_map(|step| match step {
        Step::Script(script) => Some(*script),
        _ => None,
    });
    let gate = gate.expect("a gate");
    let mut d = folder.read("d.npy");
    *d.last_mut().unwrap() ^= 1;
    folder.write("d.npy", d);
    shell(&folder, gate).expect(1);
    folder.remove("d.npy");
    shell(&folder, gate).expect(2);
}

enum Step<'a> {
    Console(&'a str),
    Script(&'a str),
    Given(&'a str),
}

/// What of a page is run, in order.
fn steps(page: &str) -> Vec<Step<'_>> {
    let place = |part: &str| part.as_ptr() as usize - page.as_ptr() as usize;
    let mut steps: Vec<(usize, Step)> = Vec::new();
    for (info, block) in blocks(page) {
        // What builds the program is for whoever runs this test.
        let builds = block.lines().any(|line| line.starts_with("cargo "));
        match info {
            "console" => steps.push((place(block), Step::Console(block))),
            "sh" if !builds => steps.push((place(block), Step::Script(block))),
            _ => {}
        }
    }
    for after in page.split("<!-- given\n").skip(1) {
        let script = after.split("-->").next().expect("an end");
        steps.push((place(script), Step::Given(script)));
    }
    steps.sort_by_key(|(place, _)| *place);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// How many commands and scripts ran.
#[track_caller]
fn run(name: &str, steps: &[Step], folder: &Folder) -> usize {
    for link in ["scripts", "tests"] {
        symlink(in_repository(link), folder.path(link)).unwrap();
    }
    let mut count = 0;
    for step in steps {
        match step {
            Step::Console(block) => count += console(name, block, folder),
            Step::Script(script) | Step::Given(script) => {
                // Pages that need more of Python say so by importing it, or by a script that does.
                let alone = [
                    "python3 - ",
                    "evidence.py ",
                    "scripts/screen/ocp.py ",
                    "bfp_tiles.py ",
                ];
                let plain =
                    alone.iter().any(|alone| script.contains(alone)) && !script.contains("numpy");
                let missing = match script.contains("python3 ") {
                    true if plain && !python("") => Some("Python"),
                    true if !plain && !python("import numpy") => Some("NumPy"),
                    _ => None,
                };
                if let Some(missing) = missing {
                    say(format_args!(
                        "not checked: {missing} is not here: a script of {name}"
                    ));
                    match step {
                        // What the page takes for granted is not there.
                        Step::Given(_) => return count,
                        _ => continue,
                    }
                }
                let run = shell(folder, script);
                assert_eq!(run.code, Some(0), "{name}:\n{script}\n{run:?}");
                count += usize::from(matches!(step, Step::Script(_)));
            }
        }
    }
    count
}

fn console(name: &str, block: &str, folder: &Folder) -> usize {
    let mut last: Option<Run> = None;
    let mut count = 0;
    let steps = block.strip_prefix("$ ").expect("a command first");
    for step in steps.split("\n$ ") {
        let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
        if command == "echo $?" {
            let code = last.as_ref().and_then(|run| run.code);
            let code = code.map(|c| c.to_string());
            assert_eq!(Some(expected.trim()), code.as_deref(), "{name}: {last:?}");
            continue;
        }
        assert!(command.starts_with("tcverify "), "{name}: {command}");
        let run = shell(folder, command);
        assert!(
            matches!(run.code, Some(0 | 1)),
            "{name}: {command}\n{run:?}"
        );
        let newline = if expected.is_empty() || expected.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        shown(command, &format!("{expected}{newline}"), &run.stdout);
        last = Some(run);
        count += 1;
    }
    count
}

/// What is shown must be what is printed.
#[track_caller]
fn shown(command: &str, shown: &str, real: &str) {
    let mut rest = real;
    let mut anywhere = false;
    let mut piece = String::new();
    let mut look = |piece: &str, anywhere: bool| {
        let at = if anywhere {
            rest.find(piece)
        } else {
            rest.starts_with(piece).then_some(0)
        };
        let at = at.unwrap_or_else(|| panic!("{command}\nshows\n{piece}\nbut prints\n{rest}"));
        rest = &rest[at + piece.len()..];
    };
    for line in shown.lines() {
        if line.trim() == "..." {
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
        shown.trim_end().ends_with("...") || rest.is_empty(),
        "{command}\nalso prints\n{rest}"
    );
}

fn shell(folder: &Folder, script: &str) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_tcverify")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = folder.shell("sh");
    let options = ["-euc", script];
    // No trace of Python's in the repository, and no summary of whoever runs the tests.
    let shell = shell.args(options).env("PATH", path);
    let shell = shell.env("PYTHONDONTWRITEBYTECODE", "1");
    folder.run(shell.env_remove("GITHUB_STEP_SUMMARY"))
}

fn python(script: &str) -> bool {
    let found = Command::new("python3").args(["-c", script]).output();
    found.is_ok_and(|found| found.status.success())
}
