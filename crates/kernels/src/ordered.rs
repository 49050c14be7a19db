//! Processors: fused multiply-adds into FP32 in an order of their own, from C or from zero.
//!
//! Where subnormal numbers count as zeros, operands are flushed when they are packed and C when it is read. That nothing else
//! is flushed is proven from the exponents of strips and accumulators: if the last bits of all products, and those of C, are at
//! least 2^-126, then so is every sum that is not zero, before and after its rounding. Other tiles are given up. Where subnormal
//! numbers are kept, a chain from zero must not underflow to -0 all the same: the +0 that fill an instruction up would undo it.
//!
//! Infinities and NaNs are IEEE's; the exact engine computes an element that becomes a NaN, for its payload.

use super::dense::{DenseTile, ExponentRange, Flushed, Plain, ROWS, Strip};
use super::real::Real;
use super::tile::SpecialRule;
use super::vector::{ACROSS, Vector};
use tcverify_num::{Format, Formats};

/// Chains of an instruction in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedPlan {
    pub a: Format,
    pub b: Format,
    /// The products of an instruction, chain by chain.
    pub chains: Vec<Vec<usize>>,
    /// Whether chains start from +0, and C is added last; else there is one.
    pub from_zero: bool,
    /// Whether subnormal numbers count as zeros.
    pub flush: bool,
}

impl OrderedPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, plan: OrderedPlan) -> Option<OrderedPlan> {
        let narrow = |format: Format| format.bytes() <= 4;
        let held = narrow(formats.a) && narrow(formats.b) && formats.accumulator == Format::Fp32;
        // Products that fill an instruction up are +0. From C on, -0 would tell those that no instruction has.
        let word = 4 / formats.a.bytes().max(1);
        let whole = plan.from_zero || plan.chains.len() == 1 && plan.span() <= word;
        (held && whole).then_some(plan)
    }

    fn span(&self) -> usize {
        self.chains.iter().map(Vec::len).sum()
    }

    /// Whether the last bit of every product is at least two to this power.
    fn products_reach(&self, lowest: i32, [a, b]: [ExponentRange; 2]) -> bool {
        let fraction_bits = self.a.fraction_bits() + self.b.fraction_bits();
        a.low + b.low - 2 * BIAS - fraction_bits as i32 >= lowest
    }
}

const BIAS: i32 = 127;

/// The exponent of the smallest normal number.
const LOWEST: i32 = -126;

/// From here on every FP32 number is a multiple of 2^-126.
const SURE: f32 = f32::MIN_POSITIVE * (1 << 23) as f32;

/// The k of a panel.
const DEPTH: usize = 256;

/// Whether an accumulator is a multiple of 2^-126, or no finite number.
fn is_normal_multiple(x: f32) -> bool {
    let scaled = x * 2f32.powi(-LOWEST);
    !scaled.is_finite() || scaled == scaled.trunc()
}

impl Plain for OrderedPlan {
    type Real = f32;
    type State = f32;

    const MEASURES: bool = true;

    fn formats(&self) -> [Format; 2] {
        [self.a, self.b]
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.span())
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Native
    }

    fn flushed(&self, _: Format) -> Option<Flushed> {
        self.flush.then_some(Flushed {
            below: LOWEST,
            signed: true,
        })
    }

    /// The first NaN's payload goes on.
    fn commutes(&self) -> bool {
        false
    }

    fn start(&self, code: u64) -> f32 {
        let c = f32::from_code(code);
        if self.flush && c.exponent_field() == 0 {
            c.zero()
        } else {
            c
        }
    }

    fn finish(&self, state: f32) -> Option<u64> {
        (!state.is_nan()).then(|| state.to_bits().into())
    }

    fn between(&self, state: f32) -> u64 {
        state.to_bits().into()
    }

    fn group(&self) -> usize {
        self.span()
    }

    fn suits(&self, a: Strip<f32>, b: Strip<f32>, state: &[f32]) -> bool {
        let ranges = a.range.zip(b.range);
        let reach = |lowest| ranges.is_some_and(|(a, b)| self.products_reach(lowest, [a, b]));
        // Nearly always all are zeros or so large that they cannot be others: looked at in vectors.
        let surely = |all: bool, &x: &f32| all & (x == 0.0 || x.abs() >= SURE);
        let multiples =
            || state.iter().fold(true, surely) || state.iter().copied().all(is_normal_multiple);
        match (self.flush, self.from_zero) {
            (true, _) => reach(LOWEST) && multiples(),
            (false, true) => reach(LOWEST - 23),
            (false, false) => true,
        }
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f32, f32>) {
        // As many accumulators as there are registers for.
        let wide = match (self.from_zero, V::REGISTERS >= 32) {
            (false, true) => ACROSS,
            (true, false) => 1,
            _ => 2,
        };
        for left in (0..ACROSS).step_by(wide) {
            let at = left * V::LANES;
            // SAFETY: features are the caller's promise; `wide` registers from `left` on lie within each row of a tile.
            unsafe {
                let (a, b) = (tile.a.as_ptr(), tile.b.as_ptr().add(at));
                let state = tile.state.as_mut_ptr().add(at);
                match (self.from_zero, wide) {
                    (false, ACROSS) => self.start_with_c::<V, ACROSS>(tile.depth, a, b, state),
                    (false, _) => self.start_with_c::<V, 2>(tile.depth, a, b, state),
                    (true, 1) => self.end_with_c::<V, 1>(tile.depth, a, b, state),
                    (true, _) => self.end_with_c::<V, 2>(tile.depth, a, b, state),
                }
            }
        }
    }
}

