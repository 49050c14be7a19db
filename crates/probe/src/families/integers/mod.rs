//! Questions about integers: products and their sums are exact as far as registers are wide; what is asked
//! is where they end, and which products are added before a sum is brought into range.

mod excursions;
mod limits;
mod order;
mod products;
mod random;
mod sums;

use std::collections::HashSet;

use crate::Case;
use crate::builder::{INTEGER_K as K, Tag};
use crate::num::Format;

/// The ends of what an accumulator holds.
const TOP: i64 = i32::MAX as i64;
const BOTTOM: i64 = i32::MIN as i64;

type Family = (&'static str, &'static str, fn(&mut SuiteBuilder));

/// In the order in which they are written.
const FAMILIES: [Family; 7] = [
    ("limits", limits::TELLS, limits::write),
    ("order", order::TELLS, order::write),
    ("products", products::TELLS, products::write),
    ("sums", sums::TELLS, sums::write),
    ("mixed", "everything at once", random::mixed),
    ("excursions", excursions::TELLS, excursions::write),
    (
        "anything",
        "units of other kinds, anywhere",
        random::anything,
    ),
];

/// Every case of integers.
pub fn all(a: Format, b: Format) -> Vec<Case> {
    let mut set = SuiteBuilder::new(a, b);
    for (family, tells, write) in FAMILIES {
        (set.family, set.tells) = (family, tells);
        write(&mut set);
    }
    set.cases
}

/// Where families put their cases, with the numbers that the formats have.
struct SuiteBuilder {
    family: &'static str,
    tells: &'static str,
    /// Least and greatest operands.
    a: [i64; 2],
    b: [i64; 2],
    formats: [Format; 2],
    cases: Vec<Case>,
    seen: HashSet<Operands>,
}

/// Places and codes of products, and C.
type Operands = (Vec<(usize, u64, u64)>, u64);

impl SuiteBuilder {
    fn new(a: Format, b: Format) -> SuiteBuilder {
        let range = |f: Format| [true, false].map(|negative| f.integer(f.max_finite(negative)));
        SuiteBuilder {
            family: "",
            tells: "",
            a: range(a),
            b: range(b),
            formats: [a, b],
            cases: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Factors of the products farthest from zero: the greatest, the least, and those of other signs.
    fn extremes(&self) -> Vec<(i64, i64)> {
        let mut all = Vec::new();
        for x in self.a {
            for y in self.b {
                if x * y != 0 {
                    all.push((x, y));
                }
            }
        }
        all
    }

    /// Factors of the greatest and of the least product.
    fn greatest_and_least(&self) -> [(i64, i64); 2] {
        let product = |&(x, y): &(i64, i64)| x * y;
        let all = self.extremes();
        let greatest = *all.iter().max_by_key(|p| product(p)).expect("there is one");
        // Without a sign no product is negative: the least is the smallest there is.
        let least = all.iter().copied().min_by_key(product);
        let least = least.filter(|p| product(p) < 0).unwrap_or((0, 0));
        [greatest, least]
    }

    /// Small factors of a product, if it has any.
    fn factors(&self, product: i64) -> Option<(i64, i64)> {
        let pairs = [(product, 1), (1, product), (-product, -1), (-1, -product)];
        let within = |x: i64, [least, greatest]: [i64; 2]| (least..=greatest).contains(&x);
        let fits = |&(x, y): &(i64, i64)| within(x, self.a) && within(y, self.b);
        pairs.into_iter().find(fits)
    }

    /// A new case; it is kept by [`CaseBuilder::done`].
    fn case(&mut self, purpose: impl Into<String>) -> CaseBuilder<'_> {
        let case = Case {
            family: self.family,
            purpose: purpose.into(),
            tells: self.tells,
            tag: Tag::default(),
            a: Vec::new(),
            b: Vec::new(),
            c: 0,
            scales: Default::default(),
        };
        CaseBuilder {
            set: self,
            case,
            terms: Vec::new(),
            possible: true,
        }
    }
}

/// A case being written. What the formats cannot express makes the whole case impossible, and
/// [`CaseBuilder::done`] drops it.
#[must_use]
struct CaseBuilder<'a> {
    set: &'a mut SuiteBuilder,
    case: Case,
    terms: Vec<(usize, u64, u64)>,
    possible: bool,
}

impl CaseBuilder<'_> {
    /// x times y as product `k`.
    fn term(mut self, k: usize, (x, y): (i64, i64)) -> Self {
        let [a, b] = self.set.formats;
        match (a.integer_code(x), b.integer_code(y)) {
            (Some(x), Some(y)) if k < K => self.terms.push((k, x, y)),
            _ => self.possible = false,
        }
        self
    }

    fn terms(self, terms: impl IntoIterator<Item = (usize, (i64, i64))>) -> Self {
        let terms = terms.into_iter();
        terms.fold(self, |case, (k, factors)| case.term(k, factors))
    }

    /// A small number as product `k`.
    fn product(mut self, k: usize, product: i64) -> Self {
        match self.set.factors(product) {
            Some(factors) => self.term(k, factors),
            None => {
                self.possible = false;
                self
            }
        }
    }

    fn c(mut self, c: i64) -> Self {
        match Format::Int32.integer_code(c) {
            Some(code) => self.case.c = code,
            None => self.possible = false,
        }
        self
    }

    fn tag(mut self, name: &'static str, x: i32, y: i32) -> Self {
        self.case.tag = Tag(name, x, y);
        self
    }

    /// Keeps the case if the formats can express it and no other has the same operands.
    fn done(self) {
        let CaseBuilder {
            set,
            mut case,
            terms,
            possible,
        } = self;
        if !possible {
            return;
        }
        (case.a, case.b) = (vec![0; K], vec![0; K]);
        for &(k, x, y) in &terms {
            (case.a[k], case.b[k]) = (x, y);
        }
        if set.seen.insert((terms, case.c)) {
            set.cases.push(case);
        }
    }
}
