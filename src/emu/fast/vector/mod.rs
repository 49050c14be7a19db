//! The few vector operations that the kernel is written in, one file an instruction set.
//!
//! Every implementation computes the same integers and the same bits; the tests run each one that
//! the machine has, and [`super::Platform`] checks the chosen one against the portable one before
//! its first use.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(any(target_arch = "aarch64", test))]
pub mod neon;
#[cfg(all(test, not(target_arch = "aarch64")))]
mod neon_emulated;
pub mod portable;

/// Lanes of 32 bits, and registers of four times as many bytes.
///
/// # Safety
/// Every method may use instructions that the machine lacks: call them only from code that is
/// reached after their feature was detected. Pointers must be valid for a whole register.
pub trait Vector {
    /// 32-bit lanes of a register.
    const LANES: usize;
    type F: Copy;
    type I: Copy;
    type B: Copy;

    unsafe fn splat_f(x: f32) -> Self::F;
    unsafe fn load_f(from: *const f32) -> Self::F;
    unsafe fn store_f(to: *mut f32, x: Self::F);
    unsafe fn mul(x: Self::F, y: Self::F) -> Self::F;
    /// Rounds to nearest even, as every float operation outside [`Vector::round_toward_zero`].
    unsafe fn add_f(x: Self::F, y: Self::F) -> Self::F;
    unsafe fn bits(x: Self::F) -> Self::I;
    unsafe fn from_bits(x: Self::I) -> Self::F;
    /// To an integer, toward zero. Lanes outside the integers' range get any value.
    unsafe fn truncate(x: Self::F) -> Self::I;
    /// To a float, toward zero. -2^31 is a sum that no check takes for an overflow.
    unsafe fn round_toward_zero(x: Self::I) -> Self::F;
    /// To a float, where that is exact.
    unsafe fn to_float(x: Self::I) -> Self::F;
    /// To an IEEE half, to nearest even, and back.
    unsafe fn through_half(x: Self::F) -> Self::F;

    unsafe fn splat(x: i32) -> Self::I;
    unsafe fn load(from: *const i32) -> Self::I;
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

    unsafe fn splat_b(x: u32) -> Self::B;
    unsafe fn load_b(from: *const u8) -> Self::B;
    unsafe fn store_b(to: *mut u8, x: Self::B);
    /// `x - y`, but no less than 0.
    unsafe fn sub_saturating(x: Self::B, y: Self::B) -> Self::B;
    unsafe fn max_b(x: Self::B, y: Self::B) -> Self::B;
    /// `LANES` bytes as the exponent fields of floats: each shifted left by 23.
    unsafe fn load_exponents(from: *const u8) -> Self::I;
}
