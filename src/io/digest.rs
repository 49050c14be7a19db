//! SHA-256 of canonical payloads, and its text.

use sha2::{Digest, Sha256};

use super::hex;
use crate::deadline;
use crate::tensor::Tensor;

/// The digest of a tensor's canonical payload: its codes in C order, little-endian, at the
/// format's own width, without header, padding or shape.
pub fn payload_sha256(tensor: &Tensor) -> String {
    let mut hash = Sha256::new();
    tensor.for_each_payload_chunk(|chunk| update(&mut hash, chunk));
    hex(&hash.finalize())
}

/// The SHA-256 of some bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Takes bytes in; looks at the time now and then.
pub(super) fn update(hash: &mut Sha256, bytes: &[u8]) {
    /// Bytes that are hashed between two looks at the clock: some milliseconds.
    const PIECE: usize = 1 << 22;
    for piece in bytes.chunks(PIECE) {
        deadline::poll();
        hash.update(piece);
    }
}

/// A SHA-256 in hexadecimal, in lower case.
///
/// # Errors
/// If it is not 64 hexadecimal digits.
pub fn parse_sha256(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(digits.to_ascii_lowercase())
    } else {
        Err(format!(
            "a SHA-256 has 64 hexadecimal digits; this has {} characters",
            digits.chars().count()
        ))
    }
}

/// So many bytes, from lower-case hexadecimal digits: their only spelling.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
