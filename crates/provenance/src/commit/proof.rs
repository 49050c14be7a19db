//! `tcverify.proof/1`: that some blocks are those of a committed D.

use serde::{Deserialize, Serialize};

use super::{CommitError, CommittedResult, document, wrong};
use crate::io::tree::{Hash, Tree, leaves, root_of};
use crate::tensor::Tensor;

/// Value of the `schema` field.
pub const PROOF: &str = "tcverify.proof/1";

/// Where some blocks stand in the tree of a D.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub schema: String,
    /// Of the commitment that it belongs to.
    pub root: Hash,
    /// In ascending order.
    pub blocks: Vec<BlockProof>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockProof {
    /// Counted from 0.
    pub block: u64,
    /// The hash of its payload.
    pub leaf: Hash,
    /// From the leaf's neighbour up.
    pub path: Vec<Hash>,
}

impl Proof {
    /// Proves some blocks of a tree.
    ///
    /// # Panics
    /// If it has no such blocks.
    pub fn of(root: Hash, tree: &Tree, blocks: &[u64]) -> Proof {
        let blocks = blocks.iter().map(|&block| BlockProof {
            block,
            leaf: tree.leaves()[block as usize],
            path: tree.path(block as usize),
        });
        Proof {
            schema: PROOF.to_owned(),
            root,
            blocks: blocks.collect(),
        }
    }

    /// Reads a proof.
    ///
    /// # Errors
    /// If it is not a proof; whether it proves anything is not examined.
    pub fn parse(text: &[u8]) -> Result<Proof, CommitError> {
        document(text, PROOF, |proof: &Proof| &proof.schema)
            .map_err(|why| CommitError::Document(format!("is not a proof: {why}")))
    }

    /// Checks it against a commitment's D and, where they are given, the rows of its blocks.
    pub fn check(&self, d: &CommittedResult, rows: Option<&Tensor>) -> Result<(), CommitError> {
        let cut = d.rows()?;
        if self.root != d.root {
            let (proof, commitment) = (self.root, d.root);
            return wrong(format!(
                "it is for the root {proof}, but the commitment has {commitment}"
            ));
        }
        if self.blocks.is_empty() {
            return wrong("it has no blocks");
        }
        if !self.blocks.windows(2).all(|p| p[0].block < p[1].block) {
            return wrong("its blocks are not in ascending order");
        }
        for BlockProof { block, leaf, path } in &self.blocks {
            let block = *block;
            if block >= cut.blocks() {
                let last = cut.blocks() - 1;
                return wrong(format!(
                    "there is no block {block}; the commitment has 0 to {last}"
                ));
            }
            let Some(tree) = root_of(*leaf, block, cut.blocks(), path) else {
                let hashes = path.len();
                return wrong(format!(
                    "the path of block {block} has {hashes} hashes, which is not the right number"
                ));
            };
            if cut.root(tree) != d.root {
                return wrong(format!("block {block} does not lead to the committed root"));
            }
        }
        let Some(rows) = rows else {
            return Ok(());
        };
        let mut next = 0;
        let ranges = self.blocks.iter().map(|b| {
            let range = cut.of_block(b.block);
            let start = next;
            next += range.end - range.start;
            start..next
        });
        let ranges: Vec<_> = ranges.collect();
        let (format, shape) = (cut.format, vec![next as usize, cut.columns()]);
        if (rows.format(), rows.shape()) != (format, &shape) {
            return wrong(format!(
                "the rows are {} {:?}, but these blocks have {format} {shape:?}",
                rows.format(),
                rows.shape()
            ));
        }
        for (proven, found) in self.blocks.iter().zip(leaves(rows, &ranges)) {
            if proven.leaf != found {
                let (block, leaf) = (proven.block, proven.leaf);
                return wrong(format!(
                    "the rows of block {block} differ: their hash is {found}, but the proof has {leaf}"
                ));
            }
        }
        Ok(())
    }
}
