//! Which verdicts were expected: stated by a case, or taken from an earlier report of the same cases.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{BATCH, Batch, BatchCase, CaseVerdict};
use crate::batch::BatchError;
use crate::io::{escaped_path, printable};

/// An earlier report of the same cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Baseline {
    /// As its path was typed.
    pub path: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Its cases that are no longer there, in its order.
    pub gone: Vec<String>,
}

/// What a baseline says, to be applied to the cases of today.
#[derive(Debug)]
pub struct Known {
    path: String,
    sha256: String,
    /// In the order of the file.
    verdicts: Vec<(String, CaseVerdict)>,
}

#[derive(Deserialize)]
struct Earlier {
    schema: String,
    cases: Vec<EarlierCase>,
}

#[derive(Deserialize)]
struct EarlierCase {
    name: String,
    verdict: CaseVerdict,
}

impl Known {
    /// Reads a report of `batch`.
    ///
    /// # Errors
    /// If it is none, or two of its cases have one name.
    pub fn read(path: &Path) -> Result<Known, BatchError> {
        let fail = BatchError::document(path);
        let file = crate::io::Files::default().file(path);
        let file = file.map_err(|fault| BatchError::File(fault.of(path)))?;
        let read: Result<Earlier, _> = serde_json::from_slice(file.bytes());
        let Earlier { schema, cases } = read.map_err(|error| {
            let reason = printable(&error.to_string());
            fail(format!(
                "is not a report of `batch --json` ({BATCH}): {reason}"
            ))
        })?;
        if schema != BATCH {
            let schema = printable(&schema);
            return Err(fail(format!(
                "is not a report of `batch --json`: its schema is {schema:?}, not {BATCH:?}"
            )));
        }
        let verdicts: Vec<_> = cases
            .into_iter()
            .map(|case| (case.name, case.verdict))
            .collect();
        let mut names = std::collections::HashSet::new();
        if let Some((name, _)) = verdicts.iter().find(|(name, _)| !names.insert(name)) {
            let name = printable(name);
            return Err(fail(format!("two of its cases have one name ({name})")));
        }
        Ok(Known {
            path: escaped_path(path),
            sha256: file.sha256().to_owned(),
            verdicts,
        })
    }
}

impl BatchCase {
    /// Whether it has another verdict than expected; a case of which nothing is expected is to agree.
    pub fn surprises(&self) -> bool {
        match self.expected {
            Some(expected) => self.verdict != expected,
            None => self.verdict == CaseVerdict::Different,
        }
    }
}

impl Batch {
    /// Expects the verdicts of an earlier report, except where a case states its own.
    pub fn expect(&mut self, known: Known) {
        let Known {
            path,
            sha256,
            verdicts,
        } = known;
        let names: HashMap<&str, usize> = self
            .cases
            .iter()
            .enumerate()
            .map(|(place, case)| (case.name.as_str(), place))
            .collect();
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for (name, verdict) in verdicts {
            match names.get(name.as_str()) {
                Some(&place) => there.push((place, verdict)),
                None => gone.push(name),
            }
        }
        for (place, verdict) in there {
            let case = &mut self.cases[place];
            // Of a case that had no verdict nothing is known.
            let known = Some(verdict).filter(|verdict| *verdict != CaseVerdict::Unjudged);
            case.expected = case.expected.or(known);
        }
        self.baseline = Some(Baseline { path, sha256, gone });
    }

    /// Whether somebody stated which verdicts are expected.
    pub fn has_expectations(&self) -> bool {
        self.baseline.is_some() || self.cases.iter().any(|case| case.expected.is_some())
    }

    /// How many cases have another verdict than expected, or are gone.
    pub fn surprises(&self) -> u64 {
        let cases = self.cases.iter().filter(|case| case.surprises()).count();
        let gone = self
            .baseline
            .as_ref()
            .map_or(0, |baseline| baseline.gone.len());
        (cases + gone) as u64
    }
}
