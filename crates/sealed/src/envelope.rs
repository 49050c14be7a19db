//! Documents that contain the SHA-256 of their own content, so that a truncated or damaged one is detected. This
//! is not a signature: whoever can write the file can also write the digest. Some documents may also be signed.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::io::tree::Hash;
use crate::io::{MappedFile, printable};
use crate::sign::{PublicKey, Signature, Signer};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    schema: String,
    tool: String,
    /// Of `content` as it stands in the file, byte for byte.
    sha256: Hash,
    /// Of the schema and that digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// A document of this schema; on one line, so that it is written fast.
///
/// # Errors
/// If the content holds what JSON cannot: a path that is not UTF-8.
pub fn seal(schema: &str, content: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    seal_signed(schema, content, None)
}

/// A document of this schema with a signature.
pub fn seal_signed(
    schema: &str,
    content: &impl Serialize,
    signer: Option<&Signer>,
) -> Result<Vec<u8>, serde_json::Error> {
    let content = serde_json::value::to_raw_value(content)?;
    let sha256 = Hash::of([content.get().as_bytes()]);
    let mut text = serde_json::to_vec(&Envelope {
        schema: schema.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        sha256,
        signature: signer.map(|signer| signer.sign(&message(schema, sha256))),
        content: &content,
    })?;
    text.push(b'\n');
    Ok(text)
}

/// The text that a signature covers.
fn message(schema: &str, content: Hash) -> String {
    format!("{schema} {content}")
}

/// Reads a document, and refuses a list in place of an object: serde accepts a list of values in the order of the
/// fields.
pub fn strictly<T: Serialize + for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    let wrong = |error: serde_json::Error| printable(&error.to_string());
    let read: T = crate::words::from_json(text).map_err(|reason| printable(&reason))?;
    let written: Value = serde_json::from_str(text).map_err(wrong)?;
    let meant = serde_json::to_value(&read).map_err(wrong)?;
    match misformed(&written, &meant, String::new()) {
        Some(place) => Err(format!("{place} is a list where an object is expected")),
        None => Ok(read),
    }
}

/// Where a list stands for an object.
fn misformed(written: &Value, meant: &Value, place: String) -> Option<String> {
    match (written, meant) {
        (Value::Array(_), Value::Object(_)) => Some(if place.is_empty() {
            "the whole".to_owned()
        } else {
            printable(&place)
        }),
        (Value::Array(written), Value::Array(meant)) => {
            let mut all = written.iter().zip(meant).enumerate();
            all.find_map(|(i, (written, meant))| misformed(written, meant, format!("{place}[{i}]")))
        }
        (Value::Object(written), Value::Object(meant)) => {
            written.iter().find_map(|(name, value)| {
                let meant = meant.get(name)?;
                misformed(value, meant, format!("{place}.{name}"))
            })
        }
        _ => None,
    }
}

/// Its content.
///
/// # Errors
/// If it is not such a document, damaged, another version's, or signed, which would not be examined: a text to
/// follow its name.
pub fn open<T: Serialize + for<'de> Deserialize<'de>>(
    schema: &str,
    text: &[u8],
) -> Result<T, String> {
    match open_signed(schema, text)? {
        (content, None) => Ok(content),
        (_, Some(_)) => Err(format!("is signed, but a {schema} never is")),
    }
}

/// The content of one that may be signed, and whose signature it is.
///
/// # Errors
/// If it is no such document, damaged, another version's, or the signature is not of this content.
pub fn open_signed<T: Serialize + for<'de> Deserialize<'de>>(
    schema: &str,
    text: &[u8],
) -> Result<(T, Option<PublicKey>), String> {
    let wrong = |error: serde_json::Error| {
        let error = printable(&error.to_string());
        format!("is damaged, or is not a {schema}: {error}")
    };
    if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
        return Err(format!("is not a {schema}: an object is expected"));
    }
    let envelope: Envelope = serde_json::from_slice(text).map_err(wrong)?;
    if envelope.schema != schema {
        let found = printable(&envelope.schema);
        return Err(format!("is a {found:?}, not a {schema:?}"));
    }
    let tool = env!("CARGO_PKG_VERSION");
    if envelope.tool != tool {
        let wrote = printable(&envelope.tool);
        return Err(format!(
            "was written by tcverify {wrote}, but this is {tool}"
        ));
    }
    if Hash::of([envelope.content.get().as_bytes()]) != envelope.sha256 {
        return Err("is damaged: its content does not have the SHA-256 that it states".into());
    }
    let signer = match &envelope.signature {
        Some(signature) => Some(signature.verify(&message(schema, envelope.sha256))?),
        None => None,
    };
    let content = strictly(envelope.content.get())
        .map_err(|reason| format!("is damaged, or is not a {schema}: {reason}"))?;
    Ok((content, signer))
}

/// The content of a file, and the SHA-256 of the file.
///
/// # Errors
/// As of [`open`], or if the file cannot be read.
pub fn read<T: Serialize + for<'de> Deserialize<'de>>(
    schema: &str,
    path: &Path,
) -> Result<(T, Hash), String> {
    opened(path, |text| open(schema, text))
}

/// The content of a file that may be signed, whose signature it is, and the SHA-256 of the file.
///
/// # Errors
/// As of [`open_signed`], or if the file cannot be read.
pub fn read_signed<T: Serialize + for<'de> Deserialize<'de>>(
    schema: &str,
    path: &Path,
) -> Result<(T, Option<PublicKey>, Hash), String> {
    let ((content, signer), sha256) = opened(path, |text| open_signed(schema, text))?;
    Ok((content, signer, sha256))
}

fn opened<T>(path: &Path, open: impl Fn(&[u8]) -> Result<T, String>) -> Result<(T, Hash), String> {
    let file = MappedFile::open(path).map_err(|fault| format!("{fault:#}"))?;
    let content = open(file.bytes())?;
    let digest = Hash::parse(file.sha256()).expect("a SHA-256");
    let unchanged = file.confirm_unchanged();
    unchanged.map_err(|error| format!("{:#}", error.fault))?;
    Ok((content, digest))
}
