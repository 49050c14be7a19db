//! Text that comes from files, names of files and other people, fit to be shown.
//!
//! Whatever is not written by this program passes one of these functions before it reaches a terminal, a
//! log or a report: it may hold what moves a cursor, turns the order of letters around, is not seen at
//! all, or is a command to whoever reads the log.

use std::fmt::Write;
use std::path::Path;

/// What is not seen as it is written out: controls as `\n` or `\u{1b}`, and the same for characters that
/// turn the direction of text, end lines, are blank but no space, or have no width; and for spaces after
/// so many that what follows is out of sight. Text that has been escaped stays as it is: see [`escaped_name`].
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push_escaped(text, &mut shown);
    shown
}

/// A name as it can be printed, so that no two names are shown by the same characters: a backslash is written twice.
pub fn escaped_name(text: &str) -> String {
    escaped(&text.replace('\\', "\\\\"))
}

/// A path as it can be printed; bytes that are not UTF-8 as `\xff`. Where a backslash ends the name of a folder it stays.
pub fn escaped_path(path: &Path) -> String {
    let mut shown = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        if cfg!(windows) {
            push_escaped(chunk.valid(), &mut shown)
        } else {
            shown += &escaped_name(chunk.valid())
        }
        for byte in chunk.invalid() {
            write!(shown, "\\x{byte:02x}").expect("a string takes everything");
        }
    }
    shown
}

/// A message as it can be printed: it may have several lines, which it keeps.
pub fn escaped_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escaped).collect();
    lines.join("\n")
}

/// A text for the log of a CI server, wherever in a line it will stand: no `::command::` (GitHub,
/// which looks at the beginning of a line) and no `##[command]` or `##vso[` (GitHub and Azure, which
/// look everywhere), not even together with what stands before and after it.
pub fn escaped_for_log(text: &str) -> String {
    let shown = escaped(text);
    let mut neutral = String::with_capacity(shown.len());
    let mut before = None;
    let mut rest = shown.chars().peekable();
    while let Some(c) = rest.next() {
        let edge = before.is_none() || rest.peek().is_none();
        match c {
            ':' | '#' if edge || before == Some(c) => neutral.extend(c.escape_unicode()),
            _ => neutral.push(c),
        }
        before = Some(c);
    }
    neutral
}

/// A whole text for such a log, a line or several, escaped before: commands in it are broken, the rest stays
/// as it is.
pub fn without_commands(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(broken).collect();
    lines.join("\n")
}

/// A JSON document for such a log, by JSON's own escapes: its meaning stays. Outside of its strings there
/// is nothing of the kind.
pub fn escaped_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push(c),
            c if deceives(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(shown, "\\u{unit:04x}").expect("a string takes everything");
                }
            }
            c => shown.push(c),
        }
    }
    without_commands(&shown)
}

/// One line without a `::command` at its beginning and without `##[` or `##word[` anywhere.
fn broken(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    let start = line.trim_start();
    if let Some(command) = start.strip_prefix("::") {
        shown += &line[..line.len() - start.len()];
        shown += ":\\u003a";
        rest = command;
    }
    while let Some(at) = rest.find("##") {
        let after = &rest[at + 2..];
        let word =
            after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
        shown += &rest[..=at];
        if word.starts_with('[') {
            shown += "\\u0023";
            rest = after;
        } else {
            rest = &rest[at + 1..]
        }
    }
    shown + rest
}

/// A message that may quote a file: as [`escaped`], and not endless.
pub fn printable(text: &str) -> String {
    let plain = escaped(text);
    if plain.chars().count() <= 200 {
        return plain;
    }
    plain.chars().take(197).chain("...".chars()).collect()
}

/// A longer message that may quote a file and says at its end where: nothing of either end is lost.
pub fn printable_ends(text: &str) -> String {
    const START: usize = 1200;
    const END: usize = 300;
    let plain: Vec<char> = escaped(text).chars().collect();
    if plain.len() <= START + END {
        return plain.into_iter().collect();
    }
    let (start, end) = (&plain[..START], &plain[plain.len() - END..]);
    start
        .iter()
        .chain(&[' ', '.', '.', '.', ' '])
        .chain(end)
        .collect()
}

