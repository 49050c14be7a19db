//! The report as Markdown, for summaries and comments.

use std::io::{self, Write};

use super::words::{
    capital, chosen, classes, discrimination, evidence, grouped, model_line, product_line, proves,
    schedule_line, sentence, title,
};
use crate::io::{escaped as line, without_commands};

use super::{Comparison, Exporter, Outcome, Report, Sampled, Verdict};

/// GitHub's Markdown.
pub struct Markdown;

impl Exporter for Markdown {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let mark = match report.verdict {
            Verdict::Identical => "\u{2705}",
            Verdict::IdenticalInPart => "\u{1f7e1}",
            Verdict::Different => "\u{274c}",
        };
        let title = escaped(&title(report));
        writeln!(
            out,
            "## {mark} {title}\n\n{}.\n",
            capital(&sentence(report))
        )?;
        writeln!(out, "| | |\n|---|---|")?;
        let mut row = |name: &str, text: &str| writeln!(out, "| {name} | {} |", escaped(text));
        row("model", &model_line(report))?;
        if let Some(chosen) = chosen(report) {
            row("chosen", &chosen)?;
        }
        row("arithmetic", &report.model.summary)?;
        row("evidence", &evidence(&report.model))?;
        if let Some(schedule) = schedule_line(report) {
            row("schedule", &schedule)?;
        }
        if let Some(kernel) = report.schedule.as_ref().and_then(|s| s.kernel.as_deref()) {
            let lines = kernel.lines();
            let lines: Vec<_> = lines
                .iter()
                .map(|(how, what)| format!("{how}: {what}"))
                .collect();
            row("kernel", &format!("{}; {}", kernel.kind, lines.join("; ")))?;
            if let Some(defect) = &kernel.defect {
                row("defect", defect)?;
            }
        }
        row("product", &product_line(report))?;
        let comparison = match &report.outcome {
            Outcome::Elements { comparison, .. } if comparison.mismatches > 0 => Some(comparison),
            _ => None,
        };
        if let Some(c) = comparison {
            let of = |part: u64, all: u64| format!("{} of {}", grouped(part), grouped(all));
            let rows = of(c.rows_touched, c.rows);
            let columns = of(c.columns_touched, c.columns);
            row("where", &format!("{rows} rows, {columns} columns"))?;
            let kinds = classes(c);
            let kinds: Vec<_> = kinds
                .iter()
                .map(|(count, what)| format!("{} {what}", grouped(*count)))
                .collect();
            row("how", &kinds.join(", "))?;
            if let Some(largest) = &c.largest {
                let text = format!("{:+} ulp at {:?}", largest.ulp, largest.index);
                row("largest", &text)?;
            }
        }
        if let Some(sample) = &report.reproduced.sample {
            row("sample", &sampled(sample))?;
            if let Some(from) = &sample.seed_from {
                row("drawn by commitment", &from.commitment_sha256)?;
                row("and beacon", &from.beacon)?;
            }
        }
        if let Some(text) = discrimination(report) {
            row("alike", &text)?;
        }
        for cause in &report.causes {
            writeln!(out, "\n**Likely cause:** {}", escaped(&cause.sentence))?;
            if let Some(command) = &cause.command {
                block("sh", command, out)?;
            }
        }
        if let Some(c) = comparison {
            mismatches(c, out)?;
        }
        digests(report, out)
    }
}

pub(super) fn mismatches(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if c.first.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n| index | reproduced | given | xor | ulp | reproduced value | given value |\n|---|---|---|---|--:|--:|--:|"
    )?;
    for m in &c.first {
        let ulp = m.ulp.map_or("-".to_owned(), |ulp| format!("{ulp:+}"));
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
    let hidden = c.mismatches - c.first.len() as u64;
    if hidden > 0 {
        writeln!(out, "\n\u{2026} and {} more", grouped(hidden))?;
    }
    Ok(())
}

fn digests(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n<details><summary>SHA-256</summary>\n\n| what | SHA-256 |\n|---|---|"
    )?;
    let mut row = |name: &str, sha256: &str| writeln!(out, "| {} | `{sha256}` |", escaped(name));
    row("model", &report.model.sha256)?;
    if let Some(schedule) = &report.schedule {
        row("schedule", &schedule.sha256)?;
    }
    if let Some(commitment) = &report.commitment {
        row("root of the commitment", &commitment.root)?;
    }
    for (name, input) in report.inputs.named() {
        row(&format!("{name} file, {}", input.path), &input.file_sha256)?;
        row(&format!("{name} data"), &input.payload_sha256)?;
    }
    if let Outcome::Digest {
        expected_payload_sha256,
    } = &report.outcome
    {
        row("wanted", expected_payload_sha256)?;
    }
    if let Some(sha256) = &report.reproduced.payload_sha256 {
        row("reproduced D", sha256)?;
    }
    if let Some(sample) = &report.reproduced.sample {
        row("reproduced elements", &sample.sha256)?;
    }
    writeln!(out, "\n</details>\n\n{}", proves(report))?;
    if let Some(command) = &report.command {
        block("sh", command, out)?;
    }
    writeln!(out, "\n{} {}", report.tool.name, report.tool.version)
}

/// How much was compared, and what that catches.
pub(super) fn sampled(sample: &Sampled) -> String {
    let mut text = format!(
        "{} of {} elements were compared",
        grouped(sample.elements),
        grouped(sample.population)
    );
    if let Some(caught) = sample.caught_99_percent {
        let caught = grouped(caught);
        let assumes = sample.assumes.as_deref().unwrap_or_default();
        text += &format!(
            "; {caught} or more tampered ones are caught with 99 % at least, if {assumes}"
        );
    }
    text
}

/// A line of code, in a block that nothing in it can end.
pub(super) fn block(language: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = without_commands(&line(text));
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    writeln!(out, "\n{fence}{language}\n{text}\n{fence}")
}

/// One line that means itself, in a cell of a table too.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            // Whom it would call, and what it would link to.
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
