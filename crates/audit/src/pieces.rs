//! Which lines of which arrays an opening holds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::commit::{Along, CommitError, Commitment, Lines};

use crate::emu::Element;
use crate::io::tree::{Hash, Rows, path_length, root_of};
use crate::role::Role;
use crate::sample::Region;
use crate::tensor::Tensor;

/// Lines of one array, counted through the batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// As the commitment calls it.
    pub array: String,
    /// Ascending; of D the blocks of rows.
    pub lines: Vec<u64>,
}

/// One array of an opening.
#[derive(Clone, Debug)]
pub struct Piece {
    pub role: Role,
    /// Numbers of the lines, ascending.
    pub lines: Vec<u64>,
    pub(super) cut: Cut,
}

/// How it is cut, and the committed root.
#[derive(Clone, Debug)]
pub(super) enum Cut {
    Lines(Lines, Hash),
    Blocks(Rows, Hash),
}

impl Cut {
    /// How many lines the array has.
    fn count(&self) -> u64 {
        match self {
            Cut::Lines(lines, _) => lines.count(),
            Cut::Blocks(rows, _) => rows.blocks(),
        }
    }

    /// The payload of a line.
    pub fn payload(&self, tensor: &Tensor, line: u64) -> Vec<u8> {
        match self {
            Cut::Lines(lines, _) => lines.payload(tensor, line),
            Cut::Blocks(rows, _) => rows.payload(tensor, line),
        }
    }
}

impl Piece {
    /// Bytes of a line's payload, and hashes of its path.
    pub(super) fn size(&self, line: u64) -> (u64, usize) {
        let bytes = match &self.cut {
            Cut::Lines(lines, _) => lines.bytes(),
            Cut::Blocks(rows, _) => rows.bytes_of(line),
        };
        (bytes, path_length(line, self.cut.count()))
    }

    /// Bytes of all its lines with their paths; more than any memory if that is too many to count.
    pub(super) fn bytes(&self) -> u64 {
        let sizes = self.lines.iter().map(|&line| self.size(line));
        sizes.fold(0, |all: u64, (payload, path)| {
            all.saturating_add(payload).saturating_add(32 * path as u64)
        })
    }

    /// Whether a leaf and its path lead to the committed root.
    pub(super) fn leads_to_root(&self, leaf: Hash, line: u64, path: &[Hash]) -> bool {
        let tree = root_of(leaf, line, self.cut.count(), path);
        tree.is_some_and(|tree| match &self.cut {
            Cut::Lines(lines, root) => lines.root(self.role.field(), tree) == *root,
            Cut::Blocks(rows, root) => rows.root(tree) == *root,
        })
    }

    pub(super) fn opened(self) -> Opened {
        Opened {
            array: self.role.field().to_owned(),
            lines: self.lines,
        }
    }
}

/// The line of an array that an element of the result is made of, or stands in.
pub(super) fn line_of(role: Role, cut: &Cut, shape: &[usize], at: &Element) -> u64 {
    let all = Region::of(shape);
    let row = (at.batch * all.rows.len() + at.row) as u64;
    match cut {
        Cut::Blocks(rows, _) => row / rows.block_rows,
        Cut::Lines(lines, _) if lines.along == Along::Whole => 0,
        Cut::Lines(lines, _) => match role {
            Role::B | Role::ScaleB => lines.number(at.batch, at.column),
            _ => row,
        },
    }
}

/// The lines that elements are made of, of all arrays in the order of the commitment, the result last.
///
/// # Errors
/// If the commitment cannot be one.
pub fn pieces(commitment: &Commitment, elements: &[Element]) -> Result<Vec<Piece>, CommitError> {
    let result = &commitment.result;
    let piece = |role: Role, cut: Cut| {
        let line = |at: &Element| line_of(role, &cut, &result.shape, at);
        let lines: BTreeSet<u64> = elements.iter().map(line).collect();
        let lines = lines.into_iter().collect();
        Piece { role, lines, cut }
    };
    let mut all = Vec::new();
    for (&role, input) in &commitment.inputs {
        all.push(piece(role, Cut::Lines(input.lines()?, input.root)));
    }
    let role = commitment.rule.result();
    all.push(piece(role, Cut::Blocks(result.rows()?, result.root)));
    Ok(all)
}
