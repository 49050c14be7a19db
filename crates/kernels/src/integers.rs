//! Integer products: exact in 32 bits within a group, two products an instruction.

use std::ops::Range;

use super::codes::{Codes, register};
use super::decode::in_halves;
use super::platform::{Platform, Vectorized};
use super::tile::{MicroKernel, Operand, Packed, SpecialRule, StepFallback};
use super::vector::{ACROSS, Vector};
use tcverify_num::{Format, Formats, Kind};

/// An integer sum in the terms of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerPlan {
    pub a: Format,
    pub b: Format,
    /// Products after which a sum is clamped to 32 bits; none where it wraps.
    pub clamped: Option<usize>,
}

impl IntegerPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, clamped: Option<usize>) -> Option<IntegerPlan> {
        let Formats { a, b, .. } = formats;
        // Two products are added in 32 bits.
        (a.width() <= 8 && b.width() <= 8).then_some(IntegerPlan { a, b, clamped })
    }
}

/// Rows of a strip of A.
const ROWS: usize = 4;

/// The k of a panel, at least.
const DEPTH: usize = 512;

/// The kernel of a plan, with the vectors of a platform.
pub struct IntegerKernel {
    pub plan: IntegerPlan,
    pub platform: Platform,
}

/// Neighbouring k as the halves of 32 bits: `[strip][pair][ROWS]`, or `[pair][columns]`.
#[derive(Default)]
pub struct Pairs {
    pairs: Vec<i32>,
    /// How many rows there are.
    rows: usize,
}

impl Packed for Pairs {
    fn special(&self) -> &[bool] {
        &[]
    }
}

/// A panel of k: groups of an odd number of products are filled up to even ones.
pub struct Panel {
    k: Range<usize>,
    group: usize,
    /// How many pairs a group has, and the panel.
    pairs: [usize; 2],
}

impl Panel {
    /// The k of a pair; none where it is filled up.
    #[inline(always)]
    fn ks(&self, pair: usize) -> [Option<usize>; 2] {
        let (group, first) = (pair / self.pairs[0], 2 * (pair % self.pairs[0]));
        [first, first + 1].map(|i| {
            let k = group * self.group + i;
            (i < self.group && k < self.k.len()).then_some(k)
        })
    }

    /// The pair that holds the k-th product, and in which half.
    fn place(&self, k: usize) -> (usize, u32) {
        let (group, k) = (k / self.group, k % self.group);
        (group * self.pairs[0] + k / 2, 16 * (k as u32 % 2))
    }
}

impl MicroKernel for IntegerKernel {
    type State = i32;
    type Panel = Panel;
    type A = Pairs;
    type B = Pairs;

