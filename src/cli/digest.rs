//! `tcverify digest`: SHA-256 of files and payloads.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::show;
use super::values::any_format;
use crate::emu::shape_text;
use crate::io::{Source, escaped, escaped_path, payload_sha256};
use crate::num::Format;

/// Print SHA-256 digests of arrays
///
/// Prints two digests per file: of the file itself (as sha256sum) and of its canonical payload (the
/// codes in C order, little-endian), which does not depend on the header, memory order or byte
/// order. 'check --d-digest' expects the payload digest of D.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify digest d.npy
  tcverify digest model.safetensors#q_proj.weight")]
pub struct Digest {
    /// Arrays: x.npy, x.npz#name or x.safetensors#name
    #[arg(value_name = "X.npy", required = true)]
    files: Vec<PathBuf>,

    /// Format to read them in; by default elements are hashed as stored
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Digest {
    pub fn run(self) -> Result<()> {
        let mut entries = Vec::new();
        // All are read before anything is printed.
        for path in &self.files {
            let file = Source::open(path)?;
            let format = self.dtype.unwrap_or(file.header().descr.as_stored());
            let tensor = file.tensor(format)?;
            let digests = (file.file().sha256().to_owned(), payload_sha256(&tensor));
            file.file().confirm_unchanged()?;
            entries.push((file, tensor, digests));
        }
        let list = entries.iter().map(|(file, tensor, (whole, payload))| {
            json!({
                "path": file.label().display().to_string(),
                "descr": file.header().descr.text(),
                "format": self.dtype,
                "shape": tensor.shape(),
                "file_sha256": whole,
                "payload_sha256": payload,
            })
        });
        show::either(self.json, &list.collect::<Vec<_>>(), |out| {
            for (file, tensor, (whole, payload)) in &entries {
                let descr = file.header().descr.text();
                let shape = shape_text(tensor.shape());
                let path = escaped_path(file.label());
                writeln!(out, "{path}  {} {shape}", escaped(descr))?;
                writeln!(out, "  file     {whole}")?;
                writeln!(out, "  payload  {payload}")?;
            }
            Ok(())
        })
    }
}
