//! A few products at a time, cut to a grid and added to C: RDNA.
//!
//! Two or four products and C are integers of a grid. It lies so many bits below the operands' largest exponent, or below C's
//! highest bit. All of them fit in 32 bits, and a conversion rounds the sum. An exponent is kept as a power of two: the product of
//! two such powers is that of the product's exponent, or zero where an operand is.
//!
//! RDNA 4 rounds toward minus infinity, pairs of products on a grid of their own first. RDNA 3 cuts off. There a term whose sign
//! C does not have counts one less: each product adds its own sign as an integer, 0 or -1, less that of C. A product's highest bit
//! decides no grid, because `leading_bits` exceeds `product_bits`.
//!
//! Results are never subnormal. Accumulators are multiples of 2^`lowest`, and the exponents of nonzero products lie so far above
//! that every sum is such a multiple. Both are looked at, and other tiles are given up.
//!
//! A C that is no finite number, or no longer one, makes a grid that no other C makes. The exact engine computes its element, and
//! all elements that an operand's infinity or NaN reaches.

use super::dense::{DenseTile, ExponentRange, Flushed, Plain, ROWS, Strip};
use super::half::{narrowed, widened};
use super::tile::SpecialRule;
use super::vector::{ACROSS, Aligned, Vector};
use tcverify_num::{Format, Formats};

/// Groups of products in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FewPlan {
    pub a: Format,
    pub b: Format,
    /// FP32, FP16, or BF16, which is the upper half of an FP32.
    pub accumulator: Format,
    /// Products that are added to C at once: 2, or 4 in pairs.
    pub size: usize,
    /// Which group of an instruction comes when.
    pub order: Vec<usize>,
    /// Bits kept below the largest sum of operands' exponents.
    pub product_bits: u32,
    /// Bits kept below C's highest bit.
    pub leading_bits: u32,
    /// The least that C's highest bit counts as.
    pub least_leading: Option<i32>,
    pub rule: CutRule,
}

/// What becomes of bits below a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutRule {
    /// Rounded toward minus infinity. A negative C of less than one unit counts as minus one on grids up to this one, and
    /// else as zero.
    Floored { vanishing_c: Option<i32> },
    /// Cut off, in one's complements where the sign is not C's. Subnormal operands are zeros if `flush`.
    Complement { flush: bool },
}

/// The k of a panel, at least, and products of an instruction, at most.
const DEPTH: usize = 256;
const LONGEST: usize = 64;

const BIAS: i32 = 127;
const EXPONENT: i32 = 0x7f80_0000;

impl FewPlan {
    /// The plan, or none if only the exact engine can compute it.
    pub fn new(formats: Formats, plan: FewPlan) -> Option<FewPlan> {
        let FewPlan {
            product_bits,
            leading_bits,
            ..
        } = plan;
        let short = |format: Format| format.bytes() <= 4 && format.fraction_bits() <= 10;
        let operands = short(formats.a) && short(formats.b) && formats.scale.is_none();
        let accumulators = [Format::Fp32, Format::Fp16, Format::Bf16];
        let least = plan.least_leading.is_none_or(|least| least <= 40);
        // So that all terms together stay below 2^31, and powers of two within an FP32's.
        let bits = (8..=26).contains(&product_bits) && (product_bits..=28).contains(&leading_bits);
        let rule = match plan.rule {
            CutRule::Floored { vanishing_c } => {
                matches!(plan.size, 2 | 4) && vanishing_c.is_none_or(|grid| grid <= 20)
            }
            // Nothing but zeros leaves C as it is if three bits lie below its last.
            CutRule::Complement { .. } => plan.size == 2 && leading_bits >= 26,
        };
        let above = leading_bits > product_bits || matches!(plan.rule, CutRule::Floored { .. });
        let computed = operands
            && accumulators.contains(&formats.accumulator)
            && least
            && bits
            && rule
            && above
            && plan.span() <= LONGEST;
        computed.then_some(plan)
    }

    fn span(&self) -> usize {
        self.size * self.order.len()
    }

    /// Accumulators are multiples of two to this power; a grid that far below their highest bit is normal.
    fn lowest(&self) -> i32 {
        self.leading_bits as i32 - 126
    }

    /// Above the lowest exponent of products by so much that none of them becomes zero when it is aligned, even if an operand's
    /// highest bit lies ten below its exponent.
    fn highest(&self) -> i32 {
        (self.leading_bits + 2 * self.product_bits) as i32 - 10
    }

    /// Whether the exponents of all nonzero products lie within what can be aligned.
    fn can_align(&self, [a, b]: [ExponentRange; 2]) -> bool {
        // An FP32 that is subnormal does not show its exponent.
        let normal = a.low > 0 && b.low > 0;
        let (low, high) = (a.low + b.low - 2 * BIAS, a.high + b.high - 2 * BIAS);
        normal && low >= self.lowest() + self.product_bits as i32 && high <= self.highest()
    }

