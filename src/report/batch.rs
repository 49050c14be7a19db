//! What many checks found, as one report. `docs/batch.md` is its contract.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::junit::escaped;
use super::lines::wrapped;
use super::words::{evidence, grouped, model_line, product_line, sentence, title};
use super::{Chain, Exporter, Json, OperationReport, Report, Tool, Verdict, github, markdown};
use crate::emu::Evidence;
use crate::io::{escaped as line, escaped_json, escaped_lines as lines};

/// Value of the `schema` field.
pub const BATCH: &str = "tcverify.batch/2";

/// Many checks. Holds nothing that differs between two runs on the same inputs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Batch {
    pub schema: &'static str,
    pub tool: Tool,
    /// The worst of the cases.
    pub verdict: CaseVerdict,
    pub totals: Totals,
    /// What the cases were allowed to say; absent if that was everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policed>,
    /// Where arrays of cases are results of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// In the order of the manifest, or by name.
    pub cases: Vec<BatchCase>,
}

/// The policy that cases were judged under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Policed {
    /// As it was called: `strict`, or a path.
    pub name: String,
    /// Of the policy as canonical JSON, with all that its file leaves out.
    pub sha256: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Totals {
    pub cases: u64,
    pub identical: u64,
    /// Those of which a part was compared, and that part was identical.
    pub identical_in_part: u64,
    pub different: u64,
    pub unjudged: u64,
}

/// From the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CaseVerdict {
    Identical,
    IdenticalInPart,
    Different,
    Unjudged,
}

impl CaseVerdict {
    pub(super) fn title(self) -> &'static str {
        match self {
            CaseVerdict::Identical => Verdict::Identical.title(),
            CaseVerdict::IdenticalInPart => Verdict::IdenticalInPart.title(),
            CaseVerdict::Different => Verdict::Different.title(),
            CaseVerdict::Unjudged => "Unjudged",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            CaseVerdict::Identical => "identical",
            CaseVerdict::IdenticalInPart => "identical_in_part",
            CaseVerdict::Different => "different",
            CaseVerdict::Unjudged => "unjudged",
        }
    }
}

/// One of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchCase {
    pub name: String,
    pub verdict: CaseVerdict,
    /// Why there is no verdict.
    #[serde(deserialize_with = "Option::deserialize")]
    pub error: Option<String>,
    /// The verdict in words, and its model and product.
    #[serde(deserialize_with = "Option::deserialize")]
    pub summary: Option<Summary>,
    /// As `check --json` writes it, byte for byte but for the margin.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<AnyReport>"))]
    pub report: Option<Box<RawValue>>,
}

/// What stands under `report`.
#[cfg(feature = "schemars")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum AnyReport {
    Product(Box<Report>),
    Operation(Box<OperationReport>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The verdict, how much of D it is about, and what it lets pass.
    pub title: String,
    pub sentence: String,
    pub model: String,
    pub product: String,
    /// The text of the report, of a case that differs.
    #[serde(deserialize_with = "Option::deserialize")]
    pub text: Option<String>,
}

/// A report in the place it has in the whole; no string of JSON has a line end.
fn placed(json: Vec<u8>) -> io::Result<Box<RawValue>> {
    let json = String::from_utf8(json).map_err(io::Error::other)?;
    let json = json.trim_end().replace('\n', "\n      ");
    RawValue::from_string(json).map_err(io::Error::other)
}

impl BatchCase {
    /// A case with a verdict.
    ///
    /// # Errors
    /// None: a report can be written to memory.
    pub fn judged(name: &str, report: &Report) -> io::Result<BatchCase> {
        let mut json = Vec::new();
        Json.export(report, &mut json)?;
        let different = report.verdict == Verdict::Different;
        Ok(BatchCase {
            name: name.to_owned(),
            verdict: match report.verdict {
                Verdict::Identical => CaseVerdict::Identical,
                Verdict::IdenticalInPart => CaseVerdict::IdenticalInPart,
                Verdict::Different => CaseVerdict::Different,
            },
            error: None,
            summary: Some(Summary {
                title: title(report),
                sentence: sentence(report),
                model: match report.model.evidence {
                    Evidence::Claimed => {
                        format!("{} ({})", model_line(report), evidence(&report.model))
                    }
                    _ => model_line(report),
                },
                product: product_line(report),
                text: different.then(|| report.text()),
            }),
            report: Some(placed(json)?),
        })
    }

    /// The same of an operation between products.
    ///
    /// # Errors
    /// None: a report can be written to memory.
    pub fn judged_operation(name: &str, report: &OperationReport) -> io::Result<BatchCase> {
        let mut json = Vec::new();
        report.write_json(&mut json)?;
        let different = report.verdict == Verdict::Different;
        Ok(BatchCase {
            name: name.to_owned(),
            verdict: match report.verdict {
                Verdict::Different => CaseVerdict::Different,
                _ => CaseVerdict::Identical,
            },
            error: None,
            summary: Some(Summary {
                title: report.title(),
                sentence: report.sentence(),
                model: report.rule_line(),
                product: report.about_line(),
                text: different.then(|| report.text()),
            }),
            report: Some(placed(json)?),
        })
    }

    /// A case without one.
    pub fn unjudged(name: &str, error: String) -> BatchCase {
        BatchCase {
            name: name.to_owned(),
            verdict: CaseVerdict::Unjudged,
            error: Some(error),
            summary: None,
            report: None,
        }
    }

