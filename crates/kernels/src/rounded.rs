//! Arm: products and their sums rounded, then added to C and rounded again.
//!
//! A product of narrow operands is exact in an FP32, so that `p0 + p1` rounded once is one fused multiply-add. To odd and
//! toward zero, a sum is rounded by the machine's directed additions, or corrected by what rounding to nearest has lost, which
//! Knuth's two-sum gives. Two facts are proven from the exponents of strips and accumulators:
//!
//! * Nothing is flushed: a sum of products that is not zero is at least 2^-100, and with it C loses so few bits that what
//!   is left of both is normal. Operands are flushed when they are packed and C when it is read.
//! * Nothing overflows: what a panel adds to C stays below 2^127.
//!
//! To odd, steps without that proof flush every result; where a number is 2^127 or more, the exact engine computes the step.
//! Other tiles without it are given up. FMMLA rounds to nearest and flushes nothing, as the machine does. Infinities and NaNs are IEEE's; at
//! the end every NaN becomes the model's, or with payloads the exact engine computes the element.

use std::marker::PhantomData;

use super::dense::{DenseTile, ExponentRange, Flushed, Plain, ROWS, Strip};
use super::real::Real;
use super::tile::SpecialRule;
use super::vector::Vector;
use tcverify_num::{Format, Formats};

/// A rounded dot product in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedPlan {
    pub a: Format,
    pub b: Format,
    /// FP32; FP64 of single products, to nearest.
    pub accumulator: Format,
    /// Products of a step: 2, or 4 where pairs are fused.
    pub group: usize,
    /// Whether two products are added exactly and rounded once.
    pub fused: bool,
    pub toward: Toward,
    pub flush: bool,
    pub nan: u64,
    /// Whether the exact engine computes NaNs.
    pub payloads: bool,
}

/// A direction of rounding that the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    Nearest,
    Zero,
    Odd,
}

impl RoundedPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, plan: RoundedPlan) -> Option<RoundedPlan> {
        let RoundedPlan { group, flush, .. } = plan;
        let single = formats.accumulator == Format::Fp32;
        let narrow = |format: Format| format.bytes() <= 4;
        let held = match formats.accumulator {
            Format::Fp32 => narrow(formats.a) && narrow(formats.b),
            Format::Fp64 => true,
            _ => false,
        };
        let exact = single && formats.a.fraction_bits() + formats.b.fraction_bits() <= 22;
        let computed = match (plan.toward, plan.fused) {
            (Toward::Nearest, false) => group == 2 && !flush,
            (Toward::Odd, false) => group == 2 && flush && exact,
            (Toward::Nearest | Toward::Zero, true) => matches!(group, 2 | 4) && exact,
            _ => false,
        };
        (held && computed).then_some(plan)
    }

    /// Whether products are exact, nothing but C and operands is ever flushed, and no sum of products overflows.
    fn products_are_plain(&self, [a, b]: [ExponentRange; 2]) -> bool {
        let fraction_bits = (self.a.fraction_bits() + self.b.fraction_bits()) as i32;
        let lowest = if self.flush { -100 } else { -149 };
        a.low + b.low - 2 * BIAS - fraction_bits >= lowest && a.high + b.high - 2 * BIAS <= HIGHEST
    }
}

const BIAS: i32 = 127;

/// The largest exponent of products: those of a panel, each below 2^(115 + 2), add up to less than 2^126.
const HIGHEST: i32 = 115;

/// The k of a panel.
const DEPTH: usize = 256;

/// Whether every accumulator is below 2^126.
fn are_small(state: &[f32]) -> bool {
    // A NaN is none of these. All are looked at, in vectors.
    let small = |all: bool, x: &f32| all & (x.abs() < 2f32.powi(126));
    state.iter().fold(true, small)
}

/// A plan in numbers of the machine.
pub struct Rounded<T> {
    plan: RoundedPlan,
    real: PhantomData<T>,
}

impl<T> Rounded<T> {
    pub fn new(plan: RoundedPlan) -> Rounded<T> {
        let real = PhantomData;
        Rounded { plan, real }
    }
}

