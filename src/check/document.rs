//! Files that describe models and schedules.

use std::fs::File;
use std::io::Read;
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
    let file = File::open(path).map_err(fail)?;
    let mut text = String::new();
    // A device says that it has no bytes, and never ends.
    let mut start = file.take(most + 1);
    start.read_to_string(&mut text).map_err(fail)?;
    if text.len() as u64 > most {
        let reason = format!("has more than {most} bytes; no larger {what} file is read");
        return Err(Fault::from(reason).of(path));
    }
    Ok(text)
}
