//! The epilogue: from a finished sum to D.

use super::f32ops::{IntegerOperation, Observed, Ops};
use super::values::{ONE, f32_code};
use super::{BiasAdded, BoundSchedule, Combine, Function, Multiply, ScaledAt, Scaling, WithoutC};
use crate::num::{Format, Rounding, round_code};
use crate::tensor::Planes;

/// The epilogue of the sums of a part.
#[derive(Clone, Copy)]
pub struct Finish<'a, O> {
    pub ops: O,
    pub kernel: &'a BoundSchedule<'a>,
    pub accumulator: Format,
    /// D's format.
    pub result: Format,
    /// Of the part, if the epilogue adds it.
    pub c: Option<Planes<'a>>,
    /// The scales of B that finished sums are multiplied by, for every column of the part, if there are any.
    pub columns: Option<&'a [u32]>,
}

impl Multiply {
    /// A sum times its scales, each product rounded.
    #[inline(always)]
    pub fn apply(self, ops: impl Ops, sum: u32, a: u32, b: u32) -> u32 {
        match self {
            Multiply::Joint | Multiply::JointFma | Multiply::Alpha => ops.mul(sum, ops.mul(a, b)),
            Multiply::AThenB | Multiply::AThenBFma => ops.mul(ops.mul(sum, a), b),
            Multiply::BThenA => ops.mul(ops.mul(sum, b), a),
            Multiply::BAlone => ops.mul(sum, b),
        }
    }

    /// A sum times its scales plus something, the last product and the sum rounded once.
    fn fused(self, ops: impl Ops, sum: u32, [a, b]: [u32; 2], plus: u32) -> u32 {
        let (x, last) = match self {
            Multiply::Joint | Multiply::JointFma | Multiply::Alpha => (sum, ops.mul(a, b)),
            Multiply::AThenB | Multiply::AThenBFma => (ops.mul(sum, a), b),
            Multiply::BThenA => (ops.mul(sum, b), a),
            Multiply::BAlone => (sum, b),
        };
        ops.fma(x, last, plus)
    }
}

