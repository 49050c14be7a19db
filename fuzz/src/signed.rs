//! Documents of other people's formats that somebody signed.

use tcverify::attest::{Attestation, Envelope, Predicate};
use tcverify::io::tree::leaf;
use tcverify::sign::PublicKey;
use tcverify::tlog::{Checkpoint, Key, KeyKind, Log, Note, TlogProof};

use super::sentence;

/// Of RFC 8032, section 7.1, test 1.
fn known() -> PublicKey {
    let key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    PublicKey::parse(key).expect("a key")
}

/// An envelope, and what one holds.
pub fn attestation(data: &[u8]) {
    match Predicate::parse(data) {
        Ok(statement) => {
            let again = Predicate::parse(statement.text().as_bytes());
            assert_eq!(again.expect("what was written can be read"), statement);
        }
        Err(error) => sentence(&error.to_string()),
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Envelope::parse(text) {
        Ok(envelope) => {
            let again = Envelope::parse(&envelope.text());
            assert_eq!(again.expect("what was written can be read"), envelope);
        }
        Err(error) => sentence(&error.to_string()),
    }
    match Attestation::open(text, &[known()], 1) {
        Ok(attestation) => assert_eq!(attestation.keys, [known()]),
        Err(error) => sentence(&error.to_string()),
    }
}

/// A key, a note, a checkpoint, a proof, a log.
pub fn tlog(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match text.parse::<Key>() {
        Ok(key) => assert_eq!(key.to_string(), text),
        Err(reason) => sentence(&reason),
    }
    match Note::parse(text) {
        Ok(note) => {
            assert_eq!(note.bytes(), text);
            match Checkpoint::parse(&note.text) {
                Ok(checkpoint) => assert!(note.text.starts_with(&checkpoint.text())),
                Err(error) => sentence(&error.to_string()),
            }
        }
        Err(error) => sentence(&error.to_string()),
    }
    match TlogProof::parse(text) {
        Ok(proof) => {
            let again = TlogProof::parse(&proof.text());
            assert_eq!(again.expect("what was written can be read"), proof);
            let log = Key::new("example.com/log", KeyKind::Ed25519, known()).expect("a name");
            if let Err(error) = proof.confirm(leaf([data]), &log) {
                sentence(&error.to_string());
            }
        }
        Err(error) => sentence(&error.to_string()),
    }
    match Log::parse(text) {
        Ok(log) => assert!(log.leaves.len() < text.len()),
        Err(error) => sentence(&error.to_string()),
    }
}
