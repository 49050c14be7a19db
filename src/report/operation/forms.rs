//! The forms for machines and for other people's pages.

use std::io::{self, Write};

use super::OperationReport;
use crate::io::{escaped as line, escaped_json, escaped_lines as lines};
use crate::report::github::annotation;
use crate::report::junit::escaped;
use crate::report::markdown::{block, escaped as cell, mismatches, sampled};
use crate::report::words::{capital, classes, grouped};
use crate::report::{Outcome, Verdict};

impl OperationReport {
    /// The document for machines.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        writeln!(out, "{}", escaped_json(&text))
    }

    /// JUnit XML: one suite, one case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let failures = u8::from(self.verdict == Verdict::Different);
        let counts = format!("tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"0\"");
        let attribute = |text: &str| escaped(&line(text));
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tcverify\" {counts}>\n  \
             <testsuite name=\"tcverify {}\" {counts}>\n    <properties>\n",
            self.tool.version
        )?;
        let mut properties = vec![
            ("rule".to_owned(), self.rule_line()),
            ("verdict".to_owned(), self.title()),
            ("rule.evidence".to_owned(), self.evidence_line()),
            ("rule.sha256".to_owned(), self.operation.sha256.clone()),
        ];
        for named in &self.inputs {
            properties.push((format!("{}.path", named.name), named.input.path.clone()));
            properties.push((
                format!("{}.file_sha256", named.name),
                named.input.file_sha256.clone(),
            ));
        }
        let reproduced = &self.reproduced;
        if let Some(digest) = &reproduced.payload_sha256 {
            properties.push(("reproduced.payload_sha256".to_owned(), digest.clone()));
        }
        if let Some(sample) = &reproduced.sample {
            properties.push(("reproduced.sample.sha256".to_owned(), sample.sha256.clone()));
        }
        for (name, value) in properties {
            writeln!(
                out,
                "      <property name=\"{}\" value=\"{}\"/>",
                attribute(&name),
                attribute(&value)
            )?;
        }
        let operation = &self.operation;
        write!(
            out,
            "    </properties>\n    <testcase classname=\"tcverify.{}\" name=\"{}\"",
            attribute(&operation.name),
            attribute(&format!("{} {}", operation.name, operation.variant))
        )?;
        let said = format!("{}: {}", self.title(), self.sentence());
        match self.verdict {
            Verdict::Different => writeln!(
                out,
                ">\n      <failure type=\"different\" message=\"{}\">{}</failure>\n    </testcase>",
                attribute(&self.sentence()),
                escaped(&lines(self.text().trim_end()))
            )?,
            _ => writeln!(
                out,
                ">\n      <system-out>{}</system-out>\n    </testcase>",
                attribute(&said)
            )?,
        }
        out.write_all(b"  </testsuite>\n</testsuites>\n")
    }

    /// GitHub's Markdown.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let mark = match self.verdict {
            Verdict::Different => "\u{274c}",
            Verdict::IdenticalInPart => "\u{1f7e1}",
            _ => "\u{2705}",
        };
        let (title, said) = (cell(&self.title()), capital(&self.sentence()));
        writeln!(out, "## {mark} {title}\n\n{said}.\n\n| | |\n|---|---|")?;
        let mut row = |name: &str, text: &str| writeln!(out, "| {name} | {} |", cell(text));
        row("rule", &self.rule_line())?;
        row("evidence", &self.evidence_line())?;
        row("result", &self.about_line())?;
        if let Some(sample) = &self.reproduced.sample {
            row("sample", &sampled(sample))?;
        }
        let comparison = match &self.outcome {
            Outcome::Elements { comparison, .. } if comparison.mismatches > 0 => Some(comparison),
            _ => None,
        };
        if let Some(c) = comparison {
            let kinds = classes(c);
            let kinds: Vec<_> = kinds
                .iter()
                .map(|(n, what)| format!("{} {what}", grouped(*n)))
                .collect();
            row("how", &kinds.join(", "))?;
        }
        for cause in &self.causes {
            writeln!(out, "\n**Likely cause:** {}", cell(&cause.sentence))?;
            if let Some(command) = &cause.command {
                block("sh", command, out)?;
            }
        }
        if let Some(c) = comparison {
            mismatches(c, out)?;
        }
        writeln!(
            out,
            "\n<details><summary>SHA-256</summary>\n\n| what | SHA-256 |\n|---|---|\n| rule | `{}` |",
            self.operation.sha256
        )?;
        for named in &self.inputs {
            let (name, input) = (&named.name, &named.input);
            let file = cell(&format!("{name} file, {}", input.path));
            writeln!(
                out,
                "| {file} | `{}` |\n| {} data | `{}` |",
                input.file_sha256,
                cell(name),
                input.payload_sha256
            )?;
        }
        let reproduced = &self.reproduced;
        if let Some(sha256) = &reproduced.payload_sha256 {
            writeln!(
                out,
                "| reproduced {} | `{sha256}` |",
                cell(&reproduced.output)
            )?;
        }
        if let Some(sample) = &reproduced.sample {
            writeln!(out, "| reproduced elements | `{}` |", sample.sha256)?;
        }
        if let Some(commitment) = &self.commitment {
            let file = cell(&format!("commitment, {}", commitment.path));
            writeln!(out, "| {file} | `{}` |", commitment.file_sha256)?;
        }
        writeln!(out, "\n</details>\n\n{}", self.proves())?;
        if let Some(command) = &self.command {
            block("sh", command, out)?;
        }
        writeln!(out, "\n{} {}", self.tool.name, self.tool.version)
    }

    /// Workflow commands of GitHub Actions.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_github(&self, out: &mut dyn Write) -> io::Result<()> {
        let level = match self.verdict {
            Verdict::Different => "error",
            Verdict::IdenticalInPart => "warning",
            _ => "notice",
        };
        let title = format!("tcverify: {}", self.title().to_lowercase());
        let mut said = vec![
            self.sentence(),
            self.rule_line(),
            self.evidence_line(),
            self.about_line(),
        ];
        for named in &self.inputs {
            said.push(format!(
                "{}: {}",
                line(&named.name),
                line(&named.input.path)
            ));
        }
        let said: Vec<_> = said.iter().map(|text| line(text).to_string()).collect();
        annotation(level, &line(&title), &said.join("\n"), out)?;
        for cause in &self.causes {
            annotation(
                "notice",
                "tcverify: likely cause",
                &line(&cause.sentence),
                out,
            )?;
        }
        Ok(())
    }
}
