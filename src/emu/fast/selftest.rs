//! A few products of awkward numbers by a kernel on two platforms, before the first use: a wrong
//! instruction must not become a wrong verdict.

use std::cell::RefCell;
use std::ops::Range;

use super::plan::Plan;
use super::platform::Platform;
use super::tile::{Operand, StepFallback, TileKernel};
use super::{WithKernel, with_kernel};
use crate::emu::formats::Scale;
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

/// Rows (no fewer than a strip has), columns (a multiple of every strip's) and k, which ends inside of
/// panels and groups.
const SIZE: [usize; 3] = [8, 64, 141];

/// The elements that the exact engine was asked for. When it is asked may differ between platforms.
#[derive(Default)]
struct Asked(RefCell<Vec<(usize, usize)>>);

impl StepFallback for Asked {
    fn step(&self, row: usize, column: usize, _: Range<usize>, code: u64) -> u64 {
        self.0.borrow_mut().push((row, column));
        code
    }
}

/// What is multiplied.
#[derive(Clone, Copy)]
pub struct Product {
    pub operands: [Format; 2],
    /// Of C.
    pub addend: Format,
    pub scale: Option<Scale>,
}

/// What a kernel makes of some products: codes, or none where the exact engine is asked.
pub fn products(plan: Plan, platform: Platform, product: Product) -> Vec<Option<u64>> {
    with_kernel((plan, platform), product)
}

impl WithKernel for Product {
    type Out = Vec<Option<u64>>;

    fn with<K: TileKernel>(self, kernel: &K) -> Vec<Option<u64>> {
        (0..3).flat_map(|seed| self.by(kernel, seed)).collect()
    }
}

impl Product {
    /// What a kernel makes of one of them.
    fn by<K: TileKernel>(self, kernel: &K, seed: u64) -> Vec<Option<u64>> {
        let [m, n, k] = SIZE;
        let [a, b] = self.operands;
        let mut random = SplitMix64(seed);
        // Finite: what other ones make of an element is not the kernels' business.
        let mut c: Vec<_> = (0..5)
            .map(|_| code(self.addend, random.word(), 0))
            .collect();
        // The first products are ordinary ones: with the largest C many tiles are the exact engine's.
        if seed > 0 {
            let ends = [false, true].map(|negative| self.addend.max_finite(negative));
            c.extend(ends);
            c.extend([0, 1, self.addend.sign_mask()]);
        }
        let mut matrix = |format: Format, rows: usize, columns: usize| {
            let codes: Vec<_> = (0..rows * columns)
                .map(|_| code(format, random.word(), seed))
                .collect();
            Tensor::from_codes(format, vec![rows, columns], &codes)
        };
        let (a, b) = (matrix(a, m, k), matrix(b, k, n));
        let scales = self.scale.map(|Scale { format, block }| {
            let blocks = k.div_ceil(block);
            let scales = [matrix(format, m, blocks), matrix(format, blocks, n)];
            (scales, block)
        });
        let operand = |side: usize| Operand {
            codes: [&a, &b][side].planes().plane(0),
            scales: scales
                .as_ref()
                .map(|(scales, block)| (scales[side].planes().plane(0), *block)),
        };
        let (a, b) = (operand(0), operand(1));
        let (tall, wide) = kernel.tile();
        let mut out = vec![None; m * n];
        for left in (0..n).step_by(wide) {
            let mut state: Vec<_> = (0..tall * wide)
                .map(|i| kernel.start(c[(i / wide * n + left + i % wide) % c.len()]))
                .collect();
            let mut sound = true;
            let asked = Asked::default();
            let mut room = kernel.room();
            for start in (0..k).step_by(kernel.depth()) {
                let panel = kernel.panel(start..k.min(start + kernel.depth()));
                let rows = kernel.pack_a(&panel, a, 0..m);
                kernel.pack_b(&panel, b, left..left + wide, &mut room);
                sound &= kernel.run(&panel, &rows, 0, &room, &mut state, &asked);
            }
            for (row, state) in state.chunks(wide).enumerate() {
                for (column, &state) in state.iter().enumerate() {
                    let mine = sound && !asked.0.borrow().contains(&(row, column));
                    out[row * n + left + column] = kernel.finish(state).filter(|_| mine);
                }
            }
        }
        out
    }
}

/// Near one, over all exponents, or any code.
fn code(format: Format, random: u64, seed: u64) -> u64 {
    let any = random & format.max_code();
    if format.exponent_bits() == 0 || seed % 3 == 2 {
        return any;
    }
    let spread = match seed % 3 {
        0 => 4,
        _ => 1 << format.exponent_bits().min(6),
    };
    let field = (format.bias() as u64).saturating_sub(spread / 2) + (random >> 40) % spread;
    let fraction = random & ((1 << format.fraction_bits()) - 1);
    let sign = if random >> 63 == 1 {
        format.sign_mask()
    } else {
        0
    };
    let magnitude = field << format.fraction_bits() | fraction;
    magnitude.min(format.max_finite(false) >> format.ignored_bits()) << format.ignored_bits() | sign
}
