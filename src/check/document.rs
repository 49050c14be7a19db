//! Files that describe models and schedules.

use std::fs;
use std::path::Path;

use crate::io::{Fault, FaultKind, FileError};

/// Larger than any file that describes a model, a schedule or kernels.
const MAX_BYTES: u64 = 16 << 20;

/// Larger than the log of a run that anybody waits for.
pub(super) const MAX_LOG: u64 = 1 << 28;

/// The text of a file that describes a model or a schedule.
pub(super) fn text_of(path: &Path, what: &str) -> Result<String, FileError> {
    text_within(path, what, MAX_BYTES)
}

/// The text of a file of so many bytes at most.
pub(super) fn text_within(path: &Path, what: &str, most: u64) -> Result<String, FileError> {
    let fail = |error| Fault::caused(FaultKind::Unreadable, "cannot be read", error).of(path);
    let length = fs::metadata(path).map_err(fail)?.len();
    if length > most {
        let reason = format!("has {length} bytes; a {what} file of more than {most} is not read");
        return Err(Fault::from(reason).of(path));
    }
    fs::read_to_string(path).map_err(fail)
}
