//! Exact sums of products, rounded once: of a few products and C (CDNA 1, Arm's FP8), or of all of K.
//!
//! A product of two operands is exact in an FP64. Two sums are kept, one rounded down after every
//! product and one rounded up, so that the exact sum lies between them. If both become the same FP32,
//! that is the exact sum's; rounding is monotone. It nearly always is: they are equal while nothing is
//! lost, and otherwise as near as FP64 is finer than FP32. Where it is not, the exact engine adds.
//! Products of a group whose exponents lie near enough to each other have an exact sum, and only C
//! needs both bounds; an FP16 C needs none where the sum with it is exact, too. An FP64 becomes an FP16 through an FP32 that is
//! rounded to odd: its 24 bits decide the second rounding as all do.

use std::ops::Range;

use super::dense::{DenseTile, ExponentRange, Plain, ROWS};
use super::half::{narrowed, widened};
use super::real::Real;
use super::tile::SpecialRule;
use super::vector::Vector;
use tcverify_num::{Format, Formats, Rounding};

/// An exact sum in the terms of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumPlan {
    pub a: Format,
    pub b: Format,
    /// FP32; of sums over all of K FP64, too; of Arm's sums of a few products FP16.
    pub accumulator: Format,
    /// Products after which C is rounded; none where it only is after all of K.
    pub group: Option<usize>,
    pub nan: u64,
    /// Arm's sums: a zero has the sign of its terms if all have one.
    pub fpmr: Option<Scaled>,
}

/// What Arm's register FPMR does to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaled {
    /// Products count times 2^-lscale.
    pub lscale: u32,
    /// Whether an overflow gives the largest finite number.
    pub saturates: bool,
}

impl SumPlan {
    /// The plan of Arm's sums of a few products, or none if only the exact engine can compute it.
    pub fn scaled(formats: Formats, group: usize, nan: u64, scaled: Scaled) -> Option<SumPlan> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        let held = matches!(accumulator, Format::Fp32 | Format::Fp16);
        (held && a.bytes() <= 4 && b.bytes() <= 4).then_some(SumPlan {
            a,
            b,
            accumulator,
            group: Some(group),
            nan,
            fpmr: Some(scaled),
        })
    }

    /// The plan, or none if only the exact engine can compute it.
    pub fn new(
        formats: Formats,
        group: Option<usize>,
        rounding: Rounding,
        nan: u64,
    ) -> Option<SumPlan> {
        let Formats {
            a, b, accumulator, ..
        } = formats;
        // 48 bits of a product are exact in an FP64, and no exponent is out of its reach.
        let narrow = |format: Format| format.bytes() <= 4;
        let summed = match accumulator {
            Format::Fp32 => narrow(a) && narrow(b),
            Format::Fp64 => group.is_none(),
            _ => false,
        };
        (summed && rounding == Rounding::NearestEven).then_some(SumPlan {
            a,
            b,
            accumulator,
            group,
            nan,
            fpmr: None,
        })
    }
}

/// The k of a panel, at least.
const DEPTH: usize = 128;

/// Sums kept side by side, a register of columns for each row.
type Sums<V> = [[<V as Vector>::D; 2]; ROWS];

/// Adds the products of some k, times `scale`, to both sums. `b` points to a register's first column.
#[inline(always)]
unsafe fn add<V: Vector>(
    k: Range<usize>,
    a: *const f64,
    (b, columns): (*const f64, usize),
    scale: f64,
    sums: &mut Sums<V>,
) {
    // SAFETY: the caller's promise: `[k][ROWS]` and `[k][columns]`.
    unsafe {
        for k in k {
            let y = V::load_d(b.add(k * columns));
            for (row, sums) in sums.iter_mut().enumerate() {
                V::add_product_between(sums, V::splat_d(*a.add(k * ROWS + row) * scale), y);
            }
        }
    }
}

/// Arithmetic of sums of a few products.
pub struct Sum {
    pub plan: SumPlan,
    pub group: usize,
}

/// What FP64 holds of a group.
const BOUNDS: u8 = 0;
const PRODUCTS: u8 = 1;
const ALL: u8 = 2;

impl Sum {
    /// Whether the products of every group have an exact sum in FP64, in whichever order: from the
    /// last bit of any to the first of all there are at most 53.
    fn loses_nothing(&self, [a, b]: [ExponentRange; 2]) -> bool {
        let fraction_bits = self.plan.a.fraction_bits() + self.plan.b.fraction_bits();
        let carries = self.group.next_power_of_two().ilog2() + 2;
        let apart = (a.high - a.low).max(0) + (b.high - b.low).max(0);
        apart + (fraction_bits + carries) as i32 <= f64::MANTISSA_DIGITS as i32
    }

