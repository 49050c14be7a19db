//! Words that are no command line, and those that ask for help.

use crate::support::{Folder, Says, claims, words};

fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["a.npy", "b.npy", "d.npy"] {
        folder.f16(name, &[1, 1], &[1.0]);
    }
    folder
}

#[test]
fn mistakes_of_usage_exit_with_2() {
    let folder = folder();
    let bare = folder.fails("");
    assert_eq!(bare.stdout, "");
    bare.mentions(&["Usage"]);
    claims! {folder, "
        each ~ | usage
        verify | 'check' judges a D
        nonsense | unrecognized subcommand
        check | <A.npy>
        check a.npy b.npy d.npy | --arch (or --model) is missing
        check --arch h100 --dtype fp16 a.npy b.npy | --d-digest
        check --arch h100 --dtype fp16 a b d e | unexpected argument
        check --arch h100 --dtype fp17 a b d | fp16
        check --arch h100 --dtype fp16 --dtype-b x a b d | --dtype-b
        check --arch h100 --dtype fp16 --acc f12 a b d | f16
        check --arch h100 --dtype fp16 --d-dtype tf32 a b d | bf16
        check --arch h100 --dtype fp16 --nan some a b d | any
        check --arch h100 --dtype fp16 --zero some a b d | any
        check --arch h100 --dtype tf32 --tf32-input up a b d | nearest
        check --arch h100 --dtype fp16 --max-mismatches x a b d | --max-mismatches
        check --arch h100 --dtype fp16 --max-mismatches -1 a b d | -1
        check --arch h100 --dtype fp16 --wrong a b d | --wrong
        check --arch h100 --dtype fp16 --dtype fp16 a b d | --dtype
        check --threads many | --threads
        check --threads 1000000000 | --threads
        check --threads -1 | -1
        replay --arch h100 --dtype fp16 a.npy b.npy | --output
        digest | X.npy
        digest --dtype int9 d.npy | int9
        archs h100 h200 | unexpected argument
        completions | <SHELL>
        completions csh | bash
    "}
}

#[test]
fn help_exits_with_0() {
    for arguments in words! {"
        --help | -h | help | help check | help -h | help check -h | help --help | check --help | check -h
        | replay --help | digest --help | archs --help | completions --help
    "}
    {
        let run = folder().passes(arguments);
        assert!(run.stdout.contains("Usage: tcverify"), "{arguments}");
        assert_eq!(run.stderr, "", "{arguments}");
    }
}

/// `-h` of every command, and of each with --op, fits on a terminal of 80 columns and 45 lines.
#[test]
fn short_help_fits_a_screen() {
    let folder = folder();
    let help = |words: &[&str]| {
        let mut command = folder.command();
        let run = command.args(words).arg("-h").env("COLUMNS", "80");
        folder.run(run).expect(0).stdout
    };
    let listed = |help: &str| -> Vec<String> {
        let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
        let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        let names = names.flat_map(|line| match line.split_once("  ") {
            Some((name, _)) => vec![name.to_owned()],
            // What is only for reference stands in one line.
            None => line
                .trim_end_matches(',')
                .split(", ")
                .map(str::to_owned)
                .collect(),
        });
        names.filter(|name| name != "help").collect()
    };
    let mut open: Vec<Vec<String>> = vec![vec![]];
    for verb in words! {"check | identify | explain | replay | commit | audit open | audit verify"}
    {
        let words = verb.split(' ').chain(["--op", "gelu"]);
        open.push(words.map(str::to_owned).collect());
    }
    let mut seen = 0;
    while let Some(words) = open.pop() {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let text = help(&words);
        let lines = text.lines().count();
        assert!(lines <= 45, "{words:?} has {lines} lines:\n{text}");
        // clap does not wrap the usage.
        let mut others = text.lines().filter(|line| !line.starts_with("Usage: "));
        assert!(others.all(|line| line.chars().count() <= 80), "{text}");
        seen += 1;
        if words.is_empty() {
            open.extend(listed(&text).into_iter().map(|name| vec![name]));
            continue;
        }
        assert!(text.contains("Example:\n  "), "{words:?}:\n{text}");
        assert!(text.contains("--help"), "{words:?}:\n{text}");
        if let Some((_, commands)) = text.split_once("\nCommands:\n") {
            let commands = commands.split("\n\n").next().unwrap();
            for name in listed(commands) {
                open.push(
                    words
                        .iter()
                        .map(|w| (*w).to_owned())
                        .chain([name])
                        .collect(),
                );
            }
        }
    }
    assert!(seen > 55, "{seen}");
    let first = help(&["check"]);
    first.says_all([
        "--arch",
        "--dtype",
        "--c ",
        "--transpose-b",
        "--schedule",
        "--json",
    ]);
    first.lacks("--ttnn");
}

/// Groups of options: what the command is about first, what few need last.
#[test]
fn rare_groups_stand_last() {
    let help = folder().stdout("check --help");
    let titles = words! {"
        Options: | Operands: | Model: | Comparison: | Report: | Schedule: | Operation: | Memory: | Attestation:
        | Global options:
    "};
    let places = titles
        .iter()
        .map(|title| help.find(&format!("\n{title}\n")).expect(title));
    assert!(places.is_sorted(), "{help}");
}

#[test]
fn help_names_every_option_and_the_exit_codes() {
    let help = folder().stdout("check --help");
    for option in words! {"
        --arch | --dtype | --dtype-b | --instruction | --acc | --c | --transpose-a | --transpose-b
        | --tf32-input | --d-dtype | --d-digest | --nan | --zero | --max-mismatches | --quiet | --json
        | --threads
    "}
    {
        assert!(help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")));
    }
    help.says("Exit codes: 0 identical, 1 different, 2 anything else.");
}

#[test]
fn the_version() {
    let run = folder().passes("--version");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(run.stdout, format!("tcverify {version}\n"));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = folder().passes(&format!("completions {shell}"));
        assert!(run.stdout.contains("tcverify"), "{shell}");
        assert!(run.stdout.contains("max-mismatches"), "{shell}");
        assert_eq!(run.stderr, "");
    }
}

/// Bash completes what an option takes: names that are looked up later, formats, words.
#[test]
fn values_are_completed() {
    let folder = folder();
    folder.write("script", folder.stdout("completions bash"));
    for (words, expected) in [
        ("check --arch hop", &["hopper"][..]),
        ("check --arch rtx407", &["rtx4070", "rtx4070ti"]),
        ("check --arch aut", &["auto"]),
        ("check --schedule deepgemm", &["deepgemm-sm90"]),
        ("explain --dtype e4", &["e4m3", "e4m3fnuz"]),
        ("check --instruction wgm", &["wgmma"]),
        ("check --color n", &["never"]),
        ("archs blackw", &["blackwell"]),
    ] {
        let script = format!(
            "source ./script; COMP_WORDS=(tcverify {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _tcverify tcverify \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = folder.shell("bash");
        let run = folder.run(bash.args(["-c", &script])).expect(0);
        let found: Vec<_> = run.stdout.split_whitespace().collect();
        for name in expected {
            assert!(found.contains(name), "{words}: {run:?}");
        }
        let typed = words.rsplit(' ').next().unwrap();
        assert!(
            found.iter().all(|name| name.starts_with(typed)),
            "{words}: {run:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn bash_takes_its_completions() {
    let folder = folder();
    let script = folder.stdout("completions bash");
    folder.write("script", script);
    let mut bash = std::process::Command::new("bash");
    bash.args(["-n", "script"]).current_dir(folder.path("."));
    match bash.status() {
        Ok(status) => assert!(status.success()),
        Err(_) => eprintln!("no bash here"),
    }
}

#[test]
fn an_option_may_stand_anywhere() {
    let folder = folder();
    for arguments in [
        "--threads 1 check --arch h100 --dtype fp16 a.npy b.npy d.npy",
        "check a.npy --arch=h100 b.npy --dtype=fp16 d.npy --threads=2",
    ] {
        folder.passes(arguments);
    }
}

/// Rare settings have one option for all, which says what it does not know.
#[test]
fn rare_settings() {
    let folder = Folder::new();
    claims! {folder, "
        each replay --arch a100 --dtype fp16 --schedule cutlass-sm80 ~ generate:1:normal:4x96 generate:2:normal:96x4 -o d.npy
        --set residue=last --set instruction_k=8 | 0
        --set residu=last | refused | did you mean residue?
        --set colour=red | refused | there are residue
        --set residue=middle | refused | --set residue: unknown variant `middle`
        --set workers=many | refused | --set workers: invalid type
        --set residue=last --set residue=first | refused | given twice
        --set residue | refused | --set residue
        --residue last | 2 | as --set residue=VALUE
        --in0-block-w=2 | 2 | as --set in0_block_w=VALUE
    "}
    // Every one is a field, in help and without an option of its own.
    let help = folder.stdout("check --help");
    for name in tcverify::check::SET {
        help.says(&format!("- {name}"));
        help.lacks(&format!("--{} ", name.replace('_', "-")));
    }
}

/// A setting does not touch what is beside it: a path may be any bytes.
#[cfg(unix)]
#[test]
fn a_rare_setting_beside_a_path_of_bytes() {
    use std::os::unix::ffi::OsStringExt;

    let folder = folder();
    let name = std::ffi::OsString::from_vec(b"a\xff.npy".to_vec());
    if std::fs::copy(folder.path("a.npy"), folder.path(".").join(&name)).is_err() {
        eprintln!("this file system takes no such name");
        return;
    }
    let words = "check --arch h100 --dtype fp16 --set instruction_k=8";
    let mut words: Vec<_> = words.split(' ').map(std::ffi::OsString::from).collect();
    words.extend([name, "b.npy".into(), "d.npy".into()]);
    let code = folder.words(words).code;
    assert!([Some(0), Some(1)].contains(&code), "{code:?}");
}

/// As many as a person can look through.
#[test]
fn options_of_a_check() {
    let help = Folder::new().stdout("check --help");
    let names = |line: &str| {
        let line = line.trim_start();
        let line = line.split_once(", ").map_or(
            line,
            |(short, rest)| {
                if short.len() == 2 { rest } else { line }
            },
        );
        let indented = line.starts_with("--") && !line.contains("). ");
        indented.then(|| line.split([' ', '[', '=']).next().unwrap().to_owned())
    };
    let mut options: Vec<_> = help.lines().filter_map(names).collect();
    options.sort();
    options.dedup();
    assert!(
        (60..=75).contains(&options.len()),
        "{}: {options:?}",
        options.len()
    );
}
