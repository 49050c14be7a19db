//! Products of awkward numbers: fast engines are tested with them before their first use.

use crate::num::{Class, Format, Formats, Scale, random::SplitMix64};
use crate::tensor::{Problem, Tensor};

/// What operands hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestNumbers {
    /// Within a few binades of one.
    Near,
    /// Over many binades, with zeros.
    Wide,
    /// Any code, infinities and NaNs among them in some rows and columns.
    Any,
    /// The largest significands at one exponent: the largest sums.
    Full,
    /// The smallest exponents, with zeros.
    Tiny,
    /// Zeros, and a few of those: whole groups of zeros beside the smallest C.
    Sparse,
    /// Products that cancel the ones before, or nearly, beside a C of any size: low bits and signs of zeros reach the result.
    Cancelling,
    /// The same two by two, which parts of a step cut differently.
    Opposite,
    /// The smallest A: results at the end of the normal numbers.
    Low,
}

impl TestNumbers {
    pub const ALL: [TestNumbers; 9] = [
        TestNumbers::Near,
        TestNumbers::Wide,
        TestNumbers::Any,
        TestNumbers::Full,
        TestNumbers::Tiny,
        TestNumbers::Sparse,
        TestNumbers::Cancelling,
        TestNumbers::Opposite,
        TestNumbers::Low,
    ];
}

/// A product of one matrix.
pub struct TestProduct {
    a: Tensor,
    b: Tensor,
    c: Tensor,
    /// Finite.
    pub c_codes: Vec<u64>,
    scales: Option<[Tensor; 2]>,
    block: usize,
}

impl TestProduct {
    /// A product of so many rows, columns and k.
    pub fn new(formats: Formats, [m, n, k]: [usize; 3], numbers: TestNumbers) -> TestProduct {
        let mut random = SplitMix64(numbers as u64);
        let mut matrix = |format: Format, rows: usize, columns: usize, numbers, sign: u64| {
            let back = match numbers {
                TestNumbers::Cancelling => 1,
                TestNumbers::Opposite => 2,
                _ => columns,
            };
            let mut codes = Vec::with_capacity(rows * columns);
            for i in 0..rows * columns {
                let word = random.word();
                let code = if i % columns / back % 2 == 1 {
                    // The number before, now and then its neighbour.
                    let other = u64::from(word.is_multiple_of(16)) << format.ignored_bits();
                    codes[i - back] ^ sign ^ other
                } else {
                    code(format, numbers, word)
                };
                // Specials in a few lines alone, or they would be all that there is.
                let finite = format.unpack(code).class == Class::Finite;
                let allowed = finite || (i / columns) % 16 == 3;
                codes.push(if allowed { code } else { 0 });
            }
            codes
        };
        let (of_a, of_b, addend) = match numbers {
            TestNumbers::Near | TestNumbers::Full => (numbers, numbers, TestNumbers::Near),
            TestNumbers::Wide
            | TestNumbers::Any
            | TestNumbers::Cancelling
            | TestNumbers::Opposite => (numbers, numbers, TestNumbers::Wide),
            TestNumbers::Tiny | TestNumbers::Sparse => (numbers, numbers, TestNumbers::Tiny),
            TestNumbers::Low => (TestNumbers::Tiny, TestNumbers::Near, TestNumbers::Tiny),
        };
        let a = matrix(formats.a, m, k, of_a, formats.a.sign_mask());
        let columns = matrix(formats.b, n, k, of_b, 0);
        let b: Vec<_> = (0..k * n).map(|i| columns[i % n * k + i / n]).collect();
        let c_codes = matrix(formats.addend, m, n, addend, 0);
        let (mut scales, mut block) = (None, 0);
        if let Some(scale) = formats.scale {
            block = scale.block;
            let blocks = k.div_ceil(block);
            let mut of = |rows: usize, columns: usize| {
                let codes: Vec<_> = (0..rows * columns)
                    .map(|_| scale_code(scale, numbers, random.word()))
                    .collect();
                Tensor::from_codes(scale.format, vec![rows, columns], &codes)
            };
            scales = Some([of(m, blocks), of(blocks, n)]);
        }
        TestProduct {
            a: Tensor::from_codes(formats.a, vec![m, k], &a),
            b: Tensor::from_codes(formats.b, vec![k, n], &b),
            c: Tensor::from_codes(formats.addend, vec![m, n], &c_codes),
            c_codes,
            scales,
            block,
        }
    }

    pub fn problem(&self) -> Problem<'_> {
        let c = Some(self.c.planes());
        let problem = Problem::new(self.a.planes(), self.b.planes(), c);
        let problem = match &self.scales {
            None => problem,
            Some([a, b]) => {
                problem.and_then(|problem| problem.with_scales(a.planes(), b.planes(), self.block))
            }
        };
        problem.expect("these shapes multiply")
    }
}

fn code(format: Format, numbers: TestNumbers, random: u64) -> u64 {
    let any = random & format.max_code();
    if format.exponent_bits() == 0 {
        return match numbers {
            TestNumbers::Full => any | (format.max_code() ^ format.sign_mask()),
            _ => any,
        };
    }
    let ones = (1 << format.fraction_bits()) - 1;
    let top = (1 << format.exponent_bits()) - 1;
    let draw = random >> 32;
    let spread = |low: u64, count: u64| (low + draw % count).min(top);
    let near = (format.bias() as u64).saturating_sub(2).max(1);
    let (field, fraction) = match numbers {
        TestNumbers::Near => (spread(near, 4), random & ones),
        TestNumbers::Wide | TestNumbers::Cancelling if draw.is_multiple_of(8) => (0, 0),
        TestNumbers::Cancelling => (spread(near.saturating_sub(5), 12), random & ones),
        TestNumbers::Opposite => (spread(near, 8), random & ones),
        TestNumbers::Wide => (spread(near.saturating_sub(16), 36), random & ones),
        TestNumbers::Any => return any,
        TestNumbers::Full => (format.bias() as u64, ones),
        TestNumbers::Tiny if draw.is_multiple_of(16) => (0, 0),
        TestNumbers::Sparse if !draw.is_multiple_of(8) => (0, 0),
        _ => (spread(0, 3), random & ones),
    };
    let positive = numbers == TestNumbers::Full || random >> 63 == 0;
    let sign = if positive { 0 } else { format.sign_mask() };
    let magnitude = (field << format.fraction_bits() | fraction) << format.ignored_bits();
    magnitude.min(format.max_finite(false)) | sign
}

fn scale_code(scale: Scale, numbers: TestNumbers, random: u64) -> u64 {
    let one = (scale.format.bias() as u64) << scale.format.fraction_bits();
    match numbers {
        TestNumbers::Near | TestNumbers::Full => one + random % 5 - 2,
        TestNumbers::Cancelling | TestNumbers::Opposite => one,
        TestNumbers::Wide | TestNumbers::Low => one + random % 41 - 20,
        TestNumbers::Any if random.is_multiple_of(64) => scale.format.max_code(),
        TestNumbers::Any => one + random % 101 - 50,
        // Products near where results leave the normal numbers.
        TestNumbers::Tiny | TestNumbers::Sparse => (one - 50).saturating_sub(random % 17),
    }
}
