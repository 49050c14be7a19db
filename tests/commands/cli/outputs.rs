//! Where the report goes, how long it is, and that it never stains what reads it.

use crate::support::{Folder, Members, claims};

const CHECK: &str = "check --arch ampere --dtype fp16 a.npy b.npy d.npy";

/// D = A here; the last `wrong` of 20 elements are not.
fn folder(wrong: usize) -> Folder {
    let folder = Folder::new();
    let a: Vec<f32> = (1..=20).map(|i| i as f32).collect();
    let mut d = a.clone();
    d[20 - wrong..].fill(0.0);
    folder.f16("a.npy", &[20, 1], &a);
    folder.f16("b.npy", &[1, 1], &[1.0]);
    folder.f32("d.npy", &[20, 1], &d);
    folder
}

#[test]
fn quiet_prints_nothing() {
    for (wrong, code) in [(0, 0), (3, 1)] {
        for quiet in ["--quiet", "-q"] {
            let run = folder(wrong).tcverify(&format!("{CHECK} {quiet}"));
            let run = run.expect(code);
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
        }
    }
}

#[test]
fn json_in_a_file_goes_with_the_text() {
    let folder = folder(3);
    let text = folder.differs(CHECK).stdout;
    let run = folder.differs(&format!("{CHECK} --json report.json"));
    assert_eq!(run.stdout, text);
    let file = folder.text("report.json");
    let run = folder.differs(&format!("{CHECK} --json -"));
    assert_eq!(run.stdout, file);
    assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy", "report.json"]);
}

#[test]
fn json_and_quiet() {
    let folder = folder(3);
    let run = folder.differs(&format!("{CHECK} -q --json report.json"));
    assert_eq!(run.stdout, "");
    assert!(!folder.read("report.json").is_empty());
    // Asked for on standard output, it is not withheld.
    let run = folder.differs(&format!("{CHECK} -q --json -"));
    assert_eq!(run.json()["verdict"], "different");
}

#[test]
fn a_report_replaces_an_older_one() {
    let folder = folder(0);
    folder.write("report.json", "an older report");
    folder.passes(&format!("{CHECK} -q --json report.json"));
    let report: serde_json::Value = folder.document("report.json");
    assert_eq!(report["verdict"], "identical");
}

#[test]
fn no_verdict_leaves_an_older_report_alone() {
    let folder = folder(0);
    folder.write("report.json", "an older report");
    claims! {folder, "check --arch ampere --dtype fp16 a.npy a.npy d.npy --json report.json | refused | a.npy"}
    assert_eq!(folder.read("report.json"), b"an older report");
    assert_eq!(folder.names(), ["a.npy", "b.npy", "d.npy", "report.json"]);
}

#[test]
fn a_report_never_replaces_an_input() {
    for input in ["a.npy", "b.npy", "d.npy", "./d.npy"] {
        let folder = folder(0);
        let before = folder.read(input);
        claims! {folder, "{CHECK} --json {input} | refused | {input} | would overwrite"}
        assert_eq!(folder.read(input), before);
    }
}

#[test]
fn mismatches_are_listed_up_to_a_limit() {
    let folder = folder(15);
    for (limit, listed) in [("", 10), ("0", 0), ("1", 1), ("15", 15), ("1000000", 15)] {
        let option = match limit {
            "" => String::new(),
            n => format!("--max-mismatches {n}"),
        };
        let report = folder.differing(&format!("{CHECK} {option} --json -"));
        let comparison = &report["outcome"]["comparison"];
        let first = comparison.list("first");
        assert_eq!(first.len(), listed);
        assert_eq!(comparison["mismatches"], 15);
        for (i, mismatch) in first.iter().enumerate() {
            assert_eq!(mismatch["index"], serde_json::json!([5 + i, 0]));
        }

        let text = folder.differs(&format!("{CHECK} {option}")).stdout;
        let rows = text.lines().filter(|line| line.starts_with("  [")).count();
        assert_eq!(rows, listed);
        let more = text.contains(&format!("... and {} more", 15 - listed));
        assert_eq!(more, (1..15).contains(&listed), "{text}");
    }
}

#[test]
fn no_colours_where_nobody_sees_them() {
    let folder = folder(3);
    for arguments in [
        CHECK,
        "archs",
        "archs hopper",
        "check",
        "digest nothing.npy",
    ] {
        let run = folder.tcverify(arguments);
        assert!(!run.stdout.contains('\x1b'), "{run:?}");
        assert!(!run.stderr.contains('\x1b'), "{run:?}");
    }
}

#[test]
fn colours_on_demand_but_never_in_json() {
    let folder = folder(3);
    let run = |arguments: &str, variables: &[(&str, &str)]| {
        let mut command = folder.command();
        command.args(arguments.split_whitespace());
        folder.run(command.envs(variables.iter().copied()))
    };
    let force = ("CLICOLOR_FORCE", "1");
    assert!(run(CHECK, &[force]).stdout.contains('\x1b'));
    assert!(run("digest nothing.npy", &[force]).stderr.contains('\x1b'));
    for form in ["--json -", "--json report.json -q"] {
        let run = run(&format!("{CHECK} {form}"), &[force]);
        assert!(!run.stdout.contains('\x1b'));
    }
    assert!(!folder.read("report.json").contains(&0x1b));
    assert!(!run(CHECK, &[("NO_COLOR", "1")]).stdout.contains('\x1b'));
}

// Never a path in /dev: should the program mistake one for a file, and root run this, it would be
// replaced by one. A link of the test's own leads to the same place.
#[cfg(target_os = "linux")]
#[test]
fn json_through_a_device_or_a_pipe() {
    let folder = folder(3);
    let run = folder.differs(&format!("{CHECK} --json -"));
    let expected = run.stdout;
    std::os::unix::fs::symlink("/proc/self/fd/1", folder.path("stdout")).unwrap();
    let run = folder.child(&format!("{CHECK} -q --json stdout"));
    assert_eq!(run.expect(1).stdout, expected);

    // Redirected by a shell, what the link leads to is a file.
    let quiet = format!("{CHECK} -q --json");
    let script = format!("\"$0\" {quiet} stdout > report.json");
    let mut shell = folder.shell("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_tcverify")]);
    folder.run(&mut shell).expect(1);
    assert_eq!(folder.read("report.json"), expected.as_bytes());
    assert!(folder.path("stdout").is_symlink());

    let script = format!("mkfifo pipe; cat pipe & \"$0\" {quiet} pipe; wait");
    let mut shell = folder.shell("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_tcverify")]);
    assert_eq!(folder.run(&mut shell).stdout, expected);
}
