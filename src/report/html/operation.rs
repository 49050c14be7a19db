//! The page about an operation between products.

use std::io::{self, Write};

use super::markup::{escaped, escaped_lines, section};
use super::provenance::{Row, card, constants, digest, fact, sources};
use super::{Html, SCRIPT, causes, charts, footer, heading, map, mismatches, outcome};
use crate::emu::shape_text;
use crate::report::{OperationReport, Outcome};

impl Html {
    /// Writes the page on an operation.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn operation(&self, report: &OperationReport, out: &mut dyn Write) -> io::Result<()> {
        let word = report.title();
        self.begin(
            report.verdict,
            &format!("{word}: {}", report.rule_line()),
            out,
        )?;
        let all = report.reproduced.shape.iter().map(|&n| n as u64).product();
        let mut tiles = outcome(&report.outcome, all);
        tiles.push(("evidence".to_owned(), report.operation.evidence.to_string()));
        let lines = [report.rule_line(), report.about_line()];
        heading(
            report.verdict,
            (&word, &report.sentence()),
            lines,
            tiles,
            out,
        )?;
        let mut script = String::new();
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            causes(&report.causes, out)?;
            if let Some(map) = &self.map {
                map::write(map, comparison, &[], out)?;
                script = format!("<script>\n{SCRIPT}</script>\n");
            }
            charts::write(comparison, out)?;
            mismatches::table(
                comparison,
                report.reproduced.format,
                &|_| String::new(),
                out,
            )?;
            if let Some(trace) = &self.trace {
                section(
                    "trace",
                    "The first mismatch, operation by operation",
                    out,
                    |out| {
                        write!(
                            out,
                            "<details><summary>What <code>tcverify op --at</code> says of it</summary>\n\
                         <pre tabindex=\"0\">{}</pre></details>\n",
                            escaped_lines(trace)
                        )
                    },
                )?;
            }
        }
        provenance(report, out)?;
        footer(&report.schema, &script, out)
    }
}

fn provenance(report: &OperationReport, out: &mut dyn Write) -> io::Result<()> {
    section("proves", "What this proves", out, |out| {
        writeln!(out, "<p>{}</p>", escaped(report.proves()))?;
        match &report.command {
            Some(command) => writeln!(
                out,
                "<p class=\"hint\">The same again:</p><pre class=\"command\" tabindex=\"0\">{}</pre>",
                escaped(command)
            ),
            None => Ok(()),
        }
    })?;
    let operation = &report.operation;
    section("model", "The rule", out, |out| {
        write!(
            out,
            "<p>{}</p>\n<dl class=\"facts\">\n",
            escaped(&operation.title)
        )?;
        fact(
            "Operation",
            &format!("{} ({})", operation.name, operation.variant),
            out,
        )?;
        fact(
            "Library",
            &format!("{}, {}", operation.library, operation.versions),
            out,
        )?;
        fact("Evidence", &report.evidence_line(), out)?;
        for note in &operation.notes {
            fact("Note", note, out)?;
        }
        if let Some(unit) = &operation.multiplied_by {
            let text = format!(
                "{} {}: {} ({})",
                unit.architecture, unit.instruction, unit.summary, unit.evidence
            );
            fact("Products", &text, out)?;
        }
        digest("SHA-256", &operation.sha256, out)?;
        out.write_all(b"</dl>\n")?;
        constants(
            operation.constants.iter().map(|constant| Row {
                name: &constant.name,
                value: &constant.value,
                tag: constant.evidence.to_string(),
                source: &constant.source,
                note: constant.note.as_deref(),
            }),
            out,
        )?;
        sources(&operation.sources, out)
    })?;
    section("inputs", "Arrays", out, |out| {
        out.write_all(b"<div class=\"cards\">\n")?;
        for named in &report.inputs {
            card(&named.name, false, &named.input, out)?;
        }
        out.write_all(b"</div>\n")
    })?;
    section("replay", "The reproduced result", out, |out| {
        let reproduced = &report.reproduced;
        out.write_all(b"<dl class=\"facts\">\n")?;
        let text = format!("{} {}", shape_text(&reproduced.shape), reproduced.format);
        fact("Contents", &text, out)?;
        digest("Data", &reproduced.payload_sha256, out)?;
        if let Outcome::Digest {
            expected_payload_sha256,
        } = &report.outcome
        {
            digest("Wanted", expected_payload_sha256, out)?;
        }
        out.write_all(b"</dl>\n")
    })
}
