//! The scripts of `scripts/ci`, run as they are.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::example;
use crate::support::{Folder, Run, Says, table, words};

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

/// The fields of a case, and a manifest of such cases.
fn case(d: &str) -> Value {
    json!({"arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "c": "c.npy", "d": d})
}

fn manifest(cases: &[Value]) -> String {
    let named = cases.iter().enumerate().map(|(i, case)| {
        let mut case = case.clone();
        case["name"] = format!("case {i}").into();
        case
    });
    json!({"schema": "tcverify.manifest/1", "cases": named.collect::<Vec<_>>()}).to_string()
}

#[test]
fn a_gate_ends_with_the_worst_of_its_cases() {
    let folder = example();
    let [good, bad, none] = ["good.npy", "d.npy", "absent.npy"].map(case);
    for (cases, code) in [
        (vec![good.clone()], 0),
        (vec![good.clone(), bad.clone(), good.clone()], 1),
        (vec![bad.clone(), none, good.clone()], 2),
        (vec![], 2),
    ] {
        folder.write("cases.json", manifest(&cases));
        gate(&folder, &["cases.json"]).expect(code);
    }
    folder.write("cases.json", manifest(&[good, bad]));
    folder.create("pushed");
    for name in ["a.npy", "b.npy", "c.npy", "d.npy", "good.npy", "cases.json"] {
        folder.rename(name, &format!("pushed/{name}"));
    }
    let run = gate(&folder, &["pushed/cases.json", "--junit", "report.xml"]).expect(1);
    run.says("DIFFERENT");
    run.says("policy    strict");
    assert!(folder.names().contains(&"report.xml".to_owned()));
    gate(&folder, &["absent"]).expect(2).mentions(&["absent"]);
    gate(&folder, &[]).expect(2).mentions(&["Usage"]);
    // Nobody can take the policy away.
    gate(&folder, &["pushed/cases.json", "--policy", "other"]).expect(2);
}

#[test]
fn a_gate_without_a_program_has_no_verdict() {
    let folder = example();
    for program in ["./absent", "/dev/null"] {
        let mut command = folder.shell("sh");
        command.arg(script("gate.sh")).arg("cases.json");
        folder.run(command.env("TCVERIFY", program)).expect(2);
    }
    // Killed is not different.
    let killed = folder.write("killed", "#!/bin/sh\nkill -9 $$\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&killed, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = folder.shell("sh");
    command.arg(script("gate.sh")).arg("cases.json");
    folder.run(command.env("TCVERIFY", "./killed")).expect(2);
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
        command.args(words! {"-c | init.defaultBranch=main | -c | commit.gpgsign=false"});
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
    push(1).mentions(&["refs/heads/main has no tcverify.json"]);
    let good = case("good.npy");
    let mut weakened = case("d.npy");
    weakened["rows"] = "0".into();
    for (cases, code, word) in [
        (case("d.npy"), 1, "a product differs from its replay"),
        (weakened, 1, "no verdict"),
        (good.clone(), 0, ""),
    ] {
        folder.write("tcverify.json", manifest(&[cases]));
        git("add tcverify.json", 0);
        push(code).mentions(&[word]);
    }
    // What is judged is what was committed, whatever attributes make of an archive.
    let subst = manifest(&[case("$Format:good.npy$")]);
    let other = manifest(&[case("d.npy"), good]);
    for (attributes, text, word) in [
        ("tcverify.json export-subst", &subst, "no verdict"),
        ("good.npy export-ignore", &other, "a product differs"),
    ] {
        folder.write(".gitattributes", format!("{attributes}\n"));
        folder.write("tcverify.json", text);
        git("add .gitattributes tcverify.json", 0);
        push(1).mentions(&[word]);
    }
    // Nor what a link leads to.
    folder.remove("tcverify.json");
    std::os::unix::fs::symlink("/etc/passwd", folder.path("tcverify.json")).unwrap();
    git("add tcverify.json", 0);
    let run = push(1).mentions(&["its tcverify.json is no file"]);
    run.stderr.lacks("root:");
    run.stderr.lacks("column");
    // Every ref serves files: HEAD~3 is good, HEAD~4 differs.
    git("push -q target.git HEAD~3:refs/heads/other", 0);
    git("push -q target.git :refs/heads/other", 0);
    git("tag -a v1 -m x HEAD~3", 0);
    git("tag -a v2 -m x HEAD~2", 0);
    git("push -q target.git v1", 0);
    let refused = |what: &str, words: &[&str]| {
        git(&format!("push -q target.git {what}"), 1).mentions(words);
    };
    refused("v2", &["refs/tags/v2: no verdict"]);
    refused("HEAD~2:refs/tags/t", &["refs/tags/t: no verdict"]);
    refused(
        "HEAD~3:refs/replace/0123456789012345678901234567890123456789",
        &["what replaces an object"],
    );
    let object = |name: &str| {
        let run = git(&format!("rev-parse {name}"), 0);
        run.stdout.trim().to_owned()
    };
    refused(
        &format!("{}:refs/tags/blob", object("HEAD~3:good.npy")),
        &["leads to no commit"],
    );
    // Two entries of one name: a reader serves the first, tar unpacks the last.
    let [good, bad] = ["HEAD~3:good.npy", "HEAD~3:d.npy"].map(object);
    let manifest = object("HEAD~3:tcverify.json");
    let mut tree = Vec::new();
    for (name, id) in [
        ("a.npy", object("HEAD~3:a.npy")),
        ("b.npy", object("HEAD~3:b.npy")),
        ("c.npy", object("HEAD~3:c.npy")),
        ("good.npy", bad),
        ("good.npy", good),
        ("tcverify.json", manifest),
    ] {
        tree.extend(format!("100644 {name}\0").as_bytes());
        let byte = |at| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
        tree.extend((0..id.len()).step_by(2).map(byte));
    }
    folder.write("tree", tree);
    let tree = git("hash-object -t tree -w --literally tree", 0).stdout;
    let commit = git(&format!("commit-tree -m x {}", tree.trim()), 0).stdout;
    let commit = commit.trim();
    refused(
        &format!("{commit}:refs/heads/twice"),
        &["duplicateEntries", "refs/heads/twice"],
    );
    // What was replaced before the hook was there.
    git(
        "-C target.git update-ref refs/replace/0123456789012345678901234567890123456789 refs/heads/main",
        0,
    );
    refused(
        "HEAD~3:refs/heads/more",
        &["the repository has refs/replace/*"],
    );
}

/// Trees in trees of a few kilobytes have millions of files, and tags of tags have no end.
#[test]
fn pushes_that_unpack_without_end_are_refused_unopened() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("SKIPPED: no git was found, so no push was tried");
        return;
    }
    let folder = example();
    let sh = |script: &str| {
        let mut command = folder.shell("sh");
        command.args(["-ec", script]);
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
            command.env_remove(name);
        }
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "x"),
            ("GIT_AUTHOR_EMAIL", "x@example.org"),
            ("GIT_COMMITTER_NAME", "x"),
            ("GIT_COMMITTER_EMAIL", "x@example.org"),
        ] {
            command.env(name, value);
        }
        command.env("TCVERIFY", env!("CARGO_BIN_EXE_tcverify"));
        folder.run(&mut command)
    };
    sh("git init -q --bare target.git && git init -q .").expect(0);
    for name in ["gate.sh", "pre-receive"] {
        std::fs::copy(script(name), folder.path("target.git/hooks").join(name)).unwrap();
    }
    // Ten times ten times ... a file of a kilobyte, nine folders deep, and a chain of a hundred folders.
    sh("blob=$(head -c 1024 /dev/zero | git hash-object -w --stdin)
        wide=$(printf '100644 blob %s\\tx\\n' $blob | git mktree)
        deep=$wide
        for _ in 1 2 3 4 5 6 7 8 9; do
            wide=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $wide $i; done | git mktree)
        done
        for _ in $(seq 100); do deep=$(printf '040000 tree %s\\td\\n' $deep | git mktree); done
        git tag wide $(git commit-tree -m x $wide)
        git tag deep $(git commit-tree -m x $deep)
        git tag -m x t0 wide
        for i in $(seq 9); do git tag -m x t$i t$((i - 1)); done")
    .expect(0);
    let started = std::time::Instant::now();
    for (limits, tag, word) in table! {
        ("", "wide", "has more than 100000 files and folders"),
        ("TCVERIFY_PUSH_FILES=50", "wide", "has more than 50 files and folders"),
        ("TCVERIFY_PUSH_BYTES=5000", "wide", "more than 5000 bytes"),
        ("", "deep", "folders in more than 64 folders"),
        ("", "t9", "more than 8 tags lead to its commit"),
        ("TCVERIFY_PUSH_SECONDS=0.001", "deep", "not judged within 0.001 s"),
    } {
        sh(&format!("{limits} git push -q target.git {tag}"))
            .expect(1)
            .mentions(&[word]);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