    /// Whether an accumulator is a multiple of 2^`lowest`, or no finite number.
    fn is_multiple(&self, x: f32) -> bool {
        let scaled = x * 2f32.powi(-self.lowest());
        !scaled.is_finite() || scaled == scaled.trunc()
    }
}

impl Plain for FewPlan {
    type Real = f32;
    /// Where the exact engine has to compute an element, a NaN.
    type State = f32;

    const MEASURES: bool = true;

    fn formats(&self) -> [Format; 2] {
        [self.a, self.b]
    }

    fn depth(&self) -> usize {
        DEPTH.next_multiple_of(self.span())
    }

    /// Which NaN it is depends on the order.
    fn specials(&self) -> SpecialRule {
        SpecialRule::Exactly
    }

    fn flushed(&self, format: Format) -> Option<Flushed> {
        let flush = self.rule == CutRule::Complement { flush: true };
        flush.then_some(Flushed {
            below: format.min_exponent(),
            signed: true,
        })
    }

    fn start(&self, code: u64) -> f32 {
        match self.accumulator {
            Format::Fp32 => f32::from_bits(code as u32),
            Format::Bf16 => f32::from_bits((code as u32) << 16),
            format => widened(format, code),
        }
    }

    fn finish(&self, state: f32) -> Option<u64> {
        (!state.is_nan()).then(|| self.between(state))
    }

    fn between(&self, state: f32) -> u64 {
        match self.accumulator {
            Format::Bf16 => u64::from(state.to_bits() >> 16),
            format => narrowed(format, state),
        }
    }

    fn group(&self) -> usize {
        self.span()
    }

    fn suits(&self, a: Strip<f32>, b: Strip<f32>, state: &[f32]) -> bool {
        let ranges = a.range.zip(b.range);
        // Nearly always all are zeros or so large that they cannot be others: looked at in vectors.
        let sure = 2f32.powi(self.lowest() + 23);
        let surely = |all: bool, &x: &f32| all & (x == 0.0 || x.abs() >= sure);
        let multiples =
            || state.iter().fold(true, surely) || state.iter().all(|&x| self.is_multiple(x));
        ranges.is_some_and(|(a, b)| self.can_align([a, b])) && multiples()
    }

    #[inline(always)]
    unsafe fn run<V: Vector>(&self, tile: DenseTile<f32, f32>) {
        // SAFETY: features are the caller's promise.
        unsafe {
            if self.accumulator == Format::Fp16 {
                self.by_rule::<V, true>(tile);
            } else {
                self.by_rule::<V, false>(tile);
            }
        }
    }
}

/// The power of two of an operand's exponent, which is at least `smallest`; 0 of a zero.
fn power(x: f32, smallest: f32) -> f32 {
    let power = f32::from_bits(x.to_bits() & EXPONENT as u32);
    if x == 0.0 { 0.0 } else { power.max(smallest) }
}

/// The power of two of a format's smallest normal number.
fn smallest(format: Format) -> f32 {
    2f32.powi(format.min_exponent())
}

impl FewPlan {
    #[inline(always)]
    unsafe fn by_rule<V: Vector, const HALF: bool>(&self, tile: DenseTile<f32, f32>) {
        // SAFETY: the caller's promise.
        unsafe {
            match (self.rule, self.size) {
                (CutRule::Complement { .. }, _) => self.across::<V, Complement, 2, HALF>(tile),
                (_, 2) => self.across::<V, Floored, 2, HALF>(tile),
                _ => self.across::<V, Floored, 4, HALF>(tile),
            }
        }
    }

