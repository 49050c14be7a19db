//! A model from a file of the user's instead of the catalogue.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::emu::Architecture;

/// Reads an architecture file. It lives as long as the program, as the catalogue does, so that a choice
/// from either has one type.
///
/// # Errors
/// A sentence naming the file and what is wrong with it.
pub fn read(path: &Path) -> Result<&'static Architecture> {
    /// Larger than any model.
    const LARGEST: u64 = 16 << 20;
    let name = || path.display().to_string();
    let length = fs::metadata(path).with_context(name)?.len();
    ensure!(
        length <= LARGEST,
        "{}: has {length} bytes; no architecture file is that large",
        name()
    );
    let text = fs::read_to_string(path).with_context(name)?;
    let architecture = Architecture::from_json(&text)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("{}: is not a usable architecture file", name()))?;
    Ok(Box::leak(Box::new(architecture)))
}
