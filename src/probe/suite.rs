//! Cases, and a pen to write them with.

use std::collections::HashSet;

use super::families;
use super::number::{code, factors};
use crate::num::{Format, Kind};

/// One dot product that tells models apart.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// A name and up to two numbers; cases that no feature reads share the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag(pub &'static str, pub i32, pub i32);

/// All cases for some formats.
#[derive(Clone, Debug)]
pub struct Suite {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// K of every case.
    pub k: usize,
    pub cases: Vec<Case>,
}

/// K of cases of floats: a multiple of the K of every instruction in use, and twice that of the longest, so
/// that groups of up to 128 products end within.
pub const K: usize = 256;

/// K of cases of integers: groups of up to 256, and sums of as many bits as a dense case can reach.
pub const INTEGER_K: usize = 512;

impl Suite {
    /// The probes for products of `a` and `b` accumulated in `accumulator`: the same ones each time.
    ///
    /// # Errors
    /// If nothing accumulates in that format, or it multiplies no such pair.
    pub fn new(a: Format, b: Format, accumulator: Format) -> Result<Suite, String> {
        for operand in [a, b] {
            if operand.kind() == Kind::Scale || operand == Format::Int32 {
                return Err(format!(
                    "{operand} is no format of A or B: it has no probes"
                ));
            }
        }
        if a.is_integer() != b.is_integer() {
            return Err(format!(
                "{a}*{b} has no probes: A and B are both integers, or neither is"
            ));
        }
        let integers = a.is_integer();
        let accumulates = match integers {
            true => accumulator == Format::Int32,
            false => accumulator.infinity(false).is_some() && accumulator.ignored_bits() == 0,
        };
        if !accumulates {
            return Err(format!(
                "{accumulator} is no accumulator of {a}*{b}: {}",
                match integers {
                    true => "int32 is",
                    false => "fp32, fp16 or fp64 is",
                }
            ));
        }
        let (k, cases) = match integers {
            true => (INTEGER_K, families::integers::all(a, b)),
            false => {
                let mut bench = Bench::new(a, b, accumulator);
                families::all(&mut bench);
                (K, bench.cases)
            }
        };
        Ok(Suite {
            a,
            b,
            accumulator,
            k,
            cases,
        })
    }

    /// Whether operands and sums are integers.
    pub fn integers(&self) -> bool {
        self.accumulator.is_integer()
    }

    /// The case with this tag.
    pub fn find(&self, tag: Tag) -> Option<usize> {
        self.cases.iter().position(|case| case.tag == tag)
    }
}

/// Where families put their cases, with the sizes of numbers that the formats allow.
pub struct Bench {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Exponent of a product much larger than `small`, whose sums do not overflow.
    pub big: i32,
    /// Exponent of a product whose multiples up to K the accumulator holds.
    pub small: i32,
    cases: Vec<Case>,
    seen: HashSet<(Vec<u64>, Vec<u64>, u64)>,
}

impl Bench {
    fn new(a: Format, b: Format, accumulator: Format) -> Bench {
        let normal = (
            a.min_exponent() + b.min_exponent(),
            a.max_exponent() + b.max_exponent(),
        );
        let lowest = accumulator.min_exponent() - accumulator.fraction_bits() as i32;
        // More than any known unit keeps, where the formats reach as far.
        let reach = 2 * accumulator.fraction_bits() as i32 + 12;
        let top = normal.1.min(accumulator.max_exponent() - 1);
        let bottom = normal.0.max(lowest);
        let middle = 0.clamp(bottom, top);
        let big = top.min(middle + reach / 2);
        let small = bottom.max(big - reach);
        Bench {
            a,
            b,
            accumulator,
            big,
            small,
            cases: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Significant bits of the accumulator.
    pub fn precision(&self) -> i32 {
        self.accumulator.fraction_bits() as i32 + 1
    }

    /// The lowest bit of any product and of any accumulator.
    pub fn lowest_product(&self) -> i32 {
        let lowest = |f: Format| f.min_exponent() - f.fraction_bits() as i32;
        lowest(self.a) + lowest(self.b)
    }

    pub fn lowest_result(&self) -> i32 {
        self.accumulator.min_exponent() - self.accumulator.fraction_bits() as i32
    }

    /// A new case; it is kept by [`Pen::done`].
    pub fn case(
        &mut self,
        family: &'static str,
        tells: &'static str,
        purpose: impl Into<String>,
    ) -> Pen<'_> {
        let case = Case {
            family,
            purpose: purpose.into(),
            tells,
            tag: Tag::default(),
            a: vec![0; K],
            b: vec![0; K],
            c: 0,
        };
        Pen {
            bench: self,
            case,
            possible: true,
        }
    }
}

/// A case being written. What the formats cannot express makes the whole case impossible, and
/// [`Pen::done`] drops it.
#[must_use]
pub struct Pen<'a> {
    bench: &'a mut Bench,
    case: Case,
    possible: bool,
}

impl Pen<'_> {
    /// `±m * 2^e` as product `k`, the other factor a power of two.
    pub fn product(self, k: usize, negative: bool, m: u64, e: i32) -> Self {
        self.factors(k, negative, [m, 1], e)
    }

    /// `±mx * my * 2^e` as product `k`.
    pub fn factors(mut self, k: usize, negative: bool, m: [u64; 2], e: i32) -> Self {
        let found = factors([self.bench.a, self.bench.b], negative, m, e).or_else(|| {
            let swapped = [m[1], m[0]];
            factors([self.bench.a, self.bench.b], negative, swapped, e)
        });
        match found {
            Some((x, y)) if k < K => (self.case.a[k], self.case.b[k]) = (x, y),
            _ => self.possible = false,
        }
        self
    }

    /// `±2^e` as each of these products.
    pub fn powers(self, k: impl IntoIterator<Item = usize>, negative: bool, e: i32) -> Self {
        k.into_iter()
            .fold(self, |pen, k| pen.product(k, negative, 1, e))
    }

    /// These codes as product `k`.
    pub fn codes(mut self, k: usize, a: u64, b: u64) -> Self {
        (self.case.a[k], self.case.b[k]) = (a, b);
        self
    }

    /// `±m * 2^e` as C.
    pub fn c(mut self, negative: bool, m: u64, e: i32) -> Self {
        match code(self.bench.accumulator, negative, m, e) {
            Some(c) => self.case.c = c,
            None => self.possible = false,
        }
        self
    }

    pub fn c_code(mut self, c: u64) -> Self {
        self.case.c = c;
        self
    }

    pub fn tag(mut self, name: &'static str, x: i32, y: i32) -> Self {
        self.case.tag = Tag(name, x, y);
        self
    }

    /// Keeps the case if the formats can express it and no other has the same operands, or if a
    /// feature looks for it.
    pub fn done(self) {
        let Pen {
            bench,
            case,
            possible,
        } = self;
        if !possible {
            return;
        }
        let new = bench.seen.insert((case.a.clone(), case.b.clone(), case.c));
        if new || case.tag != Tag::default() {
            bench.cases.push(case);
        }
    }
}
