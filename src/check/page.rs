//! What a page has beside the report.

use super::error::CheckError;
use super::prepare::Prepared;
use super::subject::Judged;
use crate::explain::{self, Wish};
use crate::report::{Outcome, Pictured, Report};

/// The longest K that a page explains: more takes long, and memory.
const MAX_EXPLAINED_K: usize = 1 << 20;

impl Prepared {
    /// The page of what was judged: the map, and the first mismatch step by step.
    ///
    /// # Errors
    /// If a file has changed.
    pub fn page(&self, judged: &Judged<Report>) -> Result<Pictured, CheckError> {
        Ok(Pictured {
            trace: self.trace(&judged.report)?,
            map: judged.map.clone(),
        })
    }

    /// What `tcverify explain` shows of the first mismatch, without colours.
    fn trace(&self, report: &Report) -> Result<Option<String>, CheckError> {
        let Outcome::Elements { comparison, .. } = &report.outcome else {
            return Ok(None);
        };
        let first = comparison.first.first();
        let Some(first) = first.filter(|_| report.product.k <= MAX_EXPLAINED_K) else {
            return Ok(None);
        };
        let explanation = self.explain(&first.index, Wish::default())?;
        self.confirm_unchanged()?;
        let mut text = Vec::new();
        let written = explain::write(&explanation, &mut text);
        written.expect("memory takes everything");
        let text = strip_ansi_escapes::strip(text);
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }
}
