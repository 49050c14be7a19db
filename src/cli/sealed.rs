//! Documents that say what their own content's SHA-256 is, so that one that was cut off or damaged is
//! not taken for whole. It is no signature: whoever can write the file can write another digest.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::commit::Hash;
use crate::io::printable;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed<'a> {
    schema: String,
    tool: String,
    /// Of `content` as it stands in the file, byte for byte.
    sha256: Hash,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// A document of this schema; on one line, so that it is written fast.
pub fn seal(schema: &str, content: &impl Serialize) -> Result<Vec<u8>> {
    let content = serde_json::value::to_raw_value(content)?;
    let mut text = serde_json::to_vec(&Sealed {
        schema: schema.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        sha256: Hash::of([content.get().as_bytes()]),
        content: &content,
    })?;
    text.push(b'\n');
    Ok(text)
}

/// Its content.
///
/// # Errors
/// If it is no such document, damaged, or another version's.
pub fn unseal<T: for<'de> Deserialize<'de>>(schema: &str, text: &[u8]) -> Result<T> {
    let said = |error: serde_json::Error| anyhow::anyhow!(printable(&error.to_string()));
    let what = || format!("is damaged, or no {schema}");
    let sealed: Sealed = serde_json::from_slice(text)
        .map_err(said)
        .with_context(what)?;
    ensure!(
        sealed.schema == schema,
        "is a {:?}, not a {schema:?}",
        printable(&sealed.schema)
    );
    let tool = env!("CARGO_PKG_VERSION");
    ensure!(
        sealed.tool == tool,
        "was written by tcverify {}, this is {tool}",
        printable(&sealed.tool)
    );
    ensure!(
        Hash::of([sealed.content.get().as_bytes()]) == sealed.sha256,
        "is damaged: its content has not the SHA-256 that it says"
    );
    serde_json::from_str(sealed.content.get())
        .map_err(said)
        .with_context(what)
}
