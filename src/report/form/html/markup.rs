//! Text as HTML.

use std::fmt::Write;

use maud::{PreEscaped, Render};

use crate::io::deceives;

/// Text that means itself, in elements and in quoted attributes. Characters that pages must not contain, or that turn
/// the direction of text, are shown as what they are.
pub struct Text<'a> {
    text: &'a str,
    /// Whether it may end lines.
    lines: bool,
}

pub fn text(text: &str) -> Text<'_> {
    Text { text, lines: false }
}

/// The same for a text of several lines.
pub fn lines(text: &str) -> Text<'_> {
    Text { text, lines: true }
}

/// A new line: rows of tables stand on lines of their own.
pub const LINE: PreEscaped<&str> = PreEscaped("\n");

impl Render for Text<'_> {
    fn render_to(&self, to: &mut String) {
        let mut before = None;
        for c in self.text.chars() {
            let again = before.replace(c) == Some(c);
            match c {
                // No command of a CI server, should the page pass through its log.
                '#' if again => to.push_str("&#35;"),
                '&' => to.push_str("&amp;"),
                '<' => to.push_str("&lt;"),
                '>' => to.push_str("&gt;"),
                '"' => to.push_str("&quot;"),
                '\'' => to.push_str("&#39;"),
                '\n' if self.lines => to.push(c),
                c if deceives(c) => write!(to, "{}", c.escape_default()).expect("a string"),
                c => to.push(c),
            }
        }
    }
}

/// JSON inside a script element: no text in it can end the element.
pub fn json_in_script(value: &impl serde::Serialize) -> PreEscaped<String> {
    let json = serde_json::to_string(value).expect("plain data");
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e");
    PreEscaped(json.replace('&', "\\u0026"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let hostile = "<script>alert('1')</script> & \"x\"\u{202e}\u{7}";
        assert_eq!(
            text(hostile).render().into_string(),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\\u{202e}\\u{7}"
        );
        let json = json_in_script(&"</script><!--&").into_string();
        assert!(!json.contains(['<', '>', '&']));
        assert_eq!(
            serde_json::from_str::<String>(&json).unwrap(),
            "</script><!--&"
        );
    }
}
