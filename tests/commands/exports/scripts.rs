//! The scripts of `scripts/ci`, run as they are.

use std::path::PathBuf;
use std::process::Command;

use super::example;
use crate::support::{Folder, Run};

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("scripts/ci")
        .join(name)
}

fn gate(folder: &Folder, arguments: &[&str]) -> Run {
    let mut command = folder.shell("sh");
    command.arg(script("gate.sh")).args(arguments);
    folder.run(command.env("TCVERIFY", env!("CARGO_BIN_EXE_tcverify")))
}

const GOOD: &str = "--arch a100 --dtype fp16 --c c.npy a.npy b.npy good.npy";
const BAD: &str = "--arch a100 --dtype fp16 --c c.npy a.npy b.npy d.npy";

#[test]
fn a_gate_ends_with_the_worst_of_its_checks() {
    let folder = example();
    for (lines, code) in [
        (format!("# One.\n\n{GOOD}\n"), 0),
        (format!("{GOOD}\n{BAD}\n{GOOD}"), 1),
        (
            format!("{BAD}\n--arch a100 --dtype fp16 a.npy b.npy absent.npy\n{GOOD}\n"),
            2,
        ),
    ] {
        folder.write("manifest", lines);
        gate(&folder, &["manifest"]).expect(code);
    }
    assert!(
        gate(&folder, &["-o", "out", "manifest"])
            .stdout
            .contains("DIFFERENT")
    );
    let mut reports: Vec<_> = std::fs::read_dir(folder.path("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    reports.sort();
    assert_eq!(reports, ["1.html", "1.xml", "3.html", "3.xml"]);
}

#[test]
fn a_gate_that_checks_nothing_does_not_pass() {
    let folder = example();
    for lines in ["", "# nothing\n\n", "   \n"] {
        folder.write("manifest", lines);
        gate(&folder, &["manifest"])
            .expect(2)
            .mentions(&["no checks"]);
    }
    gate(&folder, &["absent"]).expect(2).mentions(&["absent"]);
    gate(&folder, &[]).expect(2).mentions(&["usage"]);
}

#[test]
fn a_manifest_cannot_write_nor_leave_its_folder() {
    let folder = example();
    std::os::unix::fs::symlink("/etc", folder.path("link")).unwrap();
    for (line, word) in [
        (format!("{GOOD} --json x"), "--json"),
        (format!("{GOOD} --html=x"), "--html=x"),
        (format!("{GOOD} -q"), "-q"),
        (format!("{GOOD} --model x"), "--model"),
        (GOOD.replace("a.npy", "/dev/zero"), "leads out"),
        (GOOD.replace("a.npy", "x/../../a.npy"), "leads out"),
        (GOOD.replace("a.npy", "link/passwd"), "link is a link"),
    ] {
        folder.write("manifest", format!("{line}\n"));
        let before = folder.names();
        gate(&folder, &["manifest"]).expect(2).mentions(&[word]);
        assert_eq!(folder.names(), before);
    }
    // Words are words, not patterns nor commands.
    folder.write(
        "manifest",
        format!(
            "{} $(touch hit) `touch hit`\n",
            GOOD.replace("a.npy", "*.npy")
        ),
    );
    gate(&folder, &["manifest"]).expect(2);
    assert!(!folder.names().contains(&"hit".to_owned()));
}

#[test]
fn pushes_pass_only_with_products_that_replay() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("SKIPPED: no git was found, so no push was tried");
        return;
    }
    let folder = example();
    let git = |arguments: &str, code: i32| {
        let mut command = folder.shell("git");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
        command.args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "commit.gpgsign=false",
        ]);
        command.args(arguments.split(' '));
        command.env("TCVERIFY", env!("CARGO_BIN_EXE_tcverify"));
        // Of whoever runs the tests in a hook.
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
            command.env_remove(name);
        }
        folder.run(&mut command).expect(code)
    };
    git("init -q --bare target.git", 0);
    for name in ["gate.sh", "pre-receive"] {
        std::fs::copy(script(name), folder.path("target.git/hooks").join(name)).unwrap();
    }
    git("init -q .", 0);
    let push = |code: i32| {
        git("add a.npy b.npy c.npy d.npy good.npy", 0);
        git("commit -q --allow-empty -m x", 0);
        git("push -q target.git HEAD:refs/heads/main", code)
    };
    push(1).mentions(&["refs/heads/main has no tcverify.manifest"]);
    for (lines, code, word) in [
        (format!("{BAD}\n"), 1, "a product differs from its replay"),
        (format!("{GOOD} --json x\n"), 1, "no verdict"),
        (format!("{GOOD}\n"), 0, ""),
    ] {
        folder.write("tcverify.manifest", lines);
        git("add tcverify.manifest", 0);
        push(code).mentions(&[word]);
    }
    // What has no products to replay: tags, and branches that go.
    git("push -q target.git HEAD:refs/tags/t", 0);
    git("push -q target.git HEAD:refs/heads/other", 0);
    git("push -q target.git :refs/heads/other", 0);
}
