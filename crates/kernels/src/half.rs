//! GPGPU-Sim's `wmma.mma`: FP32 operations whose running sum is cut to FP16 after each.
//!
//! The sum stays an FP32 whose low bits are zeros. Of a normal FP16 number a mask cuts them off; a
//! watch over the group says whether there was any other, and then the group is computed anew with a
//! cut that knows subnormal numbers. Numbers from 65536 on become infinities, which are left to the
//! exact engine, and so are the NaNs, whose payloads matter.

use super::dense::{DenseTile, Plain, ROWS};
use super::tile::SpecialRule;
use super::vector::{ACROSS, Vector};
use tcverify_num::{Format, Formats, Rounding, convert_exact, round_code};

/// A chain in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfPlan {
    /// Products of an instruction.
    pub span: usize,
    /// Formats of C and of D: FP16 or FP32.
    pub addend: Format,
    pub accumulator: Format,
}

impl HalfPlan {
    pub fn new(formats: Formats, span: usize) -> HalfPlan {
        HalfPlan {
            span,
            addend: formats.addend,
            accumulator: formats.accumulator,
        }
    }

    /// Whether the sum with C is cut as well.
    fn cuts_result(&self) -> bool {
        (self.addend, self.accumulator) != (Format::Fp32, Format::Fp32)
    }
}

/// The k of a panel, at least.
const DEPTH: usize = 256;

/// The bits of the smallest normal FP16 number as an FP32, and of the first that is too large.
const SMALLEST: i32 = (127 - 14) << 23;
const TOO_LARGE: i32 = (127 + 16) << 23;

/// The bits of an FP32 that an FP16 has.
const KEPT: i32 = -1 << 13;

/// The number of a code of a format that an FP32 holds.
pub fn widened(format: Format, code: u64) -> f32 {
    let wide = convert_exact(format, code, Format::Fp32);
    f32::from_bits(wide.expect("an FP32 holds it") as u32)
}

/// The code of a number, cut.
pub fn narrowed(format: Format, x: f32) -> u64 {
    let code = u64::from(x.to_bits());
    match format {
        Format::Fp32 => code,
        // Exact; a NaN keeps what it has of its payload, as the model cuts it.
        _ => {
            let nan = code >> 16 & 0x8000 | 0x7c00 | code >> 13 & 0x3ff;
            round_code(Format::Fp32, code, format, Rounding::TowardZero, nan)
        }
    }
}

impl Plain for HalfPlan {
    type Real = f32;
    type State = f32;

    fn formats(&self) -> [Format; 2] {
        [Format::Fp16; 2]
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.span)
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Exactly
    }

    fn start(&self, code: u64) -> f32 {
        widened(self.addend, code)
    }

    fn finish(&self, state: f32) -> Option<u64> {
        (!state.is_nan()).then(|| narrowed(self.accumulator, state))
    }

    /// Two NaNs give the first operand's.
    fn commutes(&self) -> bool {
        false
    }

    fn group(&self) -> usize {
        self.span
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f32, f32>) {
        let (columns, depth) = (tile.columns, tile.depth);
        let mut work = Work { plan: self, tile };
        for left in (0..columns).step_by(2 * V::LANES) {
            for first in (0..depth).step_by(self.span) {
                // SAFETY: features are the caller's promise; two registers from `left` on, and the
                // products of an instruction, lie within the lengths of a tile.
                unsafe { work.instruction::<V>(first, left) }
            }
        }
    }
}

struct Work<'a> {
    plan: &'a HalfPlan,
    tile: DenseTile<'a, f32, f32>,
}

