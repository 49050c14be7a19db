//! A row of scores in one thread, as FlashAttention-4 has it: a maximum that may stay, powers by the unit or by a
//! polynomial depending on their position, sums in pairs.

use super::{Kernel, State};
use crate::float32::{
    Arith, Exactly, Function, MINUS_INFINITY, ONE, code, ex2_polynomial, max, mufu, negated,
    ordered,
};
use crate::rule::{RowSum, RowThread};
use crate::tensor::Tensor;

impl Kernel<'_> {
    /// Whether the kernel masks a block of keys for this query's tile: the last block, and those that the diagonal crosses.
    pub(super) fn masked(&self, head: usize, token: usize, block: usize) -> bool {
        let [m, n] = self.tile;
        let shared = self.at.heads / self.at.kv_heads;
        // Heads that share keys are rows of one tile.
        let first = (token * shared + head % shared) / m * m / shared;
        let last = self.at.keys.div_ceil(n) - 1;
        let before_diagonal = (first + self.at.keys).checked_sub(self.at.queries);
        block == last || self.causal && before_diagonal.is_none_or(|keys| block >= keys / n)
    }

    /// Scores into powers. `block` says whether it is the first one, where its keys begin, and for which rows it is masked.
    pub(super) fn block_of_threads<A: Arith>(
        &self,
        a: A,
        thread: &RowThread,
        (first, keys, masked): (bool, usize, Vec<bool>),
        mut scores: Vec<u32>,
        state: &mut State,
    ) -> Tensor {
        let to = self.q.format;
        let polynomial = thread.polynomial.as_ref();
        let coefficients = polynomial.map_or(&[][..], |polynomial| &polynomial.coefficients);
        let coefficients: Vec<u32> = coefficients.iter().map(|c| c.0).collect();
        let under_masks = polynomial.is_some_and(|polynomial| polynomial.under_masks);
        let none = vec![false; self.tile[1]];
        let mut codes = Vec::with_capacity(scores.len() * to.bytes());
        for (row, scores) in scores.chunks_mut(self.tile[1]).enumerate() {
            let before = state.largest[row];
            let mut largest = scores.iter().fold(before, |largest, &s| max(largest, s));
            a.noted(|| "the largest score so far".to_owned(), largest);
            let mut correction = ONE;
            if !first {
                a.stage(format_args!("the old sum, scaled to the new maximum"));
                let difference = a.mul(a.sub(before, finite(largest)), self.scale);
                let power = a.mufu(Function::Ex2, difference);
                if stays(difference, thread.rescale_from) {
                    largest = before;
                    a.noted(|| "not scaled: the maximum stays".to_owned(), largest);
                } else {
                    correction = power;
                    self.scaled(a, row, correction, state);
                }
            }
            state.largest[row] = largest;
            let flags = if masked[row] && !under_masks {
                &none
            } else {
                &self.polynomial
            };
            a.stage(format_args!("powers of scores"));
            let scaled = negated(a.mul(finite(largest), self.scale));
            let mut exponents = vec![0; scores.len()];
            for ((s, exponent), &flag) in scores.iter_mut().zip(&mut exponents).zip(flags) {
                *exponent = a.fma(*s, self.scale, scaled);
                *s = if flag {
                    ex2_polynomial(a, &coefficients, *exponent)
                } else {
                    a.mufu(Function::Ex2, *exponent)
                };
            }
            for by_polynomial in [false, true] {
                if !flags.contains(&by_polynomial) {
                    continue;
                }
                let (this, other) = if by_polynomial {
                    ("the polynomial", "MUFU.EX2")
                } else {
                    ("MUFU.EX2", "the polynomial")
                };
                a.stage(format_args!(
                    "powers by {this}, with what {other} would give"
                ));
                let each = exponents.iter().zip(&*scores).zip(flags);
                for (key, ((&exponent, &power), &flag)) in (keys..self.at.keys).zip(each) {
                    let said = || {
                        let other = if by_polynomial {
                            mufu(Function::Ex2, exponent)
                        } else {
                            ex2_polynomial(Exactly, &coefficients, exponent)
                        };
                        format!("key {key} by {this} ({other:08x})")
                    };
                    if flag == by_polynomial {
                        a.noted(said, power);
                    }
                }
            }
            a.stage(format_args!("the sum of powers"));
            let old = (!first).then(|| a.mul(state.sums[row][0], correction));
            state.sums[row][0] = summed(a, &thread.sum, old, scores);
            a.stage(format_args!("powers rounded to {to}"));
            for &p in &*scores {
                let code = a.round(p, to).to_le_bytes();
                codes.extend_from_slice(&code[..to.bytes()]);
            }
        }
        Tensor::from_payload(to, vec![state.largest.len(), self.tile[1]], codes)
    }
}

/// A maximum to subtract: 0 of a row that is masked as a whole.
fn finite(largest: u32) -> u32 {
    match largest {
        MINUS_INFINITY => 0,
        largest => largest,
    }
}

/// Whether a maximum that rose by so little, in powers of two, is left as it is; not for NaN.
fn stays(difference: u32, rescale_from: u8) -> bool {
    let limit = code(-f32::from(rescale_from));
    rescale_from > 0 && !super::is_nan(difference) && ordered(difference) >= ordered(limit)
}

/// Powers and the old sum, added up.
fn summed<A: Arith>(a: A, order: &RowSum, old: Option<u32>, powers: &[u32]) -> u32 {
    let accumulators = match order {
        RowSum::InOrder => 1,
        RowSum::Packed8 => 8,
    };
    let mut sums = powers[..accumulators].to_vec();
    if let Some(old) = old {
        // The others of the first pair begin at +0, which changes no power.
        sums[0] = a.add(old, sums[0]);
    }
    for (i, &p) in powers.iter().enumerate().skip(accumulators) {
        let sum = &mut sums[i % accumulators];
        *sum = a.add(*sum, p);
    }
    match sums[..] {
        [a0, a1, a2, a3, a4, a5, a6, a7] => {
            let even = a.add(a.add(a0, a2), a.add(a4, a6));
            let odd = a.add(a.add(a1, a3), a.add(a5, a7));
            a.add(even, odd)
        }
        _ => sums[0],
    }
}
