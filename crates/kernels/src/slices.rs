//! Tenstorrent's matrix unit: slices of significands, sixteen products at a time, rounded into the accumulator every time.
//!
//! A product of slices has 12 bits, so that it is rounded onto its group's largest exponent in 16-bit lanes: eight times the
//! product and one more, times `4096 >> distance` with the product's sign, divided by 2^15 to nearest. The one breaks ties
//! away from zero whatever the sign, and is too small for anything else. Distances are those of the first phase in all
//! others. Groups and the accumulator meet in 32-bit lanes.
//!
//! An accumulator is its code with an FP32's places: FP16's five bits of exponent are the lower ones of eight.

mod plan;
mod tile;

use std::marker::PhantomData;
use std::ops::Range;

pub use plan::{Blocks, SlicePlan};

use self::plan::{NONZERO, ROWS};
use self::tile::{OF_A, OF_B, RunTile};
use super::platform::Platform;
use super::tile::{MicroKernel, Operand, Packed, Panel, SpecialRule, StepFallback};
use super::vector::{ACROSS, WIDEST};
use tcverify_num::Format;

/// The k of a panel.
const DEPTH: usize = 512;

/// The kernel of a plan, with the vectors of a platform. `S` is an accumulator, or an accumulator, the sum of a block alone
/// and the sum in memory.
pub struct SliceKernel<S> {
    plan: SlicePlan,
    platform: Platform,
    state: PhantomData<fn() -> S>,
}

impl<S> SliceKernel<S> {
    pub fn new(plan: SlicePlan, platform: Platform) -> SliceKernel<S> {
        SliceKernel {
            plan,
            platform,
            state: PhantomData,
        }
    }
}

/// An accumulator with what belongs to it.
pub trait Held: Copy + Default + Send + Sync {
    fn of(all: [i32; 3]) -> Self;
    fn all(self) -> [i32; 3];
}

impl Held for i32 {
    fn of([main, ..]: [i32; 3]) -> i32 {
        main
    }

    fn all(self) -> [i32; 3] {
        [self, 0, 0]
    }
}

impl Held for [i32; 3] {
    fn of(all: [i32; 3]) -> [i32; 3] {
        all
    }

    fn all(self) -> [i32; 3] {
        self
    }
}

/// A is `[strip][plane][k][ROWS]`, each number in both halves of a lane: exponents, and for both slices the slice and 1 as bytes,
/// negated if the number is. B is `[plane][k][columns]`, columns of two registers alternating: exponents, signs, and for both
/// slices eight times the slice and 1 as bytes.
#[derive(Default)]
pub struct Sliced<T>(Vec<T>);

impl<T> Packed for Sliced<T> {
    fn special(&self) -> &[bool] {
        &[]
    }
}

/// A number in parts.
struct Parts {
    exponent: u16,
    negative: bool,
    high: u16,
    low: u16,
}

/// Takes codes apart.
#[derive(Clone, Copy)]
struct Splitter {
    ignored: u32,
    fraction_bits: u32,
    sign_bit: u32,
    /// Bits of the lower slice, and where its first one is taken to.
    rest: u32,
    up: u32,
    /// Bits that belong to neither.
    unused: u32,
}

impl Splitter {
    fn new(format: Format, side: usize) -> Splitter {
        let [rest, up, unused] = [[4, 3, 0], [6, 0, 1]][side];
        Splitter {
            ignored: format.ignored_bits(),
            fraction_bits: format.fraction_bits(),
            sign_bit: format.width() - 1,
            rest,
            up,
            unused,
        }
    }

    #[inline(always)]
    fn parts(&self, code: u32) -> Parts {
        let code = code >> self.ignored;
        let negative = code >> self.sign_bit & 1 == 1;
        let magnitude = code & ((1 << self.sign_bit) - 1);
        let field = magnitude >> self.fraction_bits;
        let hidden = 1 << self.fraction_bits;
        let significand = (magnitude & (hidden - 1) | hidden) << (10 - self.fraction_bits);
        let low = (significand & ((1 << self.rest) - 1)) >> self.unused << self.up;
        match field {
            0 => Parts {
                exponent: 0,
                negative: false,
                high: 0,
                low: 0,
            },
            _ => Parts {
                exponent: (field + NONZERO) as u16,
                negative,
                high: (significand >> self.rest) as u16,
                low: low as u16,
            },
        }
    }
}

impl<S: Held> MicroKernel for SliceKernel<S> {
    type State = S;
    type Panel = Panel;
    type A = Sliced<i32>;
    type B = Sliced<u16>;