    /// A tile, one register of columns after the other.
    #[inline(always)]
    unsafe fn across<V: Vector, C: Cut, const SIZE: usize, const HALF: bool>(
        &self,
        tile: DenseTile<f32, f32>,
    ) {
        const { assert!(SIZE.is_multiple_of(2)) };
        // The powers of A's exponents, as A lies.
        let mut powers = Aligned([0f32; (DEPTH + LONGEST) * ROWS]);
        let least = smallest(self.a);
        for (power, &x) in powers.0[..tile.a.len()].iter_mut().zip(tile.a) {
            *power = self::power(x, least);
        }
        let least = smallest(self.b);
        let columns = ACROSS * V::LANES;
        for left in (0..columns).step_by(V::LANES) {
            // SAFETY: features are the caller's promise; a register from `left` on lies within each row of a tile, and every
            // k within its depth, which is a multiple of the instruction's.
            unsafe {
                let constants = Constants::<V>::new(self);
                let (a, b) = (tile.a.as_ptr(), tile.b.as_ptr().add(left));
                let at = tile.state.as_mut_ptr().add(left);
                let mut sum = [V::splat_f(0.0); ROWS];
                for (row, sum) in sum.iter_mut().enumerate() {
                    *sum = V::load_f(at.add(row * columns));
                }
                let mut highest = [V::splat(0); ROWS];
                for first in (0..tile.depth).step_by(self.span()) {
                    for group in &self.order {
                        let k = first + group * SIZE;
                        let (mut y, mut of_y) = ([V::splat_f(0.0); SIZE], [V::splat_f(0.0); SIZE]);
                        for i in 0..SIZE {
                            y[i] = V::load_f(b.add((k + i) * columns));
                            of_y[i] = powers_of_two::<V>(y[i], least);
                        }
                        for row in 0..ROWS {
                            let (mut products, mut exponents) =
                                ([V::splat_f(0.0); SIZE], [V::splat(0); SIZE]);
                            for i in 0..SIZE {
                                let place = (k + i) * ROWS + row;
                                products[i] = V::mul(V::splat_f(*a.add(place)), y[i]);
                                let power = V::splat_f(*powers.0.as_ptr().add(place));
                                exponents[i] = V::bits(V::mul(power, of_y[i]));
                            }
                            let (sum, highest) = (&mut sum[row], &mut highest[row]);
                            let (total, grid, some) =
                                C::total(&constants, &products, &exponents, *sum);
                            *highest = V::max(*highest, grid);
                            let rounded = constants.round::<HALF>(total, grid);
                            *sum = V::from_bits(V::and(V::bits(rounded), some));
                        }
                    }
                }
                for (row, (sum, highest)) in sum.into_iter().zip(highest).enumerate() {
                    // A C that is no finite number makes the grid too high.
                    let lost = V::greater(highest, constants.too_high);
                    let state = V::or(V::bits(sum), V::and(lost, V::splat(i32::MAX)));
                    V::store_f(at.add(row * columns), V::from_bits(state));
                }
            }
        }
    }
}

/// As [`power`], of a register.
#[inline(always)]
unsafe fn powers_of_two<V: Vector>(x: V::F, smallest: f32) -> V::F {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = V::bits(x);
        let zero = V::equal(V::and(bits, V::splat(i32::MAX)), V::splat(0));
        let power = V::max(
            V::and(bits, V::splat(EXPONENT)),
            V::splat(smallest.to_bits() as i32),
        );
        V::from_bits(V::clear(power, zero))
    }
}

/// A plan's constants in registers. A grid stands for the exponent of products that it belongs to, as the bits of that power of
/// two: it lies `product_bits` below.
struct Constants<V: Vector> {
    /// Minus a grid: the bits of the power of two that makes its units ones.
    up: V::I,
    /// Subtracted of a grid: the bits of its unit.
    down: V::I,
    /// How far the grid of C's highest bit lies below that of products.
    below: V::I,
    /// The least highest bit of C.
    least: V::I,
    /// Up to here a negative C that vanishes counts.
    vanishing: V::I,
    /// No finite C makes a grid above.
    too_high: V::I,
    /// The bits of a result.
    kept: V::I,
}

impl<V: Vector> Constants<V> {
    #[inline(always)]
    unsafe fn new(plan: &FewPlan) -> Constants<V> {
        let field = |field: i32| field << 23;
        let product_bits = plan.product_bits as i32;
        let below = plan.leading_bits as i32 - product_bits;
        let (least, vanishing) = match plan.rule {
            // A coarser grid for sums without products, which are multiples of it: so that its unit is normal.
            CutRule::Floored { vanishing_c } => {
                let least = plan.least_leading.unwrap_or(i32::MIN);
                (
                    least.max(plan.lowest() + plan.leading_bits as i32),
                    vanishing_c,
                )
            }
            CutRule::Complement { .. } => (plan.least_leading.unwrap_or(-BIAS), None),
        };
        let vanishing = vanishing.map_or(0, |grid| (grid + BIAS).max(0));
        let kept = if plan.accumulator == Format::Bf16 {
            -1 << 16
        } else {
            -1
        };
        // SAFETY: the caller's promise.
        unsafe {
            Constants {
                // It may leave the integers' range where there is no product at all, whose zeros it keeps.
                up: V::splat(((2 * BIAS + product_bits) as u32).wrapping_shl(23) as i32),
                down: V::splat(field(product_bits)),
                below: V::splat(field(below)),
                least: V::splat(field((least + BIAS).max(0))),
                vanishing: V::splat(field(vanishing)),
                too_high: V::splat(field(255 - below) - 1),
                kept: V::splat(kept),
            }
        }
    }

