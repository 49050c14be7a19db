//! The loops over rows of f32 that schedules run between chains, compiled for the vectors of a platform.

use super::Multiply;
use super::f32ops::Ops;
use super::finish::Finish;
use crate::tensor::Wide;

/// The sums of a row, added to the main accumulators.
pub struct Promoted<'r, O> {
    pub ops: O,
    /// How, and the scale of the row and those of the columns.
    pub scaled: Option<(Multiply, u32, &'r [u32])>,
    pub main: &'r mut [u32],
    pub sums: &'r [u32],
}

impl<O: Ops> Wide for Promoted<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Promoted {
            ops,
            scaled,
            main,
            sums,
        } = self;
        let each = main.iter_mut().zip(sums);
        let Some((multiply, a, b)) = scaled else {
            for (main, &sum) in each {
                *main = ops.add(*main, sum);
            }
            return;
        };
        let each = each.zip(b);
        // Chosen once a row, so that each loop is a plain one.
        match multiply {
            Multiply::JointFma => {
                for ((main, &sum), &b) in each {
                    *main = ops.fma(sum, ops.mul(a, b), *main);
                }
            }
            Multiply::AThenBFma => {
                for ((main, &sum), &b) in each {
                    *main = ops.fma(ops.mul(sum, a), b, *main);
                }
            }
            Multiply::Joint
            | Multiply::Alpha
            | Multiply::AThenB
            | Multiply::BThenA
            | Multiply::BAlone => {
                for ((main, &sum), &b) in each {
                    *main = ops.add(*main, multiply.apply(ops, sum, a, b));
                }
            }
        }
    }
}

/// Totals, each with one more sum.
pub struct Updated<'r, T, F> {
    pub totals: &'r mut [T],
    pub sums: &'r [u32],
    pub each: &'r F,
}

impl<T: Copy, F: Fn(&T, u32) -> T> Wide for Updated<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (total, &sum) in self.totals.iter_mut().zip(self.sums) {
            *total = (self.each)(total, sum);
        }
    }
}

/// A row of D.
pub struct Finished<'r, 'k, O> {
    pub finish: &'r Finish<'k, O>,
    pub row: usize,
    pub sums: &'r [u32],
    pub out: &'r mut [u64],
}

impl<O: Ops> Wide for Finished<'_, '_, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.finish.row(self.row, self.sums, self.out);
    }
}
