//! What every page has: its head, the house's style, and a footer. Nothing is loaded from anywhere.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use super::markup::{LINE, lines, text};
use crate::report::Tool;

const STYLE: &str = include_str!("report.css");

/// Nothing but what is in the page itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A page to be written.
pub struct Page<'a> {
    pub title: &'a str,
    /// Of the body: what colours the head.
    pub class: &'a str,
    /// The document that it shows.
    pub schema: &'a str,
    /// Besides the house's.
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
