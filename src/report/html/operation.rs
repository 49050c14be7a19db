//! The page about an operation between products.

use std::io::{self, Write};

use super::facts::{Row, card, constants, digest, fact, judged, proven, sources};
use super::markup::{escaped, section};
use super::{Html, causes, footer, heading, mismatches, outcome};
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
        let reproduced = &report.reproduced;
        let all = reproduced.shape.iter().map(|&n| n as u64).product();
        let computed = reproduced.sample.as_ref().map_or(all, |s| s.elements);
        let mut tiles = outcome(&report.outcome, computed);
        tiles.push(("evidence".to_owned(), report.operation.evidence.to_string()));
        let lines = [report.rule_line(), report.about_line()];
        heading(
            report.verdict,
            (&word, &report.sentence()),
            lines,
            tiles,
            out,
        )?;
        let mut script = "";
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            causes(&report.causes, out)?;
            script = self.places(comparison, (report.result(), &[]), out)?;
            let plain = |_: &_| String::new();
            let what = (report.result(), report.reproduced.format);
            mismatches::table(comparison, what, &plain, out)?;
            self.first("operation by operation", "tcverify explain --op", out)?;
        }
        provenance(report, out)?;
        footer(&report.schema, script, out)
    }
}

fn provenance(report: &OperationReport, out: &mut dyn Write) -> io::Result<()> {
    proven([Some(report.proves())], report.command.as_deref(), out)?;
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
        if let Some(sha256) = &reproduced.payload_sha256 {
            digest("Data", sha256, out)?;
        }
        judged(
            &report.outcome,
            reproduced.sample.as_ref(),
            report.result(),
            out,
        )?;
        out.write_all(b"</dl>\n")
    })
}
