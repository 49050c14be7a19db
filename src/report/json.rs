//! The report for machines.

use std::io::{self, Write};

use super::{Exporter, Report};
use crate::io::escaped_json;

/// Pretty-printed JSON, fields in the order of `docs/report-format.md`, a newline at the end.
pub struct Json;

impl Exporter for Json {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let text = serde_json::to_string_pretty(report)?;
        writeln!(out, "{}", escaped_json(&text))
    }
}
