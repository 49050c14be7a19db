//! JSON documents of commands.

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

pub fn pretty(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    show::write_pretty(document, &mut text)?;
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
