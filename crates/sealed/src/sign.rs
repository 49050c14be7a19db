//! Whose word a document is: Ed25519 signatures (RFC 8032), by keys in the PEM files that OpenSSL writes.

use std::fmt;
use std::path::Path;

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::io::{Fault, FileError, escaped_path, from_hex, hex, read_text};

/// Larger than any file of a key.
const MAX_KEY: u64 = 1 << 14;

/// A private key.
pub struct Signer(SigningKey);

/// A public key; 64 hexadecimal digits in documents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A signature, and by which key it is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Signature {
    pub key: PublicKey,
    /// 128 hexadecimal digits.
    pub ed25519: String,
}

impl Signer {
    /// Reads a private key (PKCS#8, PEM), as `openssl genpkey -algorithm ed25519` writes it.
    pub fn read(path: &Path) -> Result<Signer, FileError> {
        let text = read_text(path, "key", MAX_KEY)?;
        SigningKey::from_pkcs8_pem(&text).map(Signer).map_err(|_| {
            let reason = "is not a private Ed25519 key in PEM without a password; 'openssl genpkey -algorithm \
                          ed25519' writes one";
            Fault::from(reason.to_owned()).of(path)
        })
    }

    /// A warning if other users can read the file of a private key.
    #[cfg(unix)]
    pub fn exposure(path: &Path) -> Option<String> {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).ok()?.permissions().mode();
        let path = escaped_path(path);
        (mode & 0o077 != 0).then(|| {
            format!("{path}: other users can read this private key; 'chmod 600' restricts it to its owner")
        })
    }

    /// Access is not examined on this system.
    #[cfg(not(unix))]
    pub fn exposure(_: &Path) -> Option<String> {
        None
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs the bytes of a text.
    pub fn sign(&self, message: &str) -> Signature {
        Signature {
            key: self.public(),
            ed25519: hex(&self.sign_bytes(message.as_bytes())),
        }
    }

    /// A signature of bytes, for documents in other formats. The bytes must begin with a text that no other kind of
    /// document signed by this key begins with.
    pub fn sign_bytes(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl PublicKey {
    /// Reads a public key (SubjectPublicKeyInfo, PEM), as `openssl pkey -pubout` writes it.
    pub fn read(path: &Path) -> Result<PublicKey, FileError> {
        let text = read_text(path, "key", MAX_KEY)?;
        let key = VerifyingKey::from_public_key_pem(&text);
        let key = key.ok().filter(|key| !key.is_weak()).map(PublicKey);
        key.ok_or_else(|| {
            let reason = "is not a public Ed25519 key in PEM; 'openssl pkey -in PRIVATE.pem -pubout' writes one";
            Fault::from(reason.to_owned()).of(path)
        })
    }

    /// From 64 hexadecimal digits; `None` if they are not a key, or one that fits signatures of others.
    pub fn parse(text: &str) -> Option<PublicKey> {
        PublicKey::from_bytes(&from_hex(text)?)
    }

    /// From its 32 bytes; `None` as of [`PublicKey::parse`].
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<PublicKey> {
        let key = VerifyingKey::from_bytes(bytes).ok()?;
        (!key.is_weak()).then_some(PublicKey(key))
    }

    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Whether the signature is this key's of these bytes.
    pub fn made(&self, signature: &[u8; 64], message: &[u8]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

impl Signature {
    /// The key, if this is its signature of the text.
    ///
    /// # Errors
    /// That it is not, as a text to follow the document's name.
    pub fn verify(&self, message: &str) -> Result<PublicKey, String> {
        let signature =
            from_hex(&self.ed25519).ok_or("has a signature that is not 128 hexadecimal digits")?;
        if self.key.made(&signature, message.as_bytes()) {
            Ok(self.key)
        } else {
            Err(format!(
                "has a signature that {} did not make for it",
                self.key
            ))
        }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(self.0.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PublicKey, D::Error> {
        let text = String::deserialize(deserializer)?;
        PublicKey::parse(&text).ok_or_else(|| {
            D::Error::custom("a public Ed25519 key of 64 lower-case hexadecimal digits is expected")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 2.
    #[test]
    fn the_rfc_signs_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n\
                   -----END PRIVATE KEY-----\n";
        std::fs::write(&path, pem).unwrap();
        let signer = Signer::read(&path).unwrap();
        let signature = signer.sign("r");
        assert_eq!(
            signature.ed25519,
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        );
        assert_eq!(signature.verify("r"), Ok(signer.public()));
        assert!(signature.verify("s").is_err());
    }
}

#[cfg(feature = "schemars")]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::PublicKey;

    tcverify_num::as_json! {
        PublicKey, "Ed25519PublicKey": { "type": "string", "pattern": "^[0-9a-f]{64}$" };
    }
}