    fn tile(&self) -> (usize, usize) {
        (ROWS, ACROSS * self.platform.lanes())
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    /// There are none.
    fn specials(&self) -> SpecialRule {
        SpecialRule::Native
    }

    fn commutes(&self) -> bool {
        false
    }

    fn start(&self, code: u64) -> S {
        let format = self.plan.accumulator;
        let negative = code & format.sign_mask() != 0;
        let magnitude = (code & (format.sign_mask() - 1)) as i32;
        let sign = if negative { i32::MIN } else { 0 };
        S::of([magnitude << self.plan.below() | sign, 0, 0])
    }

    fn finish(&self, state: S) -> Option<u64> {
        let [state, ..] = state.all();
        let format = self.plan.accumulator;
        let magnitude = (state & i32::MAX) as u64 >> self.plan.below();
        Some(magnitude | if state < 0 { format.sign_mask() } else { 0 })
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel::filled(k, self.plan.tile)
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> Sliced<i32> {
        let splitter = Splitter::new(self.plan.a, 0);
        let plane = panel.padded * ROWS;
        let mut packed = vec![0; rows.len().div_ceil(ROWS) * OF_A * plane];
        let mut codes = vec![0; panel.k.len()];
        for (i, row) in rows.enumerate() {
            operand.codes.read_row(row, panel.k.start, &mut codes);
            let strip = &mut packed[i / ROWS * OF_A * plane..][..OF_A * plane];
            for (k, &code) in codes.iter().enumerate() {
                let parts = splitter.parts(code);
                let at = k * ROWS + i % ROWS;
                // Bytes of which the second, and both of a negative number, are signed.
                let bytes = |slice: u16| {
                    if parts.negative {
                        slice.wrapping_neg() & 0xff | 0xff00
                    } else {
                        slice | 1 << 8
                    }
                };
                let both = |half: u16| i32::from(half) << 16 | i32::from(half);
                strip[at] = both(parts.exponent);
                strip[plane + at] = both(bytes(parts.high));
                strip[2 * plane + at] = both(bytes(parts.low));
            }
        }
        Sliced(packed)
    }

    fn room(&self) -> Sliced<u16> {
        Sliced::default()
    }

    fn pack_b(&self, panel: &Panel, operand: Operand, columns: Range<usize>, b: &mut Sliced<u16>) {
        let splitter = Splitter::new(self.plan.b, 1);
        let (wide, lanes) = (self.tile().1, self.platform.lanes());
        let mut codes = vec![0; panel.k.len() * columns.len()];
        let (first, count) = (columns.start, columns.len());
        let (start, depth) = (panel.k.start, panel.k.len());
        operand
            .codes
            .read_block(start, depth, first, count, &mut codes);
        let plane = panel.padded * wide;
        b.0.clear();
        b.0.resize(OF_B * plane, 0);
        b.0[plane..2 * plane].fill(1);
        // The halves of a lane are a column of each of two registers.
        let mut places = [0; WIDEST];
        for (column, place) in places.iter_mut().enumerate() {
            let (pair, column) = (column / (2 * lanes), column % (2 * lanes));
            *place = pair * 2 * lanes + 2 * (column % lanes) + column / lanes;
        }
        for (k, codes) in codes.chunks(count).enumerate() {
            for (&code, place) in codes.iter().zip(places) {
                let parts = splitter.parts(code);
                let at = k * wide + place;
                b.0[at] = parts.exponent;
                b.0[plane + at] = if parts.negative { u16::MAX } else { 1 };
                b.0[2 * plane + at] = parts.high << 3 | 1 << 8;
                b.0[3 * plane + at] = parts.low << 3 | 1 << 8;
            }
        }
    }

    fn run(
        &self,
        panel: &Panel,
        a: &Sliced<i32>,
        strip: usize,
        b: &Sliced<u16>,
        state: &mut [S],
        _: &dyn StepFallback,
    ) -> bool {
        let size = OF_A * panel.padded * ROWS;
        let mut planes = [[0; ROWS * WIDEST]; 3];
        for (i, state) in state.iter().enumerate() {
            for (plane, one) in planes.iter_mut().zip(state.all()) {
                plane[i] = one;
            }
        }
        self.platform.vectorized(RunTile {
            plan: &self.plan,
            start: panel.k.start,
            depth: panel.padded,
            a: &a.0[strip * size..][..size],
            b: &b.0,
            state: &mut planes,
        });
        for (i, state) in state.iter_mut().enumerate() {
            *state = S::of([0, 1, 2].map(|plane| planes[plane][i]));
        }
        true
    }
}
