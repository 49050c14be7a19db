//! Places of a main loop: a k of the product each, or a zero that fills a tile up.

use std::ops::Range;

use super::Term;

/// One product of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KIndex {
    /// None is a product of zeros.
    pub k: Option<usize>,
    /// The terms of A and of B that are multiplied; none is all of them.
    pub terms: Option<[Term; 2]>,
}

/// The products of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KIndices {
    /// These k, ascending.
    Range(Range<usize>),
    List(Vec<KIndex>),
}

impl Term {
    fn name(self) -> &'static str {
        match self {
            Term::Hi => "hi",
            Term::Mid => "mid",
            Term::Lo => "lo",
        }
    }
}

impl KIndex {
    pub fn of(k: usize) -> KIndex {
        KIndex {
            k: Some(k),
            terms: None,
        }
    }

    pub const ZERO: KIndex = KIndex {
        k: None,
        terms: None,
    };
}

impl KIndices {
    pub fn len(&self) -> usize {
        match self {
            KIndices::Range(range) => range.len(),
            KIndices::List(indices) => indices.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, i: usize) -> KIndex {
        match self {
            KIndices::Range(range) => KIndex::of(range.start + i),
            KIndices::List(indices) => indices[i],
        }
    }

    /// The first k of the product among them.
    pub fn first_k(&self) -> Option<usize> {
        (0..self.len()).find_map(|i| self.get(i).k)
    }

    /// Some of them; consecutive k become a range.
    pub fn gathered(&self, at: &[Range<usize>]) -> KIndices {
        match (self, at) {
            (_, []) => KIndices::Range(0..0),
            (KIndices::Range(range), [at]) => {
                KIndices::Range(range.start + at.start..range.start + at.end)
            }
            _ => {
                let all = at.iter().cloned().flatten().map(|i| self.get(i));
                KIndices::List(all.collect()).simplified()
            }
        }
    }

    /// A list that is a range becomes one.
    pub fn simplified(self) -> KIndices {
        let KIndices::List(indices) = &self else {
            return self;
        };
        let first = indices.first().and_then(|index| index.k);
        let Some(first) = first else { return self };
        let plain = |(i, index): (usize, &KIndex)| *index == KIndex::of(first + i);
        if indices.iter().enumerate().all(plain) {
            KIndices::Range(first..first + indices.len())
        } else {
            self
        }
    }

    /// `k 0..64, 96..128, 2 zeros`: for people.
    pub fn describe(&self) -> String {
        let mut runs: Vec<(KIndex, usize)> = Vec::new();
        for i in 0..self.len() {
            let index = self.get(i);
            match runs.last_mut() {
                // Zeros follow zeros.
                Some((first, count))
                    if first.terms == index.terms && first.k.map(|k| k + *count) == index.k =>
                {
                    *count += 1;
                }
                _ => runs.push((index, 1)),
            }
        }
        let text = |&(index, count): &(KIndex, usize)| {
            let terms = index.terms.map_or(String::new(), |[a, b]| {
                format!("{}*{} ", a.name(), b.name())
            });
            match index.k {
                None if count == 1 => format!("{terms}a zero"),
                None => format!("{terms}{count} zeros"),
                Some(k) if count == 1 => format!("{terms}{k}"),
                Some(k) => format!("{terms}{k}..{}", k + count),
            }
        };
        let shown: Vec<_> = runs.iter().take(8).map(text).collect();
        let more = match runs.len() {
            0..=8 => "",
            _ => ", ...",
        };
        format!("k {}{more}", shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(indices: &[Option<usize>], terms: Option<[Term; 2]>) -> Vec<KIndex> {
        let index = |&k: &Option<usize>| KIndex { k, terms };
        indices.iter().map(index).collect()
    }

    #[test]
    fn runs_are_described_by_their_ends() {
        let text = |indices| KIndices::List(indices).describe();
        let (zero, k) = (None, Some);
        assert_eq!(KIndices::Range(3..67).describe(), "k 3..67");
        assert_eq!(KIndices::Range(3..4).describe(), "k 3");
        let some = [k(0), k(1), k(2), zero, k(8), zero, zero, k(5), k(4)];
        assert_eq!(text(list(&some, None)), "k 0..3, a zero, 8, 2 zeros, 5, 4");
        let mut terms = list(&[k(0), k(1)], Some([Term::Hi, Term::Lo]));
        terms.extend(list(&[k(2), zero, zero], Some([Term::Lo, Term::Hi])));
        terms.extend(list(&[zero], Some([Term::Hi, Term::Hi])));
        assert_eq!(
            text(terms),
            "k hi*lo 0..2, lo*hi 2, lo*hi 2 zeros, hi*hi a zero"
        );
        let odd = |count| (0..count).map(|i| KIndex::of(2 * i)).collect::<Vec<_>>();
        assert_eq!(text(odd(8)), "k 0, 2, 4, 6, 8, 10, 12, 14");
        assert_eq!(text(odd(9)), "k 0, 2, 4, 6, 8, 10, 12, 14, ...");
    }

    #[test]
    fn what_is_a_range_becomes_one() {
        let range = KIndices::Range;
        let one = std::slice::from_ref;
        let simple =
            |indices: &[Option<usize>], terms| KIndices::List(list(indices, terms)).simplified();
        assert_eq!(simple(&[Some(4), Some(5)], None), range(4..6));
        for (indices, terms) in [
            ([Some(5), Some(4)], None),
            ([Some(4), None], None),
            ([None, Some(4)], None),
            ([Some(4), Some(5)], Some([Term::Hi; 2])),
        ] {
            let same = KIndices::List(list(&indices, terms));
            assert_eq!(same.clone().simplified(), same);
        }
        assert_eq!(range(10..20).gathered(&[]), range(0..0));
        assert_eq!(range(10..20).gathered(one(&(2..5))), range(12..15));
        assert_eq!(range(10..20).gathered(&[2..5, 5..6]), range(12..16));
        let apart = KIndices::List(list(&[Some(12), Some(16)], None));
        assert_eq!(range(10..20).gathered(&[2..3, 6..7]), apart);
        assert_eq!(
            (apart.len(), apart.first_k(), apart.get(1)),
            (2, Some(12), KIndex::of(16))
        );
    }
}
