//! Chains that several schedules have in common: many divide K in the same way and differ in how they add the
//! sums.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use super::SplitTerms;
use super::k_index::KIndices;

/// Sums of chains of one product by one arithmetic, for single elements that are computed under many
/// schedules.
#[derive(Debug, Default)]
pub struct SharedChains {
    known: Mutex<HashMap<Key, u64>>,
}

/// An element (matrix, row and column), and a digest of a chain.
type Key = ([usize; 3], [u64; 2]);

impl SharedChains {
    /// The code of a chain for an element, computed if it is not known.
    pub(super) fn sum(
        &self,
        element: [usize; 3],
        (indices, from_c): (&KIndices, bool),
        terms: Option<&SplitTerms>,
        compute: impl FnOnce() -> u64,
    ) -> u64 {
        let key = (element, digest(indices, from_c, terms));
        let known = |map: &HashMap<Key, u64>| map.get(&key).copied();
        let lock = || self.known.lock().expect("nobody panics with it");
        if let Some(code) = known(&lock()) {
            return code;
        }
        let code = compute();
        lock().insert(key, code);
        code
    }
}

/// A digest of everything but the operands and the arithmetic that decides the sum.
fn digest(indices: &KIndices, from_c: bool, terms: Option<&SplitTerms>) -> [u64; 2] {
    let mut words = Vec::new();
    match indices {
        KIndices::Range(k) => words.extend([k.start, k.end]),
        KIndices::List(list) => {
            words.reserve(list.len());
            words.extend(list.iter().map(|index| {
                let k = index.k.map_or(0, |k| k + 1);
                let terms = index
                    .terms
                    .map_or(0, |[a, b]| 1 + a as usize + 3 * b as usize);
                k << 4 | terms
            }));
        }
    }
    let terms = terms.map(|terms| SplitTerms {
        // The list has them.
        products: Vec::new(),
        every: 0,
        ..terms.clone()
    });
    let is_list = matches!(indices, KIndices::List(_));
    [0u64, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        (salt, is_list, from_c, &terms, &words).hash(&mut hasher);
        hasher.finish()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{KIndex, Term, TermFormat, TermRounding};
    use super::*;

    /// Whatever decides a sum has a digest of its own.
    #[test]
    fn other_chains_have_other_digests() {
        use Term::{Hi, Lo};
        let list = |k: &[usize], terms| {
            let index = |&k: &usize| KIndex { k: Some(k), terms };
            KIndices::List(k.iter().map(index).collect())
        };
        let terms = |hi, lo| SplitTerms {
            every: 8,
            format: TermFormat::Tf32,
            hi,
            mid: None,
            lo,
            scale: 0,
            products: vec![[Hi, Hi]],
            nan_before_last: None,
        };
        let mut all = vec![
            digest(&KIndices::Range(0..8), false, None),
            digest(&KIndices::Range(0..9), false, None),
            digest(&KIndices::Range(1..9), false, None),
            digest(&KIndices::Range(0..8), true, None),
            digest(&KIndices::List(vec![KIndex::ZERO; 2]), false, None),
            digest(&list(&[0, 0], None), false, None),
            digest(&list(&[0, 1], None), false, None),
            digest(&list(&[1, 0], None), false, None),
            digest(&list(&[1, 1], None), false, None),
        ];
        let (rz, rna) = (TermRounding::Rz, TermRounding::Rna);
        for [hi, lo] in [[rz, rz], [rz, rna], [rna, rz]] {
            for pair in [[Hi, Hi], [Hi, Lo], [Lo, Hi], [Lo, Lo]] {
                all.push(digest(
                    &list(&[0, 1], Some(pair)),
                    false,
                    Some(&terms(hi, lo)),
                ));
            }
        }
        let count = all.len();
        assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), count);
    }
}
