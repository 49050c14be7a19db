//! The time by which a commitment existed, by a checkpoint with its cosignatures.

use std::time::Duration;

use der::DateTime;
use serde::{Deserialize, Serialize};

use super::TlogError;
use super::note::{Key, KeyKind};
use super::proof::TlogProof;
use crate::io::tree::Hash;

/// Whose word on the time counts.
#[derive(Clone, Debug)]
pub struct Witnesses {
    keys: Vec<Key>,
    quorum: usize,
}

/// Where and until when a file was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The log's key, its name first.
    pub log: String,
    /// Leaves of the checkpoint's tree, and which of them the file is.
    pub size: u64,
    pub index: u64,
    /// How many witnesses must have cosigned, of how many.
    pub quorum: usize,
    pub of: usize,
    /// Those that have, the earliest first.
    pub witnesses: Vec<Witness>,
    /// If fewer than `quorum` witnesses lie.
    pub no_later_than: String,
    /// What had to come after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A witness that cosigned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Its key, its name first.
    pub key: String,
    pub time: String,
}

/// `2026-11-23T08:00:00Z` of seconds since 1970.
pub fn rfc3339(seconds: u64) -> String {
    let time = DateTime::from_unix_duration(Duration::from_secs(seconds));
    time.map_or_else(
        |_| format!("{seconds} s after 1970"),
        |time| time.to_string(),
    )
}

/// Seconds since 1970 of such a text.
pub fn posix_of(text: &str) -> Option<u64> {
    let time: DateTime = text.parse().ok()?;
    Some(time.unix_duration().as_secs())
}

impl Witnesses {
    /// Witnesses, of which so many must have cosigned.
    ///
    /// # Errors
    /// If one is there twice, is not a witness's key, or there are fewer.
    pub fn new(keys: Vec<Key>, quorum: usize) -> Result<Witnesses, String> {
        for (i, key) in keys.iter().enumerate() {
            if key.kind != KeyKind::Cosignature {
                let name = &key.name;
                return Err(format!(
                    "the key of {name} is not a witness's key: its type is not 4"
                ));
            }
            if let Some(other) = keys[..i].iter().find(|other| other.public == key.public) {
                return Err(format!(
                    "{} and {} have the same key, so they count as one witness",
                    other.name, key.name
                ));
            }
        }
        if (1..=keys.len()).contains(&quorum) {
            Ok(Witnesses { keys, quorum })
        } else {
            Err(format!(
                "the quorum must be 1 to {} witnesses, not {quorum}",
                keys.len()
            ))
        }
    }

    /// Confirms that a leaf is in the log, and that enough witnesses cosigned the checkpoint.
    pub fn confirm(
        &self,
        leaf: Hash,
        proof: &TlogProof,
        log: &Key,
    ) -> Result<Published, TlogError> {
        if let Some(own) = self.keys.iter().find(|key| key.public == log.public) {
            return Err(TlogError::document(format!(
                "the witness {} has the key of the log, which cannot vouch for itself",
                own.name
            )));
        }
        let checkpoint = proof.confirm(leaf, log)?;
        let mut cosigned = Vec::new();
        for key in &self.keys {
            cosigned.extend(proof.checkpoint.cosigned(key)?.map(|time| (time, key)));
        }
        cosigned.sort_by_key(|(time, _)| *time);
        let (found, quorum) = (cosigned.len(), self.quorum);
        let Some((latest, _)) = cosigned.get(quorum - 1) else {
            return Err(TlogError::nothing(format!(
                "{found} of the witnesses cosigned the checkpoint, but {quorum} are required"
            )));
        };
        Ok(Published {
            log: log.to_string(),
            size: checkpoint.size,
            index: proof.index,
            quorum,
            of: self.keys.len(),
            no_later_than: rfc3339(*latest),
            witnesses: cosigned
                .iter()
                .map(|(time, key)| Witness {
                    key: key.to_string(),
                    time: rfc3339(*time),
                })
                .collect(),
            before: None,
        })
    }
}

impl Published {
    /// The publication, if it was before this time.
    ///
    /// # Errors
    /// If a time cannot be read, or it was not before.
    pub fn confirm_before(mut self, time: &str) -> Result<Published, TlogError> {
        let wrong =
            || TlogError::document(format!("{time:?} is not a time like 2026-11-23T08:00:00Z"));
        let limit = posix_of(time).ok_or_else(wrong)?;
        match posix_of(&self.no_later_than) {
            Some(latest) if latest < limit => {
                self.before = Some(rfc3339(limit));
                Ok(self)
            }
            _ => Err(TlogError::nothing(format!(
                "it is witnessed at {}, which is not before {}",
                self.no_later_than,
                rfc3339(limit)
            ))),
        }
    }

    /// The facts as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let Published {
            log,
            size,
            index,
            quorum,
            of,
            witnesses,
            no_later_than,
            before,
        } = self;
        let mut lines = vec![format!(
            "no later than {no_later_than}, unless {quorum} of {of} witnesses lie"
        )];
        lines.extend(before.as_ref().map(|time| format!("before {time}")));
        lines.push(format!("leaf {index} of {size} in the log {log}"));
        let cosigned = |witness: &Witness| format!("cosigned {} by {}", witness.time, witness.key);
        lines.extend(witnesses.iter().map(cosigned));
        lines
    }
}
