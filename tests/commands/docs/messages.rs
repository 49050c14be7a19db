//! What people read in messages and help is plain English: short sentences, and no phrase of a list.
//!
//! All string literals of the library and the program are read, and the comments that become help.

use std::fs;
use std::path::{Path, PathBuf};

/// Phrases that make a reader stop, and what to write instead. Add one when you mend one.
const BANNED: [(&str, &str); 30] = [
    ("is no function", "is not a function"),
    ("is no multiple", "is not a multiple"),
    ("it is no ", "it is not a"),
    ("that of which", "name the thing"),
    ("of which this is", "name the thing"),
    ("is none of", "is not one of"),
    ("what is so", "name the fact"),
    ("is not so", "is wrong"),
    ("what is forgiven", "tolerance"),
    ("is forgiven", "is accepted"),
    ("let pass", "accepted"),
    ("said twice", "given twice"),
    ("there twice", "appears twice"),
    ("is said to", "is declared"),
    ("are said to", "are declared"),
    ("decides no bit", "does not affect the result"),
    ("decide no bit", "do not affect the result"),
    ("may decide", "may affect"),
    ("falls to", "goes to"),
    ("multiply so alone", "are compatible only in this layout"),
    ("handed over", "given, or supplied"),
    ("handed in", "supplied"),
    ("otherwise than", "differently from"),
    ("cannot be had", "is not available"),
    ("was asked for", "the request says"),
    ("is asked for", "the request says"),
    ("looked at", "examined"),
    ("looked for", "searched for"),
    ("but for the", "except the"),
    ("anybody", "anyone"),
];

/// Words of a sentence, at most. Good style has 25; lists of names may need more.
const LONGEST: usize = 30;

#[test]
fn messages_and_help_are_plain_english() {
    let mut wrong = Vec::new();
    for file in ["src", "crates"]
        .into_iter()
        .flat_map(|folder| sources(Path::new(folder)))
    {
        let source = fs::read_to_string(&file).unwrap();
        let ends = source.find("#[cfg(test)]\nmod ").unwrap_or(source.len());
        for (line, text) in texts(&source[..ends], is_help(&file)) {
            wrong.extend(complaints(&text).map(|why| format!("{}:{line}: {why}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_check_finds_what_it_looks_for() {
    let bad = "fn f() { g(\"the rest is handed over\"); }\n/// K, which\n";
    let found: Vec<_> = texts(bad, true).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(complaints(&found[0].1).count(), 1);
    let long = "word ".repeat(LONGEST + 1);
    assert_eq!(complaints(&long).count(), 1);
    assert_eq!(
        complaints(&long.replace("word word", "word. Word")).count(),
        0
    );
    let split = "fn f() { g(\"the rest is handed \\\n        over\"); }";
    assert_eq!(
        complaints(&texts(split, false).next().unwrap().1).count(),
        1
    );
    assert!(sources(Path::new("crates")).len() > 300);
}

fn complaints(text: &str) -> impl Iterator<Item = String> {
    let banned = BANNED.iter().filter(|(phrase, _)| text.contains(phrase));
    let banned = banned.map(|(phrase, better)| format!("\"{phrase}\", better: {better}"));
    let sentences = text.split(['.', '\n', ':', ';']);
    let long = sentences.filter(|sentence| sentence.split_whitespace().count() > LONGEST);
    let long = long.map(|sentence| format!("too long: {}", sentence.trim()));
    banned.chain(long).collect::<Vec<_>>().into_iter()
}

/// Files whose comments clap shows.
fn is_help(file: &Path) -> bool {
    file.starts_with("src/cli") || file.ends_with("check/declaration.rs")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => all.extend(sources(&path)),
            false if path.extension().is_some_and(|e| e == "rs") && name != "tests" => {
                all.push(path)
            }
            _ => {}
        }
    }
    all.sort();
    all
}

/// String literals of more than one word, continued lines joined, and with `help` runs of `///`, with their lines.
fn texts(source: &str, help: bool) -> impl Iterator<Item = (usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut rest, mut line) = (source, 1);
    let mut comment: Option<(usize, String)> = None;
    while let Some(first) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            if let Some(text) = rest[..end].strip_prefix("///").filter(|_| help) {
                let (_, so_far) = comment.get_or_insert((line, String::new()));
                so_far.push_str(text);
                if text.trim().is_empty() {
                    so_far.push('\n');
                }
            }
            end
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let end = end.map_or(rest.len(), |end| end + 2);
            let lines = rest[1..end - 1].split("\\\n").map(str::trim_start);
            let text = lines.collect::<String>().replace("\\n", "\n");
            if text.contains(' ') {
                all.push((line, text));
            }
            end
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() && !rest.starts_with("//") {
            all.extend(comment.take());
        }
        line += rest[..end].matches('\n').count();
        rest = &rest[end..];
    }
    all.extend(comment);
    all.sort();
    all.into_iter()
}
