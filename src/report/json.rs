//! The document for machines.

use std::io::{self, Write};

use serde::Serialize;

use crate::io::escaped_json;

/// Pretty-printed JSON, fields in the order of `docs/report-format.md`, a newline at the end.
///
/// # Errors
/// Those of the writer.
pub fn write_json(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{}", escaped_json(&text))
}
