//! What every page has: a head, a common style and a footer; and text as HTML. Pages load nothing.

use std::fmt::Write as _;
use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use tcverify_io::deceives;
use tcverify_report::Tool;

const STYLE: &str = include_str!("report.css");

/// Allows only what is in the page itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A page to be written.
pub struct Page<'a> {
    pub title: &'a str,
    /// The body's class, which colours the head.
    pub class: &'a str,
    /// The schema of the document that it shows.
    pub schema: &'a str,
    /// Added to the common style.
    pub style: &'a str,
    pub body: Markup,
    pub scripts: &'a [&'a str],
}

impl Page<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Tool { name, version } = Tool::default();
        let page = html! {
            (DOCTYPE) (LINE)
            html lang="en" { (LINE)
                head { (LINE)
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(PreEscaped(POLICY));
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer"; (LINE)
                    title { (text(self.title)) " - tcverify" } (LINE)
                    style { (PreEscaped(STYLE)) (PreEscaped(self.style)) } (LINE)
                } (LINE)
                body class=(self.class) { (LINE)
                    main { (LINE) (self.body) } (LINE)
                    footer { p { (name) " " (version) " \u{b7} " code { (text(self.schema)) } " \u{b7} This page has \
                        no time and no host name: the same inputs give the same page." } } (LINE)
                    @for script in self.scripts { script { (LINE) (PreEscaped(script)) } }
                } (LINE)
            } (LINE)
        };
        out.write_all(page.into_string().as_bytes())
    }
}

/// A part of the page with a heading.
pub fn section(id: &str, heading: &str, body: Markup) -> Markup {
    html! { section aria-labelledby=(id) { h2 id=(id) { (text(heading)) } (LINE) (body) } (LINE) }
}

/// Text that cannot become markup, in elements and in quoted attributes. Characters that pages must not contain, or that
/// change the direction of text, are written as escapes.
pub struct Text<'a> {
    text: &'a str,
    /// Whether it may contain line ends.
    lines: bool,
}

pub fn text(text: &str) -> Text<'_> {
    Text { text, lines: false }
}

/// A text of several lines, escaped.
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
                // A CI server that logs the page must find no command in it.
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

/// JSON inside a script element, which no text in it can end.
pub(super) fn json_in_script(value: &impl serde::Serialize) -> PreEscaped<String> {
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
