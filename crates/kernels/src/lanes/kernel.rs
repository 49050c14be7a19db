//! The inner loops: a strip of rows of A times a strip of columns of B over a panel of k.
//!
//! A pair is `trunc(p * s) + trunc(q * s)`, s the power of two that makes the leading product an integer with
//! all its bits and 16 zeros below: the other one is cut there, as in the unit. What becomes of its sign,
//! of zeros and of pairs that cancel is the [`LaneRule`]'s. Four products of FP4, times the significands
//! of their scales, have at most 24 bits, so that an FP32 adds them exactly.
//!
//! A lane has at most 24 bits: as an FP32 it is moved to the common grid and cut there by a conversion,
//! which shows whether it lost anything. What follows is [`sticky`]'s.

use super::pack::{BIAS, Lines, ROWS};
use super::plan::{LANE_BITS, LANES, LanePlan, LaneRule};
use crate::group::sticky;
use crate::platform::Vectorized;
use crate::vector::{ACROSS, Aligned, Vector, WIDEST};

/// What the kernel needs of a tile.
pub struct Tile<'a> {
    pub plan: &'a LanePlan,
    /// Rows that are computed; what else there is only fills the tile up.
    pub rows: usize,
    pub positions: usize,
    /// `[position][ROWS]`
    pub a: &'a [f32],
    pub a_exponents: &'a [i32],
    /// `[lane][ROWS]`
    pub a_scales: &'a [i32],
    pub b: &'a Lines,
    /// `[ROWS][columns]`: accumulators, as bits of an FP32, before and after.
    pub state: &'a mut [i32],
}

const TFR: u8 = 0;
const ALIGNED: u8 = 1;
const DRL: u8 = 2;
const MXFP4: u8 = 3;
const NVFP4: u8 = 4;

/// Runs a tile. False if a precondition failed; then the state is as it was.
///
/// # Safety
/// The machine must have the features that `V` needs.
#[inline(always)]
unsafe fn run<V: Vector>(tile: &mut Tile) -> bool {
    let scaled = tile.plan.scale.is_some();
    assert_lengths::<V>(tile);
    // SAFETY: features are the caller's promise; every pointer below stays within the lengths just
    // asserted.
    unsafe {
        match (tile.plan.rule, scaled) {
            (LaneRule::Tfr, false) => rows::<V, TFR, false>(tile),
            (LaneRule::Tfr, true) => rows::<V, TFR, true>(tile),
            (LaneRule::TfrAligned, false) => rows::<V, ALIGNED, false>(tile),
            (LaneRule::TfrAligned, true) => rows::<V, ALIGNED, true>(tile),
            (LaneRule::Drl, false) => rows::<V, DRL, false>(tile),
            (LaneRule::Drl, true) => rows::<V, DRL, true>(tile),
            (LaneRule::Mxfp4, _) => rows::<V, MXFP4, true>(tile),
            (LaneRule::Nvfp4, _) => rows::<V, NVFP4, true>(tile),
        }
    }
}

/// Panics if a tile does not have the size that its plan and the vectors need.
fn assert_lengths<V: Vector>(tile: &Tile) {
    const { assert!(ACROSS * V::LANES <= WIDEST, "buffers hold the widest strip") };
    let (plan, columns) = (tile.plan, ACROSS * V::LANES);
    let positions = tile.positions;
    assert!(positions.is_multiple_of(plan.group()) && plan.lanes <= LANES);
    assert!(tile.a.len() >= positions * ROWS && tile.b.values.len() >= positions * columns);
    if !plan.is_quads() {
        assert!(tile.a_exponents.len() >= positions * ROWS);
        assert!(tile.b.exponents.len() >= positions * columns);
    }
    if plan.scale.is_some() {
        let lanes = positions / plan.together();
        assert!(tile.a_scales.len() >= lanes * ROWS && tile.b.scales.len() >= lanes * columns);
    }
    assert!(tile.state.len() == ROWS * columns && (1..=ROWS).contains(&tile.rows));
}

#[inline(always)]
unsafe fn rows<V: Vector, const RULE: u8, const SCALED: bool>(tile: &mut Tile) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        match tile.rows {
            1 => tile_of::<V, RULE, SCALED, 1>(tile),
            _ => tile_of::<V, RULE, SCALED, ROWS>(tile),
        }
    }
}

