//! Cases, and the builders of those of floating-point numbers.

use std::collections::HashSet;

use super::number::{code, factors, lowest, scale_powers};
use crate::emu::Scale;
use crate::num::Format;

/// One dot product that tells models apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// The question it belongs to.
    pub family: &'static str,
    /// The operands in one sentence.
    pub purpose: String,
    /// What its answer tells apart.
    pub tells: &'static str,
    /// Its name for features.
    pub tag: Tag,
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
    /// Codes of blocks of A and of B; empty where a suite has no scales.
    pub scales: [Vec<u64>; 2],
}

/// A name and up to two numbers; cases that no feature reads have the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag(pub &'static str, pub i32, pub i32);

/// K of cases of floats: a multiple of the K of every instruction in use, and twice that of the longest, so
/// that groups of up to 128 products show their end.
pub const K: usize = 256;

/// K of cases of integers: it shows groups of up to 256, and sums of as many bits as a dense case can reach.
pub const INTEGER_K: usize = 512;

/// The cases of a suite so far, and the sizes of numbers that its formats allow.
pub struct SuiteBuilder {
    /// The current family, and what its answers tell apart.
    pub(super) family: &'static str,
    pub(super) tells: &'static str,
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Exponent of a product much larger than `small`, whose sums do not overflow.
    pub big: i32,
    /// Exponent of a product whose multiples up to K the accumulator holds.
    pub small: i32,
    /// Scales of blocks, where operands have them.
    pub scale: Option<Scale>,
    /// Scales that are powers of two, by exponent.
    powers: Vec<(i32, u64)>,
    pub(super) cases: Vec<Case>,
    seen: HashSet<Operands>,
}

type Operands = (Vec<u64>, Vec<u64>, u64, [Vec<u64>; 2]);

impl SuiteBuilder {
    pub(super) fn new(
        a: Format,
        b: Format,
        accumulator: Format,
        scale: Option<Scale>,
    ) -> SuiteBuilder {
        let normal = (
            a.min_exponent() + b.min_exponent(),
            a.max_exponent() + b.max_exponent(),
        );
        // More than any known unit keeps, where the formats reach as far.
        let reach = 2 * accumulator.fraction_bits() as i32 + 12;
        let top = normal.1.min(accumulator.max_exponent() - 1);
        let bottom = normal.0.max(lowest(accumulator));
        let middle = 0.clamp(bottom, top);
        let big = top.min(middle + reach / 2);
        let small = bottom.max(big - reach);
        SuiteBuilder {
            family: "",
            tells: "",
            a,
            b,
            accumulator,
            big,
            small,
            scale,
            powers: scale.map_or(Vec::new(), |scale| scale_powers(scale.format)),
            cases: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Significant bits of the accumulator.
    pub fn precision(&self) -> i32 {
        self.accumulator.fraction_bits() as i32 + 1
    }

    /// The exponent of the lowest bit of any product.
    pub fn lowest_product(&self) -> i32 {
        lowest(self.a) + lowest(self.b)
    }

    pub fn lowest_result(&self) -> i32 {
        lowest(self.accumulator)
    }

    /// The least and the greatest exponent of a scale.
    pub fn scale_reach(&self) -> (i32, i32) {
        let ends = self.powers.first().zip(self.powers.last());
        ends.map_or((0, 0), |(least, most)| (least.0, most.0))
    }

    /// The code of the scale `2^e`.
    pub fn scale_code(&self, e: i32) -> Option<u64> {
        let found = self.powers.iter().find(|(exponent, _)| *exponent == e);
        found.map(|(_, code)| *code)
    }

    /// A new case; it is kept by [`CaseBuilder::done`].
    pub fn case(&mut self, purpose: impl Into<String>) -> CaseBuilder<'_> {
        let case = Case {
            family: self.family,
            purpose: purpose.into(),
            tells: self.tells,
            tag: Tag::default(),
            a: vec![0; K],
            b: vec![0; K],
            c: 0,
            scales: [(); 2].map(|()| match self.scale {
                Some(scale) => vec![self.scale_code(0).expect("1 is a scale"); K / scale.block],
                None => Vec::new(),
            }),
        };
        CaseBuilder {
            set: self,
            case,
            possible: true,
        }
    }
}

/// A case being written. What the formats cannot express makes the whole case impossible, and
/// [`CaseBuilder::done`] drops it.
#[must_use]
pub struct CaseBuilder<'a> {
    set: &'a mut SuiteBuilder,
    case: Case,
    possible: bool,
}

