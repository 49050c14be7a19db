//! Reports, as every exporter writes them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tcverify::batch::report::Batch;
use tcverify::check::{Attention, Check, Subject};
use tcverify::compose::{Examined, verify};
use tcverify::forms::{self, Layout, Pictured, View};
use tcverify::identify::IdentifyError;
use tcverify::identify::auto::{self, Auto};
use tcverify::report::{Outcome, Report, Rule, write_json};
use tcverify::role::Role;

use crate::error;
use crate::request::{Arrays, Request};
use crate::watch::attended;

/// A report, and what a page shows beside it.
#[pyclass(frozen, module = "tcverify._tcverify")]
pub struct Judged {
    report: Report,
    with: Pictured,
}

/// Writes to memory, without colours.
pub fn plain(
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> PyResult<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8(strip_ansi_escapes::strip(out))?)
}

/// Writes to memory.
pub fn written(
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> PyResult<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8(out)?)
}

impl Judged {
    /// What every form shows.
    fn view(&self) -> View {
        View::of(&self.report).pictured(&self.with)
    }
}

#[pymethods]
impl Judged {
    fn text(&self) -> String {
        self.view().plain_text(Layout::default())
    }

    fn json(&self) -> PyResult<String> {
        written(|out| write_json(&self.report, out))
    }

    fn html(&self) -> PyResult<String> {
        written(|out| forms::html(&self.view(), out))
    }

    fn fragment(&self) -> PyResult<String> {
        written(|out| forms::notebook(&self.view(), out))
    }

    fn markdown(&self) -> PyResult<String> {
        written(|out| forms::markdown(&self.view(), out))
    }

    fn junit(&self) -> PyResult<String> {
        written(|out| forms::junit(&self.view(), out))
    }

    /// The listed mismatches: index, code reproduced, code given, ulps (or none), class.
    #[allow(clippy::type_complexity)]
    fn mismatches(&self) -> PyResult<Vec<(Vec<usize>, u64, u64, Option<i128>, String)>> {
        let Outcome::Elements { comparison, .. } = &self.report.outcome else {
            return Ok(Vec::new());
        };
        let code = |hex: &str| {
            u64::from_str_radix(hex, 16).map_err(|error| PyValueError::new_err(error.to_string()))
        };
        let rows = comparison.first.iter().map(|m| {
            let class = serde_json::to_value(m.class);
            let class = class.map_err(|error| PyValueError::new_err(error.to_string()))?;
            let class = class.as_str().unwrap_or_default().to_owned();
            Ok((
                m.index.clone(),
                code(&m.reproduced)?,
                code(&m.given)?,
                m.ulp,
                class,
            ))
        });
        rows.collect()
    }
}

/// Replays, compares, reports. Where the request names no unit, by the first one that gives D.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    fields: &str,
    arrays: Arrays,
    progress: Option<Py<PyAny>>,
) -> PyResult<Judged> {
    let request = Request::new(py, fields, &arrays)?.with_formats(py)?;
    let judged = attended(py, progress.as_ref(), move |progress| {
        let mut check = request.check()?;
        let mut chosen = None;
        if auto::is_requested(&check) {
            let mut held = |field: &str| request.arrays.get(&Role::of_field(field)?).cloned();
            match auto::choose(&check, &mut held, progress)? {
                Auto::Found(found, by) => (check, chosen) = (*found, Some(by)),
                Auto::Nothing(tested) => return Ok(Err(tested)),
            }
        }
        let prepared = request.prepared(&check)?;
        let mapping = prepared.mapping();
        let attention = match &mapping {
            Some(mapping) => Attention::Observed(mapping),
            None => Attention::Report,
        };
        let mut judged = prepared.judge(attention, progress)?;
        if let Rule::Product(rule) = &mut judged.report.rule {
            rule.chosen = chosen;
        }
        let with = prepared.page(&judged.report, mapping)?;
        prepared.confirm_unchanged()?;
        Ok(Ok(Judged {
            report: judged.report,
            with,
        }))
    })?;
    let judged = judged.map_err(|error: IdentifyError| error::identify(py, &error))?;
    judged.map_err(|tested| error::no_model(py, tested))
}

/// A report that was written as JSON.
#[pyfunction]
pub fn read_report(py: Python<'_>, json: &str) -> PyResult<Judged> {
    let fail = |reason: String| error::request(py, "json", format!("`json` {reason}"));
    let report = verify::parse(json).map_err(fail)?;
    if let Some(request) = &report.request {
        // What was asked must be a request.
        let asked: Result<Check, _> = serde_json::from_value(request.clone());
        asked.map_err(|error| fail(format!("is not a report: its request: {error}")))?;
    }
    if let Some(wrong) = verify::contradictions(&report).first() {
        return Err(fail(format!("is not a report: {wrong}")));
    }
    Ok(Judged {
        report,
        with: Pictured::default(),
    })
}

/// The report on a batch.
#[pyclass(frozen, module = "tcverify._tcverify")]
pub struct BatchResult(pub Batch);

impl BatchResult {
    fn view(&self) -> View {
        self.0.view(&|_| None)
    }
}

#[pymethods]
impl BatchResult {
    fn text(&self) -> String {
        self.view().plain_text(Layout::default())
    }

    fn json(&self) -> PyResult<String> {
        written(|out| self.0.json(out))
    }

    fn fragment(&self) -> PyResult<String> {
        written(|out| forms::notebook(&self.view(), out))
    }

    fn markdown(&self) -> PyResult<String> {
        written(|out| forms::markdown(&self.view(), out))
    }

    fn junit(&self) -> PyResult<String> {
        written(|out| forms::junit(&self.view(), out))
    }
}
