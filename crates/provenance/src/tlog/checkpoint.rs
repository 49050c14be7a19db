//! Checkpoints (C2SP tlog-checkpoint) and cosignatures (tlog-cosignature).

use base64ct::{Base64, Encoding};

use super::TlogError;
use super::note::{Key, KeyKind, Note, hash, number};
use crate::io::tree::Hash;
use crate::sign::Signer;

/// A tree, by its size and root, of the log of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

impl Checkpoint {
    /// The three lines that are signed.
    pub fn text(&self) -> String {
        let root = Base64::encode_string(&self.root.0);
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Signed in the name of the log.
    ///
    /// # Errors
    /// If the origin cannot be the name of a key.
    pub fn sign(&self, signer: &Signer) -> Result<Note, TlogError> {
        Note::sign(self.text(), &self.origin, signer).map_err(TlogError::Document)
    }

    /// Reads the text of a note. Lines after the third are extensions, and stay part of what is signed.
    ///
    /// # Errors
    /// What is wrong, to be read after the file's name.
    pub fn parse(text: &str) -> Result<Checkpoint, TlogError> {
        let not = |reason: &str| TlogError::document(format!("is not a checkpoint: {reason}"));
        let lines: Vec<_> = text.lines().collect();
        let [origin, size, root, extensions @ ..] = &lines[..] else {
            return Err(not("it has fewer than three lines"));
        };
        if origin.is_empty() || extensions.iter().any(|line| line.is_empty()) {
            return Err(not("it has an empty line"));
        }
        Ok(Checkpoint {
            origin: (*origin).to_owned(),
            size: number(size).ok_or_else(|| not("its second line is not the size of a tree"))?,
            root: hash(root).ok_or_else(|| not("its third line is not a root in base64"))?,
        })
    }

    /// The checkpoint of a note, signed by the log of that name.
    ///
    /// # Errors
    /// If it is not a checkpoint, or not this log's.
    pub fn of_log(note: &Note, log: &Key) -> Result<Checkpoint, TlogError> {
        if log.kind != KeyKind::Ed25519 {
            return Err(TlogError::document("a witness's key cannot be a log's key"));
        }
        note.confirm(log)?;
        let checkpoint = Checkpoint::parse(&note.text)?;
        if checkpoint.origin == log.name {
            Ok(checkpoint)
        } else {
            Err(TlogError::nothing(format!(
                "it belongs to a log other than {}",
                log.name
            )))
        }
    }
}

/// The text that a witness signs for a note's text at a time.
pub fn cosigned_text(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

impl Note {
    /// When a witness cosigned it, in seconds since 1970; the first time, if it did so more than once.
    ///
    /// # Errors
    /// If it bears a cosignature in the witness's name that is not its.
    pub fn cosigned(&self, witness: &Key) -> Result<Option<u64>, TlogError> {
        let mut first: Option<u64> = None;
        for line in self.signatures.iter().filter(|line| line.names(witness)) {
            let parts = line.bytes.split_first_chunk::<8>();
            let time = parts.and_then(|(time, signature)| {
                let time = u64::from_be_bytes(*time);
                let text = cosigned_text(&self.text, time);
                let signature = signature.try_into().ok()?;
                let good = witness.public.made(signature, text.as_bytes());
                good.then_some(time)
            });
            let Some(time) = time else {
                return Err(TlogError::nothing(format!(
                    "its cosignature in the name of {} is not by that witness over this checkpoint",
                    witness.name
                )));
            };
            first = Some(first.map_or(time, |first| first.min(time)));
        }
        Ok(first)
    }
}