/// Lanes of a step, of some rows and one register of columns.
struct Step<V: Vector, const N: usize> {
    /// `[lane][row]`: numbers of which the last bit is 2^(exponent - 22), and exponent fields.
    values: [[V::F; N]; LANES],
    fields: [[V::I; N]; LANES],
}

#[inline(always)]
unsafe fn tile_of<V: Vector, const RULE: u8, const SCALED: bool, const N: usize>(
    tile: &mut Tile,
) -> bool {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let plan = tile.plan;
        let columns = ACROSS * V::LANES;
        let mut state = Aligned([0f32; ROWS * WIDEST]);
        let state = state.0.as_mut_ptr();
        let mut bad = V::splat(0);
        for at in (0..N * columns).step_by(V::LANES) {
            let c = V::load(tile.state.as_ptr().add(at));
            bad = V::or(bad, sticky::unfit::<V>(&plan.ending, c));
            V::store_f(state.add(at), V::from_bits(c));
        }
        if V::any_negative(bad) {
            return false;
        }
        let mut step = Step::<V, N> {
            values: [[V::splat_f(0.0); N]; LANES],
            fields: [[V::splat(0); N]; LANES],
        };
        let lanes = plan.lanes;
        for first in (0..tile.positions / plan.together()).step_by(lanes) {
            for left in (0..columns).step_by(V::LANES) {
                for lane in 0..lanes {
                    let (values, fields) = (&mut step.values[lane], &mut step.fields[lane]);
                    match RULE {
                        MXFP4 | NVFP4 => {
                            quads::<V, RULE, N>(tile, first + lane, left, values, fields)
                        }
                        _ => pairs::<V, RULE, SCALED, N>(tile, first + lane, left, values, fields),
                    }
                }
                for row in 0..N {
                    let c = state.add(row * columns + left);
                    let new = add::<V, N>(plan, &step, row, V::load_f(c), &mut bad);
                    V::store_f(c, new);
                }
            }
        }
        let sound = !V::any_negative(bad);
        if sound {
            for at in (0..N * columns).step_by(V::LANES) {
                let c = V::bits(V::load_f(state.add(at)));
                V::store(tile.state.as_mut_ptr().add(at), c);
            }
        }
        sound
    }
}

/// Two products of each row become a lane.
#[inline(always)]
unsafe fn pairs<V: Vector, const RULE: u8, const SCALED: bool, const N: usize>(
    tile: &Tile,
    lane: usize,
    left: usize,
    values: &mut [V::F; N],
    fields: &mut [V::I; N],
) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let at = 2 * lane * columns + left;
        let b = tile.b.values.as_ptr().add(at);
        let b = [V::load_f(b), V::load_f(b.add(columns))];
        let exponents = tile.b.exponents.as_ptr().add(at);
        let of_b = [V::load(exponents), V::load(exponents.add(columns))];
        let a = tile.a.as_ptr().add(2 * lane * ROWS);
        let of_a = tile.a_exponents.as_ptr().add(2 * lane * ROWS);
        let zero = V::splat(0);
        for row in 0..N {
            let p = V::mul(V::splat_f(*a.add(row)), b[0]);
            let q = V::mul(V::splat_f(*a.add(ROWS + row)), b[1]);
            let e = V::add(V::splat(*of_a.add(row)), of_b[0]);
            let f = V::add(V::splat(*of_a.add(ROWS + row)), of_b[1]);
            let leading = V::max(e, f);
            // The unit of a sum: DRL drops no bit of it.
            let bits = if RULE == DRL {
                LANE_BITS - 1
            } else {
                LANE_BITS
            };
            let scale = ((127 + bits + 127 + BIAS - 127) as u32).wrapping_shl(23) as i32;
            let scale = V::sub(V::splat(scale), leading);
            let [mut of_p, mut of_q] = [scale; 2];
            if RULE == DRL {
                // A distance of 32 or more loses its highest bit.
                let distance = V::sub(e, f);
                let wraps = V::splat(32 << 23);
                let below = V::and(V::max(V::sub(zero, distance), zero), wraps);
                of_p = V::add(of_p, below);
                of_q = V::add(of_q, V::and(V::max(distance, zero), wraps));
            }
            let x = V::truncate(V::mul(p, V::from_bits(of_p)));
            let y = V::truncate(V::mul(q, V::from_bits(of_q)));
            let mut sum = V::add(x, y);
            let mut field = V::add(leading, V::splat((127 - BIAS + 1) << 23));
            if SCALED {
                let scale = tile.b.scales.as_ptr().add(lane * columns + left);
                let of_a = V::splat(*tile.a_scales.as_ptr().add(lane * ROWS + row));
                field = V::add(field, V::add(of_a, V::load(scale)));
            }
            let dead = match RULE {
                DRL => {
                    // The leader is zero.
                    let first = V::greater(e, f);
                    let leader = V::or(V::and(V::bits(p), first), V::clear(V::bits(q), first));
                    V::equal(V::and(leader, V::splat(i32::MAX)), zero)
                }
                _ => {
                    let nothing = V::equal(sum, zero);
                    // Both are zero, where the second is and the sum; or they are opposite.
                    let opposite = match RULE {
                        ALIGNED => V::xor(V::bits(p), V::bits(q)),
                        _ => V::equal(e, f),
                    };
                    let why = V::shift_right(V::or(opposite, f), V::splat(31));
                    V::and(nothing, why)
                }
            };
            if RULE != DRL {
                // The last bit is dropped, toward zero.
                let sign = V::shift_right(sum, V::splat(31));
                sum = V::shift_right(V::sub(sum, sign), V::splat(1));
            }
            values[row] = V::to_float(sum);
            fields[row] = V::clear(field, dead);
        }
    }
}