    /// The grid of products of this exponent and of C; and C's exponent, both as bits.
    #[inline(always)]
    unsafe fn grid(&self, exponent: V::I, c: V::F) -> (V::I, V::I) {
        // SAFETY: the caller's promise.
        unsafe {
            let of_c = V::and(V::bits(c), V::splat(EXPONENT));
            let leading = V::max(of_c, self.least);
            (V::max(exponent, V::sub(leading, self.below)), of_c)
        }
    }

    /// The power of two that makes units of a grid ones.
    #[inline(always)]
    unsafe fn scale(&self, grid: V::I) -> V::F {
        // SAFETY: the caller's promise.
        unsafe { V::from_bits(V::sub(self.up, grid)) }
    }

    /// So many units of a grid, rounded.
    #[inline(always)]
    unsafe fn round<const HALF: bool>(&self, total: V::I, grid: V::I) -> V::F {
        // SAFETY: the caller's promise.
        unsafe {
            let unit = V::from_bits(V::sub(grid, self.down));
            if !HALF {
                let rounded = V::mul(V::to_float(total), unit);
                return V::from_bits(V::and(V::bits(rounded), self.kept));
            }
            // To odd first: 24 bits decide the second rounding as all do.
            let cut = V::round_toward_zero(total);
            let lost = V::xor(V::truncate(cut), total);
            let odd = V::or(V::bits(cut), V::min_unsigned(lost, V::splat(1)));
            let half = V::through_half(V::mul(V::from_bits(odd), unit));
            // -0 becomes +0.
            V::add_f(half, V::splat_f(0.0))
        }
    }
}

/// How terms are cut to a grid.
trait Cut {
    /// The sum of products and C, its grid, and all ones unless the result is +0 whatever that is. `exponents` are the bits of
    /// the products' powers of two.
    ///
    /// # Safety
    /// As of [`Vector`].
    unsafe fn total<V: Vector>(
        constants: &Constants<V>,
        products: &[V::F],
        exponents: &[V::I],
        c: V::F,
    ) -> (V::I, V::I, V::I);
}

/// Toward minus infinity, in pairs.
struct Floored;

impl Cut for Floored {
    #[inline(always)]
    unsafe fn total<V: Vector>(
        constants: &Constants<V>,
        products: &[V::F],
        exponents: &[V::I],
        c: V::F,
    ) -> (V::I, V::I, V::I) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut pairs = [(V::splat(0), V::splat(0)); 2];
            let pairs = &mut pairs[..products.len() / 2];
            let mut exponent = V::splat(0);
            for (i, pair) in pairs.iter_mut().enumerate() {
                let own = V::max(exponents[2 * i], exponents[2 * i + 1]);
                let scale = constants.scale(own);
                let [p, q] = [products[2 * i], products[2 * i + 1]];
                let sum = V::add(V::floor(V::mul(p, scale)), V::floor(V::mul(q, scale)));
                *pair = (sum, own);
                exponent = V::max(exponent, own);
            }
            let (grid, of_c) = constants.grid(exponent, c);
            let units = V::floor(V::mul(c, constants.scale(grid)));
            // Less than one unit.
            let counts = V::max(of_c, constants.vanishing);
            let vanishes = V::greater(V::sub(grid, constants.down), counts);
            let mut total = V::clear(units, vanishes);
            for &(sum, own) in pairs.iter() {
                let down = V::shift_right(V::sub(grid, own), V::splat(23));
                let kept = V::shift_right(sum, V::min(down, V::splat(31)));
                total = V::add(total, kept);
            }
            (total, grid, V::splat(-1))
        }
    }
}

/// Cut off, in one's complements where the sign is not C's.
struct Complement;

impl Cut for Complement {
    #[inline(always)]
    unsafe fn total<V: Vector>(
        constants: &Constants<V>,
        products: &[V::F],
        exponents: &[V::I],
        c: V::F,
    ) -> (V::I, V::I, V::I) {
        // SAFETY: the caller's promise.
        unsafe {
            let exponent = V::max(exponents[0], exponents[1]);
            let (grid, of_c) = constants.grid(exponent, c);
            let scale = constants.scale(grid);
            let sign = |x: V::F| V::shift_right(V::bits(x), V::splat(31));
            let mut total = V::truncate(V::mul(c, scale));
            for &product in &products[..2] {
                let units = V::truncate(V::mul(product, scale));
                let less = V::sub(sign(product), sign(c));
                total = V::add(total, V::add(units, less));
            }
            let zeros = V::equal(V::or(exponent, of_c), V::splat(0));
            (total, grid, V::xor(zeros, V::splat(-1)))
        }
    }
}
