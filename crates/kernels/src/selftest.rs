//! A few products of awkward numbers by a kernel on two platforms, before the first use: a wrong
//! instruction must not become a wrong verdict.

use std::cell::RefCell;
use std::ops::Range;

use super::config::{KernelConfig, WithKernel, with_kernel};
use super::platform::Platform;
use super::recent::Recent;
use super::tile::{MicroKernel, Operand, StepFallback};
use tcverify_emu::engine::{TestNumbers, TestProduct};
use tcverify_num::Formats;

/// Rows (more than a strip has, which some kernels want), columns (a multiple of every strip's) and k, which ends inside
/// of panels and groups.
const SIZE: [usize; 3] = [16, 64, 141];

/// What is multiplied, and whether C is added: without it the largest sums stay in 32 bits.
const PRODUCTS: [(TestNumbers, bool); 6] = [
    (TestNumbers::Near, true),
    (TestNumbers::Wide, true),
    (TestNumbers::Any, true),
    (TestNumbers::Full, true),
    (TestNumbers::Full, false),
    (TestNumbers::Tiny, true),
];

/// The elements of a tile that the exact engine was asked for. When it is asked may differ between platforms.
struct Requested {
    columns: usize,
    elements: RefCell<Vec<bool>>,
}

impl StepFallback for Requested {
    fn step(&self, row: usize, column: usize, _: Range<usize>, code: u64) -> u64 {
        self.elements.borrow_mut()[row * self.columns + column] = true;
        code
    }
}

/// Whether a kernel gives up the same products on a platform as on a trusted one, and gives the same bits wherever both
/// give any.
pub fn agree(plan: &KernelConfig, formats: Formats, [tested, trusted]: [Platform; 2]) -> bool {
    static RUNS: Recent<Formats, Vec<Run>> = Recent::new();
    type Key = (KernelConfig, Formats, Platform);
    static TRUSTED: Recent<Key, Vec<Computed>> = Recent::new();

    let runs = RUNS.get(formats, || runs(formats).collect());
    let expected = TRUSTED.get((plan.clone(), formats, trusted), || {
        runs.iter().map(|run| run.by(plan, trusted)).collect()
    });
    runs.iter().zip(expected.iter()).all(|(run, expected)| {
        let found = run.by(plan, tested);
        let differ = |(x, y): (&Option<u64>, &Option<u64>)| x.is_some() && y.is_some() && x != y;
        found.whole == expected.whole && !found.codes.iter().zip(&expected.codes).any(differ)
    })
}

/// A product that is computed.
struct Run {
    product: TestProduct,
    with_c: bool,
}

fn runs(formats: Formats) -> impl Iterator<Item = Run> {
    PRODUCTS.into_iter().map(move |(numbers, with_c)| Run {
        product: TestProduct::new(formats, SIZE, numbers),
        with_c,
    })
}

/// What a kernel makes of a strip of rows.
struct Computed {
    /// Whether it gave up no tile. How wide one is depends on the platform.
    whole: bool,
    /// None where the exact engine is asked.
    codes: Vec<Option<u64>>,
}

impl Run {
    fn by(&self, plan: &KernelConfig, platform: Platform) -> Computed {
        with_kernel((plan.clone(), platform), self)
    }
}

impl WithKernel for &Run {
    type Out = Computed;

    fn with<K: MicroKernel>(self, kernel: &K) -> Computed {
        let [m, n, k] = SIZE;
        let c = |at: usize| {
            if self.with_c {
                self.product.c_codes[at]
            } else {
                0
            }
        };
        let [a, b] = Operand::both(&self.product.problem(), 0);
        let (tall, wide) = kernel.tile();
        let mut codes = vec![None; tall * n];
        let mut whole = true;
        for left in (0..n).step_by(wide) {
            // Where an element of the tile is among those of the product.
            let place = |i: usize| i / wide * n + left + i % wide;
            let elements = 0..tall * wide;
            let mut state: Vec<_> = elements.map(|i| kernel.start(c(place(i)))).collect();
            let mut sound = true;
            let requested = Requested {
                columns: wide,
                elements: RefCell::new(vec![false; tall * wide]),
            };
            let mut room = kernel.room();
            for start in (0..k).step_by(kernel.depth()) {
                let panel = kernel.panel(start..k.min(start + kernel.depth()));
                let rows = kernel.pack_a(&panel, a, 0..m);
                kernel.pack_b(&panel, b, left..left + wide, &mut room);
                sound &= kernel.run(&panel, &rows, 0, &room, &mut state, &requested);
            }
            let elements = state.into_iter().zip(requested.elements.into_inner());
            for (i, (state, requested)) in elements.enumerate() {
                codes[place(i)] = kernel.finish(state).filter(|_| sound && !requested);
            }
            whole &= sound;
        }
        Computed { whole, codes }
    }
}

#[cfg(test)]
mod tests;
