//! GitHub's Markdown, for summaries and comments.

use std::io::{self, Write};

use crate::view::{Differences, Fact, Item, Tone, View, capital, distance, grouped};
use tcverify_io::{escaped as line, without_commands};
use tcverify_report::Tool;

/// The Markdown.
///
/// # Errors
/// Those of the writer.
pub fn markdown(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let mark = match view.tone {
        Tone::Good => "\u{2705}",
        Tone::Part => "\u{1f7e1}",
        Tone::Bad => "\u{274c}",
        Tone::Unsure => "\u{26a0}\u{fe0f}",
    };
    writeln!(
        out,
        "## {mark} {}\n\n{}.",
        escaped(&view.title()),
        escaped(&capital(&view.sentence))
    )?;
    for cause in &view.causes {
        writeln!(out, "\n**Likely cause:** {}", escaped(&cause.sentence))?;
        if let Some(command) = &cause.command {
            block("sh", command, out)?;
        }
    }
    if let Some(tried) = &view.tried {
        writeln!(out, "\n**No cause:** {}", escaped(&tried.all))?;
    }
    if !view.next.is_empty() {
        writeln!(out, "\n**Next:**")?;
        for next in &view.next {
            block("sh", next, out)?;
        }
    }
    if !view.cases.is_empty() {
        case_rows(view, out)?;
    }
    table(view.summary(), out)?;
    for section in view.outlined() {
        writeln!(out, "\n### {}\n", escaped(&section.heading))?;
        outline(&section.outline, 0, out)?;
    }
    if let Some(differences) = &view.differences {
        mismatches(differences, out)?;
    }
    if view.digests().next().is_some() {
        writeln!(
            out,
            "\n<details><summary>SHA-256</summary>\n\n| what | SHA-256 | of |\n|---|---|---|"
        )?;
        for digest in view.digests() {
            let (name, about) = (escaped(&digest.name()), escaped(&digest.about));
            writeln!(out, "| {name} | `{}` | {about} |", line(&digest.sha256))?;
        }
        writeln!(out, "\n</details>")?;
    }
    if !view.proves.is_empty() {
        writeln!(out, "\n{}", view.proves)?;
    }
    if let Some(command) = &view.repeat {
        block("sh", command, out)?;
    }
    let Tool { name, version } = Tool::default();
    writeln!(out, "\n{name} {version}")
}

/// One row per case, the worst first.
fn case_rows(view: &View, out: &mut dyn Write) -> io::Result<()> {
    for group in view.groups() {
        if group.cases.len() > 1 {
            writeln!(out, "\n- {}", escaped(&group.heading))?;
        }
    }
    writeln!(out, "\n| case | verdict | | model |\n|---|---|---|---|")?;
    for (_, case) in view.worst_first() {
        let cause = case.cause.as_ref();
        let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
        let said = format!("{}{cause}", case.said);
        let cells = [&case.name, &case.title(), &said, &case.by].map(|text| escaped(text));
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

fn table<'f>(facts: impl Iterator<Item = &'f Fact>, out: &mut dyn Write) -> io::Result<()> {
    for (i, fact) in facts.enumerate() {
        if i == 0 {
            writeln!(out, "\n| | |\n|---|---|")?;
        }
        let lines: Vec<_> = fact.lines.iter().map(|text| escaped(text)).collect();
        writeln!(out, "| {} | {} |", escaped(&fact.label), lines.join("<br>"))?;
    }
    Ok(())
}

fn outline(items: &[Item], indent: usize, out: &mut dyn Write) -> io::Result<()> {
    for item in items {
        let text = escaped(item.text.trim_start_matches("- "));
        writeln!(out, "{:indent$}- {text}", "")?;
        outline(&item.under, indent + 2, out)?;
    }
    Ok(())
}

fn mismatches(differences: &Differences, out: &mut dyn Write) -> io::Result<()> {
    if differences.first.is_empty() {
        return Ok(());
    }
    let [one, other] = differences.names;
    writeln!(
        out,
        "\n| index | {one} | {other} | xor | ulp | {one} value | {other} value |\n|---|---|---|---|--:|--:|--:|"
    )?;
    for (_, m) in &differences.first {
        let ulp = distance(m, differences.format).unwrap_or_else(|| "-".to_owned());
        writeln!(
            out,
            "| {} | `0x{}` | `0x{}` | `0x{}` | {ulp} | {} | {} |",
            escaped(&format!("{:?}", m.index)),
            m.reproduced,
            m.given,
            m.xor,
            escaped(&m.reproduced_value),
            escaped(&m.given_value)
        )?;
    }
    match differences.hidden(differences.first.len()) {
        0 => Ok(()),
        hidden => writeln!(out, "\n\u{2026} and {} more", grouped(hidden)),
    }
}

/// A line of code, in a block that the line cannot end.
fn block(language: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = without_commands(&line(text));
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    writeln!(out, "\n{fence}{language}\n{text}\n{fence}")
}

/// One line of plain text, safe in a table's cell, too.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            // No mention of a user.
            '@' => escaped += "&#64;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(
            escaped("a|b <img src=x> *c* `d`\n# e @f [g](h)"),
            "a\\|b &lt;img src=x&gt; \\*c\\* \\`d\\`\\\\n\\# e &#64;f \\[g\\](h)"
        );
        let mut out = Vec::new();
        block("sh", "a ```` b", &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\n`````sh\na ```` b\n`````\n"
        );
    }
}
