//! The report for machines.

use std::io::{self, Write};

use super::{Exporter, Report};

/// Pretty-printed JSON, fields in the order of `docs/report-format.md`, a newline at the end.
pub struct Json;

impl Exporter for Json {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, report)?;
        out.write_all(b"\n")
    }
}
