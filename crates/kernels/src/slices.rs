//! Tenstorrent's matrix unit: slices of significands, sixteen products at a time, rounded into the accumulator every time.
//!
//! A product of slices has 12 bits, so that it is rounded onto its group's largest exponent in 16-bit lanes: eight times the
//! product and one more, times `4096 >> distance` with the product's sign, divided by 2^15 to nearest. The one breaks ties
//! away from zero whatever the sign, and is too small for anything else. Distances are those of the first phase in all
//! others. Groups and the accumulator meet in 32-bit lanes.
//!
//! An accumulator is its code with an FP32's places: FP16's five bits of exponent are the lower ones of eight.

use std::marker::PhantomData;
use std::ops::Range;

use super::platform::{Platform, Vectorized};
use super::tile::{Operand, Packed, SpecialRule, StepFallback, TileKernel};
use super::vector::{ACROSS, Vector, WIDEST};
use tcverify_num::{Format, Formats};

/// Products of a group, and groups that meet the accumulator at once.
const GROUP: usize = 8;
const GROUPS: usize = 2;
const AT_ONCE: usize = GROUP * GROUPS;

/// The most products that all phases go over before others.
const MOST: usize = 32;

/// Rows of a strip of A.
const ROWS: usize = 4;

/// The k of a panel.
const DEPTH: usize = 512;

/// What is added to each exponent field but zero's: two nonzero ones are more than one and a zero.
const NONZERO: u32 = 512;

/// Places of an FP32.
const FRACTION: u32 = 23;

/// A rule in the terms of the kernel; its groups, slices and roundings are Tenstorrent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicePlan {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Products that every phase goes over before the next one.
    pub tile: usize,
    pub phases: Vec<u32>,
    /// The exponent that a product with zero counts as.
    pub zero_exponent: Option<i32>,
    pub narrow_bits: u32,
    /// The power of two, in units, of a sum of minus one unit.
    pub minus_one: Option<u32>,
    /// What happens between blocks of k.
    pub blocks: Option<Blocks>,
}

/// How an accumulator goes through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// k of a block.
    pub k: usize,
    /// Low bits that are lost on the way back.
    pub lost_bits: u32,
    /// Whether sums of blocks are added in memory, as FP32 numbers; the last block starts from theirs.
    pub added: bool,
}

impl SlicePlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, plan: SlicePlan) -> Option<SlicePlan> {
        let offset = plan.offset();
        let zero_fits = plan.zero_exponent.is_none_or(|zero| {
            let field = zero + plan.accumulator.bias() - offset;
            (0..=2 * (NONZERO as i32 + 1)).contains(&field)
        });
        let fits = [AT_ONCE, MOST].contains(&plan.tile)
            && zero_fits
            && formats.addend == plan.accumulator
            && plan.minus_one.is_none_or(|bits| bits < 29)
            && [0, 13].contains(&plan.narrow_bits)
            && plan.blocks.is_none_or(|blocks| {
                let known = !blocks.added || plan.accumulator == Format::Fp32;
                known && blocks.k.is_multiple_of(plan.tile)
            });
        fits.then_some(plan)
    }

    /// From the sum of packed fields to the accumulator's.
    fn offset(&self) -> i32 {
        self.accumulator.bias() - self.a.bias() - self.b.bias() - 2 * NONZERO as i32
    }

    /// Bits by which an FP32's fraction is longer.
    fn below(&self) -> u32 {
        FRACTION - self.accumulator.fraction_bits()
    }
}

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

/// Of A `[strip][plane][k][ROWS]`, each number in both halves of a lane: exponents, and of both slices the slice and 1 as bytes,
/// negated if the number is. Of B `[plane][k][columns]`, columns of two registers taking turns: exponents, signs, and of both
/// slices eight times the slice and 1 as bytes.
#[derive(Default)]
pub struct Sliced<T>(Vec<T>);

impl<T> Packed for Sliced<T> {
    fn special(&self) -> &[bool] {
        &[]
    }
}

/// Planes of A and of B.
const OF_A: usize = 3;
const OF_B: usize = 4;

