//! What a person sees in a terminal: its columns, one line, colours.

use crate::support::{Folder, Says, claims, holds, ran};

/// 64 x 48 ones in a column times a row; one element of D is another number.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.f16("a.npy", &[64, 1], &[1.0; 64]);
    folder.f16("b.npy", &[1, 48], &[1.0; 48]);
    let mut d = [1.0; 64 * 48];
    folder.f32("good.npy", &[64, 48], &d);
    d[100] = 1.5;
    d[200] = -1e30;
    folder.f32("d.npy", &[64, 48], &d);
    folder
}

const CHECK: &str = "check --arch ampere --dtype fp16 a.npy b.npy";

/// The text in so many columns.
fn text(folder: &Folder, words: &str, columns: &str) -> String {
    let mut command = folder.command();
    command
        .args(words.split_whitespace())
        .env("COLUMNS", columns);
    folder.run(&mut command).stdout
}

/// What cannot be cut: digests and commands.
fn stays_whole(line: &str) -> bool {
    let word = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    line.split_whitespace().any(word) || line.contains("tcverify ")
}

#[test]
fn no_sentence_is_wider_than_the_terminal() {
    let folder = folder();
    let whole = folder.differs(&format!("{CHECK} d.npy")).stdout;
    let words = |text: &str| -> Vec<String> {
        let words = text
            .split_whitespace()
            .filter(|word| !word.starts_with('#') && *word != "ulp");
        words
            .map(|word| word.trim_end_matches(',').to_owned())
            .collect()
    };
    for columns in [60_usize, 80, 120] {
        let text = text(&folder, &format!("{CHECK} d.npy"), &columns.to_string());
        for line in text.lines().filter(|line| !stays_whole(line)) {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        // The same words, whatever the width; the table's last columns trade places.
        let (mut these, mut those) = (words(&text), words(&whole));
        these.sort();
        those.sort();
        assert_eq!(these, those, "{columns}");
    }
    // Sentences go on under themselves, and only where they must.
    let narrow = text(&folder, &format!("{CHECK} d.npy"), "60");
    let evidence = narrow
        .lines()
        .position(|line| line.starts_with("  evidence"))
        .unwrap();
    assert_eq!(
        narrow.lines().nth(evidence + 1),
        Some("            hardware")
    );
    assert_eq!(whole.lines().filter(|line| line.contains("##")).count(), 2);
    whole.says("evidence  captured: reproduces results captured on real hardware\n");
    // No width is none.
    for columns in ["0", "", "many"] {
        assert_eq!(
            text(&folder, &format!("{CHECK} d.npy"), columns),
            whole,
            "{columns}"
        );
    }
}

#[test]
fn the_columns_of_archs_align() {
    for columns in ["", "120"] {
        let text = text(&Folder::new(), "archs", columns);
        let head = text.lines().next().unwrap();
        let table: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(table.len() > 12, "{text}");
        for column in ["evidence", "GPU", "instructions", "operand formats"] {
            let at = head.find(column).unwrap();
            for line in &table {
                let before = line.get(at - 2..at);
                assert_eq!(before, Some("  "), "{column}: {line}");
                let starts = line.as_bytes()[at] != b' ' || line.starts_with(' ');
                assert!(starts, "{column}: {line}");
            }
        }
    }
    for line in text(&Folder::new(), "archs", "60").lines() {
        assert!(line.len() <= 60, "{line}");
    }
}

#[test]
fn brief_is_one_line() {
    let folder = folder();
    let brief = |words: &str, code: i32| {
        let run = ran! {folder, "{CHECK} --brief {words}"}.expect(code);
        assert_eq!((run.stdout.lines().count(), run.stderr.as_str()), (1, ""));
        run.stdout
    };
    assert_eq!(
        brief("good.npy", 0),
        "IDENTICAL  all 3,072 elements of D are reproduced, bit for bit; ampere mma, fp16*fp16 -> fp32 (captured)\n"
    );
    assert_eq!(
        brief("d.npy", 1),
        "DIFFERENT  2 of 3,072 elements of D differ (0.0651 %); ampere mma, fp16*fp16 -> fp32 (captured)\n"
    );
    // A part says that it is one.
    let part = brief("good.npy --rows 0..8", 0);
    part.begins("IDENTICAL IN PART, 12.5 % of D compared  ");
    // Another report takes the place of the line, as of the text.
    holds! {folder.json(&format!("{CHECK} --brief --json - good.npy")), "verdict = identical"}
    claims! {folder, "{CHECK} --brief --quiet good.npy | 2 | --quiet"}
}

#[test]
fn colours_as_they_are_wanted() {
    let folder = folder();
    let coloured = |words: &str, variable: Option<(&str, &str)>| {
        let mut command = folder.command();
        command.args(format!("{CHECK} good.npy {words}").split_whitespace());
        command.envs(variable);
        folder
            .run(&mut command)
            .expect(0)
            .stdout
            .contains("\u{1b}[")
    };
    assert!(!coloured("", None));
    assert!(!coloured("--color auto", None));
    assert!(coloured("--color always", None));
    assert!(coloured("--color=always", Some(("NO_COLOR", "1"))));
    assert!(!coloured("--color never", Some(("CLICOLOR_FORCE", "1"))));
    claims! {folder, "{CHECK} good.npy --color some | 2 | always | never"}
    // What is wrong with the words themselves, too.
    let wrong = |colour: &str| {
        ran! {folder, "check --color {colour} --wrong"}
            .expect(2)
            .stderr
            .contains("\u{1b}[")
    };
    assert!(wrong("always") && !wrong("never"));
}
