//! The report on a batch as text, JSON, JUnit, Markdown and annotations.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Batch, CaseVerdict, Covered, Totals};
use crate::io::{EscapedJson, escaped as line, escaped_lines as lines};
use crate::report::junit::escaped;
use crate::report::lines::wrapped;
use crate::report::{Chain, github, markdown};

impl Batch {
    /// A line for all, and one for every case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn brief(&self, out: &mut dyn Write) -> io::Result<()> {
        let (style, word) = self.mark();
        writeln!(out, "{style}{word}{style:#}  {}", self.sentence())?;
        for case in &self.cases {
            let (style, _) = mark(case.verdict);
            let (name, said) = (line(&case.name), line(case.said()));
            let (word, rest) = case.title().split_at(case.verdict.title().len());
            let title = format!("{}{}", word.to_uppercase(), line(rest));
            let model = match case.model() {
                "" => String::new(),
                model => format!("; {}", line(model)),
            };
            writeln!(out, "{style}{title}{style:#}  {name}: {said}{model}")?;
        }
        Ok(())
    }

    /// The text for people, in so many columns.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let (style, word) = self.mark();
        writeln!(out, "{style}{word}{style:#}  {}", self.sentence())?;
        if let Some(policy) = &self.policy {
            writeln!(
                out,
                "policy {} (sha256 {})",
                line(&policy.name),
                line(&policy.sha256)
            )?;
        }
        if let Some(covered) = &self.coverage {
            covered.text(out)?;
        }
        if let Some(chain) = &self.chain {
            writeln!(out)?;
            chain.text(out)?;
        }
        for case in self.bad() {
            let (style, _) = mark(case.verdict);
            writeln!(out, "\n{style}{}{style:#}", line(&case.name))?;
            let text = case.text_within(width.saturating_sub(2))?;
            let lines = match &text {
                Some(text) => text.trim_end().lines().collect(),
                None => wrapped(case.said(), width.saturating_sub(2)),
            };
            for text in lines {
                writeln!(out, "{}", format!("  {}", line(text)).trim_end())?;
            }
        }
        writeln!(out)?;
        let names = self.cases.iter().map(|case| line(&case.name));
        let names: Vec<_> = names.collect();
        let width = names.iter().map(|name| name.chars().count()).max();
        let width = width.unwrap_or(0).min(48);
        for (case, name) in self.cases.iter().zip(names) {
            let (style, word) = mark(case.verdict);
            let model = line(case.model());
            let row = format!("{style}{word:9}{style:#}  {name:width$}  {model}");
            writeln!(out, "  {}", row.trim_end())?;
            if case.is_qualified() {
                writeln!(out, "  {:9}  {}", "", line(case.title()))?;
            }
        }
        Ok(())
    }

    /// The document for machines.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut escaped = EscapedJson::of(out);
        serde_json::to_writer_pretty(&mut escaped, self)?;
        escaped.write_all(b"\n")?;
        escaped.flush()
    }

    /// JUnit XML, a case a case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let Totals {
            cases,
            different,
            unjudged,
            ..
        } = self.totals;
        // A recording that missed products is a test that could not run to its end; one that was asked to pass over
        // some has skipped them.
        let left_out: Vec<String> = self.coverage.iter().flat_map(Covered::lines).collect();
        let (missed, passed) = match (self.missed(), left_out.is_empty()) {
            (_, true) => (0, 0),
            (0, false) => (0, 1),
            (_, false) => (1, 0),
        };
        let (tests, errors) = (cases + missed + passed, unjudged + missed);
        let counts = format!(
            "tests=\"{tests}\" failures=\"{different}\" errors=\"{errors}\" skipped=\"{passed}\""
        );
        writeln!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tcverify\" {counts}>\n  \
             <testsuite name=\"tcverify {}\" {counts}>",
            self.tool.version
        )?;
        let attribute = |text: &str| escaped(&line(text));
        if let Some(covered) = self.coverage.as_ref().filter(|_| missed + passed > 0) {
            let said = attribute(&covered.sentence());
            writeln!(
                out,
                "    <testcase classname=\"tcverify\" name=\"products that ran\">"
            )?;
            match missed {
                0 => writeln!(out, "      <skipped message=\"{said}\"/>")?,
                _ => writeln!(
                    out,
                    "      <error type=\"not_recorded\" message=\"{said}\">{}</error>",
                    escaped(&lines(&left_out.join("\n")))
                )?,
            }
            writeln!(out, "    </testcase>")?;
        }
        for case in &self.cases {
            let class = match case.model() {
                "" => "tcverify".to_owned(),
                model => format!("tcverify.{}", attribute(model)),
            };
            let name = attribute(&case.name);
            write!(out, "    <testcase classname=\"{class}\" name=\"{name}\"")?;
            let element = match case.verdict {
                // A part that agrees passes, and says that it is a part.
                CaseVerdict::Identical | CaseVerdict::IdenticalInPart if case.is_qualified() => {
                    let title = escaped(&line(case.title()));
                    let said = attribute(case.said());
                    writeln!(
                        out,
                        ">\n      <system-out>{title}: {said}</system-out>\n    </testcase>"
                    )?;
                    continue;
                }
                CaseVerdict::Identical | CaseVerdict::IdenticalInPart => {
                    writeln!(out, "/>")?;
                    continue;
                }
                CaseVerdict::Different => "failure",
                CaseVerdict::Unjudged => "error",
            };
            let text = case.text()?;
            writeln!(
                out,
                ">\n      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n    </testcase>",
                case.verdict.name(),
                attribute(case.said()),
                escaped(&lines(text.as_deref().unwrap_or(case.said()).trim_end()))
            )?;
        }
        out.write_all(b"  </testsuite>\n</testsuites>\n")
    }

    /// GitHub's Markdown.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let word = match self.verdict {
            CaseVerdict::Identical => "\u{2705} Identical",
            CaseVerdict::IdenticalInPart => "\u{1f7e1} Identical in part",
            CaseVerdict::Different => "\u{274c} Different",
            CaseVerdict::Unjudged => "\u{26a0}\u{fe0f} Not all could be judged",
        };
        writeln!(out, "## {word}\n\n{}.\n", self.sentence())?;
        let left_out = self.coverage.iter().flat_map(Covered::lines);
        let chained = self.chain.iter().flat_map(Chain::sentences);
        let sentences: Vec<String> = left_out.chain(chained).collect();
        for sentence in &sentences {
            writeln!(out, "- {}", markdown::escaped(sentence))?;
        }
        if !sentences.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "| case | verdict | | model |\n|---|---|---|---|")?;
        for case in &self.cases {
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                markdown::escaped(&case.name),
                markdown::escaped(case.title()),
                markdown::escaped(case.said()),
                markdown::escaped(case.model())
            )?;
        }
        Ok(())
    }

    /// Workflow commands of GitHub Actions: one for the totals, one for every case that is not
    /// identical.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn github(&self, out: &mut dyn Write) -> io::Result<()> {
        let level = match self.verdict {
            CaseVerdict::Identical => "notice",
            CaseVerdict::IdenticalInPart if self.missed() == 0 => "warning",
            _ => "error",
        };
        let title = format!("tcverify: {}", self.verdict.title().to_lowercase());
        github::annotation(level, &title, &self.sentence(), out)?;
        for said in self.coverage.iter().flat_map(Covered::lines) {
            let title = "tcverify: not all products that ran were judged";
            github::annotation("warning", title, &line(&said), out)?;
        }
        for case in self.cases.iter().filter(|case| case.is_qualified()) {
            let title = format!(
                "tcverify: {}: {}",
                line(&case.name),
                case.title().to_lowercase()
            );
            github::annotation("warning", &title, &line(case.said()), out)?;
        }
        for case in self.bad() {
            let title = format!(
                "tcverify: {}: {}",
                line(&case.name),
                case.verdict.title().to_lowercase()
            );
            github::annotation("error", &title, &line(case.said()), out)?;
        }
        Ok(())
    }
}

pub(super) fn mark(verdict: CaseVerdict) -> (Style, &'static str) {
    let bold = |colour: AnsiColor| colour.on_default().bold();
    match verdict {
        CaseVerdict::Identical => (bold(AnsiColor::Green), "IDENTICAL"),
        CaseVerdict::IdenticalInPart => (bold(AnsiColor::Yellow), "IN PART"),
        CaseVerdict::Different => (bold(AnsiColor::Red), "DIFFERENT"),
        CaseVerdict::Unjudged => (bold(AnsiColor::Yellow), "UNJUDGED"),
    }
}