/// Four products of each row become a lane.
#[inline(always)]
unsafe fn quads<V: Vector, const RULE: u8, const N: usize>(
    tile: &Tile,
    lane: usize,
    left: usize,
    values: &mut [V::F; N],
    fields: &mut [V::I; N],
) {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let columns = ACROSS * V::LANES;
        let b = tile.b.values.as_ptr().add(4 * lane * columns + left);
        let a = tile.a.as_ptr().add(4 * lane * ROWS);
        let of_b = V::load(tile.b.scales.as_ptr().add(lane * columns + left));
        let of_a = tile.a_scales.as_ptr().add(lane * ROWS);
        for row in 0..N {
            let mut sum = V::mul(V::splat_f(*a.add(row)), V::load_f(b));
            for k in 1..4 {
                let x = V::splat_f(*a.add(k * ROWS + row));
                sum = V::fma(x, V::load_f(b.add(k * columns)), sum);
            }
            let mut field = V::add(V::splat(*of_a.add(row)), of_b);
            if RULE == MXFP4 {
                // Six bits, the highest of them a sign.
                field = V::and(field, V::splat(63 << 23));
                field = V::add(field, V::splat((127 - 32 - 24 + 13) << 23));
            }
            let magnitude = V::and(V::bits(sum), V::splat(i32::MAX));
            values[row] = sum;
            fields[row] = V::clear(field, V::equal(magnitude, V::splat(0)));
        }
    }
}

/// C and the lanes of a row.
#[inline(always)]
unsafe fn add<V: Vector, const N: usize>(
    plan: &LanePlan,
    step: &Step<V, N>,
    row: usize,
    c: V::F,
    bad: &mut V::I,
) -> V::F {
    // SAFETY: features and lengths are those that `run` has asserted or was promised.
    unsafe {
        let ending = &plan.ending;
        let mut e = sticky::least::<V>(ending, c);
        for fields in &step.fields[..plan.lanes] {
            e = V::max(e, fields[row]);
        }
        let mut sum = V::splat(0);
        let mut lost = V::splat(0);
        // 2^(F - 22 + exponent - E), or less than any number that matters.
        let whole = V::sub(V::splat((127 + ending.fraction_bits - LANE_BITS) << 23), e);
        for lane in 0..plan.lanes {
            let scale = V::max(V::add(whole, step.fields[lane][row]), V::splat(1 << 23));
            let term = V::mul(step.values[lane][row], V::from_bits(scale));
            sticky::term::<V>(term, &mut sum, &mut lost);
        }
        // A lane without a leader may hold something, far below the others: without others it would count.
        let none = V::equal(e, V::splat(ending.floor << 23));
        let some = V::greater(V::and(lost, V::splat(i32::MAX)), V::splat(0));
        *bad = V::or(*bad, V::and(none, some));
        sticky::end::<V>(ending, c, e, sum, lost, bad)
    }
}

impl Vectorized for Tile<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) -> bool {
        // SAFETY: the same promise.
        unsafe { run::<V>(&mut self) }
    }
}
