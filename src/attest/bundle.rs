//! A Sigstore bundle (v0.3) of a key that somebody holds: what `cosign verify-blob-attestation --bundle` takes.

use serde::Serialize;

use super::{AttestError, Envelope};

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