pub struct Panel {
    k: Range<usize>,
    padded: usize,
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

impl<S: Held> TileKernel for SliceKernel<S> {
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
        Panel {
            padded: k.len().next_multiple_of(self.plan.tile),
            k,
        }
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
                let bytes = |slice: u16| match parts.negative {
                    false => slice | 1 << 8,
                    true => slice.wrapping_neg() & 0xff | 0xff00,
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
        // Of two registers of lanes one column each becomes the halves of a lane.
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

/// A tile: `[plane][k][ROWS]`, `[plane][k][columns]` and, of accumulators, sums of a block alone and sums in memory,
/// `[ROWS][columns]`.
struct RunTile<'a> {
    plan: &'a SlicePlan,
    /// The first k, of all.
    start: usize,
    depth: usize,
    a: &'a [i32],
    b: &'a [u16],
    state: &'a mut [[i32; ROWS * WIDEST]; 3],
}

impl Vectorized for RunTile<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let columns = ACROSS * V::LANES;
        assert!(self.a.len() == OF_A * self.depth * ROWS);
        assert!(self.b.len() == OF_B * self.depth * columns);
        assert!(columns <= WIDEST);
        let tile = self.plan.tile;
        assert!(tile <= MOST && self.depth.is_multiple_of(tile));
        let constants = Constants::new(self.plan);
        for left in (0..columns).step_by(2 * V::LANES) {
            for first in (0..self.depth).step_by(tile) {
                let k = self.start + first;
                let blocks = self.plan.blocks.filter(|blocks| k >= blocks.k);
                // With sums of blocks in memory, one that starts from zero is computed beside.
                let chains = 1 + usize::from(blocks.is_some_and(|blocks| blocks.added));
                for row in 0..ROWS {
                    let lanes = row * columns + left..row * columns + left + 2 * V::LANES;
                    if let Some(blocks) = blocks.filter(|blocks| k.is_multiple_of(blocks.k)) {
                        for i in lanes.clone() {
                            blocks.between(k == blocks.k, i, self.state);
                        }
                    }
                    for state in &mut self.state[..chains] {
                        // SAFETY: features are the caller's promise; `tile` k from `first` on, and two registers of lanes from
                        // `left` on, lie within the lengths just asserted.
                        unsafe {
                            let at = state.as_mut_ptr().add(lanes.start);
                            let other = at.add(V::LANES);
                            let mut c = [V::load(at), V::load(other)];
                            let work = Work {
                                constants: &constants,
                                depth: self.depth,
                                a: self.a.as_ptr().add(first * ROWS + row),
                                b: self.b.as_ptr().add(first * columns + left),
                            };
                            work.tile::<V>(&self.plan.phases, tile, &mut c);
                            V::store(at, c[0]);
                            V::store(other, c[1]);
                        }
                    }
                }
            }
        }
    }
}

impl Blocks {
    /// What becomes of one element; `first`: after the first block.
    fn between(&self, first: bool, i: usize, state: &mut [[i32; ROWS * WIDEST]; 3]) {
        let [main, alone, stored] = state;
        stored[i] = match first || !self.added {
            true => main[i],
            false => added_in_memory(stored[i], alone[i]),
        };
        main[i] = stored[i] & (-1 << self.lost_bits);
        alone[i] = 0;
    }
}

/// IEEE's sum, to nearest even; subnormal numbers are zeros of their sign, and there is one NaN.
fn added_in_memory(x: i32, y: i32) -> i32 {
    let flushed = |x: f32| match x.is_subnormal() {
        true => 0f32.copysign(x),
        false => x,
    };
    let [x, y] = [x, y].map(|code| flushed(f32::from_bits(code as u32)));
    let sum = flushed(x + y);
    match sum.is_nan() {
        true => 0x7fc0_0000,
        false => sum.to_bits() as i32,
    }
}

/// What the plan says, in the units of lanes.
struct Constants {
    /// As [`SlicePlan::offset`].
    offset: i32,
    /// What the largest packed exponent of a group is at least.
    zero: i32,
    narrow: bool,
    /// What is added to a sum of minus one unit.
    fault: i32,
    /// Significant bits of a result.
    precision: i32,
    /// The largest field of a number, and what is too large becomes.
    top: i32,
    overflowed: i32,
}

