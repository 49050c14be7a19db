//! Documents that hold the digest of their own content, and whose word they are. A damaged one is refused, and so is a
//! signature by another key. Whether the content is true is not known here.
//!
//! * [`envelope`]: a document in an envelope that states its schema and its content's SHA-256.
//! * [`sign`]: Ed25519 signatures by keys in PEM files.

pub mod envelope;
pub mod sign;

use tcverify_common::words;
use tcverify_io as io;