fn push_escaped(text: &str, shown: &mut String) {
    /// More spaces than any line of this program has in a row.
    const SPACES: usize = 40;
    let mut spaces = 0;
    for c in text.chars() {
        spaces = if c == ' ' { spaces + 1 } else { 0 };
        match deceives(c) || spaces > SPACES {
            true if c == ' ' => shown.extend(c.escape_unicode()),
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
}

/// Whether a reader sees something else than what is there. The list is this program's own, so that a
/// message does not depend on the Unicode version of a compiler: Cc, Cf, Zl, Zp, letters and marks that are
/// shown as nothing or as a space, and letters of scripts that run from right to left, which would take what
/// stands beside them along.
pub fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Spaces of other widths, and what looks like one.
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
            // From right to left: Hebrew to Arabic Extended-A, forms for presentation, and the rows of Unicode
            // that are kept for such scripts.
            | '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
            // Soft hyphen, joiners, fillers, vowel separators, variation selectors.
            | '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
            // Zero width, marks, embeddings and overrides of direction.
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            // Ends of lines and paragraphs.
            | '\u{2028}'..='\u{2029}'
            // Word joiner, invisible operators, isolates, and forms of old.
            | '\u{2060}'..='\u{206f}'
            // Byte order mark, annotations.
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            // Formats of scripts, shorthand and music.
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            // Tags and more variation selectors.
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal() {
        assert_eq!(escaped("a\u{1b}[31m\u{7f}\n"), "a\\u{1b}[31m\\u{7f}\\n");
        assert_eq!(
            escaped("\u{9b}2J\r\u{85}\t"),
            "\\u{9b}2J\\r\\u{85}\\t",
            "C1, too"
        );
        let long = format!("start {} line 7", "x".repeat(5000));
        let short = printable_ends(&long);
        assert!(short.len() < 1600 && short.starts_with("start x") && short.ends_with("x line 7"));
        assert_eq!(printable_ends("as it is"), "as it is");
        let hostile = "\u{202e}".repeat(5000);
        assert!(printable(&hostile).is_ascii() && printable(&hostile).len() <= 200);
    }

    #[test]
    fn what_is_not_seen_is_written_out() {
        let unseen = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\
            \u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{2060}\u{feff}\u{ad}\u{61c}\
            \u{e0041}\u{fe0f}\u{3164}";
        for c in unseen.chars() {
            let shown = escaped(&format!("a{c}b"));
            assert_eq!(shown, format!("a\\u{{{:x}}}b", u32::from(c)));
        }
        for c in
            "\u{5d0}\u{627}\u{7ca}\u{fb4f}\u{fdfd}\u{10840}\u{1e900}\u{a0}\u{2003}\u{3000}".chars()
        {
            assert!(escaped(&c.to_string()).is_ascii(), "{c:?}");
        }
        let far = format!("a{}b", " ".repeat(50));
        assert!(escaped(&far).contains("\\u{20}\\u{20}"));
        assert_eq!(escaped(&escaped(&far)), escaped(&far));
        let seen = "größe 行列 e\u{301} \\ \" ' 𝛼 ✓ x.npz#a: [1, 2]";
        assert_eq!(escaped(seen), seen);
        assert_eq!(escaped_lines("a\nb\u{1b}\n"), "a\nb\\u{1b}\n");
    }

    #[test]
    fn no_two_names_are_shown_alike() {
        let names = [
            "a\u{200b}",
            "a\\u{200b}",
            "a\\\\u{200b}",
            "a\n",
            "a\\n",
            "a\u{a0}",
            "a ",
        ];
        let shown = names.map(escaped_name);
        for (i, name) in shown.iter().enumerate() {
            assert!(!shown[i + 1..].contains(name), "{name}");
            assert_eq!(escaped(name), *name, "once more");
        }
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_are_told_apart() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes| escaped_path(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(path(b"a\xff\xfe.npy"), "a\\xff\\xfe.npy");
        assert_eq!(path(b"a\xed\xa0\x80b"), "a\\xed\\xa0\\x80b", "a surrogate");
        assert_eq!(path(b"a\x1b[2J"), "a\\u{1b}[2J");
        assert_eq!(path("größe.npy".as_bytes()), "größe.npy");
        assert_eq!(path(b"a\\xff"), "a\\\\xff", "no such byte");
    }

    /// Whether a runner would find a command in this line.
    fn commands(line: &str) -> bool {
        let early = line.trim_start().starts_with("::") && line.trim_start()[2..].contains("::");
        early || line.contains("##[") || line.contains("##vso[") || line.contains("##teamcity[")
    }

    #[test]
    fn no_command_reaches_a_log() {
        for text in [
            "::error::x",
            " ::stop-commands::pwn",
            "\n::error::x",
            "a ##[error]x",
            "##vso[task.complete]",
            "x\r\n##teamcity[x]",
            "::::::",
            "###[group]",
            ":",
            "#",
            ":error::",
            "#[error]",
        ] {
            for line in without_commands(text).lines() {
                assert!(!commands(line), "{text:?}: {line}");
            }
            let shown = escaped_for_log(text);
            // Names stand between colons and after a number sign.
            let lines = [
                shown.clone(),
                format!("{shown}: {shown}"),
                format!(":{shown}: x::"),
                format!("x.npz#{shown}"),
                format!("#{shown}"),
                format!("{shown}{shown}"),
                format!("{shown}:error::"),
            ];
            for line in lines {
                assert!(!line.contains('\n') && !commands(&line), "{text:?}: {line}");
            }
        }
        for text in ["x.npz#a", "1:2", "C:\\x", "layers.0#w: 3", ""] {
            assert_eq!(without_commands(text), text);
            assert_eq!(escaped_for_log(text), text);
        }
    }
}