impl Work<'_> {
    /// One instruction, two registers across all rows.
    #[inline(always)]
    unsafe fn instruction<V: Vector>(&mut self, first: usize, left: usize) {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise.
        unsafe {
            let mut sum = [[V::splat_f(0.0); 2]; ROWS];
            // The least of what numbers lie below `TOO_LARGE`, as unsigned numbers: those above wrap.
            let mut watch = [[V::splat(-1); 2]; ROWS];
            for k in first..first + self.plan.span {
                let b = self.tile.b.as_ptr().add(k * columns + left);
                let y = [V::load_f(b), V::load_f(b.add(V::LANES))];
                for row in 0..ROWS {
                    let x = V::splat_f(*self.tile.a.as_ptr().add(k * ROWS + row));
                    for v in 0..2 {
                        let exact = V::bits(V::fma(x, y[v], sum[row][v]));
                        sum[row][v] = V::from_bits(V::and(exact, V::splat(KEPT)));
                        let magnitude = V::and(exact, V::splat(i32::MAX));
                        let below = V::sub(magnitude, V::splat(TOO_LARGE));
                        watch[row][v] = V::min_unsigned(watch[row][v], below);
                    }
                }
            }
            for row in 0..ROWS {
                for v in 0..2 {
                    let left = left + v * V::LANES;
                    let mut ordinary = watch[row][v];
                    if V::any_negative(V::greater(V::splat(SMALLEST - TOO_LARGE), ordinary))
                        || V::any_negative(V::greater(ordinary, V::splat(-1)))
                    {
                        (sum[row][v], ordinary) = self.carefully::<V>(first, row, left);
                    } else {
                        ordinary = V::splat(-1);
                    }
                    self.finish::<V>(first, row, left, sum[row][v], ordinary);
                }
            }
        }
    }

    /// One instruction for numbers of any size, and all ones where none was too large.
    #[cold]
    #[inline(always)]
    unsafe fn carefully<V: Vector>(&self, first: usize, row: usize, left: usize) -> (V::F, V::I) {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise.
        unsafe {
            let mut sum = V::splat_f(0.0);
            let mut ordinary = V::splat(-1);
            for k in first..first + self.plan.span {
                let x = V::splat_f(*self.tile.a.as_ptr().add(k * ROWS + row));
                let y = V::load_f(self.tile.b.as_ptr().add(k * columns + left));
                sum = cut::<V>(V::fma(x, y, sum), &mut ordinary);
            }
            (sum, ordinary)
        }
    }

    /// Adds C; lanes that are not ordinary are the exact engine's.
    #[inline(always)]
    unsafe fn finish<V: Vector>(
        &mut self,
        first: usize,
        row: usize,
        left: usize,
        sum: V::F,
        mut ordinary: V::I,
    ) {
        let at = row * ACROSS * V::LANES + left;
        // SAFETY: the caller's promise.
        unsafe {
            let c = V::load_f(self.tile.state.as_ptr().add(at));
            let mut new = V::add_f(sum, c);
            if self.plan.cuts_result() {
                new = cut::<V>(new, &mut ordinary);
            }
            if !V::any_negative(V::xor(ordinary, V::splat(-1))) {
                V::store_f(self.tile.state.as_mut_ptr().add(at), new);
                return;
            }
            let mut lanes = [0f32; 16];
            let mut mine = [0i32; 16];
            V::store_f(lanes.as_mut_ptr(), new);
            V::store(mine.as_mut_ptr(), ordinary);
            for lane in 0..V::LANES {
                let state = &mut self.tile.state[at + lane];
                *state = match mine[lane] {
                    0 => {
                        let code = narrowed(self.plan.addend, *state);
                        let k = first..first + self.plan.span;
                        let code = self.tile.fallback.step(row, left + lane, k, code);
                        widened(self.plan.accumulator, code)
                    }
                    _ => lanes[lane],
                };
            }
        }
    }
}

/// Cuts numbers below 65536 to FP16; clears `ordinary` where there are others.
#[inline(always)]
unsafe fn cut<V: Vector>(x: V::F, ordinary: &mut V::I) -> V::F {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = V::bits(x);
        let magnitude = V::and(bits, V::splat(i32::MAX));
        let sign = V::xor(bits, magnitude);
        let large = V::greater(magnitude, V::splat(TOO_LARGE - 1));
        *ordinary = V::clear(*ordinary, large);
        // Subnormal numbers are multiples of 2^-24.
        let small = V::greater(V::splat(SMALLEST), magnitude);
        let units = V::truncate(V::mul(V::from_bits(magnitude), V::splat_f(16_777_216.0)));
        let subnormal = V::mul(V::to_float(units), V::splat_f(1.0 / 16_777_216.0));
        let subnormal = V::and(V::bits(subnormal), small);
        let normal = V::clear(V::and(magnitude, V::splat(KEPT)), small);
        V::from_bits(V::or(V::or(subnormal, normal), sign))
    }
}