/// Tiles of numbers of the machine.
pub trait Tiles: Real {
    /// Whether a tile of these accumulators can be computed.
    fn suit(plan: &RoundedPlan, ranges: Option<[ExponentRange; 2]>, state: &[Self]) -> bool;

    /// # Safety
    /// As of [`Plain::run`].
    unsafe fn compute<V: Vector>(plan: &RoundedPlan, tile: DenseTile<Self, Self>);
}

impl Tiles for f64 {
    fn suit(_: &RoundedPlan, _: Option<[ExponentRange; 2]>, _: &[f64]) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn compute<V: Vector>(_: &RoundedPlan, tile: DenseTile<f64, f64>) {
        // SAFETY: the caller's promise.
        unsafe { across::<V, f64, Single, 2>(tile) }
    }
}

impl Tiles for f32 {
    fn suit(plan: &RoundedPlan, ranges: Option<[ExponentRange; 2]>, state: &[f32]) -> bool {
        let plain = || ranges.is_some_and(|ranges| plan.products_are_plain(ranges));
        match plan.toward {
            Toward::Nearest => !plan.fused || plain(),
            Toward::Zero => plain() && are_small(state),
            Toward::Odd => true,
        }
    }

    #[inline(always)]
    unsafe fn compute<V: Vector>(plan: &RoundedPlan, tile: DenseTile<f32, f32>) {
        // SAFETY: the caller's promise.
        unsafe {
            match (plan.toward, plan.fused, plan.group) {
                (Toward::Nearest, false, _) => across::<V, f32, Single, 2>(tile),
                (Toward::Nearest, true, 2) => across::<V, f32, Fused, 2>(tile),
                (Toward::Nearest, true, _) => across::<V, f32, Fused, 4>(tile),
                (Toward::Zero, _, 2) => across::<V, f32, Cut, 2>(tile),
                (Toward::Zero, ..) => across::<V, f32, Cut, 4>(tile),
                (Toward::Odd, ..) => {
                    let plain = tile.ranges.is_some_and(|r| plan.products_are_plain(r));
                    if plain && are_small(tile.state) {
                        across::<V, f32, Odd, 2>(tile);
                    } else {
                        carefully::<V>(tile);
                    }
                }
            }
        }
    }
}

impl<T: Tiles> Plain for Rounded<T> {
    type Real = T;
    type State = T;

    const MEASURES: bool = true;

    fn formats(&self) -> [Format; 2] {
        [self.plan.a, self.plan.b]
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Native
    }

    fn flushed(&self, _: Format) -> Option<Flushed> {
        self.plan.flush.then_some(Flushed {
            below: self.plan.accumulator.min_exponent(),
            signed: true,
        })
    }

    fn commutes(&self) -> bool {
        !self.plan.payloads
    }

    fn start(&self, code: u64) -> T {
        let c = T::from_code(code);
        if self.plan.flush && c.exponent_field() == 0 {
            c.zero()
        } else {
            c
        }
    }

    fn finish(&self, state: T) -> Option<u64> {
        (!self.plan.payloads || !state.is_nan()).then(|| state.to_code(self.plan.nan))
    }

    fn between(&self, state: T) -> u64 {
        state.to_code(self.plan.nan)
    }

    fn group(&self) -> usize {
        self.plan.group
    }

    fn suits(&self, a: Strip<T>, b: Strip<T>, state: &[T]) -> bool {
        let ranges = a.range.zip(b.range).map(|(a, b)| [a, b]);
        T::suit(&self.plan, ranges, state)
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<T, T>) {
        // SAFETY: the caller's promise.
        unsafe { T::compute::<V>(&self.plan, tile) }
    }
}

/// How sums are rounded.
trait Sums<T: Real> {
    /// The sum of two products, of `x[0]` and `y[0]`, `x[1]` and `y[1]`.
    ///
    /// # Safety
    /// As of [`Vector`], as of the other.
    unsafe fn pair<V: Vector>(x: [T::R<V>; 2], y: [T::R<V>; 2]) -> T::R<V>;
    /// # Safety
    /// As above.
    unsafe fn add<V: Vector>(x: T::R<V>, y: T::R<V>) -> T::R<V>;
}

