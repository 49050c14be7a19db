//! The Merkle tree of RFC 6962, section 2.1: a leaf and a node can never have one hash, and a tree
//! of any number of leaves has one shape.

use sha2::{Digest, Sha256};

use super::Hash;

const LEAF: &[u8] = &[0];
const NODE: &[u8] = &[1];

/// The hash of a leaf whose payload comes in pieces.
pub fn leaf<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Hash {
    Hash::of(std::iter::once(LEAF).chain(pieces))
}

/// A hasher of a leaf's payload, whose prefix it has.
pub fn leaf_hasher() -> Sha256 {
    Sha256::new_with_prefix(LEAF)
}

/// The hash of a node over two others.
pub fn node(left: Hash, right: Hash) -> Hash {
    Hash::of([NODE, &left.0, &right.0])
}

/// A root that is bound to a header, which says what its leaves mean.
pub fn rooted(header: &str, tree: Hash) -> Hash {
    let header = Hash::of([&[2][..], header.as_bytes()]);
    Hash::of([&[3][..], &header.0, &tree.0])
}

/// All hashes of a tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Leaves first, the root last. A last one without a partner rises as it is, which gives the
    /// shape of RFC 6962: the left half is the largest power of two.
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// A tree over these leaves.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(leaves: Vec<Hash>) -> Tree {
        assert!(!leaves.is_empty());
        let mut levels = vec![leaves];
        loop {
            let below = levels.last().expect("one at least");
            if below.len() == 1 {
                return Tree { levels };
            }
            let above = below.chunks(2).map(|pair| match *pair {
                [left, right] => node(left, right),
                _ => pair[0],
            });
            let above = above.collect();
            levels.push(above);
        }
    }

    pub fn leaves(&self) -> &[Hash] {
        &self.levels[0]
    }

    pub fn root(&self) -> Hash {
        self.levels[self.levels.len() - 1][0]
    }

    /// The hashes that lead from a leaf to the root, the lowest first: RFC 6962's audit path.
    ///
    /// # Panics
    /// If there is no such leaf.
    pub fn path(&self, mut at: usize) -> Vec<Hash> {
        assert!(at < self.leaves().len());
        let mut path = Vec::new();
        for level in &self.levels {
            // The root has no neighbour, nor the last of an odd number.
            path.extend(level.get(at ^ 1));
            at /= 2;
        }
        path
    }
}

/// The root that a leaf and its path lead to in a tree of `size` leaves; `None` if the path is
/// longer or shorter than that of this leaf, or there is no such leaf.
pub fn root_of(leaf: Hash, mut at: u64, mut size: u64, path: &[Hash]) -> Option<Hash> {
    if at >= size {
        return None;
    }
    let mut path = path.iter().copied();
    let mut hash = leaf;
    while size > 1 {
        if at % 2 == 1 {
            hash = node(path.next()?, hash);
        } else if at + 1 < size {
            hash = node(hash, path.next()?);
        }
        at /= 2;
        size = size.div_ceil(2);
    }
    path.next().is_none().then_some(hash)
}

/// How many hashes lead from a leaf to the root of a tree of `size` leaves.
pub fn path_length(mut at: u64, mut size: u64) -> usize {
    let mut length = 0;
    while size > 1 {
        length += usize::from(at % 2 == 1 || at + 1 < size);
        at /= 2;
        size = size.div_ceil(2);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_as_long_as_they_say() {
        for size in 1..40u64 {
            let leaves = (0..size).map(|i| leaf([&i.to_le_bytes()[..]]));
            let tree = Tree::new(leaves.collect());
            for at in 0..size {
                assert_eq!(tree.path(at as usize).len(), path_length(at, size));
            }
        }
    }
}
