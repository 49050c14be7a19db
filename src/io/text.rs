//! Text files: documents, logs, keys. Reading stops at a limit, because a device reports no length and never ends.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use super::{Fault, FaultKind, FileError, stream};

/// Larger than any file that describes a model, a schedule, kernels or probes.
pub const MAX_DOCUMENT: u64 = 16 << 20;

/// Larger than the log of a run that anyone waits for, and than any manifest.
pub const MAX_LOG: u64 = 1 << 28;

/// The bytes of a file of at most `most` bytes; `what` names the kind of file in the error.
///
/// # Errors
/// If it cannot be read, or is larger.
pub fn read_bytes(path: &Path, what: &str, most: u64) -> Result<Vec<u8>, FileError> {
    let fail = |error| Fault::caused(FaultKind::Unreadable, "cannot be read", error).of(path);
    let file = stream::opened(path).map_err(|fault| fault.of(path))?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > most {
        let reason = format!("has more than {most} bytes, the limit for a {what} file");
        return Err(Fault::from(reason).of(path));
    }
    Ok(bytes)
}

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// As of [`read_bytes`], or if it is not UTF-8.
pub fn read_text(path: &Path, what: &str, most: u64) -> Result<String, FileError> {
    let text = String::from_utf8(read_bytes(path, what, most)?);
    text.map_err(|error| Fault::caused(FaultKind::Malformed, "is not text", error).of(path))
}

/// Reads a document, and hands over its text, too; `kind` is what messages call such a file.
///
/// # Errors
/// As of [`read_text`], or the error of `parse`.
pub fn read_document<T, E: Display>(
    path: &Path,
    kind: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<(T, String), FileError> {
    let text = read_text(path, kind, MAX_DOCUMENT)?;
    let document = parse(&text)
        .map_err(|reason| Fault::from(format!("is not a usable {kind} file: {reason}")).of(path))?;
    Ok((document, text))
}
