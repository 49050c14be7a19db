//! A step of a run: what it is, and its arrays by what they hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::batch::Case;
use crate::check::{CheckError, Claimed, Request, Source};
use crate::io::{self, Files, payload_sha256};
use crate::num::Format;
use crate::role::{ByRole, Role};

/// One case.
pub struct Step {
    pub case: Case,
    /// SHA-256 of the operands as they are stored.
    pub operands: ByRole<String>,
    /// SHA-256 of the result.
    pub result: String,
}

/// Digests of files that are read more than once.
#[derive(Default)]
pub struct Digests {
    files: Files,
    known: BTreeMap<PathBuf, String>,
}

impl Step {
    /// # Errors
    /// If an array cannot be read.
    pub fn of(case: Case, digests: &mut Digests) -> Result<Step, CheckError> {
        let result = match case.request.claimed()? {
            Claimed::Digest(sha256) => sha256,
            Claimed::Array(role, source) => digests.of(role, &source)?,
            Claimed::Nothing => unreachable!("a case has a result"),
        };
        let mut operands = ByRole::new();
        for (role, source) in case.request.sources() {
            if !role.is_result() {
                operands.insert(role, digests.of(role, &source)?);
            }
        }
        Ok(Step {
            case,
            operands,
            result,
        })
    }

    pub fn name(&self) -> &str {
        &self.case.name
    }

    /// `product`, or the operation.
    pub fn kind(&self) -> &str {
        match &self.case.request {
            Request::Product(_) => "product",
            Request::Operation(asked) => asked.operation.as_deref().unwrap_or("operation"),
        }
    }

    /// What is asked except the arrays: fields of the case.
    pub fn asked(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(&self.case.request) else {
            return Map::new();
        };
        let digests = ["d_digest", "y_digest"];
        let is_array = |name: &str| Role::of_field(name).is_some() || digests.contains(&name);
        fields.retain(|name, value| !is_array(name) && !value.is_null());
        fields
    }

    /// The result, where there is more than its digest.
    pub fn array(&self) -> Option<(Source, Option<Format>)> {
        let format = match &self.case.request {
            Request::Product(check) => check.d_dtype,
            Request::Operation(_) => None,
        };
        match self.case.request.claimed() {
            Ok(Claimed::Array(_, source)) => Some((source, format)),
            _ => None,
        }
    }
}

impl Digests {
    fn of(&mut self, role: Role, source: &Source) -> Result<String, CheckError> {
        let Some(path) = source.path() else {
            return Ok(source.to_string());
        };
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let file = self.files.source(path);
        let file: io::Source = file.map_err(CheckError::file(role.field()))?;
        let tensor = file.tensor(file.header().descr.as_stored());
        let sha256 = payload_sha256(&tensor.map_err(CheckError::file(role.field()))?);
        self.known.insert(path.to_owned(), sha256.clone());
        Ok(sha256)
    }
}
