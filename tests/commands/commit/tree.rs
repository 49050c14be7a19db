//! The Merkle tree, against vectors from another implementation.

use crate::support::Members;

use serde_json::Value;
use tcverify::io::tree::{Hash, Rows, Tree, leaf, node, root_of};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use super::VECTORS;

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    let digits = (0..hex.len()).step_by(2);
    digits
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn hash(value: &Value) -> Hash {
    Hash::parse(value.as_str().unwrap()).unwrap()
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(read).collect()
}

fn tree(size: usize) -> Tree {
    let leaves = (0..size).map(|i| leaf([&i.to_le_bytes()[..]]));
    Tree::new(leaves.collect())
}

#[test]
fn roots_and_paths_of_another_implementation() {
    let trees = VECTORS.list("trees");
    assert_eq!(trees.len(), 9);
    for vector in trees {
        let leaves = list(&vector["leaves"], |payload| leaf([&bytes(payload)[..]]));
        let tree = Tree::new(leaves.clone());
        assert_eq!(tree.root(), hash(&vector["root"]));
        for (at, path) in list(&vector["paths"], |path| list(path, hash))
            .iter()
            .enumerate()
        {
            assert_eq!(tree.path(at), *path, "{at} of {}", leaves.len());
            let size = leaves.len() as u64;
            assert_eq!(
                root_of(leaves[at], at as u64, size, path),
                Some(tree.root())
            );
        }
    }
    // Published with Certificate Transparency.
    let eight = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
    assert_eq!(trees[7]["root"], eight);
}

#[test]
fn blocks_and_header_of_another_implementation() {
    let mut roots = Vec::new();
    for vector in VECTORS.list("d") {
        let format = Format::from_name(vector.string("format")).unwrap();
        let shape = list(&vector["shape"], |axis| axis.as_u64().unwrap() as usize);
        let rows = Rows::new(format, shape.clone(), vector.number("block_rows"));
        let rows = rows.unwrap();
        let d = Tensor::from_payload(format, shape, bytes(&vector["payload"]));
        let tree = rows.tree(&d);
        assert_eq!(tree.leaves(), list(&vector["leaves"], hash));
        assert_eq!(tree.root(), hash(&vector["tree"]));
        assert_eq!(rows.root(tree.root()), hash(&vector["root"]));
        roots.push(rows.root(tree.root()));
    }
    // One payload, cut and read in five ways: five roots, also where the trees are equal.
    assert_eq!(VECTORS["d"][0]["tree"], VECTORS["d"][4]["tree"]);
    roots.sort_by_key(|root| root.0);
    roots.dedup();
    assert_eq!(roots.len(), 5);
}

#[test]
fn the_document_shows_these_vectors() {
    let page = include_str!("../../../docs/commitment-format.md");
    let shown = ["tree", "header", "root"].map(|name| VECTORS["d"][0][name].as_str().unwrap());
    for hash in shown
        .into_iter()
        .chain(VECTORS["trees"][2]["root"].as_str())
    {
        assert!(page.contains(hash), "{hash}");
    }
}

/// A path proves its own leaf at its own place in a tree of its own size, and nothing else.
#[test]
fn a_path_fits_one_place_in_one_tree() {
    for size in 1..40u64 {
        let whole = tree(size as usize);
        for at in 0..size {
            let (leaf, path) = (whole.leaves()[at as usize], whole.path(at as usize));
            let proves =
                |leaf, at, size, path: &[Hash]| root_of(leaf, at, size, path) == Some(whole.root());
            assert!(proves(leaf, at, size, &path));
            for other in (0..size + 3).filter(|&other| other != at) {
                assert!(
                    !proves(leaf, other, size, &path),
                    "{at} as {other} of {size}"
                );
            }
            let longer = [&path[..], &[leaf]].concat();
            assert!(!proves(leaf, at, size, &longer));
            for end in 0..path.len() {
                assert!(!proves(leaf, at, size, &path[..end]));
                let mut bad = path.clone();
                bad[end].0[31] ^= 1;
                assert!(!proves(leaf, at, size, &bad));
            }
            let mut bad = leaf;
            bad.0[0] ^= 0x80;
            assert!(!proves(bad, at, size, &path));
            assert_eq!(root_of(leaf, at, 0, &path), None);
            assert_eq!(root_of(leaf, u64::MAX, size, &path), None);
        }
    }
}

/// What a node hashes is no leaf's payload: the halves of a tree cannot be passed off as a block.
#[test]
fn a_node_is_no_leaf() {
    let whole = tree(4);
    let left = node(whole.leaves()[0], whole.leaves()[1]);
    let right = node(whole.leaves()[2], whole.leaves()[3]);
    let payload = [left.0, right.0].concat();
    assert_ne!(leaf([&payload[..]]), whole.root());
    // Nor is a node, named as a leaf of a smaller tree, bound to the same root.
    assert_eq!(root_of(left, 0, 2, &[right]), Some(whole.root()));
    let cut = |rows| Rows::new(Format::Fp32, vec![4, 1], rows).unwrap();
    assert_ne!(cut(1).root(whole.root()), cut(2).root(whole.root()));
}

#[test]
fn hashes_have_one_spelling() {
    let text = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
    assert_eq!(Hash::parse(text).unwrap().to_string(), text);
    let (upper, short) = (text.to_uppercase(), &text[1..]);
    let long = format!("{text}0");
    let odd = text.replace('5', "g");
    for wrong in [&upper, short, &long, &odd, "", &"é".repeat(32)] {
        assert_eq!(Hash::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn shapes_that_no_d_has() {
    let rows = |shape: &[usize], block| Rows::new(Format::Fp32, shape.to_vec(), block);
    for shape in [
        &[][..],
        &[0, 2],
        &[2, 0],
        &[1 << 40, 1 << 40],
        &[usize::MAX, 1],
    ] {
        assert!(rows(shape, 1).is_err(), "{shape:?}");
    }
    assert!(rows(&[2, 2], 0).is_err());
    // A vector, which is the result of some operations, is one row.
    assert_eq!(rows(&[3], 1).unwrap().count(), 1);
    let one = rows(&[7, 2], u64::MAX).unwrap();
    assert_eq!((one.blocks(), one.of_block(0)), (1, 0..7));
    let huge = rows(&[1 << 40, 1], 1).unwrap();
    assert_eq!(huge.of_block((1 << 40) - 1), (1 << 40) - 1..1 << 40);
}

#[test]
fn blocks_of_about_a_mebibyte() {
    let default = |columns| Rows::about_a_mebibyte(Format::Fp32, &[5, columns]);
    assert_eq!(default(4096), 64);
    assert_eq!(default(1), 1 << 18);
    assert_eq!(default(1 << 18), 1);
    assert_eq!(default(usize::MAX), 1);
}
