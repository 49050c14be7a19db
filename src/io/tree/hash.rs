//! A SHA-256, written as 64 lower-case hexadecimal digits.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256, written in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The digest of some pieces, one after another.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Hash {
        let mut hash = Sha256::new();
        pieces.into_iter().for_each(|piece| hash.update(piece));
        Hash(hash.finalize().into())
    }

    /// From the only spelling there is; `None` if it is another.
    pub fn parse(text: &str) -> Option<Hash> {
        crate::from_hex(text).map(Hash)
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::hex(&self.0))
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        Hash::parse(&text).ok_or_else(|| {
            D::Error::custom("a SHA-256 of 64 lower-case hexadecimal digits is expected")
        })
    }
}

#[cfg(feature = "schemars")]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::Hash;

    tcverify_num::as_json! {
        Hash, "Sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" };
    }
}