impl<O: Ops> Finish<'_, O> {
    /// The codes of D of a row of the part.
    #[inline(always)]
    pub fn row(&self, row: usize, sums: &[u32], out: &mut [u64]) {
        let integers = [self.accumulator, self.result] == [Format::Int32; 2];
        if integers || self.is_bare() {
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out = if integers {
                    sum.into()
                } else {
                    self.round(sum)
                };
            }
            return;
        }
        if self.plain_row(row, sums, out) {
            return;
        }
        for (column, (out, &sum)) in out.iter_mut().zip(sums).enumerate() {
            *out = self.round(self.before_rounding(row, column, sum));
        }
    }

    /// [`Finish::row`] for sums that are only scaled: without C, a bias or a function, elements of a row differ in
    /// their scales alone. False if there is more to do.
    #[inline(always)]
    fn plain_row(&self, row: usize, sums: &[u32], out: &mut [u64]) -> bool {
        let BoundSchedule {
            spec,
            values,
            place,
            ..
        } = *self.kernel;
        let plain = !O::OBSERVED
            && self.accumulator == Format::Fp32
            && self.c.is_none()
            && self.result_scale().is_none()
            && spec.epilogue.function.is_none()
            && self.scaling_of_result().is_none()
            && !values.has_bias();
        let scaling = self.scaling();
        if !plain || scaling.is_some() && self.columns.is_none() {
            return false;
        }
        let (ops, alpha) = (self.ops, self.alpha());
        let each = out.iter_mut().zip(sums);
        let add_zero = spec.epilogue.without_c == WithoutC::AddZero;
        // Each loop is a plain one, without closures, so that it is compiled for the vectors.
        let Some(scaling) = scaling else {
            match (add_zero, alpha) {
                (true, _) => {
                    for (out, &sum) in each {
                        *out = self.round(ops.fma(alpha, sum, 0));
                    }
                }
                // Times one, only a NaN's code would change.
                (false, ONE) => {
                    for (out, &sum) in each {
                        *out = self.round(sum);
                    }
                }
                (false, _) => {
                    for (out, &sum) in each {
                        *out = self.round(ops.mul(alpha, sum));
                    }
                }
            }
            return true;
        };
        let adds_zero = add_zero || spec.epilogue.bias == BiasAdded::FusedOrZero;
        if adds_zero || alpha != ONE {
            return false;
        }
        let a = values.scale_a(scaling.per, place.batch, place.row_of(row), 0);
        let each = each.zip(self.columns.unwrap_or_default());
        match scaling.multiply {
            Multiply::AThenB | Multiply::AThenBFma => {
                for ((out, &sum), &b) in each {
                    *out = self.round(ops.mul(ops.mul(sum, a), b));
                }
            }
            _ => {
                for ((out, &sum), &b) in each {
                    *out = self.round(scaling.multiply.apply(ops, sum, a, b));
                }
            }
        }
        true
    }

    /// The scales of B that finished sums of so many columns are multiplied by.
    pub fn scales_of_columns(&self, count: usize) -> Option<Vec<u32>> {
        let scaling = self.scaling()?;
        let BoundSchedule { values, place, .. } = self.kernel;
        let columns = place.column..place.column + count;
        let scale = |column| values.scale_b(scaling.per, place.batch, column, 0);
        Some(columns.map(scale).collect())
    }

    /// The scales that the finished sum is multiplied by.
    fn scaling(&self) -> Option<&Scaling> {
        let scaling = self.kernel.spec.scales.as_ref()?;
        let late = scaling.at == ScaledAt::Epilogue && scaling.multiply != Multiply::Alpha;
        late.then_some(scaling)
    }

    /// The scales that the rounded sum is multiplied by.
    fn scaling_of_result(&self) -> Option<&Scaling> {
        let scaling = self.kernel.spec.scales.as_ref()?;
        (scaling.at == ScaledAt::Result).then_some(scaling)
    }

    /// What results are multiplied by before their conversion.
    fn result_scale(&self) -> Option<u32> {
        let fp8 = matches!(self.result, Format::E4m3 | Format::E5m2);
        self.kernel.spec.epilogue.result_scale.filter(|_| fp8)?;
        self.kernel.values.scale_result
    }

    /// What the sum is multiplied by where C is added.
    fn alpha(&self) -> u32 {
        let BoundSchedule {
            spec,
            values,
            place,
            ..
        } = self.kernel;
        match &spec.scales {
            Some(scaling) if scaling.multiply == Multiply::Alpha && values.has_scales() => {
                let a = values.scale_a(scaling.per, place.batch, 0, 0);
                let b = values.scale_b(scaling.per, place.batch, 0, 0);
                self.ops.mul(a, b)
            }
            _ => values.alpha,
        }
    }

    /// Whether nothing is left to do but rounding.
    fn is_bare(&self) -> bool {
        let BoundSchedule { spec, values, .. } = self.kernel;
        self.accumulator == Format::Fp32
            && self.c.is_none()
            && self.scaling().is_none()
            && self.scaling_of_result().is_none()
            && self.result_scale().is_none()
            && spec.epilogue.function.is_none()
            && spec.epilogue.without_c == WithoutC::Multiply
            && self.alpha() == ONE
            && !values.has_bias()
    }

    /// D before its conversion, in f32.
    pub fn before_rounding(&self, row: usize, column: usize, sum: u32) -> u32 {
        let BoundSchedule {
            spec,
            values,
            place,
            ..
        } = *self.kernel;
        let at = [place.batch, place.row_of(row), place.column + column];
        let mut x = match self.accumulator {
            Format::Int32 => self.converted(self.less_zero_point(sum, at)),
            _ => sum,
        };
        let mut bias = values.bias(at[0], at[2]);
        if spec.epilogue.bias == BiasAdded::FusedOrZero {
            bias = bias.or(Some(0));
        }
        let scales = |scaling: &Scaling| {
            [
                values.scale_a(scaling.per, at[0], at[1], 0),
                values.scale_b(scaling.per, at[0], at[2], 0),
            ]
        };
        if let Some(scaling) = self.scaling() {
            let [a, b] = scales(scaling);
            self.ops.observe(Observed::Stage("scales"));
            x = match bias {
                Some(of) if spec.epilogue.bias.is_fused() => {
                    bias = None;
                    scaling.multiply.fused(self.ops, x, [a, b], of)
                }
                _ => scaling.multiply.apply(self.ops, x, a, b),
            };
        }
        self.ops.observe(Observed::Stage("epilogue"));
        let alpha = self.alpha();
        x = match self.addend(row, column) {
            Some(c) => self.combine(x, c, values.beta),
            None if spec.epilogue.without_c == WithoutC::AddZero => self.ops.fma(alpha, x, 0),
            // Times one, only a NaN's code would change, and the tensor core's are as canonical.
            None if alpha == ONE => x,
            None => self.ops.mul(alpha, x),
        };
        if let Some(scaling) = self.scaling_of_result() {
            let [a, b] = scales(scaling);
            x = self.through(x, self.result);
            self.ops.observe(Observed::Stage("scales of the result"));
            x = scaling.multiply.apply(self.ops, x, a, b);
        }
        if let Some(bias) = bias {
            if spec.epilogue.bias == BiasAdded::AfterRounding {
                x = self.through(x, self.result);
            }
            self.ops.observe(Observed::Stage("bias"));
            x = self.ops.add(x, bias);
        }
        if let Some(function) = spec.epilogue.function {
            let from = x;
            x = function.of(from);
            let to = x;
            self.ops.observe(Observed::Applied { function, from, to });
        }
        match self.result_scale() {
            Some(scale) => {
                self.ops.observe(Observed::Stage("scale of the result"));
                self.ops.mul(x, scale)
            }
            None => x,
        }
    }

    /// An integer sum of the element at `at` (matrix, row and column) less its zero point, modulo 2^32.
    fn less_zero_point(&self, sum: u32, [batch, row, column]: [usize; 3]) -> u32 {
        let Some(of) = self.kernel.spec.zero_point else {
            return sum;
        };
        let integers = |operation, operands, result| {
            self.ops.observe(Observed::Integers {
                operation,
                operands,
                result,
            });
            result
        };
        self.ops.observe(Observed::Stage("zero point"));
        let (row, column) = self.kernel.values.zero_point(of, batch, row, column);
        let off = row.map_or(column, |row| {
            let product = row.wrapping_mul(column);
            integers(IntegerOperation::Multiply, [row, column], product)
        });
        let left = sum.wrapping_sub(off);
        integers(IntegerOperation::Subtract, [sum, off], left)
    }

    /// An integer as f32.
    fn converted(&self, from: u32) -> u32 {
        let (int32, fp32) = (Format::Int32, Format::Fp32);
        let to = round_code(int32, from.into(), fp32, Rounding::NearestEven, 0) as u32;
        self.ops.observe(Observed::Converted { from, to });
        to
    }

    /// C's element, unless beta is zero: then no kernel reads C.
    pub fn addend(&self, row: usize, column: usize) -> Option<u32> {
        let zero = self.kernel.values.beta << 1 == 0;
        let c = self.c.filter(|_| !zero)?;
        let format = c.tensor().format();
        Some(f32_code(format, c.plane(0).code(row, column)))
    }

    /// `alpha * sum + beta * c`.
    #[inline(always)]
    fn combine(&self, sum: u32, c: u32, beta: u32) -> u32 {
        let alpha = self.alpha();
        let addend = self.ops.mul(beta, c);
        match self.kernel.spec.epilogue.combine {
            Combine::Fma => self.ops.fma(alpha, sum, addend),
            Combine::Separate => self.ops.add(self.ops.mul(alpha, sum), addend),
        }
    }

    /// D after one more slice of a serial split: beta of the stored D is 1.
    #[inline(always)]
    pub fn serial(&self, stored: u64, sum: u32) -> u64 {
        self.ops
            .observe(Observed::Stage("added to D as it is stored"));
        self.round(self.combine(sum, self.widen(stored), ONE))
    }

    /// A code of D's format as f32.
    #[inline(always)]
    pub fn widen(&self, code: u64) -> u32 {
        self.ops.widen(code, self.result)
    }

    /// An f32 as a code of D's format.
    #[inline(always)]
    pub fn round(&self, code: u32) -> u64 {
        self.rounded(code, self.result)
    }

    /// An f32 rounded to a format, and back.
    #[inline(always)]
    pub fn through(&self, code: u32, format: Format) -> u32 {
        self.ops.widen(self.rounded(code, format), format)
    }

    #[inline(always)]
    fn rounded(&self, from: u32, format: Format) -> u64 {
        let to = self.ops.round(from, format);
        if format != Format::Fp32 {
            self.ops.observe(Observed::Rounded { from, to, format });
        }
        to
    }
}

