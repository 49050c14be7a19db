//! Which models the kernel can compute, and the constants it needs for one.

use tcverify_num::{Format, Formats, Rounding, Scale};

/// Rows of A of formats with absolute exponents are moved down by this many binades, so that products
/// are below 2 as those of others and F - E is not negative. They have room for it: products of such
/// formats span 62 binades.
pub const DOWN: i32 = 30;

/// The exponent of a zero for chains that round down: so low that no product with a zero has that of another.
pub const ZERO: i32 = -64;

/// How a step's sum becomes the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// FP32, toward zero to 24 bits.
    Fp32,
    /// FP32, toward zero to fewer bits: this mask keeps them.
    Fp32Masked(i32),
    /// FP32, for sums that fit an f32's 24 bits, so that their conversion is exact.
    Fp32Short(i32),
    /// FP16, to nearest even.
    Fp16,
    /// FP16, for sums that fit an f32's 24 bits.
    Fp16Short,
}

/// A model in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlan {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Products aligned together.
    pub group: usize,
    /// Products of a group that are summed before an overflow of 32 bits must be searched for.
    pub part: usize,
    /// Whether one has to be searched for at all.
    pub checked: bool,
    pub fraction_bits: i32,
    /// The lowest common exponent, biased by 127.
    pub floor: i32,
    pub output: Output,
    /// Two groups in turn from zero, C added last: the order in which the k of a span are taken.
    pub halves: Option<Vec<usize>>,
    /// Scales, powers of two: they move the exponents of operands.
    pub scale: Option<Scale>,
    pub nan: u64,
    /// Whether a result of zero can be -0, which the kernel cannot tell.
    pub minus_zero: bool,
    /// Groups can be chains of FMAs that round down (see `down`), with b * (1 + 2^-nudge) for b.
    pub nudge: Option<i32>,
}

/// The constants of a fused dot-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DotAdd {
    pub group: usize,
    pub fraction_bits: u32,
    pub alignment: Rounding,
    pub zero_exponent: i32,
    pub precision: u32,
    pub rounding: Rounding,
    pub nan: u64,
}

impl GroupPlan {
    /// The plan for dot-adds, two in turn from zero if there is an order in which `halves` takes the
    /// k of a step; none if only the exact engine can compute them.
    pub fn new(fused: DotAdd, formats: Formats, halves: Option<Vec<usize>>) -> Option<GroupPlan> {
        let output = output(&fused, formats.accumulator)?;
        if formats.scale.is_some() && (output == Output::Fp16 || halves.is_some()) {
            return None; // their exponents are absolute
        }
        let (a, b) = (formats.a, formats.b);
        // The product of two significands must be exact in an f32, and codes fit 32 bits; packing
        // takes the largest magnitudes for the special ones.
        let narrow = |format: Format| format.fraction_bits() <= 10;
        let possible = narrow(a)
            && narrow(b)
            && fused.alignment == Rounding::TowardZero
            && (8..=28).contains(&fused.fraction_bits)
            && fused.zero_exponent <= formats.accumulator.min_exponent()
            && (output != Output::Fp16 || (a.exponent_bits() <= 5 && b.exponent_bits() <= 5));
        if !possible {
            return None;
        }
        let fraction_bits = fused.fraction_bits as i32;
        let part = largest_part(&fused, a, b);
        let addend = 1i64 << (fraction_bits + 1);
        let fits = part >= fused.group
            && fused.group as i64 * largest_term(&fused, a, b) + addend < 1 << 31;
        let short = fused.group as i64 * largest_term(&fused, a, b) + addend <= 1 << 24;
        let output = match output {
            Output::Fp32Masked(mask) if short => Output::Fp32Short(mask),
            Output::Fp16 if short => Output::Fp16Short,
            other => other,
        };
        let floor = match output {
            Output::Fp16 | Output::Fp16Short => fused.zero_exponent + 127,
            // Far below any exponent that decides something; see `Exponents::suits`.
            _ => fraction_bits + 1,
        };
        let plan = GroupPlan {
            a,
            b,
            accumulator: formats.accumulator,
            group: fused.group,
            part,
            checked: !fits,
            fraction_bits,
            floor,
            output,
            halves,
            scale: formats.scale,
            nan: fused.nan,
            minus_zero: false,
            nudge: None,
        };
        let nudge = plan.nudge(largest_term(&fused, a, b));
        (part > 0 && floor > fraction_bits).then_some(GroupPlan { nudge, ..plan })
    }

