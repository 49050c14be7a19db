//! `tcverify.challenge/1`: which elements of a committed D are to be shown.

use serde::{Deserialize, Serialize};

use super::pieces::Opened;
use super::{AuditError, Piece, pieces};
use crate::check::CheckError;
use crate::commit::Commitment;

use crate::emu::Element;
use crate::io::printable;
use crate::io::tree::Hash;
use crate::sample::{PublicDraw, Region};

/// Value of the `schema` field.
pub const CHALLENGE: &str = "tcverify.challenge/1";

/// Most elements of a challenge; more are a check of all of D.
pub const MOST_ELEMENTS: u64 = 1 << 20;

/// Elements that a commitment and a beacon draw. Everything in it follows from those two and the number of
/// elements; it is written out for whoever has no tcverify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    pub schema: String,
    /// Of the commitment's file.
    pub commitment_sha256: Hash,
    /// A public value that nobody could know when the commitment was made.
    pub beacon: String,
    /// Of the text that names both; its first eight bytes are the seed.
    pub draw_sha256: Hash,
    /// Elements of D.
    pub population: u64,
    /// Batch, row and column of each, in index order.
    pub elements: Vec<[u64; 3]>,
    /// The lines of every array that an opening holds, in the order of its arrays.
    pub opened: Vec<Opened>,
}

impl Challenge {
    /// Draws `elements` elements of the D that a commitment fixes.
    ///
    /// # Errors
    /// If D has fewer elements, the beacon's value is not valid, or the commitment cannot be opened.
    pub fn new(
        (commitment, sha256): (&Commitment, Hash),
        beacon: &str,
        elements: u64,
    ) -> Result<Challenge, AuditError> {
        let region = Region::of(&commitment.result.shape);
        if !(1..=MOST_ELEMENTS).contains(&elements) || elements > region.len() {
            let most = region.len().min(MOST_ELEMENTS);
            return Err(AuditError::Document(format!(
                "commits to a D of {} elements; a challenge can draw 1 to {most} of them, not {elements}",
                region.len()
            )));
        }
        let draw =
            PublicDraw::new(&sha256.to_string(), beacon).map_err(CheckError::in_field("beacon"))?;
        let drawn = region.sample(elements, draw.seed);
        let opened = pieces(commitment, &drawn)?;
        let index = |e: &Element| [e.batch, e.row, e.column].map(|i| i as u64);
        Ok(Challenge {
            schema: CHALLENGE.to_owned(),
            commitment_sha256: sha256,
            beacon: beacon.to_owned(),
            draw_sha256: Hash(draw.sha256),
            population: region.len(),
            elements: drawn.iter().map(index).collect(),
            opened: opened.into_iter().map(Piece::opened).collect(),
        })
    }

    /// Reads a challenge, and makes sure that it is the one that this commitment and its beacon draw.
    ///
    /// # Errors
    /// What is wrong, to be read after the file's name.
    pub fn parse(text: &[u8], commitment: (&Commitment, Hash)) -> Result<Challenge, AuditError> {
        let not = |reason: String| AuditError::Document(format!("is not a challenge: {reason}"));
        let text = std::str::from_utf8(text).map_err(|error| not(error.to_string()))?;
        let read: Challenge = crate::envelope::strictly(text).map_err(not)?;
        if read.schema != CHALLENGE {
            let schema = printable(&read.schema);
            return Err(not(format!("its schema is {schema:?}, not {CHALLENGE:?}")));
        }
        if read.commitment_sha256 != commitment.1 {
            return Err(AuditError::Document(format!(
                "is a challenge to the commitment with SHA-256 {}, not to {}",
                read.commitment_sha256, commitment.1
            )));
        }
        let drawn = Challenge::new(commitment, &read.beacon, read.elements.len() as u64)
            .map_err(|error| not(error.to_string()))?;
        if drawn != read {
            return Err(not(
                "its elements or lines differ from those that its commitment and beacon draw"
                    .into(),
            ));
        }
        Ok(read)
    }

    /// The drawn elements, in the order of the draw.
    pub fn drawn(&self) -> impl Iterator<Item = Element> + '_ {
        self.elements.iter().map(|&[batch, row, column]| Element {
            batch: batch as usize,
            row: row as usize,
            column: column as usize,
        })
    }
}
