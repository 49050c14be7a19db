//! 256-bit vectors of x86-64: AVX2 with F16C.

use std::arch::x86_64::*;

use super::Vector;

/// Eight lanes; needs the features `avx2` and `f16c`.
pub struct Avx2;

// SAFETY of the whole: the intrinsics need AVX2 and F16C, which whoever calls a method has
// detected (see the trait); pointers are the caller's promise, and unaligned forms are used.
impl Vector for Avx2 {
    const LANES: usize = 8;
    type F = __m256;
    type I = __m256i;
    type B = __m256i;

    #[inline(always)]
    unsafe fn splat_f(x: f32) -> __m256 {
        unsafe { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load_f(from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store_f(to: *mut f32, x: __m256) {
        unsafe { _mm256_storeu_ps(to, x) }
    }
    #[inline(always)]
    unsafe fn mul(x: __m256, y: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn add_f(x: __m256, y: __m256) -> __m256 {
        unsafe { _mm256_add_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn bits(x: __m256) -> __m256i {
        unsafe { _mm256_castps_si256(x) }
    }
    #[inline(always)]
    unsafe fn from_bits(x: __m256i) -> __m256 {
        unsafe { _mm256_castsi256_ps(x) }
    }
    #[inline(always)]
    unsafe fn truncate(x: __m256) -> __m256i {
        unsafe { _mm256_cvttps_epi32(x) }
    }
    #[inline(always)]
    unsafe fn round_toward_zero(x: __m256i) -> __m256 {
        // See `toward_zero` of the portable vectors.
        unsafe {
            let magnitude = _mm256_abs_epi32(x);
            let kept = _mm256_andnot_si256(_mm256_srli_epi32::<24>(magnitude), magnitude);
            _mm256_cvtepi32_ps(_mm256_sign_epi32(kept, x))
        }
    }
    #[inline(always)]
    unsafe fn to_float(x: __m256i) -> __m256 {
        unsafe { _mm256_cvtepi32_ps(x) }
    }
    #[inline(always)]
    unsafe fn through_half(x: __m256) -> __m256 {
        unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x)) }
    }

    #[inline(always)]
    unsafe fn splat(x: i32) -> __m256i {
        unsafe { _mm256_set1_epi32(x) }
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn add(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_add_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn sub(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_sub_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn and(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_and_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn or(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_or_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn xor(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_xor_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn max(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_max_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn min(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_min_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn min_unsigned(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_min_epu32(x, y) }
    }
    #[inline(always)]
    unsafe fn equal(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_cmpeq_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn greater(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_cmpgt_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn clear(x: __m256i, mask: __m256i) -> __m256i {
        unsafe { _mm256_andnot_si256(mask, x) }
    }
    #[inline(always)]
    unsafe fn any_negative(x: __m256i) -> bool {
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(x)) != 0 }
    }

    #[inline(always)]
    unsafe fn splat_b(x: u32) -> __m256i {
        unsafe { _mm256_set1_epi32(x as i32) }
    }
    #[inline(always)]
    unsafe fn load_b(from: *const u8) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_b(to: *mut u8, x: __m256i) {
        unsafe { _mm256_storeu_si256(to.cast(), x) }
    }
    #[inline(always)]
    unsafe fn sub_saturating(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_subs_epu8(x, y) }
    }
    #[inline(always)]
    unsafe fn max_b(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_max_epu8(x, y) }
    }
    #[inline(always)]
    unsafe fn load_exponents(from: *const u8) -> __m256i {
        unsafe { _mm256_slli_epi32::<23>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()))) }
    }
}
