//! Several commitments in a log to one product, among which a prover could later choose the one that passes.

use std::collections::BTreeMap;

use super::TlogError;
use crate::commit::Commitment;

use crate::io::tree::{Hash, leaf};

/// A committed file: its leaf, and the digest of everything except the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub leaf: Hash,
    /// Of all but the result and how it is cut.
    subject: Hash,
}

impl Committed {
    /// Reads a commitment to a product or to an operation.
    ///
    /// # Errors
    /// If it is not a commitment, to be read after the file's name.
    pub fn parse(file: &[u8]) -> Result<Committed, TlogError> {
        // As the types say it: another spelling of a commitment is the same one.
        let parsed = Commitment::parse(file);
        let mut commitment = parsed.map_err(|error| TlogError::Document(error.to_string()))?;
        commitment.result.root = Hash([0; 32]);
        commitment.result.block_rows = 1;
        let subject = serde_json::to_vec(&commitment);
        let subject = subject.map_err(|error| TlogError::Document(error.to_string()))?;
        Ok(Committed {
            leaf: leaf([file]),
            subject: Hash::of([&subject[..]]),
        })
    }
}

/// Those that are to one model, schedule and operands, but to another result or cut of it; each by its place in the list.
pub fn repeated(all: &[Committed]) -> Vec<Vec<usize>> {
    let mut by_subject: BTreeMap<[u8; 32], Vec<usize>> = BTreeMap::new();
    for (i, one) in all.iter().enumerate() {
        let places = by_subject.entry(one.subject.0).or_default();
        if places.iter().all(|&place| all[place].leaf != one.leaf) {
            places.push(i);
        }
    }
    let several = by_subject.into_values().filter(|places| places.len() > 1);
    let mut several: Vec<_> = several.collect();
    several.sort();
    several
}
