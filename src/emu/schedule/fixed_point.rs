//! FP64 products by slices of integers: operands on a grid of their row or column, exact sums of INT8 products, and the
//! sums of diagonals added in FP64.

use super::run::Run;
use super::{BoundSchedule, Values};
use crate::num::{Format, Rounding, Target, fma};
use crate::tensor::{Plane, Tensor, parallel};
use crate::{Engine, Problem};

const FP64: Format = Format::Fp64;
const SPECIAL: u64 = 0x7ff;
const NAN: u64 = 0x7fff_ffff_ffff_ffff;
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// Refuses infinities and NaNs: kernels leave them to other code, which is not published.
///
/// # Errors
/// Where the first is.
pub(super) fn check(values: &Values, problem: &Problem) -> Result<(), String> {
    let factors = values.wide.unwrap_or([ONE; 2]);
    if factors.iter().any(|&code| exponent_field(code) == SPECIAL) {
        return Err("alpha and beta must be finite".into());
    }
    let (a, b, c) = (Some(problem.a), Some(problem.b), problem.c);
    for (name, planes) in [("A", a), ("B", b), ("C", c)] {
        let Some(planes) = planes else { continue };
        for batch in 0..planes.batches() {
            let plane = planes.plane(batch);
            let turned = !plane.has_rows_together();
            let plane = if turned { plane.transposed() } else { plane };
            let special = |row: usize| {
                let mut codes = Vec::new();
                plane.read_codes(row, 0..plane.columns, &mut codes);
                codes
                    .iter()
                    .position(|&code| exponent_field(code) == SPECIAL)
            };
            let found = parallel::map(plane.rows, special);
            let found = found.into_iter().enumerate();
            if let Some((row, column)) = found.filter_map(|(row, at)| Some((row, at?))).next() {
                let at = if turned { [column, row] } else { [row, column] };
                return Err(format!(
                    "{name} has an infinity or a NaN at {at:?}; kernels that take FP64 operands apart treat them in \
                     code that is not published"
                ));
            }
        }
    }
    Ok(())
}

fn exponent_field(code: u64) -> u64 {
    code >> 52 & SPECIAL
}

/// By how much the numbers of a row are shifted so that their leading slice holds them.
fn shift_of(codes: &[u64]) -> i32 {
    let magnitudes = codes.iter().map(|code| code << 1 >> 1);
    let largest = magnitudes.max().unwrap_or(0);
    let exponent = exponent_field(largest) as i32 + 1 - 1023;
    // The carry of a lower slice could make +128 of a leading slice of six ones.
    let six_ones = largest >> 46 & 0x3f == 0x3f;
    7 - exponent - i32::from(six_ones)
}

/// The slices of a number, the most significant first.
fn slice(code: u64, shift: i32, slices: &mut [i8]) {
    slices.fill(0);
    let number = FP64.unpack(code);
    if number.significand == 0 {
        return;
    }
    let significand = u128::from(number.significand);
    let lsb = number.exponent - FP64.fraction_bits() as i32;
    let leading = 127 - significand.leading_zeros() as i32 + lsb;
    let mut count = slices.len();
    let place = leading + shift + 8 * (count as i32 - 1);
    if place < 0 {
        return;
    }
    // 63 bits are cut at a time: the lowest slices of large numbers are none.
    if place >= 63 {
        count -= (place as usize + 1 - 63).div_ceil(8);
    }
    let by = lsb + shift + 8 * (count as i32 - 1);
    let cut = match by {
        0.. => significand << by,
        _ => significand >> -by,
    };
    let mut rest = if number.negative {
        -(cut as i64)
    } else {
        cut as i64
    };
    for slice in slices[..count].iter_mut().rev() {
        *slice = rest as i8;
        rest = (rest >> 8) + i64::from(*slice < 0);
    }
}