impl CaseBuilder<'_> {
    /// `±m * 2^e` as product `k`, the other factor a power of two.
    pub fn product(self, k: usize, negative: bool, m: u64, e: i32) -> Self {
        self.factors(k, negative, [m, 1], e)
    }

    /// `±mx * my * 2^e` as product `k`.
    pub fn factors(mut self, k: usize, negative: bool, m: [u64; 2], e: i32) -> Self {
        let found = factors([self.set.a, self.set.b], negative, m, e).or_else(|| {
            let swapped = [m[1], m[0]];
            factors([self.set.a, self.set.b], negative, swapped, e)
        });
        match found {
            Some((x, y)) if k < K => (self.case.a[k], self.case.b[k]) = (x, y),
            _ => self.possible = false,
        }
        self
    }

    /// `±2^e` as each of these products.
    pub fn powers(self, k: impl IntoIterator<Item = usize>, negative: bool, e: i32) -> Self {
        self.each(k, |case, k| case.product(k, negative, 1, e))
    }

    /// What `product` writes for each `k`.
    pub fn each(
        self,
        k: impl IntoIterator<Item = usize>,
        product: impl FnMut(Self, usize) -> Self,
    ) -> Self {
        k.into_iter().fold(self, product)
    }

    /// `2^e` as product `i` and `-2^e` as product `j`.
    pub fn cancelling(self, i: usize, j: usize, e: i32) -> Self {
        self.product(i, false, 1, e).product(j, true, 1, e)
    }

    /// These codes as product `k`.
    pub fn codes(mut self, k: usize, pair: (u64, u64)) -> Self {
        (self.case.a[k], self.case.b[k]) = pair;
        self
    }

    /// `±m * 2^e` as C.
    pub fn c(mut self, negative: bool, m: u64, e: i32) -> Self {
        match code(self.set.accumulator, negative, m, e) {
            Some(c) => self.case.c = c,
            None => self.possible = false,
        }
        self
    }

    pub fn c_code(mut self, c: u64) -> Self {
        self.case.c = c;
        self
    }

    /// These codes as the scales of a block of A and of B.
    pub fn scales(mut self, block: usize, codes: [u64; 2]) -> Self {
        for (scales, code) in self.case.scales.iter_mut().zip(codes) {
            match scales.get_mut(block) {
                Some(scale) => *scale = code,
                None => self.possible = false,
            }
        }
        self
    }

    /// `2^x` and `2^y` as the scales of a block.
    pub fn scale_exponents(mut self, block: usize, exponents: [i32; 2]) -> Self {
        match exponents.map(|e| self.set.scale_code(e)) {
            [Some(x), Some(y)] => self.scales(block, [x, y]),
            _ => {
                self.possible = false;
                self
            }
        }
    }

    /// Scales whose product is `2^e` for a block.
    pub fn scaled(self, block: usize, e: i32) -> Self {
        let (least, most) = self.set.scale_reach();
        let x = e.div_euclid(2).clamp(least, most);
        self.scale_exponents(block, [x, e - x])
    }

    /// `±2^e` in the block of `k`, as one product from `k` on, or as several where none is so large.
    pub fn large(self, k: usize, negative: bool, e: i32) -> Self {
        let block = self.set.scale.map_or(K, |scale| scale.block);
        let scale = e.min(2 * self.set.scale_reach().1);
        let largest = self.set.a.max_exponent() + self.set.b.max_exponent();
        let each = (e - scale).min(largest);
        let count = 1usize << (e - scale - each).min(30);
        let mut case = self.scaled(k / block, scale);
        case.possible &= count <= block - k % block;
        if case.possible {
            case.powers(k..k + count, negative, each)
        } else {
            case
        }
    }

    /// `±m * 2^e` as product `k`, with the smallest scales of its block for which there is such a product.
    pub fn small(self, k: usize, negative: bool, m: u64, e: i32) -> Self {
        let block = self.set.scale.map_or(K, |scale| scale.block);
        let scale = e.max(2 * self.set.scale_reach().0);
        self.product(k, negative, m, e - scale)
            .scaled(k / block, scale)
    }

    /// What the answer tells apart, if it differs from the family's.
    pub fn tells(mut self, what: &'static str) -> Self {
        self.case.tells = what;
        self
    }

    pub fn tag(self, name: &'static str, x: i32, y: i32) -> Self {
        self.tag_if(true, name, x, y)
    }

    pub fn tag_if(mut self, tagged: bool, name: &'static str, x: i32, y: i32) -> Self {
        if tagged {
            self.case.tag = Tag(name, x, y);
        }
        self
    }

    /// Keeps the case if the formats can express it and no other has the same operands, or if a
    /// feature looks for it.
    pub fn done(self) {
        let CaseBuilder {
            set,
            case,
            possible,
        } = self;
        if !possible {
            return;
        }
        let operands = (case.a.clone(), case.b.clone(), case.c, case.scales.clone());
        let new = set.seen.insert(operands);
        if new || case.tag != Tag::default() {
            set.cases.push(case);
        }
    }
}
