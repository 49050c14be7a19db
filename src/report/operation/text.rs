//! The report for people.

use std::io::{self, Write};

use anstyle::Style;

use super::OperationReport;
use crate::emu::{Evidence, shape_text};
use crate::report::text::{BAD, CAUTION, GOOD, Page, QUIET, differences, row, styled, whole};
use crate::report::{Outcome, Verdict};

impl OperationReport {
    /// Text with colours, in so many columns; whoever owns the stream strips them where they are not wanted.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let out = &mut Page { out, width };
        let style = match self.verdict {
            Verdict::Different => BAD,
            _ => GOOD,
        };
        let title = self.title();
        let (word, rest) = title.split_at(self.verdict.title().len());
        let word = word.to_uppercase();
        writeln!(out, "{style}{word}{rest}{style:#}  {}\n", self.sentence())?;
        let operation = &self.operation;
        row(out, "rule", &self.rule_line())?;
        row(out, "", &operation.title)?;
        let style = match operation.evidence {
            Evidence::Hardware => Style::new(),
            _ => CAUTION,
        };
        styled(out, "evidence", style, &self.evidence_line())?;
        for note in &operation.notes {
            row(out, "", note)?;
        }
        if let Some(unit) = &operation.multiplied_by {
            let text = format!(
                "{} {} ({})",
                unit.architecture, unit.instruction, unit.evidence
            );
            row(out, "products", &text)?;
            row(out, "", &unit.summary)?;
        }
        row(out, "result", &self.about_line())?;
        if let Outcome::Elements { comparison, .. } = &self.outcome
            && comparison.mismatches > 0
        {
            let found = (self.causes.as_slice(), self.tried.as_slice());
            differences(self.reproduced.format, found, comparison, out)?;
        }
        writeln!(out, "\n  SHA-256")?;
        whole(out, "  rule", &operation.sha256)?;
        if let Some(unit) = &operation.multiplied_by {
            whole(out, "  model", &unit.sha256)?;
        }
        for named in &self.inputs {
            let input = &named.input;
            let shape = shape_text(&input.shape);
            let about = format!(
                "{} ({}, {shape}, {})",
                input.path, input.format, input.descr
            );
            let file = format!("{}  {about}", input.file_sha256);
            whole(out, &format!("  {} file", named.name), &file)?;
            whole(
                out,
                &format!("  {} data", named.name),
                &input.payload_sha256,
            )?;
        }
        if let Outcome::Digest {
            expected_payload_sha256,
        } = &self.outcome
        {
            whole(out, "  wanted", expected_payload_sha256)?;
        }
        let reproduced = &self.reproduced;
        let shape = shape_text(&reproduced.shape);
        let about = format!(
            "reproduced {} ({}, {shape})",
            reproduced.output, reproduced.format
        );
        whole(
            out,
            "  replay",
            &format!("{}  {about}", reproduced.payload_sha256),
        )?;
        writeln!(out)?;
        if let Some(command) = &self.command {
            whole(out, "repeat", command)?;
        }
        row(
            out,
            "by",
            &format!("{} {}", self.tool.name, self.tool.version),
        )?;
        writeln!(out, "\n  {QUIET}{}{QUIET:#}", self.proves())
    }

    /// The same without colours.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        self.write_text(usize::MAX, &mut text)
            .expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }
}