/// The rows of a matrix, each with its slices one after another, and the shifts of rows. In `reverse` the least significant
/// slices are first.
fn sliced(plane: Plane, slices: usize, reverse: bool) -> (Tensor, Vec<i32>) {
    let (rows, k) = (plane.rows, plane.columns);
    let mut payload = vec![0; rows * slices * k];
    let shifts = parallel::map(rows, |row| {
        let mut codes = Vec::new();
        plane.read_codes(row, 0..k, &mut codes);
        shift_of(&codes)
    });
    parallel::chunks_mut(&mut payload, slices * k, &|row, out: &mut [u8]| {
        let mut codes = Vec::new();
        plane.read_codes(row, 0..k, &mut codes);
        let mut of_one = vec![0; slices];
        for (at, &code) in codes.iter().enumerate() {
            slice(code, shifts[row], &mut of_one);
            for (i, &byte) in of_one.iter().enumerate() {
                let place = if reverse { slices - 1 - i } else { i };
                out[place * k + at] = byte as u8;
            }
        }
    });
    (
        Tensor::from_payload(Format::Int8, vec![rows, slices * k], payload),
        shifts,
    )
}

impl Run<'_, '_> {
    /// A block of D: codes of FP64.
    pub(super) fn fixed_point(
        &mut self,
        kernel: &BoundSchedule,
        problem: &Problem,
        slices: usize,
    ) -> Vec<u64> {
        let Problem { m, n, k, .. } = *problem;
        let (a, of_rows) = sliced(problem.a.plane(0), slices, false);
        let (b, of_columns) = sliced(problem.b.transposed().plane(0), slices, true);
        let [alpha, beta] = kernel.values.wide.unwrap_or([ONE; 2]);
        // With a beta of zero no kernel reads C.
        let c = problem.c.filter(|_| beta << 1 != 0);
        let exactly = matches!(self.replay.engine, Engine::Exact);
        let mut d = match c {
            None => vec![0; m * n],
            Some(c) => {
                let c = c.plane(0);
                let product =
                    |i: usize| multiply_add(exactly, beta, c.code(i / n, i % n), NEGATIVE);
                parallel::map(m * n, product)
            }
        };
        for diagonal in (0..slices).rev() {
            let a = a.planes().part(0..m, 0..(diagonal + 1) * k);
            let b = b
                .planes()
                .part(0..n, (slices - 1 - diagonal) * k..slices * k);
            let product = Problem::with_any_k(a, b.transposed(), None);
            let sums = self.codes(&product.expect("slices that fit"));
            let down = -8 * diagonal as i32;
            parallel::chunks_mut(&mut d, n, &|row, d: &mut [u64]| {
                let sums = sums[row * n..].iter().zip(&of_columns);
                for (d, (&sum, of_column)) in d.iter_mut().zip(sums) {
                    let sum = scaled(sum as u32 as i32, down - of_rows[row] - of_column);
                    *d = multiply_add(exactly, alpha, sum, *d);
                }
            });
        }
        d
    }
}

/// -0, to which a product is added without a change.
const NEGATIVE: u64 = 1 << 63;

/// An integer times a power of two, rounded where the result is subnormal.
fn scaled(sum: i32, power: i32) -> u64 {
    let target = Target::full(FP64, Rounding::NearestEven);
    target.round(sum < 0, sum.unsigned_abs().into(), power, false)
}

/// `x * y + z` in FP64, rounded once.
fn multiply_add(exactly: bool, x: u64, y: u64, z: u64) -> u64 {
    if exactly {
        let number = |code| FP64.unpack(code);
        let target = Target::full(FP64, Rounding::NearestEven);
        return fma(
            ([FP64; 2], number(x), number(y)),
            (FP64, number(z)),
            target,
            NAN,
        );
    }
    let sum = f64::from_bits(x).mul_add(f64::from_bits(y), f64::from_bits(z));
    if sum.is_nan() { NAN } else { sum.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What slices stand for is the number, cut toward zero where it is longer than they are.
    #[test]
    fn slices_add_up_to_the_number() {
        let row = [1.999, -0.75, 1e-3, -1.0 / 3.0, 3e-9, 0.0].map(f64::to_bits);
        let shift = shift_of(&row);
        for count in [5, 7, 8] {
            for code in row {
                let mut slices = vec![0; count];
                slice(code, shift, &mut slices);
                let sum = slices
                    .iter()
                    .fold(0, |sum, &byte| (sum << 8) + i128::from(byte));
                let unit = 2f64.powi(-8 * (count as i32 - 1) - shift);
                let x = f64::from_bits(code);
                assert_eq!(sum, (x / unit) as i128, "{x} in {count}");
            }
        }
    }
}
