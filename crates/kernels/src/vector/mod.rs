//! The few vector operations that the kernels are written in, one file an instruction set.
//!
//! Every implementation computes the same integers and the same bits; the tests run each one that
//! the machine has, and the self-test checks the chosen one against the portable one before its
//! first use.

mod arrays;
#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(any(test, feature = "emulated-neon"))]
mod fma_down_emulated;
#[cfg(any(target_arch = "aarch64", test, feature = "emulated-neon"))]
pub mod neon;
#[cfg(all(any(test, feature = "emulated-neon"), not(target_arch = "aarch64")))]
mod neon_emulated;
pub mod portable;

/// Registers across a strip of columns: four of 32-bit lanes are one of bytes.
pub const ACROSS: usize = 4;

/// The most columns of a strip (four AVX-512 registers).
pub const WIDEST: usize = 64;

/// So that a register of it is in one cache line.
#[repr(align(64))]
pub struct Aligned<T>(pub T);

/// Lanes of 32 bits, registers of four times as many bytes, and as many lanes of 64 bits, which are
/// two registers where the machine has no wider ones.
///
/// # Safety
/// Whoever implements it promises that loads and stores touch `LANES` elements (four times as many
/// bytes) and nothing else, and that nothing but the machine's features is needed to call a method:
/// kernels rely on both.
///
/// Every method may use instructions that the machine lacks: call them only from code that is
/// reached after their feature was detected. Pointers must be valid for a whole register.
pub unsafe trait Vector {
    /// 32-bit lanes of a register.
    const LANES: usize;
    /// How many registers there are.
    const REGISTERS: usize;
    /// Whether kernels are compiled in few instances only.
    const FEW_INSTANCES: bool = false;
    type F: Copy;
    type I: Copy;
    type B: Copy;
    /// `LANES` doubles.
    type D: Copy;

