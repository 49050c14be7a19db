//! JSON on its way out, line by line, so that nothing has to be held whole.

use std::io::{self, Write};

use crate::io::escaped_json;

/// Escapes a JSON document as [`escaped_json`] does. What follows the last line end is written by
/// `flush`.
pub struct EscapedJson<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
}

impl<'a> EscapedJson<'a> {
    pub fn of(out: &'a mut dyn Write) -> EscapedJson<'a> {
        EscapedJson {
            out,
            line: Vec::new(),
        }
    }

    /// Writes what is there up to a place.
    fn pass(&mut self, end: usize) -> io::Result<()> {
        let text = std::str::from_utf8(&self.line[..end]).map_err(io::Error::other)?;
        self.out.write_all(escaped_json(text).as_bytes())?;
        self.line.drain(..end);
        Ok(())
    }
}

impl Write for EscapedJson<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.line.len();
        self.line.extend_from_slice(bytes);
        if let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') {
            self.pass(before + end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass(self.line.len())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_escaped_as_the_whole_is() {
        let text = "{\n  \"a\": \"::error::\u{1b}[31m ##[x]\",\n::stop\n\"\u{202e}\"\n}";
        for size in [1, 2, 3, 7, 1000] {
            let mut found = Vec::new();
            let mut out = EscapedJson::of(&mut found);
            for piece in text.as_bytes().chunks(size) {
                out.write_all(piece).unwrap();
            }
            out.flush().unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), escaped_json(text));
        }
    }
}
