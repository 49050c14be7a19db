//! A case: one dot product, and how long it is.

/// One dot product that tells models apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// The question it belongs to.
    pub family: &'static str,
    /// What it is, in one sentence.
    pub purpose: String,
    /// What its answer tells apart.
    pub tells: &'static str,
    /// By which features find it.
    pub tag: Tag,
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
    /// Of blocks of A and of B; none where a suite has no scales.
    pub scales: [Vec<u64>; 2],
}

/// A name and up to two numbers; cases that no feature reads share the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag(pub &'static str, pub i32, pub i32);

/// K of cases of floats: a multiple of the K of every instruction in use, and twice that of the longest, so
/// that groups of up to 128 products end within.
pub const K: usize = 256;

/// K of cases of integers: groups of up to 256, and sums of as many bits as a dense case can reach.
pub const INTEGER_K: usize = 512;
