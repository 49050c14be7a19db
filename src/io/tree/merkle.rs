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

/// The hashes that show that a tree of the first leaves is the beginning of the tree of all: RFC 9162's consistency
/// proof.
///
/// # Panics
/// If there are not so many leaves, or `first` is 0.
pub fn consistency(leaves: &[Hash], first: usize) -> Vec<Hash> {
    assert!((1..=leaves.len()).contains(&first));
    let root = |leaves: &[Hash]| Tree::new(leaves.to_vec()).root();
    let (mut leaves, mut first, mut whole) = (leaves, first, true);
    let mut path = Vec::new();
    while first < leaves.len() {
        // The largest power of two below the number of leaves.
        let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
        if first <= left.len() {
            path.push(root(right));
            leaves = left;
        } else {
            path.push(root(left));
            (leaves, first, whole) = (right, first - left.len(), false);
        }
    }
    path.extend((!whole).then(|| root(leaves)));
    path.reverse();
    path
}

/// Whether hashes show that the tree of the first size and root is the beginning of the one of the second (RFC 9162,
/// section 2.1.4.2).
pub fn is_consistent(first: (u64, Hash), second: (u64, Hash), path: &[Hash]) -> bool {
    let ((size, first_root), (all, second_root)) = (first, second);
    if size == 0 || size >= all {
        return size == all && size > 0 && path.is_empty() && first_root == second_root;
    }
    let own = size.is_power_of_two().then_some(first_root);
    let mut path = own.into_iter().chain(path.iter().copied());
    let Some(seed) = path.next() else {
        return false;
    };
    let shift = (size - 1).trailing_ones();
    let (mut at, mut last) = ((size - 1) >> shift, (all - 1) >> shift);
    let (mut one, mut two) = (seed, seed);
    for hash in path {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            (one, two) = (node(hash, one), node(hash, two));
            while at % 2 == 0 && at != 0 {
                (at, last) = (at / 2, last / 2);
            }
        } else {
            two = node(two, hash);
        }
        (at, last) = (at / 2, last / 2);
    }
    last == 0 && one == first_root && two == second_root
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
