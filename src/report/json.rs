//! The document for machines.

use std::io::{self, Write};

use serde::Serialize;

use crate::io::{EscapedJson, escaped_json};
use crate::report::Batch;

/// Pretty-printed JSON, fields in the order of `docs/report-format.md`, a newline at the end.
///
/// # Errors
/// Those of the writer.
pub fn write_json(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{}", escaped_json(&text))
}

impl Batch {
    /// The same for a batch, case by case.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut escaped = EscapedJson::of(out);
        serde_json::to_writer_pretty(&mut escaped, self)?;
        escaped.write_all(b"\n")?;
        escaped.flush()
    }
}