    /// Whether the same holds of the products and an FP16 C.
    fn holds_all(&self, [a, b]: [ExponentRange; 2]) -> bool {
        let fraction_bits = (self.plan.a.fraction_bits() + self.plan.b.fraction_bits()) as i32;
        let carries = self.group.next_power_of_two().ilog2() as i32 + 2;
        // Fields of doubles, of both factors.
        let biases = 2 * 1023 + self.lscale() as i32;
        let last = (a.low + b.low - biases - fraction_bits).min(-24);
        let first = (a.high + b.high - biases + 1).max(15);
        self.plan.accumulator == Format::Fp16
            && first + carries - last <= f64::MANTISSA_DIGITS as i32
    }

    fn lscale(&self) -> u32 {
        self.plan.fpmr.map_or(0, |scaled| scaled.lscale)
    }

    /// The bounds rounded to the accumulator's format, and whether they are the same in these bits.
    #[inline(always)]
    unsafe fn rounded<V: Vector>(&self, bounds: [V::D; 2], bits: i32) -> (V::D, bool) {
        let saturates = self.plan.fpmr.is_some_and(|scaled| scaled.saturates);
        // SAFETY: the caller's promise.
        unsafe {
            if self.plan.accumulator == Format::Fp32 && !saturates {
                return V::round_bounds(bounds, bits);
            }
            let [low, high] = bounds.map(|bound| self.finite::<V>(bound, saturates));
            let differ = V::and(V::xor(V::bits(low), V::bits(high)), V::splat(bits));
            let apart = V::xor(V::equal(differ, V::splat(0)), V::splat(-1));
            (V::widen(high), !V::any_negative(apart))
        }
    }

    /// Rounded to the accumulator's format, to its largest number if it saturates.
    #[inline(always)]
    unsafe fn finite<V: Vector>(&self, x: V::D, saturates: bool) -> V::F {
        // SAFETY: the caller's promise.
        unsafe {
            let half = self.plan.accumulator == Format::Fp16;
            let rounded = if half {
                V::through_half(V::narrow_odd(x))
            } else {
                V::narrow(x)
            };
            if !saturates {
                return rounded;
            }
            let largest = if half { 65504.0 } else { f32::MAX };
            let bits = V::bits(rounded);
            let magnitude = V::and(bits, V::splat(i32::MAX));
            let sign = V::xor(bits, magnitude);
            let finite = V::min(magnitude, V::splat(f32::to_bits(largest) as i32));
            V::from_bits(V::or(finite, sign))
        }
    }

    /// One register of columns; `HELD` of every group is exact.
    #[inline(always)]
    unsafe fn columns<V: Vector, const HELD: u8>(
        &self,
        tile: &mut DenseTile<f64, f64>,
        left: usize,
    ) {
        let (columns, group) = (tile.columns, self.group);
        let at = |row: usize| row * columns + left;
        let scale = (-f64::from(self.lscale())).exp2();
        let (signed, saturates) = match self.plan.fpmr {
            Some(scaled) => (true, scaled.saturates),
            None => (false, false),
        };
        // SAFETY: features are the caller's promise; a register from `left` on lies within each row of
        // a tile.
        unsafe {
            let (a, b) = (tile.a.as_ptr(), tile.b.as_ptr().add(left));
            let mut state = [V::splat_d(0.0); ROWS];
            for (row, state) in state.iter_mut().enumerate() {
                *state = V::load_d(tile.state.as_ptr().add(at(row)));
            }
            for first in (0..tile.depth).step_by(group) {
                let k = first..tile.depth.min(first + group);
                let mut sums = state.map(|state| [state; 2]);
                if HELD == BOUNDS {
                    add::<V>(k.clone(), a, (b, columns), scale, &mut sums);
                } else {
                    let nothing = if signed { -0.0 } else { 0.0 };
                    let mut products = [V::splat_d(nothing); ROWS];
                    if HELD == ALL {
                        products = state;
                    }
                    for k in k.clone() {
                        let y = V::load_d(b.add(k * columns));
                        for (row, sum) in products.iter_mut().enumerate() {
                            *sum = V::fma_d(V::splat_d(*a.add(k * ROWS + row) * scale), y, *sum);
                        }
                    }
                    if HELD == ALL {
                        for (state, sum) in state.iter_mut().zip(products) {
                            *state = V::widen(self.finite::<V>(sum, saturates));
                        }
                        continue;
                    }
                    for (sums, products) in sums.iter_mut().zip(products) {
                        V::add_between(sums, products);
                    }
                }
                let mut rounded = state;
                let mut all = true;
                for (sums, rounded) in sums.iter_mut().zip(&mut rounded) {
                    // A sum of 0 that was rounded down is -0. After one addition nothing else is below 0
                    // whose upper bound is not; the upper one of products that began with +0 is +0.
                    let exact = HELD == PRODUCTS;
                    let bits = if exact { i32::MAX } else { -1 };
                    if !exact {
                        sums[0] = V::add_d(sums[0], V::splat_d(0.0));
                    }
                    // The upper one is -0 where all terms are.
                    if !exact && !signed {
                        sums[1] = V::add_d(sums[1], V::splat_d(0.0));
                    }
                    let same;
                    (*rounded, same) = self.rounded::<V>(*sums, bits);
                    all &= same;
                }
                if all {
                    state = rounded;
                    continue;
                }
                for (row, state) in state.into_iter().enumerate() {
                    V::store_d(tile.state.as_mut_ptr().add(at(row)), state);
                }
                self.exactly(tile, left..left + V::LANES, k);
                for (row, state) in state.iter_mut().enumerate() {
                    *state = V::load_d(tile.state.as_ptr().add(at(row)));
                }
            }
            for (row, state) in state.into_iter().enumerate() {
                V::store_d(tile.state.as_mut_ptr().add(at(row)), state);
            }
        }
    }

