//! JSON documents of commands.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::show;
use crate::commit::CommitError;
use crate::io::{MappedFile, escaped_path};
use crate::sign::Signer;

pub fn read_json<T>(
    path: &Path,
    parse: fn(&[u8]) -> Result<T, CommitError>,
) -> Result<(MappedFile, T)> {
    let name = || escaped_path(path);
    let file = MappedFile::open(path).with_context(name)?;
    let parsed = parse(file.bytes()).with_context(name)?;
    Ok((file, parsed))
}

/// A document as it is written to files and printed.
pub fn write_pretty(document: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

pub fn pretty(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    write_pretty(document, &mut text)?;
    Ok(text)
}

/// The private key of whoever signs.
pub fn signer(path: &Path) -> Result<Signer> {
    let signer = Signer::read(path)?;
    if let Some(warning) = Signer::exposure(path) {
        show::warning(&warning);
    }
    Ok(signer)
}