    fn tile(&self) -> (usize, usize) {
        (ROWS, ACROSS * self.platform.lanes())
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.plan.clamped.unwrap_or(1))
    }

    fn specials(&self) -> SpecialRule {
        SpecialRule::Native
    }

    fn start(&self, code: u64) -> i32 {
        code as u32 as i32
    }

    fn finish(&self, state: i32) -> Option<u64> {
        Some((state as u32).into())
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        // Modulo 2^32 all groups are one.
        let group = self.plan.clamped.unwrap_or(k.len()).min(k.len());
        let pairs = group.div_ceil(2);
        Panel {
            group,
            pairs: [pairs, k.len().div_ceil(group) * pairs],
            k,
        }
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> Pairs {
        let [_, pairs] = panel.pairs;
        let count = rows.len();
        let mut packed = vec![0; count.div_ceil(ROWS) * pairs * ROWS];
        let mut codes = vec![0; panel.k.len()];
        for (i, row) in rows.enumerate() {
            operand.codes.read_row(row, panel.k.start, &mut codes);
            let strip = &mut packed[i / ROWS * pairs * ROWS..][..pairs * ROWS];
            for (k, &code) in codes.iter().enumerate() {
                let (pair, shift) = panel.place(k);
                let value = self.plan.a.integer(code.into()) as u16;
                strip[pair * ROWS + i % ROWS] |= i32::from(value) << shift;
            }
        }
        Pairs {
            pairs: packed,
            rows: count,
        }
    }

    fn room(&self) -> Pairs {
        Pairs::default()
    }

    fn pack_b(&self, panel: &Panel, operand: Operand, columns: Range<usize>, b: &mut Pairs) {
        let wide = self.tile().1;
        b.pairs.resize(panel.pairs[1] * wide, 0);
        let k = panel.k.clone();
        self.platform.vectorized(Pack {
            format: self.plan.b,
            panel,
            codes: Codes::new(self.platform, operand.codes, 1, k, columns, wide),
            out: &mut b.pairs,
        });
    }

    fn run(
        &self,
        panel: &Panel,
        a: &Pairs,
        strip: usize,
        b: &Pairs,
        state: &mut [i32],
        _: &dyn StepFallback,
    ) -> bool {
        let size = panel.pairs[1] * ROWS;
        self.platform.vectorized(RunTile {
            clamped: self.plan.clamped.is_some(),
            group: panel.pairs[0],
            rows: (a.rows - strip * ROWS).min(ROWS),
            a: &a.pairs[strip * size..][..size],
            b: &b.pairs,
            state,
        });
        true
    }
}

/// Lines of codes into pairs.
struct Pack<'a> {
    format: Format,
    panel: &'a Panel,
    codes: Codes<'a>,
    out: &'a mut [i32],
}

impl Vectorized for Pack<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the same promise.
        unsafe {
            match self.codes.width() {
                1 => self.pairs::<V, 1>(),
                _ => self.pairs::<V, 4>(),
            }
        }
    }
}

impl Pack<'_> {
    #[inline(always)]
    unsafe fn pairs<V: Vector, const WIDTH: usize>(self) {
        let (len, wide) = (self.panel.k.len(), ACROSS * V::LANES);
        let (start, step) = self.codes.from(len, wide);
        assert!(self.codes.width() == WIDTH && self.out.len() == self.panel.pairs[1] * wide);
        let sign = match self.format.kind() {
            Kind::Signed => 1 << (self.format.width() - 1),
            _ => 0,
        };
        let out = self.out.as_mut_ptr();
        // SAFETY: features are the caller's promise; of the `len` lines of a strip's codes those are read that are
        // there, and every pair of `out` is a strip wide.
        unsafe {
            let sign = in_halves::<V>(sign);
            for pair in 0..self.panel.pairs[1] {
                let ks = self.panel.ks(pair);
                for v in 0..ACROSS {
                    let mut both = V::splat(0);
                    if let Some(k) = ks[0] {
                        both = register::<V, WIDTH>(start.add(k * step), v);
                    }
                    if let Some(k) = ks[1] {
                        let next = register::<V, WIDTH>(start.add(k * step), v);
                        both = V::or(both, V::shift_left(next, V::splat(16)));
                    }
                    // Sign-extends two's complement to sixteen bits.
                    let both = V::sub_halves(V::xor(both, sign), sign);
                    V::store(out.add(pair * wide + v * V::LANES), both);
                }
            }
        }
    }
}

/// A tile: `[pair][ROWS]`, `[pair][columns]` and `[ROWS][columns]`.
struct RunTile<'a> {
    clamped: bool,
    /// Rows that are computed; what else there is only fills the tile up.
    rows: usize,
    /// Pairs of a group.
    group: usize,
    a: &'a [i32],
    b: &'a [i32],
    state: &'a mut [i32],
}