    /// The nudge of chains that round down, where the largest product is so many units of the grid. None if there are none.
    fn nudge(&self, largest: i64) -> Option<i32> {
        let (a, b, f) = (self.a, self.b, self.fraction_bits);
        let short = matches!(self.output, Output::Fp32Short(_) | Output::Fp16Short);
        if !(short && self.absolute() && self.group <= 32) {
            return None;
        }
        let bits = |format: Format| format.fraction_bits() as i32 + 1;
        // The nudge of a product, which is less than 2^(bits of both) times its own last bit, and less than 2^(F + 2) times
        // the grid, is less than either. And b * (1 + 2^-nudge) is a float.
        let nudge = (bits(a) + bits(b)).max(f + 2);
        let exact = nudge + bits(b) <= 24;
        // Sums, the count of negative products among them, stay within 2^22 of the start.
        let count = self.group as i64;
        let near = count * (largest + 2) + (2 << f) < 1 << 22;
        // No product of zeros counts as one of others, nor has a last bit of the grid above it; and what zeros are packed as
        // stays below all grids.
        let (floor, _) = self.signed_floor();
        let farthest = a.max_exponent().max(b.max_exponent());
        let zeros = farthest + ZERO <= floor
            && (self.accumulator == Format::Fp16
                || floor <= a.min_exponent() + b.min_exponent() - f)
            && farthest + 2 - 126 < floor - self.down() - f;
        (exact && near && zeros).then_some(nudge)
    }

    /// For signed exponents of operands at their own scale: the lowest common one, and what makes a float's field of one.
    pub fn signed_floor(&self) -> (i32, i32) {
        let floor = match self.accumulator {
            Format::Fp16 => self.floor - 127,
            _ => self.a.max_exponent().max(self.b.max_exponent()) + ZERO,
        };
        (floor, 127 - self.down())
    }

    /// How many binades rows of absolute exponents are moved down.
    pub fn down(&self) -> i32 {
        match self.accumulator {
            Format::Fp16 => 0,
            _ => DOWN,
        }
    }

    /// As long as the significands of a group of A, in units of their last bit, add up to no more
    /// than this, no sum of its products and an accumulator leaves 32 bits, whatever B holds.
    pub fn weight_limit(&self) -> u32 {
        let largest = (2i64 << self.b.fraction_bits()) - 1;
        let fraction = self.a.fraction_bits() + self.b.fraction_bits();
        // A sum is at most weight * largest * 2^(F - fraction), an addend below 2^(F + 1).
        let room = (1i64 << 31) - 1 - (1 << (self.fraction_bits + 1));
        let weight = (i128::from(room) << fraction) / (i128::from(largest) << self.fraction_bits);
        u32::try_from(weight).unwrap_or(u32::MAX)
    }

    /// Products per step of the model.
    pub fn span(&self) -> usize {
        match &self.halves {
            Some(order) => order.len(),
            None => self.group,
        }
    }

    /// Whether operands are taken at their own scale. Formats of up to five exponent bits need no
    /// other, and FP16 results have an absolute grid.
    pub fn absolute(&self) -> bool {
        self.scale.is_none() && self.a.exponent_bits() <= 5 && self.b.exponent_bits() <= 5
    }
}

fn output(fused: &DotAdd, accumulator: Format) -> Option<Output> {
    let full = accumulator.fraction_bits() + 1 == fused.precision;
    match (accumulator, fused.rounding) {
        (Format::Fp32, Rounding::TowardZero) if full => Some(Output::Fp32),
        (Format::Fp32, Rounding::TowardZero) => {
            Some(Output::Fp32Masked(-1 << (24 - fused.precision)))
        }
        (Format::Fp16, Rounding::NearestEven) if full => Some(Output::Fp16),
        _ => None,
    }
}

/// The largest magnitude of an aligned product, in units of the grid.
fn largest_term(fused: &DotAdd, a: Format, b: Format) -> i64 {
    let significand = |format: Format| (2i64 << format.fraction_bits()) - 1;
    let product = significand(a) * significand(b);
    let fraction = a.fraction_bits() + b.fraction_bits();
    match fused.fraction_bits.checked_sub(fraction) {
        Some(up) => product << up,
        None => product >> (fraction - fused.fraction_bits),
    }
}

/// How many products surely fit a signed 32-bit sum; 0 if not even one does.
fn largest_part(fused: &DotAdd, a: Format, b: Format) -> usize {
    let fit = (i64::from(i32::MAX) / largest_term(fused, a, b)) as usize;
    if fit >= fused.group {
        return fused.group;
    }
    // The largest divisor of the group that fits.
    let divides = |n: &usize| fused.group.is_multiple_of(*n);
    (1..=fit).rev().find(divides).unwrap_or(0)
}