/// Each product and each sum to nearest.
struct Single;

impl<T: Real> Sums<T> for Single {
    #[inline(always)]
    unsafe fn pair<V: Vector>(x: [T::R<V>; 2], y: [T::R<V>; 2]) -> T::R<V> {
        // SAFETY: the caller's promise, here and below.
        unsafe { T::add::<V>(T::mul::<V>(x[0], y[0]), T::mul::<V>(x[1], y[1])) }
    }

    #[inline(always)]
    unsafe fn add<V: Vector>(x: T::R<V>, y: T::R<V>) -> T::R<V> {
        // SAFETY: as above.
        unsafe { T::add::<V>(x, y) }
    }
}

/// Two products exact, their sum and others to nearest.
struct Fused;

impl Sums<f32> for Fused {
    #[inline(always)]
    unsafe fn pair<V: Vector>(x: [V::F; 2], y: [V::F; 2]) -> V::F {
        // SAFETY: as above.
        unsafe { V::fma(x[1], y[1], V::mul(x[0], y[0])) }
    }

    #[inline(always)]
    unsafe fn add<V: Vector>(x: V::F, y: V::F) -> V::F {
        // SAFETY: as above.
        unsafe { V::add_f(x, y) }
    }
}

/// Two products exact, their sum and others toward zero.
struct Cut;

impl Sums<f32> for Cut {
    #[inline(always)]
    unsafe fn pair<V: Vector>(x: [V::F; 2], y: [V::F; 2]) -> V::F {
        // SAFETY: as above.
        unsafe { V::add_cut(V::mul(x[0], y[0]), V::mul(x[1], y[1])) }
    }

    #[inline(always)]
    unsafe fn add<V: Vector>(x: V::F, y: V::F) -> V::F {
        // SAFETY: as above.
        unsafe { V::add_cut(x, y) }
    }
}

/// Two products exact, their sum and others to odd.
struct Odd;

impl Sums<f32> for Odd {
    #[inline(always)]
    unsafe fn pair<V: Vector>(x: [V::F; 2], y: [V::F; 2]) -> V::F {
        // SAFETY: as above.
        unsafe { V::fma_odd(x[1], y[1], V::mul(x[0], y[0])) }
    }

    #[inline(always)]
    unsafe fn add<V: Vector>(x: V::F, y: V::F) -> V::F {
        // SAFETY: as above.
        unsafe { V::add_odd(x, y) }
    }
}

/// A tile, as many registers at a time as leave room for what is between.
#[inline(always)]
unsafe fn across<V: Vector, T: Real, S: Sums<T>, const GROUP: usize>(tile: DenseTile<T, T>) {
    let state = tile.state.as_mut_ptr();
    let wide = if V::REGISTERS >= 32 { 2 } else { 1 };
    for left in (0..T::ACROSS).step_by(wide) {
        let at = left * V::LANES;
        // SAFETY: features are the caller's promise; `wide` registers from `left` on lie within each row of a tile.
        unsafe {
            let (a, b, state) = (tile.a.as_ptr(), tile.b.as_ptr().add(at), state.add(at));
            match wide {
                1 => accumulate::<V, T, S, 1, GROUP>(tile.depth, a, b, state),
                _ => accumulate::<V, T, S, 2, GROUP>(tile.depth, a, b, state),
            }
        }
    }
}

