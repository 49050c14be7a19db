//! Accumulators before the first panel of k and after the last one.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::Slab;
use crate::context::Flags;
use crate::tile::{MicroKernel, SpecialRule};
use tcverify_num::Format;
use tcverify_tensor::parallel;

impl<K: MicroKernel> Slab<'_, K> {
    /// Accumulators of a block of columns as the kernel wants them: strip by strip, row by row. At
    /// first they are C.
    pub(super) fn initial_state(&self, columns: Range<usize>, flags: &Flags) -> Vec<K::State> {
        let wide = self.wide();
        let strip = self.padded_rows() * wide;
        let count = columns.len().div_ceil(wide) * strip;
        let zero = self.kernel.start(0);
        let mut state = vec![K::State::default(); count];
        let c = self.context.work.problem.c.map(|c| c.plane(self.batch));
        let format = self.context.work.formats.addend;
        let native = self.kernel.specials() == SpecialRule::Native;
        parallel::chunks_mut(&mut state, strip, &|i, state| {
            let left = columns.start + i * wide;
            // Written before it is read, and by all cores: pages come from the system here.
            state.fill(zero);
            let Some(c) = c else { return };
            let count = wide.min(columns.end - left);
            let mut codes = Vec::with_capacity(count);
            for (row, state) in self.rows.clone().zip(state.chunks_mut(wide)) {
                c.read_codes(row, left..left + count, &mut codes);
                for (state, &code) in state.iter_mut().zip(&codes) {
                    let number = format.unpack(code);
                    if !native && (number.is_nan() || number.is_infinite()) {
                        flags.rows[row - self.rows.start].store(true, Ordering::Relaxed);
                    } else {
                        *state = self.kernel.start(code);
                    }
                }
            }
        });
        state
    }

    /// Finished accumulators of a block of columns, as codes in their places.
    pub(super) fn store(&self, columns: Range<usize>, state: &[K::State], out: &mut [u64]) {
        let wide = self.wide();
        let strip = self.padded_rows() * wide;
        let n = self.context.work.problem.n;
        let accumulator = self.context.work.formats.accumulator;
        let sign = accumulator.sign_mask();
        let knows_zeros = self.kernel.knows_zeros();
        let doubtful = |code: u64| !knows_zeros && code & !sign == 0;
        let slowly = |row: usize, column: usize, state: K::State| {
            let code = self.kernel.finish(state).filter(|code| !doubtful(*code));
            code.unwrap_or_else(|| self.context.element(self.batch, row, column))
        };
        // Where an accumulator is its code, storing is copying.
        let at_once = accumulator == Format::Fp32 && knows_zeros;
        parallel::chunks_mut(out, n, &|row, out| {
            let pieces = out[columns.clone()].chunks_mut(wide);
            for (i, (out, state)) in pieces.zip(state.chunks(strip)).enumerate() {
                let left = columns.start + i * wide;
                for (j, (out, &state)) in out.iter_mut().zip(&state[row * wide..]).enumerate() {
                    *out = match K::as_f32(state) {
                        Some(code) if at_once => code.into(),
                        _ => slowly(self.rows.start + row, left + j, state),
                    };
                }
            }
        });
    }

    /// Every element of a row or column with an infinity or NaN, by the exact engine.
    pub(super) fn exactly(&self, flags: &Flags, out: &mut [u64]) {
        let n = self.context.work.problem.n;
        parallel::chunks_mut(out, n, &|row, out| {
            let all = flags.rows[row].load(Ordering::Relaxed);
            for (column, out) in out.iter_mut().enumerate() {
                if all || flags.columns[column].load(Ordering::Relaxed) {
                    let row = self.rows.start + row;
                    *out = self.context.element(self.batch, row, column);
                }
            }
        });
    }
}
