//! One case of a batch: its verdict, and its report as text.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer, ser};
use serde_json::value::RawValue;

use super::CaseVerdict;
use crate::emu::Evidence;
use crate::io::from_hex;
use crate::report::words::{evidence, model_line, product_line, sentence, title};
use crate::report::{Exporter, Input, Json, OperationReport, Report, Store, Stored, Verdict};

/// One of them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BatchCase {
    pub name: String,
    pub verdict: CaseVerdict,
    /// Why there is no verdict.
    pub error: Option<String>,
    /// The verdict in words, and its model and product.
    pub summary: Option<Summary>,
    /// As `check --json` writes it, byte for byte but for the margin.
    #[serde(serialize_with = "raw")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<AnyReport>"))]
    pub report: Option<Stored>,
    /// What it read.
    #[serde(skip)]
    pub(in crate::report) arrays: Arrays,
}

/// SHA-256 of the payloads of a case.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Arrays {
    /// By name.
    pub operands: Vec<(String, [u8; 32])>,
    /// Of the captured result.
    pub result: Option<[u8; 32]>,
}

/// A case with a verdict, to go on from; its report is a text in JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptCase {
    pub name: String,
    pub verdict: CaseVerdict,
    pub summary: Summary,
    #[cfg_attr(feature = "schemars", schemars(with = "String"))]
    pub report: Stored,
}

/// The report in the place of its text.
fn raw<S: Serializer>(report: &Option<Stored>, to: S) -> Result<S::Ok, S::Error> {
    let text = report.as_ref().map(Stored::text).transpose();
    let text = text.map_err(ser::Error::custom)?;
    let json = text.map(|text| RawValue::from_string(placed(&text)));
    json.transpose().map_err(ser::Error::custom)?.serialize(to)
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

/// The verdict in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    #[cfg_attr(feature = "schemars", schemars(with = "Option<String>"))]
    pub text: Option<Stored>,
}

/// A report in the place it has in the whole; no string of JSON has a line end.
fn placed(json: &str) -> String {
    json.trim_end().replace('\n', "\n      ")
}

impl Arrays {
    fn of<'n, 'i>(fields: impl Iterator<Item = (&'n str, &'i Input)>) -> Arrays {
        let mut arrays = Arrays::default();
        for (field, input) in fields {
            match (field, from_hex(&input.payload_sha256)) {
                ("d" | "y", digest) => arrays.result = digest,
                (field, Some(digest)) => arrays.operands.push((field.to_owned(), digest)),
                (_, None) => {}
            }
        }
        arrays
    }

    fn of_product(report: &Report) -> Arrays {
        Arrays::of(
            report
                .inputs
                .iter()
                .map(|(role, input)| (role.field(), input)),
        )
    }

    fn of_operation(report: &OperationReport) -> Arrays {
        let inputs = report.inputs.iter();
        Arrays::of(inputs.map(|named| (named.name.as_str(), &named.input)))
    }
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
                text: different.then(|| report.text().into()),
            }),
            report: Some(String::from_utf8(json).map_err(io::Error::other)?.into()),
            arrays: Arrays::of_product(report),
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
                Verdict::Identical => CaseVerdict::Identical,
                Verdict::IdenticalInPart => CaseVerdict::IdenticalInPart,
                Verdict::Different => CaseVerdict::Different,
            },
            error: None,
            summary: Some(Summary {
                title: report.title(),
                sentence: report.sentence(),
                model: report.rule_line(),
                product: report.about_line(),
                text: different.then(|| report.text().into()),
            }),
            report: Some(String::from_utf8(json).map_err(io::Error::other)?.into()),
            arrays: Arrays::of_operation(report),
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
            arrays: Arrays::default(),
        }
    }

    /// What is kept of a case with a verdict.
    pub fn kept(&self) -> Option<KeptCase> {
        Some(KeptCase {
            name: self.name.clone(),
            verdict: self.verdict,
            summary: self.summary.clone()?,
            report: self.report.clone()?,
        })
    }

    /// A case that was kept.
    ///
    /// # Errors
    /// If its report is none.
    pub fn of_kept(kept: KeptCase) -> io::Result<BatchCase> {
        let text = kept.report.text()?;
        let arrays = match serde_json::from_str::<Report>(&text) {
            Ok(report) => Arrays::of_product(&report),
            Err(_) => Arrays::of_operation(&serde_json::from_str(&text)?),
        };
        drop(text);
        Ok(BatchCase {
            name: kept.name,
            verdict: kept.verdict,
            error: None,
            summary: Some(kept.summary),
            report: Some(kept.report),
            arrays,
        })
    }

    /// The same case, its texts put away.
    ///
    /// # Errors
    /// Those of the store's file.
    pub fn put_away(mut self, store: &Arc<Store>) -> io::Result<BatchCase> {
        let text = self.summary.as_mut().map(|summary| &mut summary.text);
        let report = Some(&mut self.report);
        for stored in [text, report].into_iter().flatten().flatten() {
            let kept = store.keep(&stored.text()?)?;
            *stored = kept;
        }
        Ok(self)
    }

    /// The text of the report, of a case that differs.
    pub(super) fn text(&self) -> io::Result<Option<String>> {
        let text = self
            .summary
            .as_ref()
            .and_then(|summary| summary.text.as_ref());
        let text = text.map(Stored::text).transpose()?;
        Ok(text.map(|text| text.into_owned()))
    }

    /// The same, in so many columns.
    pub(super) fn text_within(&self, width: usize) -> io::Result<Option<String>> {
        let known = self.text()?;
        let widest = |text: &String| text.lines().map(str::len).max();
        if known
            .as_ref()
            .and_then(widest)
            .is_none_or(|widest| width >= widest)
        {
            return Ok(known);
        }
        let report = self.report.as_ref().map(Stored::text).transpose()?;
        let report: Option<Report> = report.and_then(|text| serde_json::from_str(&text).ok());
        Ok(report.map(|report| report.text_within(width)).or(known))
    }

    /// The report, if D or its part agreed.
    ///
    /// # Errors
    /// Those of the file that it is in.
    pub fn agreeing(&self) -> io::Result<Option<Report>> {
        let agrees = self.verdict <= CaseVerdict::IdenticalInPart;
        let report = self.report.as_ref().filter(|_| agrees);
        let text = report.map(Stored::text).transpose()?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// What came out, in one line.
    pub(in crate::report) fn said(&self) -> &str {
        let summary = self.summary.as_ref();
        let summary = summary.map(|summary| summary.sentence.as_str());
        self.error.as_deref().or(summary).unwrap_or_default()
    }

    /// The verdict, how much of D it is about, and what it lets pass.
    pub(in crate::report) fn title(&self) -> &str {
        let summary = self.summary.as_ref();
        summary.map_or(self.verdict.title(), |summary| summary.title.as_str())
    }

    /// Whether there is more to say than that D is identical.
    pub(super) fn is_qualified(&self) -> bool {
        self.verdict <= CaseVerdict::IdenticalInPart && self.title() != Verdict::Identical.title()
    }

    pub(in crate::report) fn model(&self) -> &str {
        self.summary.as_ref().map_or("", |s| s.model.as_str())
    }
}
