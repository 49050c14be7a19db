//! The epilogue: from a finished sum to D.

use super::f32ops::{Ops, Told};
use super::values::{ONE, f32_code};
use super::{Combine, Kernel, Multiply, ScaledAt};
use crate::num::{Format, Rounding, round_code};
use crate::tensor::Planes;

/// What the sums of a part go through.
#[derive(Clone, Copy)]
pub struct Finish<'a, O> {
    pub ops: O,
    pub kernel: &'a Kernel<'a>,
    pub accumulator: Format,
    /// D's format.
    pub result: Format,
    /// Of the part, if the epilogue adds it.
    pub c: Option<Planes<'a>>,
}

impl Multiply {
    /// A sum times its scales, each product rounded.
    #[inline(always)]
    pub fn apply(self, ops: impl Ops, sum: u32, a: u32, b: u32) -> u32 {
        match self {
            Multiply::Joint | Multiply::JointFma => ops.mul(sum, ops.mul(a, b)),
            Multiply::AThenB | Multiply::AThenBFma => ops.mul(ops.mul(sum, a), b),
            Multiply::BThenA => ops.mul(ops.mul(sum, b), a),
        }
    }
}

impl<O: Ops> Finish<'_, O> {
    /// The codes of D of a row of the part.
    #[inline(always)]
    pub fn row(&self, row: usize, sums: &[u32], out: &mut [u64]) {
        let integers = [self.accumulator, self.result] == [Format::Int32; 2];
        if integers || self.is_bare() {
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out = match integers {
                    true => sum.into(),
                    false => self.round(sum),
                };
            }
            return;
        }
        for (column, (out, &sum)) in out.iter_mut().zip(sums).enumerate() {
            *out = self.round(self.before_rounding(row, column, sum));
        }
    }

    /// Whether nothing is left to do but rounding.
    fn is_bare(&self) -> bool {
        let scaled = self.kernel.recipe.scales.as_ref();
        let scaled = scaled.is_some_and(|scaling| scaling.at == ScaledAt::Epilogue);
        let values = self.kernel.values;
        self.accumulator == Format::Fp32
            && self.c.is_none()
            && !scaled
            && values.alpha == ONE
            && !values.has_bias()
    }

    /// D before its conversion, in f32.
    pub fn before_rounding(&self, row: usize, column: usize, sum: u32) -> u32 {
        let Kernel {
            recipe,
            values,
            place,
        } = *self.kernel;
        let mut x = match self.accumulator {
            Format::Int32 => round_code(
                Format::Int32,
                sum.into(),
                Format::Fp32,
                Rounding::NearestEven,
                0,
            ) as u32,
            _ => sum,
        };
        let at = [place.batch, place.row_of(row), place.column + column];
        if let Some(scaling) = recipe
            .scales
            .as_ref()
            .filter(|s| s.at == ScaledAt::Epilogue)
        {
            let a = values.scale_a(scaling.per, at[0], at[1], 0);
            let b = values.scale_b(scaling.per, at[0], at[2], 0);
            self.ops.told(Told::Stage("scales"));
            x = scaling.multiply.apply(self.ops, x, a, b);
        }
        self.ops.told(Told::Stage("epilogue"));
        x = match self.addend(row, column) {
            // Times one, only a NaN's code would change, and the tensor core's are as canonical.
            None if values.alpha == ONE => x,
            None => self.ops.mul(values.alpha, x),
            Some(c) => self.combine(x, c, values.beta),
        };
        match values.bias(at[0], at[2]) {
            Some(bias) => {
                self.ops.told(Told::Stage("bias"));
                self.ops.add(x, bias)
            }
            None => x,
        }
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
        let alpha = self.kernel.values.alpha;
        let addend = self.ops.mul(beta, c);
        match self.kernel.recipe.epilogue.combine {
            Combine::Fma => self.ops.fma(alpha, sum, addend),
            Combine::Separate => self.ops.add(self.ops.mul(alpha, sum), addend),
        }
    }

    /// D after one more slice of a serial split: what is stored counts once.
    #[inline(always)]
    pub fn serial(&self, stored: u64, sum: u32) -> u64 {
        self.ops.told(Told::Stage("added to D as it is stored"));
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
        let rounded = self.ops.round(code, self.result);
        if self.result != Format::Fp32 {
            self.ops.told(Told::Rounded {
                from: code,
                to: rounded,
            });
        }
        rounded
    }
}
