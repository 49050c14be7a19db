//! The report for people.

use std::io::{self, Write};

use anstyle::Style;

use super::OperationReport;
use crate::emu::{Evidence, shape_text};
use crate::report::Outcome;
use crate::report::text::{
    CAUTION, Page, again, briefly, differences, digest, headline, row, sampled, styled,
};
use crate::report::words::grouped;

impl OperationReport {
    /// Text with colours, in so many columns; whoever owns the stream strips them where they are not wanted.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let out = &mut Page::new(out, width);
        headline(self.verdict, &self.title(), &self.sentence(), out)?;
        let operation = &self.operation;
        row(out, "rule", &self.rule_line())?;
        row(out, "", &operation.title)?;
        let style = match operation.evidence {
            Evidence::Captured => Style::new(),
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
        if let Some(sample) = &self.reproduced.sample {
            sampled(sample, out)?;
        }
        if let Outcome::Elements { comparison, .. } = &self.outcome
            && comparison.mismatches > 0
        {
            let found = (self.causes.as_slice(), self.tried.as_slice());
            differences(self.reproduced.format, found, comparison, out)?;
        }
        self.digests(out)?;
        again(&self.tool, self.command.as_deref(), self.proves(), out)
    }

    fn digests(&self, out: &mut Page) -> io::Result<()> {
        writeln!(out, "\n  SHA-256")?;
        digest(out, "  rule", &self.operation.sha256, "")?;
        if let Some(unit) = &self.operation.multiplied_by {
            digest(out, "  model", &unit.sha256, "")?;
        }
        if let Some(commitment) = &self.commitment {
            let about = format!("commitment {}", commitment.path);
            digest(out, "  fixed", &commitment.file_sha256, &about)?;
        }
        for named in &self.inputs {
            let (name, input) = (&named.name, &named.input);
            let shape = shape_text(&input.shape);
            let about = format!(
                "{} ({}, {shape}, {})",
                input.path, input.format, input.descr
            );
            digest(out, &format!("  {name} file"), &input.file_sha256, &about)?;
            digest(out, &format!("  {name} data"), &input.payload_sha256, "")?;
        }
        if let Outcome::Digest {
            expected_payload_sha256,
        } = &self.outcome
        {
            digest(out, "  wanted", expected_payload_sha256, "")?;
        }
        let reproduced = &self.reproduced;
        let shape = shape_text(&reproduced.shape);
        let (output, format) = (&reproduced.output, reproduced.format);
        match (&reproduced.payload_sha256, &reproduced.sample) {
            (Some(sha256), _) => {
                let about = format!("reproduced {output} ({format}, {shape})");
                digest(out, "  replay", sha256, &about)
            }
            (None, Some(sample)) => {
                let count = grouped(sample.elements);
                let about = format!("{count} reproduced elements of {output} ({format})");
                digest(out, "  replay", &sample.sha256, &about)
            }
            (None, None) => Ok(()),
        }
    }

    /// The verdict in one line, with its rule and how that is known.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn brief(&self, out: &mut dyn Write) -> io::Result<()> {
        let by = format!("{} ({})", self.rule_line(), self.operation.evidence);
        briefly(self.verdict, (&self.title(), &self.sentence(), &by), out)
    }

    /// The same without colours.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        self.write_text(usize::MAX, &mut text)
            .expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }
}