    fn code(&self, state: f64) -> u64 {
        match self.plan.accumulator {
            Format::Fp16 => narrowed(Format::Fp16, state as f32),
            _ => (state as f32).to_code(self.plan.nan),
        }
    }

    /// A step of these columns by the exact engine.
    #[cold]
    #[inline(never)]
    fn exactly(&self, tile: &mut DenseTile<f64, f64>, columns: Range<usize>, k: Range<usize>) {
        for row in 0..ROWS {
            for column in columns.clone() {
                let state = &mut tile.state[row * tile.columns + column];
                let code = self.code(*state);
                let code = tile.fallback.step(row, column, k.clone(), code);
                *state = self.start(code);
            }
        }
    }
}

impl Plain for Sum {
    type Real = f64;
    /// An FP32, or an FP16.
    type State = f64;

    const MEASURES: bool = true;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.group)
    }

    /// Arm's missing products are +0 times +0; elsewhere none is missed.
    fn group(&self) -> usize {
        match self.plan.fpmr {
            Some(_) => self.group,
            None => 1,
        }
    }

    fn specials(&self) -> SpecialRule {
        let nan = self.plan.nan;
        SpecialRule::Zeros { nan }
    }

    fn start(&self, code: u64) -> f64 {
        widened(self.plan.accumulator, code).into()
    }

    fn finish(&self, state: f64) -> Option<u64> {
        Some(self.code(state))
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, mut tile: DenseTile<f64, f64>) {
        let products = tile.ranges.is_some_and(|ranges| self.loses_nothing(ranges));
        let all = tile.ranges.is_some_and(|ranges| self.holds_all(ranges));
        for left in (0..tile.columns).step_by(V::LANES) {
            // SAFETY: the caller's promise.
            unsafe {
                if all {
                    self.columns::<V, ALL>(&mut tile, left)
                } else if products {
                    self.columns::<V, PRODUCTS>(&mut tile, left)
                } else {
                    self.columns::<V, BOUNDS>(&mut tile, left)
                }
            }
        }
    }
}

/// Arithmetic of sums over all of K, rounded to FP32.
pub struct Dot {
    pub plan: SumPlan,
}

/// Between panels: what the exact sum lies between.
#[derive(Clone, Copy, Default)]
pub struct Bounds([f64; 2]);

impl Plain for Dot {
    type Real = f64;
    type State = Bounds;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        2 * DEPTH
    }

    fn specials(&self) -> SpecialRule {
        let nan = self.plan.nan;
        SpecialRule::Zeros { nan }
    }

    fn start(&self, code: u64) -> Bounds {
        Bounds([f32::from_bits(code as u32).into(); 2])
    }

    fn finish(&self, Bounds(bounds): Bounds) -> Option<u64> {
        // -0, which a sum may be that was rounded down, is +0.
        let [low, high] = bounds.map(|x| ((x + 0.0) as f32).to_bits());
        (low == high).then_some(low.into())
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f64, Bounds>) {
        let DenseTile {
            a,
            b,
            state,
            depth,
            columns,
            ..
        } = tile;
        for left in (0..columns).step_by(V::LANES) {
            // SAFETY: features are the caller's promise; a register from `left` on lies within each row
            // of a tile.
            unsafe {
                let mut sums = [[V::splat_d(0.0); 2]; ROWS];
                for (row, sums) in sums.iter_mut().enumerate() {
                    let state = &state[row * columns + left..][..V::LANES];
                    for (side, sum) in sums.iter_mut().enumerate() {
                        let mut lanes = [0f64; 16];
                        for (lane, state) in lanes.iter_mut().zip(state) {
                            *lane = state.0[side];
                        }
                        *sum = V::load_d(lanes.as_ptr());
                    }
                }
                let b = (b.as_ptr().add(left), columns);
                add::<V>(0..depth, a.as_ptr(), b, 1.0, &mut sums);
                for (row, sums) in sums.into_iter().enumerate() {
                    let state = &mut state[row * columns + left..][..V::LANES];
                    for (side, sum) in sums.into_iter().enumerate() {
                        let mut lanes = [0f64; 16];
                        V::store_d(lanes.as_mut_ptr(), sum);
                        for (lane, state) in lanes.iter().zip(&mut *state) {
                            state.0[side] = *lane;
                        }
                    }
                }
            }
        }
    }
}
