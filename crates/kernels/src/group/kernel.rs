//! The inner loops, generic over the vectors: a strip of rows of A times a strip of columns of B
//! over a panel of k.
//!
//! For every group of products and 32 bits a lane:
//!
//! 1. The common exponent E, as a biased byte, is a maximum over the group of `a_field - b_gap`
//!    (all columns of the strip at once), then of c's exponent field.
//! 2. A product of two significands is exact in an f32, and so it is times 2^(F - E): its conversion
//!    to an integer *is* the truncation toward zero to the grid ([`super::align`]).
//! 3. The integers are added; sums that could leave 32 bits are checked.
//! 4. The sum is converted toward zero to a float and scaled back: the next c.
//!
//! FP16 results: a sum is rounded to odd to 24 bits, or is exact where it fits them, so that the
//! rounding to FP16 is the only one that counts. Between groups infinities are a large power of two
//! (see `HUGE`) and a zero may be -0, which adds to a sum what +0 does; `leave` undoes both.
//!
//! Everything is relative to the shifts of row and column, so that BF16's exponents stay in an
//! f32's range; `Exponents::suits` and the checks on c say when that is exact. Where it is not, the
//! kernel says so and the caller asks the exact engine.

use super::align::{self, ADDING, MULTIPLYING, products};
use super::pack::ROWS;
use super::plan::{GroupPlan, Output};
use super::tile::{Tile, assert_lengths};
use crate::vector::{ACROSS, Aligned, Vector, WIDEST};

/// Sign clear, all of the exponent.
const EXPONENT: i32 = 0x7f80_0000;

/// Runs a tile. False if a precondition failed; then the state is as it was.
///
/// # Safety
/// The machine must have the features that `V` needs.
#[inline(always)]
pub unsafe fn run<V: Vector>(tile: &mut Tile) -> bool {
    let plan = tile.plan;
    assert_lengths::<V>(tile);
    // SAFETY: features are the caller's promise; every pointer below stays within the lengths just
    // asserted.
    unsafe {
        // Where speed matters less than the time to compile, one instance does what several do faster: looking for
        // an overflow that cannot be, keeping all bits by a mask, and rounding what is exact changes nothing.
        if V::FEW_INSTANCES {
            return match (plan.output, plan.halves.is_some()) {
                (Output::Fp16 | Output::Fp16Short, false) => {
                    chunk::<V, MULTIPLYING, HALF, true, false>(tile)
                }
                (Output::Fp16 | Output::Fp16Short, true) => {
                    chunk::<V, MULTIPLYING, HALF, true, true>(tile)
                }
                (_, false) => chunk::<V, MULTIPLYING, MASKED, true, false>(tile),
                (_, true) => chunk::<V, MULTIPLYING, MASKED, true, true>(tile),
            };
        }
        match (plan.output, tile.checked, plan.halves.is_some()) {
            (Output::Fp32, false, false) => either::<V, FP32, false, false>(tile),
            (Output::Fp32, true, false) => either::<V, FP32, true, false>(tile),
            (Output::Fp32, false, true) => either::<V, FP32, false, true>(tile),
            (Output::Fp32, true, true) => either::<V, FP32, true, true>(tile),
            (Output::Fp32Masked(_), false, false) => either::<V, MASKED, false, false>(tile),
            (Output::Fp32Masked(_), true, false) => either::<V, MASKED, true, false>(tile),
            (Output::Fp32Masked(_), false, true) => either::<V, MASKED, false, true>(tile),
            (Output::Fp32Masked(_), true, true) => either::<V, MASKED, true, true>(tile),
            // Such sums are far from leaving 32 bits.
            (Output::Fp32Short(_), _, false) => either::<V, SHORT, false, false>(tile),
            (Output::Fp32Short(_), _, true) => either::<V, SHORT, false, true>(tile),
            (Output::Fp16, false, false) => chunk::<V, MULTIPLYING, HALF, false, false>(tile),
            (Output::Fp16, true, false) => chunk::<V, MULTIPLYING, HALF, true, false>(tile),
            (Output::Fp16, false, true) => chunk::<V, MULTIPLYING, HALF, false, true>(tile),
            (Output::Fp16, true, true) => chunk::<V, MULTIPLYING, HALF, true, true>(tile),
            (Output::Fp16Short, _, false) => {
                chunk::<V, MULTIPLYING, HALF_SHORT, false, false>(tile)
            }
            (Output::Fp16Short, _, true) => chunk::<V, MULTIPLYING, HALF_SHORT, false, true>(tile),
        }
    }
}

