//! 512-bit vectors of x86-64: AVX-512 F and BW.

use std::arch::x86_64::*;

use super::Vector;

/// Sixteen lanes; needs the features `avx512f` and `avx512bw`.
pub struct Avx512;

// SAFETY of the whole: the intrinsics need AVX-512 F and BW, which whoever calls a method has
// detected (see the trait); pointers are the caller's promise, and unaligned forms are used.
impl Vector for Avx512 {
    const LANES: usize = 16;
    type F = __m512;
    type I = __m512i;
    type B = __m512i;

    #[inline(always)]
    unsafe fn splat_f(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load_f(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store_f(to: *mut f32, x: __m512) {
        unsafe { _mm512_storeu_ps(to, x) }
    }
    #[inline(always)]
    unsafe fn mul(x: __m512, y: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn add_f(x: __m512, y: __m512) -> __m512 {
        unsafe { _mm512_add_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn bits(x: __m512) -> __m512i {
        unsafe { _mm512_castps_si512(x) }
    }
    #[inline(always)]
    unsafe fn from_bits(x: __m512i) -> __m512 {
        unsafe { _mm512_castsi512_ps(x) }
    }
    #[inline(always)]
    unsafe fn truncate(x: __m512) -> __m512i {
        unsafe { _mm512_cvttps_epi32(x) }
    }
    #[inline(always)]
    unsafe fn round_toward_zero(x: __m512i) -> __m512 {
        unsafe { _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x) }
    }
    #[inline(always)]
    unsafe fn to_float(x: __m512i) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(x) }
    }
    #[inline(always)]
    unsafe fn through_half(x: __m512) -> __m512 {
        unsafe {
            _mm512_cvtph_ps(_mm512_cvtps_ph::<
                { _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC },
            >(x))
        }
    }

    #[inline(always)]
    unsafe fn splat(x: i32) -> __m512i {
        unsafe { _mm512_set1_epi32(x) }
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn add(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_add_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn sub(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn and(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_and_si512(x, y) }
    }
    #[inline(always)]
    unsafe fn or(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_or_si512(x, y) }
    }
    #[inline(always)]
    unsafe fn xor(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_xor_si512(x, y) }
    }
    #[inline(always)]
    unsafe fn max(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_max_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn min(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_min_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn min_unsigned(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_min_epu32(x, y) }
    }
    #[inline(always)]
    unsafe fn equal(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_maskz_set1_epi32(_mm512_cmpeq_epi32_mask(x, y), -1) }
    }
    #[inline(always)]
    unsafe fn greater(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_maskz_set1_epi32(_mm512_cmpgt_epi32_mask(x, y), -1) }
    }
    #[inline(always)]
    unsafe fn clear(x: __m512i, mask: __m512i) -> __m512i {
        unsafe { _mm512_andnot_si512(mask, x) }
    }
    #[inline(always)]
    unsafe fn any_negative(x: __m512i) -> bool {
        unsafe { _mm512_cmplt_epi32_mask(x, _mm512_setzero_si512()) != 0 }
    }

    #[inline(always)]
    unsafe fn splat_b(x: u32) -> __m512i {
        unsafe { _mm512_set1_epi32(x as i32) }
    }
    #[inline(always)]
    unsafe fn load_b(from: *const u8) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_b(to: *mut u8, x: __m512i) {
        unsafe { _mm512_storeu_si512(to.cast(), x) }
    }
    #[inline(always)]
    unsafe fn sub_saturating(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_subs_epu8(x, y) }
    }
    #[inline(always)]
    unsafe fn max_b(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_max_epu8(x, y) }
    }
    #[inline(always)]
    unsafe fn load_exponents(from: *const u8) -> __m512i {
        unsafe { _mm512_slli_epi32::<23>(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()))) }
    }
}
