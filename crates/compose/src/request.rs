//! A request for a product or for an operation between products, for callers that need not know which.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::{
    Check, CheckError, EngineChoice, Expected, MAX_MISMATCHES, ModelSource, Naming, Selection,
    Source, Verb, command_line, protect,
};
use crate::io::Outputs;
use crate::operation::Operation;
use crate::report::Tolerance;
use crate::role::{ByRole, Role};

/// A request. In documents it is one object of flat fields; that of an operation has the field `operation`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Request {
    Product(Box<Check>),
    Operation(Box<Operation>),
}

impl From<Check> for Request {
    fn from(check: Check) -> Request {
        Request::Product(Box::new(check))
    }
}

impl From<Operation> for Request {
    fn from(operation: Operation) -> Request {
        Request::Operation(Box::new(operation))
    }
}

impl Request {
    /// Whether the fields of an object ask for an operation.
    pub fn is_operation(fields: &Value) -> bool {
        fields
            .get("operation")
            .is_some_and(|value| !value.is_null())
    }

    /// Of an object's fields.
    pub fn from_value(fields: Value) -> Result<Request, serde_json::Error> {
        if Request::is_operation(&fields) {
            Operation::deserialize(fields).map(Request::from)
        } else {
            Check::deserialize(fields).map(Request::from)
        }
    }

    /// Every array that it names, the result last.
    pub fn sources(&self) -> ByRole<Source> {
        match self {
            Request::Product(check) => {
                let all = check.sources();
                all.map(|(role, source)| (role, source.clone())).collect()
            }
            Request::Operation(operation) => operation.arrays(),
        }
    }

    /// The name of the result in messages.
    pub fn called(&self) -> &'static str {
        match self {
            Request::Product(_) => "D",
            Request::Operation(_) => "the result",
        }
    }

    /// The request, computed by the CPU.
    #[must_use]
    pub fn on_cpu(self) -> Request {
        match self {
            Request::Product(check) => Request::from(check.on_cpu()),
            // Operations are computed nowhere else.
            Request::Operation(_) => self,
        }
    }

    /// Whether a program holds one of the arrays, which no command line can name.
    pub fn is_in_memory(&self) -> bool {
        self.sources()
            .values()
            .any(|source| *source == Source::Memory)
    }

    /// The role of its result.
    pub fn result_role(&self) -> Role {
        match self {
            Request::Product(_) => Role::D,
            Request::Operation(_) => Role::Y,
        }
    }

    /// The result that it claims.
    pub fn expected(&self) -> Result<Expected, CheckError> {
        match self {
            Request::Product(check) => Ok(check.expected.clone()),
            Request::Operation(operation) => operation.expected(),
        }
    }

    /// How bits are compared.
    pub fn tolerance(&self) -> Tolerance {
        match self {
            Request::Product(check) => check.tolerance,
            Request::Operation(operation) => operation.judging().tolerance(),
        }
    }

    /// Which part of the result is compared.
    ///
    /// # Errors
    /// If its fields contradict each other.
    pub fn selection(&self) -> Result<Selection, CheckError> {
        match self {
            Request::Product(check) => Ok(check.selection.clone()),
            Request::Operation(operation) => operation.selection(),
        }
    }

    /// Which digest names the reproduced result.
    pub fn naming(&self) -> Naming {
        match self {
            Request::Product(check) => check.naming,
            Request::Operation(operation) => operation.judging().naming(),
        }
    }

    /// How many mismatches a report lists.
    pub fn max_mismatches(&self) -> usize {
        match self {
            Request::Product(check) => check.max_mismatches,
            Request::Operation(operation) => operation.max_mismatches.unwrap_or(MAX_MISMATCHES),
        }
    }

    /// Whether a report on a result that differs looks for what would give it.
    pub fn looks_for_causes(&self) -> bool {
        match self {
            Request::Product(check) => check.causes,
            Request::Operation(operation) => operation.no_causes != Some(true),
        }
    }

    /// The engine that computes.
    pub fn engine(&self) -> EngineChoice {
        match self {
            Request::Product(check) => check.engine,
            Request::Operation(operation) => operation.engine.unwrap_or(EngineChoice::Fast),
        }
    }

    /// GPU or architecture by name, if one is named.
    pub fn arch(&self) -> Option<&str> {
        match self {
            Request::Product(check) => match &check.model.from {
                ModelSource::Catalogue(name) => Some(name),
                ModelSource::File(_) => None,
            },
            Request::Operation(operation) => operation.arch.as_deref(),
        }
    }

    /// The commitment that everything must match, and the field that names it.
    pub fn committed(&self) -> Option<(&'static str, &Path)> {
        match self {
            Request::Product(check) => check.committed(),
            Request::Operation(operation) => operation.committed(),
        }
    }

    /// The files that it names beside arrays, by field.
    pub fn documents(&self) -> Vec<(&'static str, PathBuf)> {
        let named = |(field, path): (&'static str, &PathBuf)| (field, path.clone());
        match self {
            Request::Product(check) => check.documents().map(named).collect(),
            Request::Operation(operation) => operation.documents().map(named).collect(),
        }
    }

    /// Everything that it reads is written over by no output.
    pub fn protect(&self, outputs: &mut Outputs) {
        protect(&self.sources(), self.documents(), outputs);
    }

    /// The arguments of its command line, the program's name first.
    pub fn command_line(&self, verb: Verb) -> Vec<OsString> {
        match self {
            Request::Product(check) => command_line(verb, check),
            Request::Operation(operation) => operation.command_line(verb),
        }
    }
}