/// Adds exponents, or multiplies where exponents leave their range: one instance multiplies for all outputs.
#[inline(always)]
unsafe fn either<V: Vector, const OUTPUT: u8, const CHECKED: bool, const HALVES: bool>(
    tile: &mut Tile,
) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        chunk::<V, ADDING, OUTPUT, CHECKED, HALVES>(tile)
            || chunk::<V, MULTIPLYING, MASKED, true, HALVES>(tile)
    }
}

pub const FP32: u8 = 0;
const MASKED: u8 = 1;
pub const SHORT: u8 = 2;
const HALF: u8 = 3;
pub const HALF_SHORT: u8 = 4;

/// Accumulators of a tile, relative to the shifts.
pub struct Accumulators {
    /// With halves the running C.
    state: Aligned<[f32; ROWS * WIDEST]>,
    /// The sums of halves.
    half: Aligned<[f32; ROWS * WIDEST]>,
}

impl Accumulators {
    #[inline(always)]
    pub fn new() -> Accumulators {
        let [state, half] = [(); 2].map(|()| Aligned([0f32; ROWS * WIDEST]));
        Accumulators { state, half }
    }

    #[inline(always)]
    pub fn all(&mut self) -> *mut f32 {
        self.state.0.as_mut_ptr()
    }

    /// What a group's products are added to. The caller's promise: features, and a register of a tile.
    #[inline(always)]
    pub unsafe fn addend<V: Vector, const HALVES: bool>(&self, group: usize, at: usize) -> V::F {
        // SAFETY: the caller's promise.
        unsafe {
            if !HALVES {
                V::load_f(self.state.0.as_ptr().add(at))
            } else if group % 2 == 1 {
                V::load_f(self.half.0.as_ptr().add(at))
            } else {
                V::splat_f(0.0)
            }
        }
    }

    /// Notes a group's rounded sum. The caller's promise: features, and a register of a tile.
    #[inline(always)]
    pub unsafe fn set<V: Vector, const OUTPUT: u8, const HALVES: bool>(
        &mut self,
        group: usize,
        at: usize,
        new: V::F,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let state = self.state.0.as_mut_ptr().add(at);
            if HALVES && group % 2 == 1 {
                return V::store_f(state, close::<V, OUTPUT>(V::load_f(state), new));
            }
            let new = if is_half(OUTPUT) {
                infinite_to_huge::<V>(new)
            } else {
                new
            };
            let half = self.half.0.as_mut_ptr().add(at);
            V::store_f(if HALVES { half } else { state }, new);
        }
    }
}

#[inline(always)]
unsafe fn chunk<
    V: Vector,
    const ADDING: bool,
    const OUTPUT: u8,
    const CHECKED: bool,
    const HALVES: bool,
>(
    tile: &mut Tile,
) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let plan = tile.plan;
        let columns = ACROSS * V::LANES;
        let mut state = Accumulators::new();
        if !enter::<V, OUTPUT, HALVES>(tile, state.all()) {
            return false;
        }
        let mut exponents = Aligned([0u8; ROWS * WIDEST]);
        let exponents = exponents.0.as_mut_ptr();
        let mut bad = V::splat(0);
        let f = V::splat(plan.fraction_bits << 23);
        let base = align::base::<V, ADDING>(plan.fraction_bits);
        let parts = plan.group / plan.part;

        for group in 0..tile.groups {
            let first = group * plan.group;
            common_exponents::<V>(tile, first, exponents);
            // Neighbouring rows do not depend on each other, so that the end of one overlaps with
            // the start of the next.
            for row in 0..tile.rows {
                let at = |v: usize| row * columns + v * V::LANES;
                let mut c = [V::splat_f(0.0); ACROSS];
                let mut e = [V::splat(0); ACROSS];
                let mut scale = [V::splat_f(0.0); ACROSS];
                for v in 0..ACROSS {
                    c[v] = state.addend::<V, HALVES>(group, at(v));
                    let products = V::load_exponents(exponents.add(at(v)));
                    e[v] = V::max(products, addend_exponent::<V, OUTPUT>(c[v]));
                    scale[v] = align::scale::<V, ADDING>(base, e[v], &mut bad);
                }

                let mut sum = products::<V, ADDING>(tile, first, row, &scale);
                for part in 1..parts {
                    let part = products::<V, ADDING>(tile, first + part * plan.part, row, &scale);
                    for v in 0..ACROSS {
                        sum[v] = checked_add::<V, CHECKED>(sum[v], part[v], &mut bad);
                    }
                }

                for v in 0..ACROSS {
                    let term = V::truncate(align::times::<V, ADDING>(c[v], scale[v]));
                    let total = checked_add::<V, CHECKED>(sum[v], term, &mut bad);
                    // 2^(E - F)
                    let back = V::from_bits(V::sub(e[v], f));
                    let new = round::<V, OUTPUT>(plan, total, back);
                    state.set::<V, OUTPUT, HALVES>(group, at(v), new);
                }
            }
        }
        let mut sound = !V::any_negative(bad);
        if HALVES && !is_half(OUTPUT) {
            sound &= normal::<V>(tile, state.all());
        }
        if sound {
            leave::<V, OUTPUT, HALVES>(tile, state.all());
        }
        sound
    }
}

