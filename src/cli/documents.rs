//! JSON documents of commands.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::commit::CommitError;
use crate::io::{MappedFile, escaped_path};

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
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    Ok(text)
}