/// Some registers across all rows.
#[inline(always)]
unsafe fn accumulate<V: Vector, T: Real, S: Sums<T>, const N: usize, const GROUP: usize>(
    depth: usize,
    a: *const T,
    b: *const T,
    state: *mut T,
) {
    let columns = T::ACROSS * V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        let zero = T::splat::<V>(T::default());
        let mut sum = [[zero; N]; ROWS];
        for (row, sum) in sum.iter_mut().enumerate() {
            for (v, sum) in sum.iter_mut().enumerate() {
                *sum = T::load::<V>(state.add(row * columns + v * V::LANES));
            }
        }
        for k in (0..depth).step_by(GROUP) {
            let a = a.add(k * ROWS);
            let b = b.add(k * columns);
            let mut y = [[zero; GROUP]; N];
            for (v, y) in y.iter_mut().enumerate() {
                for (k, y) in y.iter_mut().enumerate() {
                    *y = T::load::<V>(b.add(k * columns + v * V::LANES));
                }
            }
            for (row, sum) in sum.iter_mut().enumerate() {
                let mut x = [zero; GROUP];
                for (k, x) in x.iter_mut().enumerate() {
                    *x = T::splat::<V>(*a.add(k * ROWS + row));
                }
                for (sum, y) in sum.iter_mut().zip(&y) {
                    let mut products = S::pair::<V>([x[0], x[1]], [y[0], y[1]]);
                    if GROUP == 4 {
                        let others = S::pair::<V>([x[2], x[3]], [y[2], y[3]]);
                        products = S::add::<V>(products, others);
                    }
                    *sum = S::add::<V>(*sum, products);
                }
            }
        }
        for (row, sum) in sum.into_iter().enumerate() {
            for (v, sum) in sum.into_iter().enumerate() {
                T::store::<V>(state.add(row * columns + v * V::LANES), sum);
            }
        }
    }
}

/// Pairs to odd, of numbers of any size.
#[inline(always)]
unsafe fn carefully<V: Vector>(tile: DenseTile<f32, f32>) {
    let columns = tile.columns;
    for left in (0..columns).step_by(V::LANES) {
        for row in 0..ROWS {
            let at = row * columns + left;
            for k in (0..tile.depth).step_by(2) {
                // SAFETY: features are the caller's promise; a register from `left` on lies within each row of a tile.
                unsafe {
                    let (mut x, mut y) = ([V::splat_f(0.0); 2], [V::splat_f(0.0); 2]);
                    for i in 0..2 {
                        x[i] = V::splat_f(*tile.a.as_ptr().add((k + i) * ROWS + row));
                        y[i] = V::load_f(tile.b.as_ptr().add((k + i) * columns + left));
                    }
                    let c = V::load_f(tile.state.as_ptr().add(at));
                    let [p, q] = [0, 1].map(|i| flushed::<V>(V::mul(x[i], y[i])));
                    let sum = V::add_odd(p, q);
                    let large = large::<V>([p, q], sum);
                    let sum = flushed::<V>(sum);
                    let new = V::add_odd(c, sum);
                    let large = V::or(large, self::large::<V>([c, sum], new));
                    let new = flushed::<V>(new);
                    if !V::any_negative(large) {
                        V::store_f(tile.state.as_mut_ptr().add(at), new);
                        continue;
                    }
                    let (mut lanes, mut exact) = ([0f32; 16], [0i32; 16]);
                    V::store_f(lanes.as_mut_ptr(), new);
                    V::store(exact.as_mut_ptr(), large);
                    for lane in 0..V::LANES {
                        let state = &mut tile.state[at + lane];
                        *state = if exact[lane] == 0 {
                            lanes[lane]
                        } else {
                            // The operands are finite, and so is C, or its NaN is as good as another.
                            let code = state.to_bits().into();
                            let step = tile.fallback;
                            f32::from_code(step.step(row, left + lane, k..k + 2, code))
                        };
                    }
                }
            }
        }
    }
}

/// Zeros of their sign in place of subnormal numbers.
#[inline(always)]
unsafe fn flushed<V: Vector>(x: V::F) -> V::F {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = V::bits(x);
        let magnitude = V::and(bits, V::splat(i32::MAX));
        let subnormal = V::greater(V::splat(1 << 23), magnitude);
        V::from_bits(V::clear(bits, V::and(subnormal, V::splat(i32::MAX))))
    }
}

/// All ones where a sum of finite numbers, or one of these, is 2^127 or more.
#[inline(always)]
unsafe fn large<V: Vector>(terms: [V::F; 2], sum: V::F) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let magnitude = |x: V::F| V::and(V::bits(x), V::splat(i32::MAX));
        let largest = V::max(magnitude(terms[0]), magnitude(terms[1]));
        let special = V::greater(largest, V::splat(f32::MAX.to_bits() as i32));
        let large = V::greater(V::max(largest, magnitude(sum)), V::splat(0x7eff_ffff));
        V::clear(large, special)
    }
}
