//! Files that tell what cases leave out: arrays that a pattern names, formats that no field gives. They are opened before
//! their case is complete, so the policy is checked for each of them here.

use std::path::Path;

use crate::check::{CheckError, FormatsFrom};
use crate::io::{self, Files, Privacy};
use crate::memory::Limits;
use crate::policy::AdmissionPolicy;

/// Where cases look things up while they are read.
pub(super) struct Lookup<'a> {
    policy: Option<&'a AdmissionPolicy>,
    /// The folder of the cases.
    root: &'a Path,
    /// Opened once for all cases; `None`: no file may be opened.
    files: Option<Files>,
}

impl<'a> Lookup<'a> {
    /// Among files that the policy allows, within its memory.
    pub fn new(policy: Option<&'a AdmissionPolicy>, root: &'a Path) -> Lookup<'a> {
        let own = Limits::default().max_bytes;
        let files = AdmissionPolicy::files(policy, Privacy::Auto, own);
        Lookup {
            files: Some(files),
            ..Lookup::closed(policy, root)
        }
    }

    /// Where nothing may be opened.
    pub fn closed(policy: Option<&'a AdmissionPolicy>, root: &'a Path) -> Lookup<'a> {
        Lookup {
            policy,
            root,
            files: None,
        }
    }

    pub fn policy(&self) -> Option<&'a AdmissionPolicy> {
        self.policy
    }

    /// Refuses more cases than there may be.
    pub fn admit_number(&self, cases: usize) -> Result<(), String> {
        self.policy
            .map_or(Ok(()), |policy| policy.admit_number(cases))
    }

    /// Refuses a file of the cases themselves that may not be read.
    pub fn admit_file(&self, file: &Path) -> Result<(), String> {
        self.policy
            .map_or(Ok(()), |policy| policy.admit_file(self.root, file))
    }

    /// The names of the arrays that a file holds.
    pub fn names(&self, file: &Path) -> Result<Vec<String>, String> {
        self.admit_file(file)?;
        let container = self.files()?.container(file);
        let container = container.map_err(|error| format!("{error:#}"))?;
        let names = container.meant().filter_map(|i| container.name(i));
        Ok(names.map(str::to_owned).collect())
    }

    fn files(&self) -> Result<&Files, String> {
        let closed = || "files are not opened here".to_owned();
        self.files.as_ref().ok_or_else(closed)
    }
}

impl FormatsFrom for Lookup<'_> {
    fn open(&self, field: &'static str, path: &Path) -> Result<io::Source, CheckError> {
        if let Some(policy) = self.policy {
            policy.admit_path(field, self.root, path)?;
        }
        let files = self.files();
        let files = files.map_err(CheckError::of("dtype"))?;
        files.source(path).map_err(CheckError::file(field))
    }
}
