//! Annotations and summary of GitHub Actions.

use crate::support::{Says, ran};

use super::{CHECK, EVIL, example};

#[test]
fn annotations_are_one_line_each_and_follow_the_text() {
    let folder = example();
    let text = folder.differs(&format!("{CHECK} d.npy")).stdout;
    let run = folder.differs(&format!("{CHECK} d.npy --github"));
    let annotations = run
        .stdout
        .strip_prefix(text.as_str())
        .expect("the text comes first");
    let lines: Vec<_> = annotations.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines[0].begins("::error title=tcverify%3A different::1 of 4 elements of D differ (25 %25; plus C)%0Alikely cause: Only one bit of one element differs, of 4 elements: bit 0");
    let run = folder.passes(&format!("{CHECK} good.npy -q --github"));
    run.begins("::notice title=tcverify%3A identical::all 4 elements");
    assert_eq!(run.stdout.lines().count(), 1);
}

#[test]
fn no_file_name_becomes_a_command() {
    let folder = example();
    folder.copy("a.npy", EVIL);
    let words = "check --arch a100 --dtype fp16 --c c.npy -q --github".split(' ');
    let run = folder
        .words(words.chain([EVIL, "b.npy", "good.npy"]))
        .expect(0);
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    run.begins("::notice title=tcverify%3A identical::");
}

#[test]
fn the_summary_is_appended_to() {
    let folder = example();
    let summary = folder.write("summary.md", "# Before\n\n");
    let run = |d: &str, code| {
        let mut command = folder.command();
        command.args(CHECK.split(' ')).args([d, "-q", "--github"]);
        folder
            .run(command.env("GITHUB_STEP_SUMMARY", &summary))
            .expect(code);
    };
    run("d.npy", 1);
    run("good.npy", 0);
    let markdown = |d: &str, code| {
        let run = ran! {folder, "{CHECK} {d} --markdown -"}.expect(code);
        run.stdout
    };
    let expected = format!(
        "# Before\n\n{}\n{}\n",
        markdown("d.npy", 1),
        markdown("good.npy", 0)
    );
    assert_eq!(folder.text("summary.md"), expected);
}

#[test]
fn a_summary_that_cannot_be_written_is_no_verdict() {
    let folder = example();
    let mut command = folder.command();
    command
        .args(CHECK.split(' '))
        .args(["good.npy", "-q", "--github"]);
    let run = folder.run(command.env("GITHUB_STEP_SUMMARY", folder.path(".")));
    run.refuses(&["GITHUB_STEP_SUMMARY"]);
    // Nothing is appended where nobody asked for it.
    let summary = folder.write("summary.md", "");
    let mut command = folder.command();
    command.args(CHECK.split(' ')).args(["good.npy", "-q"]);
    folder
        .run(command.env("GITHUB_STEP_SUMMARY", &summary))
        .expect(0);
    assert_eq!(folder.read("summary.md"), b"");
}
