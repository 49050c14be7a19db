//! That a leaf is in a checkpoint's tree (C2SP tlog-proof).

use base64ct::{Base64, Encoding};

use super::TlogError;
use super::checkpoint::Checkpoint;
use super::note::{Key, Note, hash, number};
use crate::io::tree::{Hash, root_of};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// The longest path of a tree whose size has 64 bits.
const MOST_HASHES: usize = 64;

/// A leaf's place and path, and the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlogProof {
    pub index: u64,
    pub path: Vec<Hash>,
    pub checkpoint: Note,
}

/// Hashes, a line each.
pub(super) fn lines(path: &[Hash]) -> String {
    let line = |hash: &Hash| Base64::encode_string(&hash.0) + "\n";
    path.iter().map(line).collect()
}

impl TlogProof {
    pub fn text(&self) -> String {
        let TlogProof {
            index,
            path,
            checkpoint,
        } = self;
        let (path, checkpoint) = (lines(path), checkpoint.bytes());
        format!("{FIRST_LINE}\nindex {index}\n{path}\n{checkpoint}")
    }

    /// Reads a proof. Its `extra` data is not signed, and is ignored.
    ///
    /// # Errors
    /// What is wrong, to be read after the file's name.
    pub fn parse(text: &str) -> Result<TlogProof, TlogError> {
        let not = |reason: &str| TlogError::document(format!("is not a tlog-proof: {reason}"));
        let (head, checkpoint) = text
            .split_once("\n\n")
            .ok_or_else(|| not("it has no empty line before its checkpoint"))?;
        let mut head = head.split('\n').peekable();
        if head.next() != Some(FIRST_LINE) {
            return Err(not(&format!("its first line is not {FIRST_LINE:?}")));
        }
        if let Some(extra) = head.peek().and_then(|line| line.strip_prefix("extra ")) {
            Base64::decode_vec(extra).map_err(|_| not("its extra data is not base64"))?;
            head.next();
        }
        let index = head.next().and_then(|line| line.strip_prefix("index "));
        let index = index.and_then(number);
        let index = index.ok_or_else(|| not("it has no index"))?;
        let mut path = Vec::new();
        for line in head {
            path.push(hash(line).ok_or_else(|| not("one of its hashes is not valid"))?);
            if path.len() > MOST_HASHES {
                return Err(not("it has more hashes than any tree can need"));
            }
        }
        Ok(TlogProof {
            index,
            path,
            checkpoint: Note::parse(checkpoint)?,
        })
    }

    /// The checkpoint, if it is this log's and has the leaf.
    pub fn confirm(&self, leaf: Hash, log: &Key) -> Result<Checkpoint, TlogError> {
        let checkpoint = Checkpoint::of_log(&self.checkpoint, log)?;
        let root = root_of(leaf, self.index, checkpoint.size, &self.path);
        if root == Some(checkpoint.root) {
            Ok(checkpoint)
        } else {
            Err(TlogError::nothing(format!(
                "the file is not leaf {} of the checkpoint's tree of {}",
                self.index, checkpoint.size
            )))
        }
    }
}
