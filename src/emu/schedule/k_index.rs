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

    /// Some of them; what is a range becomes one.
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
        match indices.iter().enumerate().all(plain) {
            true => KIndices::Range(first..first + indices.len()),
            false => self,
        }
    }

    /// `k 0..64, 96..128, 2 zeros`: for people.
    pub fn describe(&self) -> String {
        let mut runs: Vec<(KIndex, usize, usize)> = Vec::new();
        for i in 0..self.len() {
            let index = self.get(i);
            if let Some((first, count, step)) = runs.last_mut()
                && first.terms == index.terms
            {
                let next = first.k.map(|k| k + *count);
                if first.k.is_none() && index.k.is_none() || next.is_some() && index.k == next {
                    *count += 1;
                    continue;
                }
                *step += 1;
            }
            runs.push((index, 1, 0));
        }
        let text = |&(index, count, _): &(KIndex, usize, usize)| {
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
