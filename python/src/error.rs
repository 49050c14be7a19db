//! Errors as exceptions: those of a request name the argument to mend.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use tcverify::batch::BatchError;
use tcverify::check::CheckError;
use tcverify::commit::CommitError;
use tcverify::compose::describe;
use tcverify::identify::IdentifyError;

/// An exception of the package.
fn raised(
    py: Python<'_>,
    class: &str,
    arguments: impl for<'py> pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    let made = py
        .import("tcverify._errors")
        .and_then(|module| module.getattr(class)?.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

pub fn request(py: Python<'_>, argument: &str, reason: String) -> PyErr {
    raised(py, "CheckError", (argument, reason))
}

pub fn check(py: Python<'_>, error: &CheckError) -> PyErr {
    // Fields and arguments have the same names.
    let reason = describe(error, |field| format!("`{field}`"));
    match error {
        CheckError::Interrupted => PyKeyboardInterrupt::new_err(()),
        CheckError::NotCommitted { differences, .. } => {
            raised(py, "NotCommittedError", (reason, differences.clone()))
        }
        CheckError::Contradiction { .. } => PyRuntimeError::new_err(reason),
        other => raised(py, "CheckError", (other.field(), reason)),
    }
}

pub fn identify(py: Python<'_>, error: &IdentifyError) -> PyErr {
    match error {
        IdentifyError::Operands(error) => check(py, error),
        other => raised(py, "CheckError", (None::<&str>, other.to_string())),
    }
}

pub fn no_model(py: Python<'_>, tested: usize) -> PyErr {
    raised(py, "NoModelError", (tested,))
}

pub fn batch(py: Python<'_>, error: &BatchError) -> PyErr {
    match error {
        BatchError::Interrupted => PyKeyboardInterrupt::new_err(()),
        other => request(py, "manifest", other.to_string()),
    }
}

pub fn not_committed(py: Python<'_>, reason: String) -> PyErr {
    raised(py, "NotCommittedError", (reason.clone(), vec![reason]))
}

pub fn commitment(py: Python<'_>, argument: &str, error: &CommitError) -> PyErr {
    request(py, argument, format!("{error:#}"))
}
