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
}

impl TestNumbers {
    pub const ALL: [TestNumbers; 6] = [
        TestNumbers::Near,
        TestNumbers::Wide,
        TestNumbers::Any,
        TestNumbers::Full,
        TestNumbers::Tiny,
        TestNumbers::Sparse,
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
        let mut matrix = |format: Format, rows: usize, columns: usize, numbers| {
            let codes: Vec<_> = (0..rows * columns)
                .map(|i| {
                    let code = code(format, numbers, random.word());
                    // Specials in a few lines alone, or they would be all that there is.
                    let finite = format.unpack(code).class == Class::Finite;
                    let allowed = finite || (i / columns) % 16 == 3;
                    if allowed { code } else { 0 }
                })
                .collect();
            codes
        };
        let a = matrix(formats.a, m, k, numbers);
        let columns = matrix(formats.b, n, k, numbers);
        let b: Vec<_> = (0..k * n).map(|i| columns[i % n * k + i / n]).collect();
        let addend = match numbers {
            TestNumbers::Near | TestNumbers::Full => TestNumbers::Near,
            TestNumbers::Wide | TestNumbers::Any => TestNumbers::Wide,
            TestNumbers::Tiny | TestNumbers::Sparse => TestNumbers::Tiny,
        };
        let c_codes = matrix(formats.addend, m, n, addend);
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
        TestNumbers::Wide if draw.is_multiple_of(8) => (0, 0),
        TestNumbers::Wide => (spread(near.saturating_sub(16), 36), random & ones),
        TestNumbers::Any => return any,
        TestNumbers::Full => (format.bias() as u64, ones),
        TestNumbers::Tiny if draw.is_multiple_of(16) => (0, 0),
        TestNumbers::Sparse if !draw.is_multiple_of(8) => (0, 0),
        TestNumbers::Tiny | TestNumbers::Sparse => (spread(0, 3), random & ones),
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
        TestNumbers::Wide => one + random % 41 - 20,
        TestNumbers::Any if random.is_multiple_of(64) => scale.format.max_code(),
        TestNumbers::Any => one + random % 101 - 50,
        // Products near where results leave the normal numbers.
        TestNumbers::Tiny | TestNumbers::Sparse => (one - 50).saturating_sub(random % 17),
    }
}
