//! What benchmarks measure with: random operands and a clock.

use std::time::{Duration, Instant};

use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

pub fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

pub struct Random(pub SplitMix64);

impl Random {
    /// Integers, or finite numbers over a few binades below one, as activations and weights are.
    pub fn matrix(&mut self, format: Format, n: usize) -> Tensor {
        self.tensor(format, vec![n, n])
    }

    /// The same of any shape.
    pub fn tensor(&mut self, format: Format, shape: Vec<usize>) -> Tensor {
        let count: usize = shape.iter().product();
        if format.is_integer() {
            let codes: Vec<_> = (0..count)
                .map(|_| self.0.word() & format.max_code())
                .collect();
            return Tensor::from_codes(format, shape, &codes);
        }
        let bias = format.bias() as u64;
        let codes: Vec<u64> = (0..count)
            .map(|_| {
                let random = self.0.word();
                let depth = u64::from((random >> 8 | 1 << 6).trailing_zeros());
                let field = bias.saturating_sub(depth + 1);
                let fraction = random >> 32 & ((1 << format.fraction_bits()) - 1);
                let code = (field << format.fraction_bits() | fraction) << format.ignored_bits();
                code | if random >> 31 & 1 == 1 {
                    format.sign_mask()
                } else {
                    0
                }
            })
            .collect();
        Tensor::from_codes(format, shape, &codes)
    }
}

/// The worker threads of this run, in words.
pub fn threads() -> String {
    match rayon::current_num_threads() {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    }
}
