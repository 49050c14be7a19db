//! What a model was tested on: which numbers the answers were to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Suite;
use crate::num::{Class, Format};

/// What the cases of a suite span. Exponents are those of values: of the leading bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Coverage {
    pub cases: usize,
    /// Cases by family.
    pub families: BTreeMap<&'static str, usize>,
    /// Distances of exponents between the largest product of a case and the others.
    pub products_apart: Distances,
    /// Distances of C above the largest product, and of C below it.
    pub addend_above: Distances,
    pub addend_below: Distances,
    /// The most products other than zero.
    pub most_products: usize,
    /// K of every case.
    pub k: usize,
    /// Of integers: where sums went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sums: Option<Sums>,
}

/// How far sums of integers went, product after product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Sums {
    /// Cases whose sum goes above what 32 bits hold, at whatever k.
    pub above: usize,
    /// Cases whose sum goes below what 32 bits hold.
    pub below: usize,
    /// The farthest from zero that products alone add up to: of a narrower register that only products are
    /// added in, no case shows the end.
    pub products: u64,
}

impl Sums {
    fn of(suite: &Suite) -> Sums {
        let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let mut sums = Sums::default();
        for case in &suite.cases {
            let c = suite.accumulator.integer(case.c);
            let (mut sum, mut least, mut greatest) = (0, 0, 0);
            for (&x, &y) in case.a.iter().zip(&case.b) {
                sum += suite.a.integer(x) * suite.b.integer(y);
                (least, greatest) = (sum.min(least), sum.max(greatest));
            }
            sums.above += usize::from(c + greatest > *range.end());
            sums.below += usize::from(c + least < *range.start());
            let farthest = least.unsigned_abs().max(greatest.unsigned_abs());
            sums.products = sums.products.max(farthest);
        }
        sums
    }
}

/// Which distances were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Distances {
    pub most: i32,
    /// Different ones, from 1 to `most`.
    pub asked: usize,
}

impl Distances {
    fn of(mut seen: Vec<i32>) -> Distances {
        seen.retain(|d| *d > 0);
        seen.sort_unstable();
        seen.dedup();
        Distances {
            most: seen.last().copied().unwrap_or(0),
            asked: seen.len(),
        }
    }
}

impl std::fmt::Display for Distances {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.asked as i32 == self.most {
            write!(f, "every distance up to {}", self.most)
        } else {
            write!(f, "{} distances up to {}", self.asked, self.most)
        }
    }
}

impl Coverage {
    /// How far apart terms lay, or how far sums went.
    pub fn describe(&self) -> String {
        match &self.sums {
            Some(sums) => sums.to_string(),
            None => format!(
                "Distances between products: {}; C above the largest product: {}, below it: {}.",
                self.products_apart, self.addend_above, self.addend_below
            ),
        }
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Sums exceeded 32 bits in {} cases and fell below them in {}; products alone added up to at most {}.",
            self.above, self.below, self.products
        )
    }
}

/// The exponent of a finite number's leading bit.
fn leading(format: Format, code: u64) -> Option<i32> {
    let n = format.unpack(code);
    let finite = n.class == Class::Finite && n.significand != 0;
    finite.then(|| n.exponent - format.fraction_bits() as i32 + n.significand.ilog2() as i32)
}

/// What a suite spans.
pub fn coverage(suite: &Suite) -> Coverage {
    let mut families = BTreeMap::new();
    let (mut apart, mut above, mut below) = (Vec::new(), Vec::new(), Vec::new());
    let mut most_products = 0;
    for case in &suite.cases {
        *families.entry(case.family).or_insert(0) += 1;
        let products = case.a.iter().zip(&case.b).enumerate();
        let scaled = |k: usize| match suite.scale {
            Some(scale) => {
                let of = |codes: &[u64]| leading(scale.format, codes[k / scale.block]);
                Some(of(&case.scales[0])? + of(&case.scales[1])?)
            }
            None => Some(0),
        };
        let mut exponents: Vec<i32> = products
            .filter_map(|(k, (&a, &b))| {
                Some(leading(suite.a, a)? + leading(suite.b, b)? + scaled(k)?)
            })
            .collect();
        most_products = most_products.max(exponents.len());
        exponents.sort_unstable();
        exponents.dedup();
        let Some(&largest) = exponents.last() else {
            continue;
        };
        apart.extend(exponents.iter().map(|e| largest - e));
        if let Some(c) = leading(suite.accumulator, case.c) {
            above.push(c - largest);
            below.push(largest - c);
        }
    }
    Coverage {
        cases: suite.cases.len(),
        families,
        products_apart: Distances::of(apart),
        addend_above: Distances::of(above),
        addend_below: Distances::of(below),
        most_products,
        k: suite.k,
        sums: suite.integers().then(|| Sums::of(suite)),
    }
}
