//! That one tree of leaves is the beginning of another.

use crate::io::tree::{Hash, Tree, node};

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
