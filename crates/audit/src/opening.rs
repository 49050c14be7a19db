//! `tcverify.opening/1`: a head of text, then lines and paths as bytes.

use std::io::{self, Write};

use super::{AuditError, Challenge, Piece, nothing, pieces};
use crate::commit::Commitment;
use crate::compose::{Examined, commitment_and_trees, lined_inputs};

use crate::io::printable;
use crate::io::tree::{Hash, Tree};
use crate::tensor::Tensor;

/// The first line of an opening.
pub const OPENING: &str = "tcverify.opening/1";

/// Longest head: another file is not searched to its end.
const LONGEST_HEAD: usize = 4096;

/// The head of an opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub commitment_sha256: Hash,
    pub beacon: String,
    pub elements: u64,
    /// Arrays that follow, by name: those of the commitment except what auditors have themselves.
    pub arrays: Vec<String>,
}

impl Head {
    fn of(challenge: &Challenge, arrays: Vec<String>) -> Head {
        Head {
            commitment_sha256: challenge.commitment_sha256,
            beacon: challenge.beacon.clone(),
            elements: challenge.elements.len() as u64,
            arrays,
        }
    }

    fn text(&self) -> String {
        let Head {
            commitment_sha256,
            beacon,
            elements,
            arrays,
        } = self;
        let arrays = arrays.join(",");
        format!(
            "{OPENING}\ncommitment={commitment_sha256}\nbeacon={beacon}\nelements={elements}\narrays={arrays}\n\n"
        )
    }

    /// Reads the head that an opening of this challenge must have, and what follows it.
    ///
    /// # Errors
    /// If it is not an opening, or one of another challenge.
    pub fn parse<'a>(
        bytes: &'a [u8],
        challenge: &Challenge,
    ) -> Result<(Head, &'a [u8]), AuditError> {
        let start = &bytes[..bytes.len().min(LONGEST_HEAD)];
        let lines = start.split_inclusive(|&byte| byte == b'\n');
        let lines: Vec<_> = lines.take(6).collect();
        if lines.first() != Some(&format!("{OPENING}\n").as_bytes()) {
            return Err(AuditError::Document(format!(
                "is not an opening: it does not begin with {OPENING:?}"
            )));
        }
        let names = lines.get(4).and_then(|line| {
            let names = line.strip_prefix(b"arrays=")?.strip_suffix(b"\n")?;
            std::str::from_utf8(names).ok()
        });
        let Some(names) = names else {
            return nothing("its head is cut off, or damaged");
        };
        let head = Head::of(challenge, names.split(',').map(str::to_owned).collect());
        let expected = head.text();
        match bytes.strip_prefix(expected.as_bytes()) {
            Some(rest) => Ok((head, rest)),
            None => {
                let expected = expected.lines().collect::<Vec<_>>();
                let found = lines.iter().zip(&expected);
                let mut other = found.filter(|(line, expected)| {
                    line.strip_suffix(b"\n") != Some(expected.as_bytes())
                });
                let (found, expected) = other.next().map_or(("".into(), "an empty line"), |pair| {
                    (String::from_utf8_lossy(pair.0), *pair.1)
                });
                nothing(format!(
                    "it does not answer this challenge: its head has {:?}, expected {expected:?}",
                    printable(found.trim_end())
                ))
            }
        }
    }
}

/// The lines that a challenge names, with their paths.
pub struct Opening {
    head: String,
    arrays: Vec<(Piece, Tensor, Tree)>,
}

impl Opening {
    /// Opens the committed arrays, without those that the auditor has.
    ///
    /// # Errors
    /// If an array is not the committed one, or one to omit is not in the commitment.
    pub fn new(
        prepared: &dyn Examined,
        commitment: &Commitment,
        challenge: &Challenge,
        without: &[String],
    ) -> Result<Opening, AuditError> {
        let elements: Vec<_> = challenge.drawn().collect();
        let pieces = pieces(commitment, &elements)?;
        let result = commitment.rule.result().field();
        let leaves_out = |piece: &Piece| without.iter().any(|name| name == piece.role.field());
        for name in without {
            if name == result || !pieces.iter().any(|piece| piece.role.field() == name) {
                let there: Vec<_> = pieces.iter().map(|piece| piece.role.field()).collect();
                let there = there[..there.len() - 1].join(", ");
                let name = printable(name);
                return Err(AuditError::Document(format!(
                    "there is no {name:?} to omit; there are {there}"
                )));
            }
        }
        let block_rows = Some(commitment.result.block_rows);
        let (found, trees, tree) = commitment_and_trees(prepared, block_rows)?;
        let differences = commitment.differences(&found);
        if !differences.is_empty() {
            return nothing(format!(
                "these differ from the commitment: {}",
                differences.join("; ")
            ));
        }
        let there = pieces.iter().filter(|piece| !leaves_out(piece));
        let names = there.map(|piece| piece.role.field().to_owned()).collect();
        let head = Head::of(challenge, names).text();
        let inputs = lined_inputs(prepared)?;
        let d = prepared.given().expect("a commitment has a result");
        let mut arrays = Vec::new();
        for piece in pieces.into_iter().filter(|piece| !leaves_out(piece)) {
            let input = inputs.iter().find(|input| input.role == piece.role);
            let (tensor, tree) = match input.zip(trees.get(&piece.role)) {
                Some((input, tree)) => (&input.array.tensor, tree),
                None => (d, &tree),
            };
            arrays.push((piece, tensor.clone(), tree.clone()));
        }
        Ok(Opening { head, arrays })
    }

    /// How long it is.
    pub fn bytes(&self) -> u64 {
        let pieces = self.arrays.iter().map(|(piece, ..)| piece.bytes());
        pieces.fold(self.head.len() as u64, u64::saturating_add)
    }

    /// Writes it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.head.as_bytes())?;
        for (piece, tensor, tree) in &self.arrays {
            for &line in &piece.lines {
                out.write_all(&piece.cut.payload(tensor, line))?;
                for hash in tree.path(line as usize) {
                    out.write_all(&hash.0)?;
                }
            }
        }
        Ok(())
    }
}