/// Registers of a tile's rows.
type Rows<V, const N: usize> = [[<V as Vector>::F; N]; ROWS];

impl OrderedPlan {
    /// One chain, from C on.
    #[inline(always)]
    unsafe fn start_with_c<V: Vector, const N: usize>(
        &self,
        depth: usize,
        a: *const f32,
        b: *const f32,
        state: *mut f32,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sum = load::<V, N>(state);
            for first in (0..depth).step_by(self.span()) {
                for k in self.chains.iter().flatten() {
                    add_product::<V, N>(first + k, a, b, &mut sum);
                }
            }
            store::<V, N>(state, &sum);
        }
    }

    /// Chains from zero, then C.
    #[inline(always)]
    unsafe fn end_with_c<V: Vector, const N: usize>(
        &self,
        depth: usize,
        a: *const f32,
        b: *const f32,
        state: *mut f32,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = [[V::splat_f(0.0); N]; ROWS];
            let mut c = load::<V, N>(state);
            for first in (0..depth).step_by(self.span()) {
                let mut total = zero;
                for (place, chain) in self.chains.iter().enumerate() {
                    let mut sum = zero;
                    for k in chain {
                        add_product::<V, N>(first + k, a, b, &mut sum);
                    }
                    if place == 0 {
                        total = sum;
                    } else {
                        add::<V, N>(&mut total, &sum);
                    }
                }
                add::<V, N>(&mut c, &total);
            }
            store::<V, N>(state, &c);
        }
    }
}

/// Fused multiply-adds of the products of one k.
#[inline(always)]
unsafe fn add_product<V: Vector, const N: usize>(
    k: usize,
    a: *const f32,
    b: *const f32,
    sum: &mut Rows<V, N>,
) {
    // SAFETY: the caller's promise: `k` lies within the tile.
    unsafe {
        let (a, b) = (a.add(k * ROWS), b.add(k * ACROSS * V::LANES));
        let mut y = [V::splat_f(0.0); N];
        for (v, y) in y.iter_mut().enumerate() {
            *y = V::load_f(b.add(v * V::LANES));
        }
        for (row, sum) in sum.iter_mut().enumerate() {
            let x = V::splat_f(*a.add(row));
            for (sum, &y) in sum.iter_mut().zip(&y) {
                *sum = V::fma(x, y, *sum);
            }
        }
    }
}

#[inline(always)]
unsafe fn add<V: Vector, const N: usize>(to: &mut Rows<V, N>, sum: &Rows<V, N>) {
    for (to, sum) in to.iter_mut().zip(sum) {
        for (to, &sum) in to.iter_mut().zip(sum) {
            // SAFETY: the caller's promise.
            *to = unsafe { V::add_f(*to, sum) };
        }
    }
}

#[inline(always)]
unsafe fn load<V: Vector, const N: usize>(state: *const f32) -> Rows<V, N> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = [[V::splat_f(0.0); N]; ROWS];
        for (row, registers) in rows.iter_mut().enumerate() {
            for (v, register) in registers.iter_mut().enumerate() {
                *register = V::load_f(state.add(row * ACROSS * V::LANES + v * V::LANES));
            }
        }
        rows
    }
}

#[inline(always)]
unsafe fn store<V: Vector, const N: usize>(state: *mut f32, rows: &Rows<V, N>) {
    for (row, registers) in rows.iter().enumerate() {
        for (v, &register) in registers.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { V::store_f(state.add(row * ACROSS * V::LANES + v * V::LANES), register) };
        }
    }
}

#[cfg(test)]
#[test]
fn multiples_of_the_smallest_normal_number() {
    let smallest = f32::MIN_POSITIVE;
    for x in [
        0.0,
        -0.0,
        smallest,
        -3.0 * smallest,
        2f32.powi(-103),
        1.1,
        f32::MAX,
        f32::INFINITY,
    ] {
        assert!(is_normal_multiple(x), "{x:e}");
    }
    assert!(is_normal_multiple(f32::NAN));
    for x in [
        1e-45,
        smallest / 2.0,
        smallest * 1.5,
        1.0 / 3.0 * 2f32.powi(-104),
    ] {
        assert!(!is_normal_multiple(x), "{x:e}");
    }
}