/// C and the sum of two halves.
#[inline(always)]
unsafe fn close<V: Vector, const OUTPUT: u8>(c: V::F, new: V::F) -> V::F {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        if !is_half(OUTPUT) {
            return V::add_f(c, new);
        }
        // The half's result is +0 where it is zero. FP32 has enough bits for the second rounding to
        // be innocuous.
        let new = V::add_f(new, V::splat_f(0.0));
        V::through_half(V::add_f(c, new))
    }
}

/// The largest exponent of each column's products in a group, for every row, as biased bytes.
#[inline(always)]
pub unsafe fn common_exponents<V: Vector>(tile: &Tile, first: usize, out: *mut u8) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        match tile.rows {
            1 => exponents_of::<V, 1>(tile, first, out),
            2..5 => exponents_of::<V, 4>(tile, first, out),
            _ => exponents_of::<V, ROWS>(tile, first, out),
        }
    }
}

/// The largest exponents for the first `N` rows.
#[inline(always)]
unsafe fn exponents_of<V: Vector, const N: usize>(tile: &Tile, first: usize, out: *mut u8) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let floor = V::splat_b(tile.plan.floor as u32 * 0x0101_0101);
        let mut largest = [floor; N];
        let mut fields = tile.fields.as_ptr().add(first * ROWS);
        let mut gaps = tile.gaps.as_ptr().add(first * columns);
        for _ in 0..tile.plan.group {
            let gap = V::load_b(gaps);
            for (row, largest) in largest.iter_mut().enumerate() {
                let field = V::splat_b(*fields.add(row));
                *largest = V::max_b(*largest, V::sub_saturating(field, gap));
            }
            fields = fields.add(ROWS);
            gaps = gaps.add(columns);
        }
        for (row, largest) in largest.into_iter().enumerate() {
            V::store_b(out.add(row * columns), largest);
        }
    }
}

/// The exponent field with which c competes.
#[inline(always)]
pub unsafe fn addend_exponent<V: Vector, const OUTPUT: u8>(c: V::F) -> V::I {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let field = V::and(V::bits(c), V::splat(EXPONENT));
        if !is_half(OUTPUT) {
            return field;
        }
        // FP16's subnormals have its smallest exponent; zeros leave it to the floor.
        let zero = V::equal(field, V::splat(0));
        V::max(field, V::clear(V::splat((127 - 14) << 23), zero))
    }
}

pub const fn is_half(output: u8) -> bool {
    matches!(output, HALF | HALF_SHORT)
}

/// An FP16 infinity stays what it is. Between groups that is a power of two so large that the
/// arithmetic itself keeps it: next to it every product is cut off, it comes out exact, and FP16
/// makes an infinity of it again.
const HUGE: i32 = (127 + 64) << 23;

#[inline(always)]
unsafe fn infinite_to_huge<V: Vector>(c: V::F) -> V::F {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let c = V::min(V::bits(c), V::splat(HUGE));
        // Bits of negative numbers are unsigned numbers above all of the positive ones'.
        V::from_bits(V::min_unsigned(c, V::splat(HUGE | i32::MIN)))
    }
}

#[inline(always)]
unsafe fn checked_add<V: Vector, const CHECKED: bool>(x: V::I, y: V::I, bad: &mut V::I) -> V::I {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let sum = V::add(x, y);
        if CHECKED {
            // Overflow: the sum's sign differs from both.
            *bad = V::or(*bad, V::and(V::xor(sum, x), V::xor(sum, y)));
        }
        sum
    }
}

/// `total * back`, rounded to the output.
#[inline(always)]
unsafe fn round<V: Vector, const OUTPUT: u8>(plan: &GroupPlan, total: V::I, back: V::F) -> V::F {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let float = if matches!(OUTPUT, SHORT | HALF_SHORT) {
            V::to_float(total)
        } else {
            V::round_toward_zero(total)
        };
        match OUTPUT {
            FP32 => V::mul(float, back),
            MASKED | SHORT => {
                let mask = match plan.output {
                    Output::Fp32Masked(mask) | Output::Fp32Short(mask) => mask,
                    Output::Fp32 | Output::Fp16 | Output::Fp16Short => -1,
                };
                let kept = V::and(V::bits(float), V::splat(mask));
                V::mul(V::from_bits(kept), back)
            }
            HALF_SHORT => V::through_half(V::mul(float, back)),
            _ => {
                // Round to odd, so that the rounding to FP16 sees whether anything was cut off.
                let exact = V::equal(V::truncate(float), total);
                let odd = V::or(V::bits(float), V::clear(V::splat(1), exact));
                V::through_half(V::mul(V::from_bits(odd), back))
            }
        }
    }
}

