//! Products of awkward numbers by a device and by the exact engine, before the first use: a wrong driver must not become
//! a wrong verdict.

use tcverify_kernels::{ExactEngine, Specials};
use tcverify_num::random::SplitMix64;
use tcverify_num::{Class, Format, Scale};
use tcverify_tensor::{Block, Problem, Tensor};

use super::device::{Device, FLAG};
use super::plan::ShaderPlan;

/// Rows, columns and k: parts of tiles, and of the k that a workgroup takes.
const SIZE: [usize; 3] = [35, 37, 141];

/// What operands hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    /// Within a few binades of one.
    Near,
    /// Over many binades, with zeros.
    Wide,
    /// Any code, infinities and NaNs among them in some rows.
    Any,
    /// The largest significands at one exponent: the largest sums.
    Full,
    /// The smallest exponents, with zeros.
    Tiny,
    /// Zeros, and a few of those: whole groups of zeros beside the smallest C.
    Sparse,
}

const NUMBERS: [Numbers; 6] = [
    Numbers::Near,
    Numbers::Wide,
    Numbers::Any,
    Numbers::Full,
    Numbers::Tiny,
    Numbers::Sparse,
];

/// Compares a device with the exact engine.
///
/// # Errors
/// If they differ, or the device leaves too much to the exact engine, or fails.
pub fn run(device: &dyn Device, plan: &ShaderPlan, exact: &dyn ExactEngine) -> Result<(), String> {
    let [m, n, k] = SIZE;
    let mut own = 0;
    for (seed, numbers) in NUMBERS.into_iter().enumerate() {
        let product = Product::new(plan, numbers, seed as u64);
        let problem = product.problem()?;
        let have = device.compute(plan, &problem, &|_| {})?;
        let mut want = product.c_codes.clone();
        let block = Block {
            batch: 0,
            rows: 0..m,
            columns: 0..n,
        };
        exact.accumulate(&problem, &block, 0..k, Specials::Themselves, &mut want);
        for (i, (&have, &want)) in have.iter().zip(&want).enumerate() {
            if plan.flags() && have == FLAG {
                continue;
            }
            own += 1;
            if u64::from(have) != want {
                let name = plan.name();
                return Err(format!(
                    "it fails its self-test: {name}, {numbers:?}, element ({}, {}) is {have:#x}, not {want:#x}",
                    i / n,
                    i % n
                ));
            }
        }
    }
    // One that leaves everything to the exact engine is never wrong.
    if own < 2 * m * n {
        let name = plan.name();
        return Err(format!(
            "it fails its self-test: {name}, it leaves most elements"
        ));
    }
    Ok(())
}

struct Product {
    a: Tensor,
    b: Tensor,
    c: Tensor,
    c_codes: Vec<u64>,
    scales: Option<[Tensor; 2]>,
    block: usize,
}

impl Product {
    fn new(plan: &ShaderPlan, numbers: Numbers, seed: u64) -> Product {
        let [m, n, k] = SIZE;
        let mut random = SplitMix64(seed);
        let formats = plan.formats;
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
            Numbers::Near | Numbers::Full => Numbers::Near,
            Numbers::Wide | Numbers::Any => Numbers::Wide,
            Numbers::Tiny | Numbers::Sparse => Numbers::Tiny,
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
        Product {
            a: Tensor::from_codes(formats.a, vec![m, k], &a),
            b: Tensor::from_codes(formats.b, vec![k, n], &b),
            c: Tensor::from_codes(formats.addend, vec![m, n], &c_codes),
            c_codes,
            scales,
            block,
        }
    }

    fn problem(&self) -> Result<Problem<'_>, String> {
        let c = Some(self.c.planes());
        let problem = Problem::new(self.a.planes(), self.b.planes(), c);
        let problem = problem.map_err(|error| error.to_string())?;
        let Some([a, b]) = &self.scales else {
            return Ok(problem);
        };
        let scaled = problem.with_scales(a.planes(), b.planes(), self.block);
        scaled.map_err(|error| error.to_string())
    }
}

fn code(format: Format, numbers: Numbers, random: u64) -> u64 {
    let any = random & format.max_code();
    if format.exponent_bits() == 0 {
        return match numbers {
            Numbers::Full => any | (format.max_code() ^ format.sign_mask()),
            _ => any,
        };
    }
    let ones = (1 << format.fraction_bits()) - 1;
    let top = (1 << format.exponent_bits()) - 1;
    let draw = random >> 32;
    let spread = |low: u64, count: u64| (low + draw % count).min(top);
    let near = (format.bias() as u64).saturating_sub(2).max(1);
    let (field, fraction) = match numbers {
        Numbers::Near => (spread(near, 4), random & ones),
        Numbers::Wide if draw.is_multiple_of(8) => (0, 0),
        Numbers::Wide => (spread(near.saturating_sub(16), 36), random & ones),
        Numbers::Any => return any,
        Numbers::Full => (format.bias() as u64, ones),
        Numbers::Tiny if draw.is_multiple_of(16) => (0, 0),
        Numbers::Sparse if !draw.is_multiple_of(8) => (0, 0),
        Numbers::Tiny | Numbers::Sparse => (spread(0, 3), random & ones),
    };
    let positive = numbers == Numbers::Full || random >> 63 == 0;
    let sign = if positive { 0 } else { format.sign_mask() };
    let magnitude = (field << format.fraction_bits() | fraction) << format.ignored_bits();
    magnitude.min(format.max_finite(false)) | sign
}

fn scale_code(scale: Scale, numbers: Numbers, random: u64) -> u64 {
    let one = (scale.format.bias() as u64) << scale.format.fraction_bits();
    match numbers {
        Numbers::Near | Numbers::Full => one + random % 5 - 2,
        Numbers::Wide => one + random % 41 - 20,
        Numbers::Any if random.is_multiple_of(64) => scale.format.max_code(),
        Numbers::Any => one + random % 101 - 50,
        // Products near where results leave the normal numbers.
        Numbers::Tiny | Numbers::Sparse => one - 50 - random % 17,
    }
}