impl Vectorized for RunTile<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let columns = ACROSS * V::LANES;
        let pairs = self.a.len() / ROWS;
        assert!(self.a.len() == pairs * ROWS && self.b.len() == pairs * columns);
        assert!(self.state.len() == ROWS * columns && pairs.is_multiple_of(self.group));
        let state = self.state.as_mut_ptr();
        let across = if V::REGISTERS >= 32 { 4 } else { 2 };
        for left in (0..ACROSS).step_by(across) {
            for first in (0..pairs).step_by(self.group) {
                let at = left * V::LANES;
                // SAFETY: features are the caller's promise; `across` registers from `left` on lie
                // within each row of the lengths just asserted.
                unsafe {
                    let a = self.a.as_ptr().add(first * ROWS);
                    let b = self.b.as_ptr().add(first * columns + at);
                    let state = state.add(at);
                    match (across, self.rows) {
                        (4, 1) => group::<V, 4, 1>(self.group, self.clamped, a, b, state),
                        (4, _) => group::<V, 4, ROWS>(self.group, self.clamped, a, b, state),
                        (_, 1) => group::<V, 2, 1>(self.group, self.clamped, a, b, state),
                        _ => group::<V, 2, ROWS>(self.group, self.clamped, a, b, state),
                    }
                }
            }
        }
    }
}

/// One group, some registers across the first rows.
#[inline(always)]
unsafe fn group<V: Vector, const WIDE: usize, const N: usize>(
    pairs: usize,
    clamped: bool,
    mut a: *const i32,
    mut b: *const i32,
    state: *mut i32,
) {
    let columns = ACROSS * V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = [[V::splat(0); WIDE]; N];
        for _ in 0..pairs {
            let mut y = [V::splat(0); WIDE];
            for (v, y) in y.iter_mut().enumerate() {
                *y = V::load(b.add(v * V::LANES));
            }
            for (row, sum) in sum.iter_mut().enumerate() {
                let x = V::splat(*a.add(row));
                for (sum, &y) in sum.iter_mut().zip(&y) {
                    *sum = V::add(*sum, V::multiply_pairs(x, y));
                }
            }
            a = a.add(ROWS);
            b = b.add(columns);
        }
        for (row, sum) in sum.into_iter().enumerate() {
            for (v, sum) in sum.into_iter().enumerate() {
                let at = state.add(row * columns + v * V::LANES);
                let c = V::load(at);
                let total = V::add(c, sum);
                // A group's sum stays far inside 32 bits: at most 1024 products of 2^16.
                let total = if clamped {
                    saturated::<V>(c, sum, total)
                } else {
                    total
                };
                V::store(at, total);
            }
        }
    }
}

/// `total`, the wrapped sum of `x` and `y`, or the end of the range on x's side.
#[inline(always)]
unsafe fn saturated<V: Vector>(x: V::I, y: V::I, total: V::I) -> V::I {
    // SAFETY: the caller's promise.
    unsafe {
        let thirty_one = V::splat(31);
        let overflowed = V::and(V::xor(total, x), V::xor(total, y));
        let overflowed = V::shift_right(overflowed, thirty_one);
        let end = V::xor(V::shift_right(x, thirty_one), V::splat(i32::MAX));
        V::or(V::clear(total, overflowed), V::and(end, overflowed))
    }
}

#[cfg(test)]
#[test]
fn pairs_hold_every_product_once() {
    for clamped in [None, Some(1), Some(3), Some(4)] {
        for len in 1..14 {
            let plan = IntegerPlan {
                a: Format::Int8,
                b: Format::Int8,
                clamped,
            };
            let platform = Platform::available()[0];
            let panel = IntegerKernel { plan, platform }.panel(0..len);
            let mut seen = Vec::new();
            for pair in 0..panel.pairs[1] {
                for (half, k) in panel.ks(pair).into_iter().enumerate() {
                    if let Some(k) = k {
                        assert_eq!(panel.place(k), (pair, 16 * half as u32));
                        seen.push(k);
                    }
                }
            }
            assert_eq!(seen, Vec::from_iter(0..len), "groups of {clamped:?}");
        }
    }
}
