//! In which order sums are added in f32.

use serde::Serialize;

use super::Start;

/// An order of additions of numbered terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sum {
    /// +0.
    Zero,
    Term(usize),
    /// `((s0 + s1) + s2) + ...`, from the first or from +0.
    Left {
        from: Start,
        terms: Vec<Sum>,
    },
    /// Lanes, a power of two: `s[i] += s[i + half]` for half of them, and on with that half.
    Butterfly(Vec<Sum>),
}

impl Sum {
    /// Terms from left to right.
    pub fn left(from: Start, terms: impl IntoIterator<Item = Sum>) -> Sum {
        let terms: Vec<Sum> = terms.into_iter().collect();
        match (&terms[..], from) {
            ([], _) => Sum::Zero,
            ([_], Start::First) => terms.into_iter().next().expect("one"),
            _ => Sum::Left { from, terms },
        }
    }

    /// The terms 0..count from left to right.
    pub fn ascending(from: Start, count: usize) -> Sum {
        Sum::left(from, (0..count).map(Sum::Term))
    }

    /// The last term first; to it, from left to right, what each half of the others adds up to in pairs:
    /// for five terms `((p4 + (p0 + p3)) + p1) + p2`.
    pub fn pairwise(count: usize) -> Sum {
        let half = count.div_ceil(2);
        let slot = |i: usize| {
            if i + half + 1 < count {
                Sum::left(Start::First, [Sum::Term(i), Sum::Term(i + half)])
            } else {
                Sum::Term(i)
            }
        };
        match count {
            0 | 1 => Sum::ascending(Start::First, count),
            _ => {
                // The last term has no slot of its own.
                let slots = (0..half.min(count - 1)).map(slot);
                Sum::left(
                    Start::First,
                    std::iter::once(Sum::Term(count - 1)).chain(slots),
                )
            }
        }
    }

    /// Neighbours, and then neighbours of those: `(s0 + s1) + (s2 + s3)`; one without a neighbour waits.
    pub fn adjacent(mut sums: Vec<Sum>) -> Sum {
        while sums.len() > 1 {
            let pairs = sums.chunks(2);
            sums = pairs
                .map(|pair| Sum::left(Start::First, pair.iter().cloned()))
                .collect();
        }
        sums.pop().unwrap_or(Sum::Zero)
    }

    /// The single additions, each as the terms `[i, j]` of `s[i] += s[j]`, and the term that holds the sum. None if
    /// +0 takes part, which is not a term.
    pub fn additions(&self, pairs: &mut Vec<[usize; 2]>) -> Option<usize> {
        match self {
            Sum::Term(i) => Some(*i),
            Sum::Left {
                from: Start::First,
                terms,
            } => {
                let (first, others) = terms.split_first()?;
                let total = first.additions(pairs)?;
                for sum in others {
                    let next = sum.additions(pairs)?;
                    pairs.push([total, next]);
                }
                Some(total)
            }
            Sum::Left { .. } | Sum::Zero | Sum::Butterfly(_) => None,
        }
    }

    /// With sums in place of terms.
    pub fn with(&self, term: &impl Fn(usize) -> Sum) -> Sum {
        let all = |sums: &[Sum]| sums.iter().map(|sum| sum.with(term)).collect();
        match self {
            Sum::Zero => Sum::Zero,
            Sum::Term(i) => term(*i),
            Sum::Left { from, terms } => Sum::Left {
                from: *from,
                terms: all(terms),
            },
            Sum::Butterfly(lanes) => Sum::Butterfly(all(lanes)),
        }
    }

    /// Runs the additions.
    pub fn fold<T: Clone>(
        &self,
        zero: &T,
        term: &impl Fn(usize) -> T,
        add: &impl Fn(T, T) -> T,
    ) -> T {
        match self {
            Sum::Zero => zero.clone(),
            Sum::Term(i) => term(*i),
            Sum::Left { from, terms } => {
                let sums = terms.iter().map(|sum| sum.fold(zero, term, add));
                match from {
                    Start::Zero => sums.fold(zero.clone(), add),
                    Start::First => sums.reduce(add).unwrap_or_else(|| zero.clone()),
                }
            }
            Sum::Butterfly(lanes) => {
                let mut lanes: Vec<T> = lanes
                    .iter()
                    .map(|lane| lane.fold(zero, term, add))
                    .collect();
                while lanes.len() > 1 {
                    let upper = lanes.split_off(lanes.len() / 2);
                    lanes = lanes
                        .into_iter()
                        .zip(upper)
                        .map(|(low, high)| add(low, high))
                        .collect();
                }
                lanes.pop().unwrap_or_else(|| zero.clone())
            }
        }
    }

    /// `((p0 + p1) + p2)` without its outermost brackets, terms by their names.
    pub fn expression(&self, name: &impl Fn(usize) -> String) -> String {
        let text = self.fold(&"0".to_owned(), name, &|a, b| format!("({a} + {b})"));
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inner) => inner.to_owned(),
            None => text,
        }
    }
}
