//! Text and numbers as HTML.

use std::fmt::{self, Display};
use std::io::{self, Write};

use crate::io::deceives;

/// Text that means itself, in elements and in quoted attributes. Characters that pages must not
/// contain, or that turn the direction of text, are shown as what they are.
pub fn escaped(text: &str) -> Escaped<'_> {
    Escaped { text, lines: false }
}

/// The same of a text of several lines.
pub fn escaped_lines(text: &str) -> Escaped<'_> {
    Escaped { text, lines: true }
}

pub struct Escaped<'a> {
    text: &'a str,
    /// Whether it may end lines.
    lines: bool,
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for c in self.text.chars() {
            let again = before.replace(c) == Some(c);
            match c {
                // No command of a CI server, should the page pass through its log.
                '#' if again => f.write_str("&#35;")?,
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' if self.lines => write!(f, "{c}")?,
                c if deceives(c) => write!(f, "{}", c.escape_default())?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// JSON inside a script element: no text in it can end the element.
pub fn json_in_script(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).expect("plain data");
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// With a sign and thousands.
pub fn number(n: i128) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::from(if n < 0 { "\u{2212}" } else { "+" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of the page with a heading.
pub fn section(
    id: &str,
    heading: &str,
    out: &mut dyn Write,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write!(
        out,
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n"
    )?;
    body(out)?;
    out.write_all(b"</section>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let text = "<script>alert('1')</script> & \"x\"\u{202e}\u{7}";
        let shown = escaped(text).to_string();
        assert_eq!(
            shown,
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\\u{202e}\\u{7}"
        );
        let json = json_in_script(&"</script><!--&");
        assert!(!json.contains(['<', '>', '&']));
        assert_eq!(
            serde_json::from_str::<String>(&json).unwrap(),
            "</script><!--&"
        );
    }

    #[test]
    fn signed_numbers() {
        assert_eq!(number(-1_234_567), "\u{2212}1,234,567");
        assert_eq!(number(1), "+1");
    }
}