impl Constants {
    fn new(plan: &SlicePlan) -> Constants {
        let format = plan.accumulator;
        let offset = plan.offset();
        let zero = plan
            .zero_exponent
            .map_or(0, |zero| zero + format.bias() - offset);
        let ones = (1 << format.exponent_bits()) - 1;
        let fraction = (1 << format.fraction_bits()) - 1;
        let (top, overflowed) = match format {
            // The largest field is a number's.
            Format::Fp16 => (ones, (ones << FRACTION) | fraction << plan.below()),
            _ => (ones - 1, ones << FRACTION),
        };
        Constants {
            offset,
            zero: zero << 16 | zero,
            narrow: plan.narrow_bits > 0,
            fault: plan.minus_one.map_or(0, |bits| 1 - (1 << bits)),
            precision: format.fraction_bits() as i32 + 1,
            top,
            overflowed,
        }
    }
}

/// One tile of K, one row, the columns of two registers of lanes.
struct Work<'a> {
    constants: &'a Constants,
    /// Of the panel.
    depth: usize,
    a: *const i32,
    b: *const u16,
}

// Indices, not iterators: the closures in those are not compiled for the vectors of the machine.
#[allow(clippy::needless_range_loop)]
impl Work<'_> {
    #[inline(always)]
    unsafe fn a<V: Vector>(&self, plane: usize, k: usize) -> V::I {
        // SAFETY: the caller's promise, here and below.
        unsafe { V::splat(*self.a.add((plane * self.depth + k) * ROWS)) }
    }

    #[inline(always)]
    unsafe fn b<V: Vector>(&self, plane: usize, k: usize) -> V::I {
        let columns = ACROSS * V::LANES;
        // SAFETY: the caller's promise, here and below.
        unsafe { V::load_halves(self.b.add((plane * self.depth + k) * columns).cast()) }
    }

    #[inline(always)]
    unsafe fn tile<V: Vector>(&self, phases: &[u32], tile: usize, c: &mut [V::I; 2]) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut largest = [V::splat(0); MOST / GROUP];
            // 2^12 divided by a power of two for each distance below the largest, with the sign of B.
            let mut factors = [V::splat(0); MOST];
            for first in (0..tile).step_by(GROUP) {
                let mut exponents = [V::splat(0); GROUP];
                let mut most = V::splat(self.constants.zero);
                for i in 0..GROUP {
                    let k = first + i;
                    exponents[i] = V::add_halves(self.a::<V>(0, k), self.b::<V>(0, k));
                    most = V::max_halves(most, exponents[i]);
                }
                for i in 0..GROUP {
                    let k = first + i;
                    let factor = V::halve_4096(V::sub_halves(most, exponents[i]));
                    factors[k] = V::negate_halves(factor, self.b::<V>(1, k));
                }
                largest[first / GROUP] = most;
            }
            for &phase in phases {
                let (of_a, of_b) = (1 + (phase >> 1) as usize, 2 + (phase & 1) as usize);
                let below = 7 * (phase >> 1) + 5 * (phase & 1);
                let offset = V::splat(self.constants.offset - below as i32);
                for first in (0..tile).step_by(AT_ONCE) {
                    let mut sums = [V::splat(0); GROUPS];
                    for i in 0..AT_ONCE {
                        let k = first + i;
                        let product = V::multiply_bytes(self.b::<V>(of_b, k), self.a::<V>(of_a, k));
                        let kept = V::multiply_fractions(product, factors[k]);
                        sums[i / GROUP] = V::add_halves(sums[i / GROUP], kept);
                    }
                    let mine = first / GROUP;
                    for half in 0..2 {
                        let of = [half_of::<V>(sums[0], half), half_of::<V>(sums[1], half)];
                        let exponents = [
                            V::add(half_of::<V>(largest[mine], half), offset),
                            V::add(half_of::<V>(largest[mine + 1], half), offset),
                        ];
                        c[half] = self.accumulate::<V>(of, exponents, c[half]);
                    }
                }
            }
        }
    }

    /// Two groups and the accumulator.
    #[inline(always)]
    unsafe fn accumulate<V: Vector>(
        &self,
        sums: [V::I; GROUPS],
        exponents: [V::I; GROUPS],
        c: V::I,
    ) -> V::I {
        let Constants {
            narrow,
            fault,
            precision,
            top,
            overflowed,
            ..
        } = *self.constants;
        // SAFETY: the caller's promise.
        unsafe {
            let zero = V::splat(0);
            let own = V::and(V::shift_right(c, V::splat(23)), V::splat(255));
            let mut largest = own;
            for group in 0..GROUPS {
                largest = V::max(largest, exponents[group]);
            }
            let hidden = V::and(V::greater(own, zero), V::splat(1 << 23));
            let fraction = V::and(c, V::splat((1 << 23) - 1));
            // Of a field of 0 there is no number.
            let fraction = V::and(fraction, V::greater(own, zero));
            let magnitude = V::or(fraction, hidden);
            let mut kept = nearest::<V>(V::add(magnitude, magnitude), distance::<V>(largest, own));
            if narrow {
                kept = narrowed::<V>(kept);
            }
            let sign = V::shift_right(c, V::splat(31));
            let mut total = V::sub(V::xor(kept, sign), sign);
            for group in 0..GROUPS {
                // One too small for the accumulator is zero.
                let exponent = exponents[group];
                let sum = V::and(sums[group], V::greater(exponent, zero));
                let twice = V::shift_left(sum, V::splat(14));
                let mut kept = nearest::<V>(twice, distance::<V>(largest, exponent));
                if narrow {
                    kept = narrowed::<V>(kept);
                }
                total = V::add(total, kept);
            }
            if fault != 0 {
                let minus_one = V::equal(total, V::splat(-1));
                total = V::add(total, V::and(minus_one, V::splat(fault)));
            }

            let sign = V::and(total, V::splat(i32::MIN));
            let mask = V::shift_right(total, V::splat(31));
            let magnitude = V::sub(V::xor(total, mask), mask);
            let size = V::bits(V::round_toward_zero(magnitude));
            let size = V::sub(
                V::shift_right(size, V::splat(23)),
                V::splat(126 + precision),
            );
            let down = V::max(size, zero);
            let kept = nearest::<V>(V::add(magnitude, magnitude), down);
            let number = V::bits(V::to_float(kept));
            // Where the last of 24 bits counts as 1.
            let up = V::add(V::add(down, largest), V::splat(-150));
            let field = V::add(V::shift_right(number, V::splat(23)), up);
            let number = V::add(number, V::shift_left(up, V::splat(23)));
            let large = V::greater(field, V::splat(top));
            let number = V::or(V::clear(number, large), V::and(V::splat(overflowed), large));
            let there = V::and(V::greater(field, zero), V::greater(magnitude, zero));
            V::and(V::or(number, sign), there)
        }
    }
}

/// How far below the largest exponent; from 31 on nothing is left.
#[inline(always)]
unsafe fn distance<V: Vector>(largest: V::I, exponent: V::I) -> V::I {
    // SAFETY: the caller's promise, here and below.
    unsafe { V::min(V::sub(largest, exponent), V::splat(31)) }
}

/// Half of `twice`, shifted down and rounded, up from a half on.
#[inline(always)]
unsafe fn nearest<V: Vector>(twice: V::I, down: V::I) -> V::I {
    // SAFETY: as above.
    unsafe {
        let one = V::splat(1);
        V::shift_right(V::add(V::shift_right(twice, down), one), one)
    }
}

/// Rounded again, to 13 bits fewer.
#[inline(always)]
unsafe fn narrowed<V: Vector>(x: V::I) -> V::I {
    // SAFETY: as above.
    unsafe { V::shift_left(nearest::<V>(x, V::splat(12)), V::splat(13)) }
}

/// The first half of each lane, or the second, signed.
#[inline(always)]
unsafe fn half_of<V: Vector>(x: V::I, half: usize) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let sixteen = V::splat(16);
        match half {
            0 => V::shift_right(V::shift_left(x, sixteen), sixteen),
            _ => V::shift_right(x, sixteen),
        }
    }
}
