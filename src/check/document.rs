//! Files that describe models and schedules.

use std::fs;
use std::path::Path;

use crate::io::{Fault, FaultKind, FileError};

/// The text of a file that describes a model or a schedule.
pub(super) fn text_of(path: &Path, what: &str) -> Result<String, FileError> {
    /// Larger than any of them.
    const MAX_BYTES: u64 = 16 << 20;
    let fail = |error| Fault::caused(FaultKind::Unreadable, "cannot be read", error).of(path);
    let length = fs::metadata(path).map_err(fail)?.len();
    if length > MAX_BYTES {
        let reason = format!("has {length} bytes; no {what} file is that large");
        return Err(Fault::from(reason).of(path));
    }
    fs::read_to_string(path).map_err(fail)
}
