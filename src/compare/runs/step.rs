//! A step of a run: what it is, and its arrays by what they hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::batch::{Case, Work};
use crate::check::{CheckError, Claim, Source};
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
        let result = match case.claimed() {
            Claimed::Digest(sha256) => sha256,
            Claimed::Array(role, source) => digests.of(role, &source)?,
        };
        let mut operands = ByRole::new();
        for (role, source) in case.operands() {
            operands.insert(role, digests.of(role, &source)?);
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
        match &self.case.work {
            Work::Product(_) => "product",
            Work::Operation(asked) => asked.operation.as_deref().unwrap_or("operation"),
        }
    }

    /// What is asked except the arrays: fields of the case.
    pub fn asked(&self) -> Map<String, Value> {
        let fields = match &self.case.work {
            Work::Product(check) => serde_json::to_value(check),
            Work::Operation(asked) => serde_json::to_value(asked),
        };
        let Ok(Value::Object(mut fields)) = fields else {
            return Map::new();
        };
        let digests = ["d_digest", "y_digest"];
        let is_array = |name: &str| Role::of_field(name).is_some() || digests.contains(&name);
        fields.retain(|name, value| !is_array(name) && !value.is_null());
        fields
    }

    /// The result, where there is more than its digest.
    pub fn array(&self) -> Option<(Source, Option<Format>)> {
        match (&self.case.work, self.case.claimed()) {
            (_, Claimed::Digest(_)) => None,
            (Work::Product(check), Claimed::Array(_, source)) => Some((source, check.d_dtype)),
            (Work::Operation(_), Claimed::Array(_, source)) => Some((source, None)),
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

/// What a case says of its result.
enum Claimed {
    Digest(String),
    Array(Role, Source),
}

impl Case {
    fn claimed(&self) -> Claimed {
        match &self.work {
            Work::Product(check) => match &check.claim {
                Claim::Tensor(source) => Claimed::Array(Role::D, source.clone()),
                Claim::PayloadSha256(sha256) => Claimed::Digest(sha256.clone()),
                Claim::Nothing => unreachable!("a case has a result"),
            },
            Work::Operation(asked) => match (&asked.y, &asked.y_digest) {
                (Some(source), _) => Claimed::Array(Role::Y, source.clone()),
                (None, Some(sha256)) => Claimed::Digest(sha256.clone()),
                (None, None) => unreachable!("a case has a result"),
            },
        }
    }

    fn operands(&self) -> Vec<(Role, Source)> {
        let all: Vec<(Role, Source)> = match &self.work {
            Work::Product(check) => {
                let all = check.operands.arrays.iter();
                all.map(|(role, source)| (*role, source.clone())).collect()
            }
            Work::Operation(asked) => asked.sources().into_iter().collect(),
        };
        let is_operand = |(role, _): &(Role, Source)| !matches!(role, Role::D | Role::Y);
        all.into_iter().filter(is_operand).collect()
    }
}