    unsafe fn splat_f(x: f32) -> Self::F;
    unsafe fn load_f(from: *const f32) -> Self::F;
    unsafe fn store_f(to: *mut f32, x: Self::F);
    unsafe fn mul(x: Self::F, y: Self::F) -> Self::F;
    /// Rounds to nearest even, as every float operation that does not say otherwise.
    unsafe fn add_f(x: Self::F, y: Self::F) -> Self::F;
    unsafe fn sub_f(x: Self::F, y: Self::F) -> Self::F;
    /// `x * y + z`, rounded once.
    unsafe fn fma(x: Self::F, y: Self::F, z: Self::F) -> Self::F;
    /// All ones where a number is neither zero nor NaN. Infinities get any value.
    #[inline(always)]
    unsafe fn some(x: Self::F) -> Self::I {
        // SAFETY: as every method.
        unsafe {
            let magnitude = Self::and(Self::bits(x), Self::splat(i32::MAX));
            let numbers = Self::greater(Self::splat(0x7f80_0000), magnitude);
            Self::and(numbers, Self::greater(magnitude, Self::splat(0)))
        }
    }
    /// The sum to nearest, its bits one less where it is farther from zero than the exact sum, and all ones where it is
    /// not exact. Numbers are below 2^127, or any lane with an infinity or NaN is theirs and exact.
    #[inline(always)]
    unsafe fn add_below(x: Self::F, y: Self::F) -> [Self::I; 2] {
        // SAFETY: as every method.
        unsafe {
            let sum = Self::add_f(x, y);
            // Knuth's two-sum: what rounding to nearest has lost, exactly.
            let virtual_y = Self::sub_f(sum, x);
            let lost_x = Self::sub_f(x, Self::sub_f(sum, virtual_y));
            let lost = Self::add_f(lost_x, Self::sub_f(y, virtual_y));
            Self::below(sum, lost)
        }
    }
    /// The same of a sum and what it has lost.
    #[inline(always)]
    unsafe fn below(sum: Self::F, lost: Self::F) -> [Self::I; 2] {
        // SAFETY: as every method.
        unsafe {
            let (inexact, bits) = (Self::some(lost), Self::bits(sum));
            let farther = Self::shift_right(Self::xor(bits, Self::bits(lost)), Self::splat(31));
            [Self::add(bits, Self::and(farther, inexact)), inexact]
        }
    }
    /// Toward zero, of numbers as for [`Vector::add_below`].
    #[inline(always)]
    unsafe fn add_cut(x: Self::F, y: Self::F) -> Self::F {
        // SAFETY: as every method.
        unsafe { Self::from_bits(Self::add_below(x, y)[0]) }
    }
    /// To odd, of numbers as for [`Vector::add_below`]: toward zero, and the last bit is set where that loses anything.
    #[inline(always)]
    unsafe fn add_odd(x: Self::F, y: Self::F) -> Self::F {
        // SAFETY: as every method.
        unsafe { Self::odd(Self::add_below(x, y)) }
    }
    #[inline(always)]
    unsafe fn odd([cut, inexact]: [Self::I; 2]) -> Self::F {
        // SAFETY: as every method.
        unsafe { Self::from_bits(Self::or(cut, Self::and(inexact, Self::splat(1)))) }
    }
    /// `x * y + z` to odd, where the product is exact, of numbers as for [`Vector::add_below`].
    #[inline(always)]
    unsafe fn fma_odd(x: Self::F, y: Self::F, z: Self::F) -> Self::F {
        // SAFETY: as every method.
        unsafe { Self::add_odd(Self::mul(x, y), z) }
    }
    unsafe fn bits(x: Self::F) -> Self::I;
    unsafe fn from_bits(x: Self::I) -> Self::F;
    /// To an integer, toward zero. Lanes outside the integers' range get any value.
    unsafe fn truncate(x: Self::F) -> Self::I;
    /// To a float, toward zero. -2^31 is a sum that no check takes for an overflow.
    unsafe fn round_toward_zero(x: Self::I) -> Self::F;
    /// To an integer, toward minus infinity, of at most 24 bits. Lanes outside the integers' range get any value.
    #[inline(always)]
    unsafe fn floor(x: Self::F) -> Self::I {
        // SAFETY: as every method.
        unsafe {
            let cut = Self::truncate(x);
            // Positive where the number cut off lies above.
            let above = Self::bits(Self::sub_f(Self::to_float(cut), x));
            Self::add(cut, Self::greater(above, Self::splat(0)))
        }
    }
    /// To a float, to nearest even.
    unsafe fn to_float(x: Self::I) -> Self::F;
    /// To an IEEE half, to nearest even, and back.
    unsafe fn through_half(x: Self::F) -> Self::F;

