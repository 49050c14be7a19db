//! The envelope: DSSE 1.0.2 with Ed25519.

use base64ct::{Base64, Base64Url, Encoding};
use serde::{Deserialize, Serialize};

use super::AttestError;
use crate::envelope::strictly;
use crate::sign::{PublicKey, Signer};
use crate::words::each_once;

/// Signatures that are examined.
const MOST_SIGNATURES: usize = 16;

/// A payload and who signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Envelope {
    /// In base64.
    pub payload: String,
    pub payload_type: String,
    pub signatures: Vec<DsseSignature>,
}

/// Who signed it: of the type and the payload's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DsseSignature {
    /// The public key in 64 hexadecimal digits; it is not signed, and decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyid: Option<String>,
    /// In base64.
    pub sig: String,
}

/// The signed bytes: DSSE's pre-authentication encoding.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let (bytes, length) = (payload_type.len(), payload.len());
    let mut signed = format!("DSSEv1 {bytes} {payload_type} {length} ").into_bytes();
    signed.extend_from_slice(payload);
    signed
}

/// Base64 with its padding: of the standard alphabet or of the one for URLs.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let standard = Base64::decode_vec(text);
    standard.or_else(|_| Base64Url::decode_vec(text)).ok()
}

impl Envelope {
    /// A payload, signed. The same payload and key give the same envelope.
    pub fn sign(payload_type: &str, payload: &[u8], signer: &Signer) -> Envelope {
        let signature = signer.sign_bytes(&pae(payload_type, payload));
        Envelope {
            payload: Base64::encode_string(payload),
            payload_type: payload_type.to_owned(),
            signatures: vec![DsseSignature {
                keyid: Some(signer.public().to_string()),
                sig: Base64::encode_string(&signature),
            }],
        }
    }

    /// As it is written: on one line, in this order.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data") + "\n"
    }

    /// Reads an envelope. Unknown fields are refused, as nothing would examine them.
    pub fn parse(text: &str) -> Result<Envelope, AttestError> {
        each_once(text).map_err(AttestError::NotOne)?;
        strictly(text).map_err(AttestError::NotOne)
    }

    /// The payload, decoded.
    pub fn payload(&self) -> Result<Vec<u8>, AttestError> {
        decoded(&self.payload)
            .ok_or_else(|| AttestError::NotOne("its payload is not base64".to_owned()))
    }

    /// The payload, and which of the keys signed it, each once. Key identifiers are not signed and decide nothing.
    ///
    /// # Errors
    /// If there is no payload, or no signature that could be looked at.
    pub fn opened(&self, keys: &[PublicKey]) -> Result<(Vec<u8>, Vec<PublicKey>), AttestError> {
        let count = self.signatures.len();
        if !(1..=MOST_SIGNATURES).contains(&count) {
            return Err(AttestError::NotOne(format!(
                "it has {count} signatures; it must have 1 to {MOST_SIGNATURES}"
            )));
        }
        let payload = self.payload()?;
        let signed = pae(&self.payload_type, &payload);
        let mut by = Vec::new();
        for signature in &self.signatures {
            let signature = signature.bytes()?;
            let made = |key: &&PublicKey| !by.contains(*key) && key.made(&signature, &signed);
            by.extend(keys.iter().find(made).copied());
        }
        Ok((payload, by))
    }
}

impl DsseSignature {
    /// The signature, decoded.
    fn bytes(&self) -> Result<[u8; 64], AttestError> {
        let bytes = decoded(&self.sig).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| {
            AttestError::NotOne("one of its signatures is not 64 bytes in base64".to_owned())
        })
    }
}

/// A Sigstore bundle (v0.3) for a key held by its owner, as `cosign verify-blob-attestation --bundle` takes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bundle<'a> {
    media_type: &'static str,
    verification_material: Material<'a>,
    dsse_envelope: &'a Envelope,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Material<'a> {
    public_key: Hint<'a>,
    /// No transparency log has it.
    tlog_entries: [(); 0],
}

#[derive(Serialize)]
struct Hint<'a> {
    hint: &'a str,
}

/// The bundle of an envelope.
///
/// # Errors
/// If it has not one signature, which is as many as a bundle may have.
pub fn bundle(envelope: &Envelope) -> Result<String, AttestError> {
    let [signature] = &envelope.signatures[..] else {
        let reason = "a bundle must have exactly one signature";
        return Err(AttestError::NotOne(reason.to_owned()));
    };
    let keyid = signature.keyid.as_deref();
    let bundle = Bundle {
        media_type: "application/vnd.dev.sigstore.bundle.v0.3+json",
        verification_material: Material {
            public_key: Hint {
                hint: keyid.unwrap_or_default(),
            },
            tlog_entries: [],
        },
        dsse_envelope: envelope,
    };
    Ok(serde_json::to_string(&bundle).expect("plain data") + "\n")
}
