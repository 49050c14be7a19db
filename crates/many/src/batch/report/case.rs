//! One case of a batch: its verdict, and its report as text.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer, ser};
use serde_json::value::RawValue;

use crate::emu::Evidence;
use crate::forms::view::evidence_in_words;
use crate::forms::{Store, Stored, View};
use crate::io::from_hex;
use crate::report::{Report, Verdict, write_json};

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

impl From<Verdict> for CaseVerdict {
    fn from(verdict: Verdict) -> CaseVerdict {
        match verdict {
            Verdict::Identical => CaseVerdict::Identical,
            Verdict::IdenticalInPart => CaseVerdict::IdenticalInPart,
            Verdict::Different => CaseVerdict::Different,
        }
    }
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

    /// `identical in part`.
    pub(super) fn words(self) -> String {
        self.name().replace('_', " ")
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
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BatchCase {
    /// As the manifest or the folder has it.
    pub name: String,
    /// Of this case.
    pub verdict: CaseVerdict,
    /// The verdict that the case or a baseline states; absent if neither does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<CaseVerdict>,
    /// Why there is no verdict.
    pub error: Option<String>,
    /// For people; its wording may change: `title`, `sentence`, `model`, `product`, `terms` (`plus C`, `D bf16`); where D
    /// differs also `cause` and `next`.
    pub summary: Option<Summary>,
    /// As `check --json` writes it, byte for byte except the margin.
    #[serde(serialize_with = "raw")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<Report>"))]
    pub report: Option<Stored>,
    /// The arrays it read, by digest.
    #[serde(skip)]
    pub(super) arrays: Arrays,
}

/// SHA-256 of the payloads of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrays {
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
    /// What the result is made of beside its operands, and how it is stored: a phrase each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<String>,
    /// What would give a result that differs: the first of its causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SummedCause>,
    /// The command that tells more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A cause in short.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SummedCause {
    pub kind: String,
    pub sentence: String,
}

/// A report in the place it has in the whole; no string of JSON has a line end.
fn placed(json: &str) -> String {
    json.trim_end().replace('\n', "\n      ")
}

impl Arrays {
    fn of(report: &Report) -> Arrays {
        let mut arrays = Arrays::default();
        for (role, input) in &report.inputs {
            match from_hex(&input.payload_sha256) {
                digest if role.is_result() => arrays.result = digest,
                Some(digest) => arrays.operands.push((role.field().to_owned(), digest)),
                None => {}
            }
        }
        arrays
    }
}

impl BatchCase {
    /// A case with a verdict.
    ///
    /// # Errors
    /// None: a report can be written to memory.
    pub fn judged(name: &str, report: &Report, next: Vec<String>) -> io::Result<BatchCase> {
        let view = View::of(report).then(next);
        let rule = &view.about[0];
        let model = match report.rule.evidence() {
            Evidence::Claimed => format!("{rule} ({})", evidence_in_words(&report.rule)),
            _ => rule.clone(),
        };
        let mut json = Vec::new();
        write_json(report, &mut json)?;
        Ok(BatchCase {
            name: name.to_owned(),
            verdict: report.verdict.into(),
            expected: None,
            error: None,
            summary: Some(Summary {
                title: view.title(),
                sentence: view.sentence.clone(),
                model,
                product: view.about[1].clone(),
                terms: report.terms(),
                cause: report.causes.first().map(|cause| SummedCause {
                    kind: cause.kind.clone(),
                    sentence: cause.sentence.clone(),
                }),
                next: view.next.first().cloned(),
            }),
            report: Some(String::from_utf8(json).map_err(io::Error::other)?.into()),
            arrays: Arrays::of(report),
        })
    }

    /// A case without one.
    pub fn unjudged(name: &str, error: String) -> BatchCase {
        BatchCase {
            name: name.to_owned(),
            verdict: CaseVerdict::Unjudged,
            expected: None,
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
    /// If its report is none, or its title that of another verdict.
    pub fn of_kept(kept: KeptCase) -> io::Result<BatchCase> {
        if !kept.summary.title.starts_with(kept.verdict.title()) {
            return Err(io::Error::other("its title belongs to another verdict"));
        }
        let text = kept.report.text()?;
        let arrays = Arrays::of(&serde_json::from_str(&text)?);
        drop(text);
        Ok(BatchCase {
            name: kept.name,
            verdict: kept.verdict,
            expected: None,
            error: None,
            summary: Some(kept.summary),
            report: Some(kept.report),
            arrays,
        })
    }

    /// The case with its report put away.
    ///
    /// # Errors
    /// Those of the store's file.
    pub fn put_away(mut self, store: &Arc<Store>) -> io::Result<BatchCase> {
        if let Some(report) = &mut self.report {
            *report = store.keep(&report.text()?)?;
        }
        Ok(self)
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
    pub(super) fn sentence(&self) -> &str {
        let summary = self.summary.as_ref();
        let summary = summary.map(|summary| summary.sentence.as_str());
        self.error.as_deref().or(summary).unwrap_or_default()
    }

    /// The verdict, how much of D it is about, and what it lets pass.
    pub(super) fn title(&self) -> &str {
        let summary = self.summary.as_ref();
        summary.map_or(self.verdict.title(), |summary| summary.title.as_str())
    }

    pub(super) fn model(&self) -> &str {
        self.summary.as_ref().map_or("", |s| s.model.as_str())
    }
}