    unsafe fn splat(x: i32) -> Self::I;
    unsafe fn load(from: *const i32) -> Self::I;
    unsafe fn store(to: *mut i32, x: Self::I);
    unsafe fn add(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn sub(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn and(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn or(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn xor(x: Self::I, y: Self::I) -> Self::I;
    /// The larger of signed lanes.
    unsafe fn max(x: Self::I, y: Self::I) -> Self::I;
    /// The smaller of signed lanes.
    unsafe fn min(x: Self::I, y: Self::I) -> Self::I;
    /// The smaller of lanes taken as unsigned.
    unsafe fn min_unsigned(x: Self::I, y: Self::I) -> Self::I;
    /// All ones where equal, else zero.
    unsafe fn equal(x: Self::I, y: Self::I) -> Self::I;
    /// All ones where greater (signed), else zero.
    unsafe fn greater(x: Self::I, y: Self::I) -> Self::I;
    /// `x & !mask`.
    unsafe fn clear(x: Self::I, mask: Self::I) -> Self::I;
    /// Whether any lane is negative.
    unsafe fn any_negative(x: Self::I) -> bool;
    /// `x << y`, y from 0 to 31.
    unsafe fn shift_left(x: Self::I, y: Self::I) -> Self::I;
    /// `x >> y` with the sign shifted in, y from 0 to 31.
    unsafe fn shift_right(x: Self::I, y: Self::I) -> Self::I;
    /// Lanes as pairs of 16-bit integers: the products of both halves, added.
    unsafe fn multiply_pairs(x: Self::I, y: Self::I) -> Self::I;
    /// Lanes as four bytes, those of `x` unsigned and those of `y` signed: the products of neighbours,
    /// added to 16-bit halves.
    unsafe fn multiply_bytes(x: Self::I, y: Self::I) -> Self::I;
    /// The sums of 16-bit halves.
    unsafe fn add_halves(x: Self::I, y: Self::I) -> Self::I;
    /// The differences of 16-bit halves.
    unsafe fn sub_halves(x: Self::I, y: Self::I) -> Self::I;
    /// The smaller of unsigned 16-bit halves.
    unsafe fn min_halves(x: Self::I, y: Self::I) -> Self::I;
    /// The larger of unsigned 16-bit halves.
    unsafe fn max_halves(x: Self::I, y: Self::I) -> Self::I;
    /// All ones in 16-bit halves that are equal, else zero.
    unsafe fn equal_halves(x: Self::I, y: Self::I) -> Self::I;
    /// 16-bit halves `<< y`; both halves of `y` are equal, from 0 to 15.
    unsafe fn shift_left_halves(x: Self::I, y: Self::I) -> Self::I;
    /// 16-bit halves `>> y`, zeros shifted in; both halves of `y` are equal, from 0 to 15.
    unsafe fn shift_right_halves(x: Self::I, y: Self::I) -> Self::I;
    /// `x * y / 2^15` of signed 16-bit halves, to nearest, ties up; not of -2^15 times itself.
    unsafe fn multiply_fractions(x: Self::I, y: Self::I) -> Self::I;
    /// `4096 >> x` of unsigned 16-bit halves: 0 from 13 on.
    #[inline(always)]
    unsafe fn halve_4096(x: Self::I) -> Self::I {
        // SAFETY: as every method.
        unsafe {
            let x = Self::min_halves(x, Self::splat(15 << 16 | 15));
            Self::shift_right_halves(Self::splat(4096 << 16 | 4096), x)
        }
    }
    /// 16-bit halves times those of `sign`, 1 or -1.
    #[inline(always)]
    unsafe fn negate_halves(x: Self::I, sign: Self::I) -> Self::I {
        // SAFETY: as every method.
        unsafe {
            let negative = Self::equal_halves(sign, Self::splat(-1));
            Self::sub_halves(Self::xor(x, negative), negative)
        }
    }

    unsafe fn splat_b(x: u32) -> Self::B;
    unsafe fn load_b(from: *const u8) -> Self::B;
    unsafe fn store_b(to: *mut u8, x: Self::B);
    /// `x - y`, but no less than 0.
    unsafe fn sub_saturating(x: Self::B, y: Self::B) -> Self::B;
    unsafe fn max_b(x: Self::B, y: Self::B) -> Self::B;
    /// `LANES` bytes as the exponent fields of floats: each shifted left by 23.
    #[inline(always)]
    unsafe fn load_exponents(from: *const u8) -> Self::I {
        // SAFETY: as every method.
        unsafe { Self::shift_left(Self::load_bytes(from), Self::splat(23)) }
    }
    /// `LANES` bytes, each a lane.
    unsafe fn load_bytes(from: *const u8) -> Self::I;
    /// `LANES` unsigned 16-bit integers, the low byte first, each a lane.
    unsafe fn load_pairs(from: *const u8) -> Self::I;
    /// Prefetches a line of memory. Any address will do.
    #[inline(always)]
    unsafe fn prefetch(_: *const u8) {}
    /// Lanes as bytes; they must be below 256.
    unsafe fn store_bytes(to: *mut u8, x: Self::I);
    /// Lanes as 16-bit integers, the low byte first; they must be below 65536.
    unsafe fn store_pairs(to: *mut u8, x: Self::I);
    /// Twice `LANES` 16-bit integers, the low byte first, in the order of the memory.
    unsafe fn load_halves(from: *const u8) -> Self::I;
    /// Twice `LANES` bytes, each a 16-bit half, in the order of the memory.
    unsafe fn load_bytes_as_halves(from: *const u8) -> Self::I;
    /// 16-bit halves as bytes, those from 256 to 32767 as 255; those above become any byte.
    unsafe fn store_halves_as_bytes(to: *mut u8, x: Self::I);
    /// 16-bit halves as IEEE halves, in the order of the memory. Infinities and NaNs become any number.
    unsafe fn floats_of_halves(x: Self::I) -> [Self::F; 2];
    /// Lanes that have no bits above as floats, by plain arithmetic.
    #[inline(always)]
    unsafe fn floats_of_lanes(codes: Self::I) -> Self::F {
        // SAFETY: as every method.
        unsafe {
            let magnitude = Self::and(codes, Self::splat(0x7fff));
            let sign = Self::shift_left(Self::xor(codes, magnitude), Self::splat(16));
            // An f32 of the same fields, times two to the difference of the biases.
            let small = Self::from_bits(Self::shift_left(magnitude, Self::splat(13)));
            let number = Self::mul(small, Self::splat_f(f32::from_bits((127 + 127 - 15) << 23)));
            Self::from_bits(Self::or(Self::bits(number), sign))
        }
    }
    /// Transposes `LANES` rows of as many lanes, the low byte first, `step` bytes apart: lane `i` of row `j` becomes lane `j` of row
    /// `i`, which is written to `to + i * LANES`.
    #[inline(always)]
    unsafe fn transpose(from: *const u8, step: usize, to: *mut i32) {
        for row in 0..Self::LANES {
            for lane in 0..Self::LANES {
                // SAFETY: as every method.
                unsafe {
                    let from = from.add(row * step).cast::<i32>().add(lane);
                    to.add(lane * Self::LANES + row)
                        .write(from.read_unaligned());
                }
            }
        }
    }

    unsafe fn splat_d(x: f64) -> Self::D;
    unsafe fn load_d(from: *const f64) -> Self::D;
    unsafe fn store_d(to: *mut f64, x: Self::D);
    unsafe fn add_d(x: Self::D, y: Self::D) -> Self::D;
    unsafe fn sub_d(x: Self::D, y: Self::D) -> Self::D;
    unsafe fn mul_d(x: Self::D, y: Self::D) -> Self::D;
    /// `x * y + z`, rounded once.
    unsafe fn fma_d(x: Self::D, y: Self::D, z: Self::D) -> Self::D;
    unsafe fn and_d(x: Self::D, mask: u64) -> Self::D;
    /// Toward minus infinity to an integer.
    unsafe fn floor_d(x: Self::D) -> Self::D;
    /// Toward zero to an integer.
    unsafe fn truncate_d(x: Self::D) -> Self::D;
    /// 2^x, of lanes from -1022 to 1023.
    unsafe fn power_of_two(x: Self::I) -> Self::D;
    /// Toward minus infinity to so many fraction bits, fewer than 52. Finite numbers only.
    unsafe fn floor_fraction_d(x: Self::D, bits: u32) -> Self::D;
    unsafe fn widen(x: Self::F) -> Self::D;
    /// To floats, to nearest even.
    unsafe fn narrow(x: Self::D) -> Self::F;
    /// To floats, to odd; of any lane below 2^-100 a number as small, of any that is too large one of 2^127 or more.
    #[inline(always)]
    unsafe fn narrow_odd(x: Self::D) -> Self::F {
        // SAFETY: as every method.
        unsafe {
            let number = Self::narrow(x);
            let lost = Self::narrow(Self::sub_d(x, Self::widen(number)));
            Self::odd(Self::below(number, lost))
        }
    }
    unsafe fn int_to_d(x: Self::I) -> Self::D;

    /// Adds the product of `a` and `b`, exact in a double, to both bounds of a sum.
    #[inline(always)]
    unsafe fn add_product_between(bounds: &mut [Self::D; 2], a: Self::D, b: Self::D) {
        // SAFETY: as every method.
        unsafe { Self::add_between(bounds, Self::mul_d(a, b)) }
    }

    /// Adds to both bounds of a sum: the lower one is rounded so that it stays one, and so is the upper
    /// one. While nothing is lost they are equal.
    #[inline(always)]
    unsafe fn add_between(bounds: &mut [Self::D; 2], y: Self::D) {
        // SAFETY: as every method.
        unsafe {
            for (bound, toward) in bounds.iter_mut().zip([-f64::EPSILON, f64::EPSILON]) {
                let x = *bound;
                let sum = Self::add_d(x, y);
                // Knuth's two-sum: what rounding to nearest has lost, exactly.
                let virtual_y = Self::sub_d(sum, x);
                let lost_x = Self::sub_d(x, Self::sub_d(sum, virtual_y));
                let lost = Self::add_d(lost_x, Self::sub_d(y, virtual_y));
                // A unit in the last place or more beyond the sum.
                let magnitude = Self::and_d(sum, u64::MAX >> 1);
                let beyond = Self::fma_d(magnitude, Self::splat_d(toward), sum);
                *bound = Self::where_zero_d(lost, sum, beyond);
            }
        }
    }

    /// The upper bound rounded to an FP32, to nearest even, and whether the lower one becomes the same
    /// everywhere, in these bits.
    #[inline(always)]
    unsafe fn round_bounds(bounds: [Self::D; 2], bits: i32) -> (Self::D, bool) {
        // SAFETY: as every method.
        unsafe {
            let [low, high] = bounds.map(|bound| Self::narrow(bound));
            let differ = Self::and(
                Self::xor(Self::bits(low), Self::bits(high)),
                Self::splat(bits),
            );
            let same = Self::equal(differ, Self::splat(0));
            let apart = Self::xor(same, Self::splat(-1));
            (Self::widen(high), !Self::any_negative(apart))
        }
    }

    /// `y` where `x` is a zero, else `z`.
    unsafe fn where_zero_d(x: Self::D, y: Self::D, z: Self::D) -> Self::D;
}

/// Vectors with additions that round toward minus infinity, and population counts.
///
/// # Safety
/// As of [`Vector`]. Its methods need more features: see `Platform::fma_down`.
pub unsafe trait FmaDown: Vector {
    /// `x * y + z`, rounded once, toward minus infinity.
    unsafe fn fma_down(x: Self::F, y: Self::F, z: Self::F) -> Self::F;
    /// `x + y` where that is far larger: rounded up where `y` is negative, else down, so that `y` is cut toward zero.
    unsafe fn add_cut_small(x: Self::F, y: Self::F) -> Self::F;
    /// How many bits of each lane are set.
    unsafe fn count_ones(x: Self::I) -> Self::I;
    /// Bytes, which may wrap.
    unsafe fn add_b(x: Self::B, y: Self::B) -> Self::B;
    /// The larger of signed bytes.
    unsafe fn max_signed_b(x: Self::B, y: Self::B) -> Self::B;
}

/// Methods of one expression: pure, and so without a word of their own.
macro_rules! operations {
    ($($(#[$attribute:meta])* fn $name:ident($($x:ident: $from:ty),*) $(-> $to:ty)? = $body:expr;)*) => {
        $(
            $(#[$attribute])*
            #[inline(always)]
            unsafe fn $name($($x: $from),*) $(-> $to)? {
                // SAFETY: whoever calls a method has detected the features that its intrinsics need,
                // and promises that pointers are valid for a register; see the trait.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
        )*
    };
}
use operations;