impl Function {
    /// On an f32's code. Negative numbers, -0 among them, become +0.
    fn of(self, x: u32) -> u32 {
        let nan = x << 1 > 0xff00_0000;
        match self {
            Function::ReluNan if nan => x,
            Function::Relu if nan => 0,
            Function::Relu | Function::ReluNan if x >> 31 == 1 => 0,
            Function::Relu | Function::ReluNan => x,
            Function::Gelu | Function::Silu => unreachable!("no valid schedule has it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `max` with +0: of NaNs either none or all are left, whatever their sign and fraction.
    #[test]
    fn the_larger_of_x_and_zero() {
        for x in [1, ONE, 0x7f7f_ffff, 0x7f80_0000] {
            assert_eq!([Function::Relu, Function::ReluNan].map(|f| f.of(x)), [x; 2]);
            let negative = x | 0x8000_0000;
            assert_eq!(
                [Function::Relu, Function::ReluNan].map(|f| f.of(negative)),
                [0; 2]
            );
        }
        assert_eq!(
            [Function::Relu, Function::ReluNan].map(|f| f.of(0x8000_0000)),
            [0; 2]
        );
        for nan in [0x7f80_0001, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff] {
            assert_eq!(
                [Function::Relu, Function::ReluNan].map(|f| f.of(nan)),
                [0, nan]
            );
        }
    }
}
