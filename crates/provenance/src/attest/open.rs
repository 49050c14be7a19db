//! A statement that a trusted key signed, about files at hand.

use super::dsse::Envelope;
use super::statement::{Descriptor, Kind, PAYLOAD_TYPE, Predicate, TestVerdict};
use super::{AttestError, claims};
use crate::io::printable;
use crate::io::tree::Hash;
use crate::sign::PublicKey;
use crate::words::Word;

/// A statement, and who signed it.
#[derive(Clone, Debug)]
pub struct Attestation {
    pub predicate: Predicate,
    pub keys: Vec<PublicKey>,
}

/// The result, and the names of the tests or properties that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: TestVerdict,
    pub names: Vec<String>,
}

fn nothing<T>(reason: String) -> Result<T, AttestError> {
    Err(AttestError::Nothing(reason))
}

impl Attestation {
    /// Reads an envelope that at least `threshold` of the keys signed: first signatures, then the type of the
    /// payload, then the payload. Every signature must be by one of these keys and name it, so that none is left
    /// unexamined.
    ///
    /// # Errors
    /// Why it is not an attestation, or attests nothing to a person who trusts these keys.
    pub fn open(
        text: &str,
        keys: &[PublicKey],
        threshold: usize,
    ) -> Result<Attestation, AttestError> {
        let envelope = Envelope::parse(text)?;
        let (payload, by) = envelope.opened(keys)?;
        let (all, good) = (envelope.signatures.len(), by.len());
        if good < all {
            return nothing(match all {
                1 => "no key that you trust (--key) signed exactly this".to_owned(),
                _ => format!(
                    "{} of its {all} signatures do not each come from a different key that you trust (--key), over \
                    exactly this",
                    all - good
                ),
            });
        }
        if good < threshold {
            return nothing(format!(
                "{good} keys signed it, but {threshold} are required (--threshold)"
            ));
        }
        for (signature, key) in envelope.signatures.iter().zip(&by) {
            let named = signature.keyid.as_ref();
            if named.is_some_and(|named| *named != key.to_string()) {
                return nothing(format!(
                    "one of its signatures is by {key}, but its keyid is {:?}",
                    printable(signature.keyid.as_deref().unwrap_or_default())
                ));
            }
        }
        if envelope.payload_type != PAYLOAD_TYPE {
            return nothing(format!(
                "its payloadType is {:?}, not {PAYLOAD_TYPE:?}",
                printable(&envelope.payload_type)
            ));
        }
        let predicate = Predicate::parse(&payload)?;
        Ok(Attestation {
            predicate,
            keys: by,
        })
    }

    /// Makes sure that it is of a kind.
    pub fn is_a(&self, kind: Kind) -> Result<(), AttestError> {
        match self.predicate.kind() {
            found if found == kind => Ok(()),
            found => nothing(format!("its kind is {}, not {}", found.word(), kind.word())),
        }
    }

    /// What it says of a file of this SHA-256.
    pub fn about(&self, sha256: Hash) -> Result<&Descriptor, AttestError> {
        let mut subjects = self.predicate.subjects().iter();
        match subjects.find(|of| of.digest.sha256 == sha256) {
            Some(subject) => Ok(subject),
            None => nothing(format!(
                "its subjects include no file with SHA-256 {sha256}"
            )),
        }
    }

    /// Makes sure that it names a report of this SHA-256.
    ///
    /// # Errors
    /// If it names another, or none, as an svr does.
    pub fn rests_on_report(&self, sha256: Hash) -> Result<(), AttestError> {
        self.rests_on("report", sha256)
    }

    /// Makes sure that it is by the model, or the rule, of this SHA-256.
    pub fn is_by_model(&self, sha256: Hash) -> Result<(), AttestError> {
        let found = match &self.predicate {
            Predicate::Svr(statement) => {
                let properties = statement.predicate.properties.iter();
                let models = properties.filter(|name| name.starts_with(claims::MODEL));
                models.eq([&claims::model_property(&sha256.to_string())])
            }
            Predicate::TestResult(_) => ["model", "rule"]
                .iter()
                .any(|name| self.rests_on(name, sha256).is_ok()),
        };
        if found {
            Ok(())
        } else {
            nothing(format!(
                "it rests on a model other than the one with SHA-256 {sha256}"
            ))
        }
    }

    fn rests_on(&self, name: &str, sha256: Hash) -> Result<(), AttestError> {
        let configuration: &[Descriptor] = match &self.predicate {
            Predicate::TestResult(statement) => &statement.predicate.configuration,
            Predicate::Svr(_) => &[],
        };
        let mut named = configuration.iter().filter(|of| of.name == name);
        match named.next() {
            Some(of) if of.digest.sha256 == sha256 => Ok(()),
            Some(of) => nothing(format!(
                "its {name} has SHA-256 {}, not {sha256}",
                of.digest.sha256
            )),
            None => nothing(format!("it names no {name}")),
        }
    }

    /// An svr lists what was verified, and passed only if that was all of it.
    pub fn outcome(&self) -> Outcome {
        match &self.predicate {
            Predicate::TestResult(statement) => {
                let of = &statement.predicate;
                let lists = [&of.failed_tests, &of.warned_tests, &of.passed_tests];
                // A result that its own tests contradict is not better than they are.
                let worst = match lists.map(|list| list.is_empty()) {
                    [false, ..] => TestVerdict::Failed,
                    [_, false, _] => TestVerdict::Warned,
                    [true, true, false] => TestVerdict::Passed,
                    [true, true, true] => TestVerdict::Failed,
                };
                Outcome {
                    result: of.result.max(worst),
                    names: lists.into_iter().flatten().cloned().collect(),
                }
            }
            Predicate::Svr(statement) => {
                let names = statement.predicate.properties.clone();
                let whole = |name: &String| [claims::IDENTICAL, claims::CLEAN].contains(&&**name);
                let result = if names.iter().any(whole) {
                    TestVerdict::Passed
                } else {
                    TestVerdict::Warned
                };
                Outcome { result, names }
            }
        }
    }
}
