//! How elements differ: classes and distances as bars.

use std::io::{self, Write};

use super::markup::{escaped, section};
use crate::report::Comparison;
use crate::report::words::{classes, grouped, range};

pub fn write(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    section("how", "How they differ", out, |out| {
        out.write_all(b"<div class=\"columns\">\n")?;
        let kinds: Vec<_> = classes(c)
            .into_iter()
            .map(|(count, what)| (what.to_owned(), count))
            .collect();
        bars("By class", "class", &kinds, out)?;
        let distances: Vec<_> = c
            .histogram
            .iter()
            .map(|bucket| (range(bucket), bucket.count))
            .collect();
        if !distances.is_empty() {
            bars("By distance, in ulps", "ulps", &distances, out)?;
        }
        out.write_all(b"</div>\n")
    })
}

/// A table whose last column draws it.
pub fn bars(
    caption: &str,
    what: &str,
    rows: &[(String, u64)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = rows
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    write!(
        out,
        "<table class=\"bars\"><caption>{caption}</caption>\n<thead class=\"unseen\"><tr><th scope=\"col\">{what}</th>\
         <th scope=\"col\">elements</th><th scope=\"col\">bar</th></tr></thead>\n<tbody>\n"
    )?;
    for (name, count) in rows {
        // Some of every bar is seen.
        let width = (*count as f64 / most as f64 * 100.0).max(1.5);
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"count\">{}</td>\
             <td class=\"bar\" aria-hidden=\"true\"><span style=\"width:{width:.1}%\"></span></td></tr>",
            escaped(name),
            grouped(*count)
        )?;
    }
    out.write_all(b"</tbody></table>\n")
}
