//! Writes verdicts for other tools: an in-toto Statement v1 about the judged files, in a DSSE envelope, signed with
//! Ed25519. A statement claims no more than its report. It replays nothing, and knows only that a key signed.
//!
//! * `dsse`: the envelope, after the protocol's version 1.0.2, also as Sigstore's clients take it.
//! * `statement`: the statement and its two predicates, test-result v0.1 and svr v0.2.
//! * `claims`: the content of a report or a batch as claims; audits and fleets have their own.
//! * `open`: verifies a statement that a trusted key signed, against the files at hand.
//!
//! `docs/attestations.md` is the contract.

mod claims;
mod dsse;
mod open;
mod statement;

pub use claims::{CLEAN, Claims, IDENTICAL, Standing, attested_digest};
pub use dsse::{DsseSignature, Envelope, bundle, decoded, pae};
pub use open::{Attestation, Outcome};
pub use statement::{
    Descriptor, Digests, Kind, PAYLOAD_TYPE, Predicate, STATEMENT, Statement, Svr, TestResult,
    TestVerdict, Verifier,
};

/// Why something is not an attestation, or attests nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttestError {
    /// It is no such document: to be read after the file's name.
    #[error("is not an attestation: {0}")]
    NotOne(String),
    /// It is one, but not of this key, of these files, or of what was required.
    #[error("does not attest this: {0}")]
    Nothing(String),
}