    /// The whole report as text, of a case that differs.
    fn text_within(&self, width: usize) -> Option<String> {
        let known = self.summary.as_ref()?.text.clone()?;
        if width >= known.lines().map(str::len).max()? {
            return Some(known);
        }
        let report: Option<Report> = self
            .report
            .as_ref()
            .and_then(|report| serde_json::from_str(report.get()).ok());
        Some(report.map_or(known, |report| report.text_within(width)))
    }

    /// The report, if D or its part agreed.
    pub fn agreeing(&self) -> Option<Report> {
        let report = self.report.as_ref()?;
        let agrees = self.verdict <= CaseVerdict::IdenticalInPart;
        let report = || serde_json::from_str(report.get()).ok();
        agrees.then(report).flatten()
    }

    /// What came out, in one line.
    pub(super) fn said(&self) -> &str {
        let summary = self.summary.as_ref();
        let summary = summary.map(|summary| summary.sentence.as_str());
        self.error.as_deref().or(summary).unwrap_or_default()
    }

    /// The verdict, how much of D it is about, and what it lets pass.
    pub(super) fn title(&self) -> &str {
        let summary = self.summary.as_ref();
        summary.map_or(self.verdict.title(), |summary| summary.title.as_str())
    }

    /// Whether there is more to say than that D is identical.
    fn is_qualified(&self) -> bool {
        self.verdict <= CaseVerdict::IdenticalInPart && self.title() != Verdict::Identical.title()
    }

    pub(super) fn model(&self) -> &str {
        self.summary.as_ref().map_or("", |s| s.model.as_str())
    }
}

impl Batch {
    /// Of at least one case.
    pub fn of(cases: Vec<BatchCase>) -> Batch {
        let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count() as u64;
        Batch {
            schema: BATCH,
            tool: Tool::default(),
            verdict: cases
                .iter()
                .map(|case| case.verdict)
                .max()
                .unwrap_or(CaseVerdict::Unjudged),
            totals: Totals {
                cases: cases.len() as u64,
                identical: count(CaseVerdict::Identical),
                identical_in_part: count(CaseVerdict::IdenticalInPart),
                different: count(CaseVerdict::Different),
                unjudged: count(CaseVerdict::Unjudged),
            },
            policy: None,
            chain: Chain::of(&cases),
            cases,
        }
    }

    /// The totals as a sentence.
    pub(super) fn sentence(&self) -> String {
        let Totals {
            cases,
            identical,
            identical_in_part,
            different,
            unjudged,
        } = self.totals;
        let part = match identical_in_part {
            0 => String::new(),
            n => format!("{} identical in part, ", grouped(n)),
        };
        format!(
            "{} {}: {} identical, {part}{} different, {} could not be judged",
            grouped(cases),
            if cases == 1 { "case" } else { "cases" },
            grouped(identical),
            grouped(different),
            grouped(unjudged)
        )
    }

    fn bad(&self) -> impl Iterator<Item = &BatchCase> {
        let cases = self.cases.iter();
        cases.filter(|case| case.verdict > CaseVerdict::IdenticalInPart)
    }

    /// A line for all, and one for every case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn brief(&self, out: &mut dyn Write) -> io::Result<()> {
        let (style, word) = mark(self.verdict);
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
        let (style, word) = mark(self.verdict);
        writeln!(out, "{style}{word}{style:#}  {}", self.sentence())?;
        if let Some(policy) = &self.policy {
            writeln!(
                out,
                "policy {} (sha256 {})",
                line(&policy.name),
                line(&policy.sha256)
            )?;
        }
        if let Some(chain) = &self.chain {
            writeln!(out)?;
            chain.text(out)?;
        }
        for case in self.bad() {
            let (style, _) = mark(case.verdict);
            writeln!(out, "\n{style}{}{style:#}", line(&case.name))?;
            let text = case.text_within(width.saturating_sub(2));
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
        let text = serde_json::to_string_pretty(self)?;
        writeln!(out, "{}", escaped_json(&text))
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
        let counts = format!(
            "tests=\"{cases}\" failures=\"{different}\" errors=\"{unjudged}\" skipped=\"0\""
        );
        writeln!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tcverify\" {counts}>\n  \
             <testsuite name=\"tcverify {}\" {counts}>",
            self.tool.version
        )?;
        for case in &self.cases {
            let attribute = |text: &str| escaped(&line(text));
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
            let text = case.summary.as_ref().and_then(|s| s.text.as_deref());
            writeln!(
                out,
                ">\n      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n    </testcase>",
                case.verdict.name(),
                attribute(case.said()),
                escaped(&lines(text.unwrap_or(case.said()).trim_end()))
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
        for sentence in self.chain.iter().flat_map(Chain::sentences) {
            writeln!(out, "- {}", markdown::escaped(&sentence))?;
        }
        if self.chain.is_some() {
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
            CaseVerdict::IdenticalInPart => "warning",
            _ => "error",
        };
        let title = format!("tcverify: {}", self.verdict.title().to_lowercase());
        github::annotation(level, &title, &self.sentence(), out)?;
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

fn mark(verdict: CaseVerdict) -> (Style, &'static str) {
    let bold = |colour: AnsiColor| colour.on_default().bold();
    match verdict {
        CaseVerdict::Identical => (bold(AnsiColor::Green), "IDENTICAL"),
        CaseVerdict::IdenticalInPart => (bold(AnsiColor::Yellow), "IN PART"),
        CaseVerdict::Different => (bold(AnsiColor::Red), "DIFFERENT"),
        CaseVerdict::Unjudged => (bold(AnsiColor::Yellow), "UNJUDGED"),
    }
}
