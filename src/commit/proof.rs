//! `tcverify.proof/1`: that some blocks are those of a committed D.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{CommittedD, Hash, Tree, leaves, root_of};
use crate::io::printable;
use crate::tensor::Tensor;

/// Value of the `schema` field.
pub const PROOF: &str = "tcverify.proof/1";

/// Where some blocks stand in the tree of a D.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub schema: String,
    /// Of the commitment that it belongs to.
    pub root: Hash,
    /// In ascending order.
    pub blocks: Vec<BlockProof>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// If it is none; nothing is said yet of whether it proves anything.
    pub fn parse(text: &[u8]) -> Result<Proof> {
        let proof: Proof = serde_json::from_slice(text)
            .map_err(|error| anyhow::anyhow!(printable(&error.to_string())))
            .context("is not a proof")?;
        ensure!(
            proof.schema == PROOF,
            "is not a proof: its schema is not {PROOF:?}"
        );
        Ok(proof)
    }

    /// Checks it against a commitment's D and, where they are given, the rows of its blocks.
    ///
    /// # Errors
    /// Why it proves nothing.
    pub fn check(&self, d: &CommittedD, rows: Option<&Tensor>) -> Result<()> {
        let cut = d.rows()?;
        ensure!(
            self.root == d.root,
            "it is for the root {}, the commitment has {}",
            self.root,
            d.root
        );
        ensure!(!self.blocks.is_empty(), "it has no blocks");
        let ascending = self.blocks.windows(2).all(|p| p[0].block < p[1].block);
        ensure!(ascending, "its blocks are not in ascending order");
        for BlockProof { block, leaf, path } in &self.blocks {
            ensure!(
                *block < cut.blocks(),
                "there is no block {block}; the commitment has 0 to {}",
                cut.blocks() - 1
            );
            let tree = root_of(*leaf, *block, cut.blocks(), path).with_context(|| {
                format!(
                    "the path of block {block} has {} hashes, which is not its length",
                    path.len()
                )
            })?;
            ensure!(
                cut.root(tree) == d.root,
                "block {block} does not lead to the committed root"
            );
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
        ensure!(
            rows.format() == cut.format && rows.shape() == [next as usize, cut.columns()],
            "the rows are {} {:?}; of these blocks they are {} {:?}",
            rows.format(),
            rows.shape(),
            cut.format,
            [next as usize, cut.columns()]
        );
        for (proven, found) in self.blocks.iter().zip(leaves(rows, &ranges)) {
            ensure!(
                proven.leaf == found,
                "the rows of block {} are others: their hash is {found}, the proof has {}",
                proven.block,
                proven.leaf
            );
        }
        Ok(())
    }
}
