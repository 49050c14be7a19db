//! A step of a run: what it is, and its arrays by what they hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::batch::Case;
use crate::check::{CheckError, Expected, Source};
use crate::compare::contents::Contents;
use crate::compose::Request;
use crate::io::{self, Files};
use crate::num::Format;
use crate::role::{ByRole, Role};

/// One case.
pub struct Step {
    pub case: Case,
    pub operands: ByRole<Contents>,
    pub result: Contents,
}

/// Digests of files that are read more than once.
#[derive(Default)]
pub struct Digests {
    files: Files,
    known: BTreeMap<PathBuf, (Contents, Option<Format>)>,
}

impl Step {
    /// # Errors
    /// If an array cannot be read.
    pub fn of(case: Case, digests: &mut Digests) -> Result<Step, CheckError> {
        let format = result_format(&case.request);
        let result = match case.request.expected()? {
            Expected::PayloadSha256(sha256) => Contents {
                sha256,
                shape: None,
                format,
            },
            Expected::Tensor(source) => digests.of(case.request.result_role(), &source, format)?,
            Expected::Nothing => unreachable!("a case has a result"),
        };
        let mut operands = ByRole::new();
        for (role, source) in case.request.sources() {
            if !role.is_result() {
                operands.insert(role, digests.of(role, &source, None)?);
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
            Request::Operation(operation) => operation.operation.as_deref().unwrap_or("operation"),
        }
    }

    /// The fields of the case except its arrays.
    pub fn fields(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(&self.case.request) else {
            return Map::new();
        };
        let digests = ["d_digest", "y_digest"];
        let is_array = |name: &str| Role::of_field(name).is_some() || digests.contains(&name);
        fields.retain(|name, value| !is_array(name) && !value.is_null());
        fields
    }

    /// The result, if more than its digest is recorded.
    pub fn array(&self) -> Option<(Source, Option<Format>)> {
        match self.case.request.expected() {
            Ok(Expected::Tensor(source)) => Some((source, result_format(&self.case.request))),
            _ => None,
        }
    }
}

/// The format that a request gives its result.
fn result_format(request: &Request) -> Option<Format> {
    match request {
        Request::Product(check) => check.d_dtype,
        Request::Operation(_) => None,
    }
}

impl Digests {
    /// `requested` is the format of codes, where their file does not say it.
    fn of(
        &mut self,
        role: Role,
        source: &Source,
        requested: Option<Format>,
    ) -> Result<Contents, CheckError> {
        let Some(path) = source.path() else {
            return Ok(Contents {
                sha256: source.to_string(),
                shape: None,
                format: None,
            });
        };
        let (contents, numbers) = match self.known.get(path) {
            Some(known) => known.clone(),
            None => self.read(role, path)?,
        };
        // An operand's integers are codes of the format that its product names.
        let numbers = numbers.filter(|_| role.is_result());
        Ok(Contents {
            format: contents.format.or(requested).or(numbers),
            ..contents
        })
    }

    /// What a file holds, and the format of its integers as numbers.
    fn read(&mut self, role: Role, path: &Path) -> Result<(Contents, Option<Format>), CheckError> {
        let file = self.files.source(path);
        let file: io::Source = file.map_err(CheckError::file(role.field()))?;
        let contents = Contents::of(&file).map_err(CheckError::file(role.field()))?;
        let read = (contents, file.header().descr.number_format());
        self.known.insert(path.to_owned(), read.clone());
        Ok(read)
    }
}
