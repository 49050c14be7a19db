//! The last filter before standard output, for whatever an exporter let through.

use std::io::{self, Write};

use crate::io::{deceives, escaped_json, without_commands};

/// Writes lines with colours, and escapes what moves a cursor, hides or reverses text, or is a command to a CI
/// server. In a JSON document the escapes are JSON's.
pub struct Plain<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
    form: Option<Form>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

impl<'a> Plain<'a> {
    pub fn new(out: &'a mut dyn Write) -> Plain<'a> {
        Plain {
            out,
            line: Vec::new(),
            form: None,
        }
    }

    /// Writes the last line, if it has no end.
    pub fn finish(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let first = line.iter().find(|b| !b.is_ascii_whitespace());
        if self.form.is_none() {
            self.form = first.map(|first| match first {
                b'{' | b'[' => Form::Json,
                _ => Form::Text,
            });
        }
        let harmless = |b: &u8| matches!(b, b' '..=b'~' | b'\n') && *b != b'#';
        if line.iter().all(harmless) && first != Some(&b':') {
            return self.out.write_all(&line);
        }
        let line = String::from_utf8_lossy(&line);
        let shown = match self.form {
            Some(Form::Json) => escaped_json(&line),
            _ => shown(&line),
        };
        self.out.write_all(shown.as_bytes())
    }
}

impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end()?;
            }
        }
        Ok(bytes.len())
    }

    /// Whole lines have been written; an incomplete one waits for its end.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A line as it is shown.
fn shown(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    let mut coloured = false;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = colour(rest) {
            shown += &rest[..length];
            rest = &rest[length..];
            coloured = true;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            c if c == '\n' || !deceives(c) => shown.push(c),
            c => shown.extend(c.escape_default()),
        }
    }
    // CI servers remove colours before they look for commands, so colours must not hide one.
    let bare = if coloured {
        String::from_utf8_lossy(&strip_ansi_escapes::strip(&shown)).into_owned()
    } else {
        shown.clone()
    };
    let neutral = without_commands(&bare);
    if neutral == bare { shown } else { neutral }
}

/// How many bytes at the beginning are one of the colours that this program uses.
fn colour(text: &str) -> Option<usize> {
    let code = text.strip_prefix("\u{1b}[")?;
    let end = code.find('m')?;
    let known = code[..end].split(';').all(|number| {
        matches!(number, "0" | "1" | "2" | "3" | "4") || {
            let number = number.parse::<u8>().unwrap_or(0);
            matches!(number, 31..=36 | 90..=96)
        }
    });
    known.then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut plain = Plain::new(&mut out);
        for piece in pieces {
            plain.write_all(piece.as_bytes()).unwrap();
        }
        plain.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_harmless_stays() {
        let text =
            "\u{1b}[1m\u{1b}[31mDIFFERENT\u{1b}[0m  1 of 2\n  größe ####  x.npz#a: C::D\n\n{}";
        assert_eq!(plain(&[text]), text);
        assert_eq!(plain(&[&text[..20], &text[20..]]), text);
        assert_eq!(plain(&[]), "");
    }

    #[test]
    fn what_is_not_is_written_out() {
        assert_eq!(
            plain(&["a\u{1b}[2J\u{1b}[8mb\r\n"]),
            "a\\u{1b}[2J\\u{1b}[8mb\\r\n"
        );
        assert_eq!(plain(&["  ::", "error::x\n"]), "  :\\u003aerror::x\n");
        assert_eq!(plain(&["\u{1b}[31m::error::x"]), ":\\u003aerror::x");
        assert_eq!(
            plain(&["a ##[error]\u{202e}\n"]),
            "a #\\u0023[error]\\u{202e}\n"
        );
    }

    #[test]
    fn json_stays_json() {
        let hostile = "\u{202e} ##[error] \u{e0041} ::x";
        let json = serde_json::to_string_pretty(&[hostile]).unwrap();
        let shown = plain(&[&json]);
        assert!(shown.is_ascii() && !shown.contains("##["), "{shown}");
        let read: Vec<String> = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, [hostile]);
    }
}