/// Loads the accumulators, relative to the shifts. False if one is where the kernel is not exact.
#[inline(always)]
pub unsafe fn enter<V: Vector, const OUTPUT: u8, const HALVES: bool>(
    tile: &Tile,
    state: *mut f32,
) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let floor = V::splat(tile.plan.floor << 23);
        let mut bad = V::splat(0);
        for (row, &row_shift) in tile.row_shifts[..tile.rows].iter().enumerate() {
            for v in 0..ACROSS {
                let at = row * columns + v * V::LANES;
                let c = V::load(tile.state.as_ptr().add(at));
                if is_half(OUTPUT) {
                    // Absolute, and any value will do; there are NaNs only with halves, and C is
                    // only added to there.
                    let c = V::from_bits(c);
                    let c = if HALVES { c } else { infinite_to_huge::<V>(c) };
                    V::store_f(state.add(at), c);
                    continue;
                }
                let column_shift = V::load(tile.column_shifts.as_ptr().add(v * V::LANES));
                let shift = V::add(column_shift, V::splat(row_shift));
                let magnitude = V::and(c, V::splat(i32::MAX));
                let zero = V::equal(magnitude, V::splat(0));
                let field = V::and(c, V::splat(EXPONENT));
                // In units of 2^23 fields are below 2^8 and shifts within 2^8 of 0: the difference
                // wraps only where it is too large, and then to a negative number, which is wrong too.
                let relative = V::sub(field, shift);
                let wrong = V::or(
                    // Subnormal, or so large that products could lift it to infinity.
                    V::or(
                        V::greater(V::splat(1 << 23), field),
                        V::greater(field, V::splat(252 << 23)),
                    ),
                    V::or(
                        V::greater(floor, relative),
                        V::greater(relative, V::splat(252 << 23)),
                    ),
                );
                bad = V::or(bad, V::clear(wrong, zero));
                let c = V::sub(c, V::clear(shift, zero));
                V::store_f(state.add(at), V::from_bits(c));
            }
        }
        !V::any_negative(bad)
    }
}

/// Whether all accumulators are zero or normal numbers, relative and absolute. A fused step gives no
/// others (see `Exponents::suits`), but where an add closes, as it does after two halves, it can cancel
/// all but the last bits.
#[inline(always)]
pub unsafe fn normal<V: Vector>(tile: &Tile, state: *const f32) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let smallest = V::splat(1 << 23);
        let mut bad = V::splat(0);
        for (row, &row_shift) in tile.row_shifts[..tile.rows].iter().enumerate() {
            for v in 0..ACROSS {
                let c = V::bits(V::load_f(state.add(row * columns + v * V::LANES)));
                let column_shift = V::load(tile.column_shifts.as_ptr().add(v * V::LANES));
                let shift = V::add(column_shift, V::splat(row_shift));
                let zero = V::equal(V::and(c, V::splat(i32::MAX)), V::splat(0));
                let field = V::and(c, V::splat(EXPONENT));
                let wrong = V::or(
                    V::greater(smallest, field),
                    V::greater(smallest, V::add(field, shift)),
                );
                bad = V::or(bad, V::clear(wrong, zero));
            }
        }
        !V::any_negative(bad)
    }
}

/// Stores the accumulators, absolute again.
#[inline(always)]
pub unsafe fn leave<V: Vector, const OUTPUT: u8, const HALVES: bool>(
    tile: &mut Tile,
    state: *const f32,
) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        for (row, &row_shift) in tile.row_shifts[..tile.rows].iter().enumerate() {
            for v in 0..ACROSS {
                let at = row * columns + v * V::LANES;
                let c = V::load_f(state.add(at));
                if is_half(OUTPUT) {
                    // Infinities again, and a zero result is +0.
                    let c = if HALVES { c } else { V::through_half(c) };
                    let c = V::add_f(c, V::splat_f(0.0));
                    V::store_f(tile.state.as_mut_ptr().add(at).cast(), c);
                    continue;
                }
                let c = V::bits(c);
                let column_shift = V::load(tile.column_shifts.as_ptr().add(v * V::LANES));
                let shift = V::add(column_shift, V::splat(row_shift));
                let zero = V::equal(V::and(c, V::splat(i32::MAX)), V::splat(0));
                let c = V::add(c, V::clear(shift, zero));
                V::store_f(tile.state.as_mut_ptr().add(at).cast(), V::from_bits(c));
            }
        }
    }
}
